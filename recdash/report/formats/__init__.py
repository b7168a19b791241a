"""The file formats of a report: HTML, PDF, Markdown, LaTeX, CSV and JSON."""
