"""The page of an experiment's decision rules."""
