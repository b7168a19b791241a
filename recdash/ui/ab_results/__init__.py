"""The page Results of A/B tests."""
