"""Explains with evidence why an A/B test differs from the offline results."""
