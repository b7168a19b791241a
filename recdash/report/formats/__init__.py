"""The forms of a report: HTML, PDF, Markdown, LaTeX, CSV, JSON."""
