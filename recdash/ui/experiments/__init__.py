"""The page Experiments."""
