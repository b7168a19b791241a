"""Decisions and reviews on the page Reports & decisions."""
