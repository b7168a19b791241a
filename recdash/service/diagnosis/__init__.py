"""Evidence on why an A/B test differs from what was measured offline."""
