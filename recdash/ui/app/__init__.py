"""The base of all pages: the view, its links, cached answers, the person, and the theme."""
