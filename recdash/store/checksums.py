"""Checksums of stored rows, which are written with a row and verified when it is read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

N_BYTES, N_KEY_BYTES = 8, 4
NAME = "checksum"
"""The name of the column with the checksum."""


def checksum(columns: Mapping[str, Any]) -> str:
    """Returns a checksum of the columns' values (16 hex digits), which is the same in every database.

    A column that is None is ignored, so that adding a nullable column changes no checksum. Raises
    ``UnicodeError`` for text that no database can store, ``TypeError`` for a type without a checksum.
    """
    return hashlib.blake2b(_content(columns), digest_size=N_BYTES).hexdigest()


def seal(columns: Mapping[str, Any]) -> str:
    """Returns the sha256 (hex) of the same values, with which the audit log names what was stored.

    A checksum shows damage; other values with the same seal cannot be made.
    """
    return hashlib.sha256(_content(columns)).hexdigest()


def _content(columns: Mapping[str, Any]) -> bytes:
    content = []
    for name in sorted(columns):
        if columns[name] is not None and name != NAME:
            kind, value = _bytes_of(columns[name])
            content.append(b"%b %b %d\n%b" % (name.encode(), kind, len(value), value))
    return b"".join(content)


def key_checksum(*key: str) -> str:
    """Returns a checksum of a row's key (8 hex digits)."""
    text = "\n".join(key).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(text, digest_size=N_KEY_BYTES).hexdigest()


def _bytes_of(value: Any) -> tuple[bytes, bytes]:
    """Returns the value's type and content as bytes. Raises ``TypeError`` for a type without a checksum."""
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
    """Returns a stored time in UTC. SQLite returns times without a zone, which are UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
