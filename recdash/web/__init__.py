"""Access control of the web server: authentication, share links, and the headers of every response."""
