"""Digests of what happened to each experiment since a given day, as text, Markdown or HTML."""
