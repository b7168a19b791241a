"""What a number means: one run under the habits of several libraries, worked examples, who was counted."""
