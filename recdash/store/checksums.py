"""Checksums of stored rows: written with a row, compared whenever the row is read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

N_BYTES, N_KEY_BYTES = 8, 4
NAME = "checksum"
"""The column that holds it."""


def checksum(columns: Mapping[str, Any]) -> str:
    """16 hex digits of the stored values by column, whatever database holds them.

    A column without a value counts as not there: a later column that may be empty changes no checksum.
    Raises ``UnicodeError`` for text that no database can hold, ``TypeError`` for any other kind of value.
    """
    digest = hashlib.blake2b(digest_size=N_BYTES)
    for name in sorted(columns):
        if columns[name] is not None and name != NAME:
            kind, value = _bytes_of(columns[name])
            digest.update(b"%b %b %d\n%b" % (name.encode(), kind, len(value), value))
    return digest.hexdigest()


def key_checksum(*key: str) -> str:
    """8 hex digits of what a row is found by."""
    text = "\n".join(key).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(text, digest_size=N_KEY_BYTES).hexdigest()


def _bytes_of(value: Any) -> tuple[bytes, bytes]:
    """The type and the content."""
    if isinstance(value, str):
        return b"text", value.encode("utf-8", "surrogateescape")
    if isinstance(value, int):
        return b"int", b"%d" % value
    if isinstance(value, datetime):
        return b"time", in_utc(value).isoformat().encode()
    if isinstance(value, bytes):
        return b"bytes", value
    raise TypeError(f"a {type(value).__name__} has no checksum")


def in_utc(moment: datetime) -> datetime:
    """A stored time with its zone: SQLite gives back times without one, which are UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
