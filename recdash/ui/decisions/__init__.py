"""Decisions and reviews on the page Review."""
