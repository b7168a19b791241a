"""Reads files in separate processes with limits on memory and time."""
