"""Errors about the files that commands write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recdash.errors import InputError, Problem


@contextmanager
def writing(option: str, path: Path) -> Iterator[None]:
    """Raises InputError, with the path as it was given to the option, if what is written inside cannot be."""
    try:
        yield
    except OSError as error:
        finding = f"'{path}' cannot be written ({error.strerror or error})"
        fix = "Name another, in a folder that exists and may be written to."
        raise InputError(Problem("not-written", option, finding, fix)) from None
