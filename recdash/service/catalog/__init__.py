"""The experiments and runs of a store, and what happened to them."""
