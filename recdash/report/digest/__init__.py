"""What happened to each experiment since a day, as text, Markdown or HTML."""
