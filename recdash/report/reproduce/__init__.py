"""Checks whether the numbers of a report are confirmed by the stored uploads."""
