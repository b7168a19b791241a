"""The experiments and runs of a store, and their history."""
