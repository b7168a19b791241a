"""The page of users reached."""
