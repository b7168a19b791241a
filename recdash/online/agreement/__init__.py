"""Compares offline metrics with A/B tests: the agreement in one test, and the track record over many."""
