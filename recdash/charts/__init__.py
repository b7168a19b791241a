"""Tidy frames → plotly figures, with the run's own colours and shapes, light and dark."""
