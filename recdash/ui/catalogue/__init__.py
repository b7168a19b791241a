"""The page Catalogue."""
