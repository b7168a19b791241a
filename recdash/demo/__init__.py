"""The simulated data of the demo: a film service and its A/B tests."""
