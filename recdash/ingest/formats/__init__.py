"""One module per file format; ``registry.FORMATS`` says how each one is recognised and read."""
