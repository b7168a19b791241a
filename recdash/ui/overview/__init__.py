"""The page Overview."""
