"""Reads an A/B test's logs: builds sessions from events, and one row per user from sessions."""
