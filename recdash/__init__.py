"""recdash: choose between recommender systems with evidence."""
