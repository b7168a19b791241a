"""Scores and comparisons of stored runs."""
