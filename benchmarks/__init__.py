"""How long recdash takes, beside reading the files and beside other libraries: ``python -m benchmarks``."""
