"""One module per format; ``registry.FORMATS`` says how each is recognised and read."""
