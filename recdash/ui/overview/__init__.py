"""The page Recommendation of the place Decision."""
