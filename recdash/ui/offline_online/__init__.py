"""The page Offline vs online."""
