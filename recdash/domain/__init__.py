"""Frozen values that cross layers; this package imports nothing above it."""
