"""The page Leaderboard."""
