"""The version of recdash, which pyproject.toml repeats."""

__version__ = "0.1.0"
