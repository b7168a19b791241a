"""One file per format: see ``registry.FORMATS`` for how each is recognised and read."""
