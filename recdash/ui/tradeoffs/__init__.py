"""The page Trade-offs."""
