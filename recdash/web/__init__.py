"""The door of the web server: who is let in, by which link, and what every answer carries."""
