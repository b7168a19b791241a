"""Stores files first, then the rows that need them in one short transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from recdash.errors import MissingFile
from recdash.store import Store

Staged = TypeVar("Staged")
Answer = TypeVar("Answer")


def store_with_files(store: Store, stage: Callable[[], Staged], rows: Callable[[Staged], Answer]) -> Answer:
    """Returns what ``rows`` returns, which stores in one transaction the rows of what ``stage`` returned.

    ``stage`` stores the files. It is called again if one of them was deleted with other data before the
    transaction.
    """
    staged = stage()
    try:
        with store.transaction():
            return rows(staged)
    except MissingFile:
        staged = stage()
    with store.transaction():
        return rows(staged)
