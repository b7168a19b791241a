"""Formats numbers, words, HTML and spreadsheets, and removes harmful characters."""
