"""Compares offline metrics with A/B tests: agreement per test, and the track record of metrics."""
