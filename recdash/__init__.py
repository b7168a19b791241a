"""recdash: choose between recommender systems with evidence."""

__version__ = "0.1.0"
