"""Analyses interleaving tests: each request shows the items of two rankings in one list."""
