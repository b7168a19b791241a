"""Reads an A/B test's logs: events become sessions, sessions become one row per user."""
