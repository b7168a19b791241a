"""Turns tidy frames into plotly figures, with each run's colour and shape, for the light and the dark
theme.
"""
