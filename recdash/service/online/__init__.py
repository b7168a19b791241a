"""Stored A/B tests: results, agreement with offline metrics, track record."""
