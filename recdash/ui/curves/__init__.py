"""The pages By k and Precision–recall."""
