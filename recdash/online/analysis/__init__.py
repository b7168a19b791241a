"""Computes an A/B test's results from its users: lifts, intervals, health, segments, power."""
