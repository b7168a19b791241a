"""The version of recdash; pyproject.toml says the same."""

__version__ = "0.1.0"
