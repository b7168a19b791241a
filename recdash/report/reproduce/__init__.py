"""Whether the numbers of a report still hold: computed again, or from other files."""
