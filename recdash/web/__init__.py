"""Access to the web server: who is let in, by which link, and the headers of every answer."""
