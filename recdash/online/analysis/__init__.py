"""Computes the results of an A/B test from its users: lifts, intervals, health, segments and power."""
