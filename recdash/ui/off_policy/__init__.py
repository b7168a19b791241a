"""The page Off-policy."""
