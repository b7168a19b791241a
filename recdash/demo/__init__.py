"""The simulated film service of the demo."""
