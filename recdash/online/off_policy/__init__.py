"""What another policy would have got, from a log that says how likely each item was to be shown."""
