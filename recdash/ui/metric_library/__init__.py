"""The page Metric library."""
