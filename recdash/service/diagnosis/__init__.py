"""Evidence on why an A/B test differs from the offline results."""
