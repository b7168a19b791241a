"""The pages Metric vs k and Precision–recall."""
