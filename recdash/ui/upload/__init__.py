"""The page Upload."""
