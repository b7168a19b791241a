"""Runs the command ``recdash`` for ``python -m recdash``."""

from recdash.cli import main

if __name__ == "__main__":
    main()
