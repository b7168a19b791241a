"""The page Guide."""
