"""The page A/B results."""
