"""From the users of an A/B test to its results: lifts, intervals, health, segments, power."""
