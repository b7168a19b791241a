"""Stored A/B tests: results, agreement with offline metrics, and track records of offline metrics."""
