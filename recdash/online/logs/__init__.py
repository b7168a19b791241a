"""From an A/B test's logs to its users: events become sessions, sessions become one row per user."""
