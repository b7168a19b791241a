"""The page Definitions."""
