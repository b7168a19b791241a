"""Estimates what a new policy would have earned, from a log with propensities."""
