"""``python -m recdash`` is the command ``recdash``."""

from recdash.cli import main

if __name__ == "__main__":
    main()
