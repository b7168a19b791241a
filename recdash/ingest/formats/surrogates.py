"""Handles lone surrogates: half characters, which no text file can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recdash.errors import Problem, UploadError

WHOLE_TEXT = "Write the text again as UTF-8; it was cut in the middle of a character."


def has_surrogate(value: Any) -> bool:
    """Returns whether a text, also inside a container, has a lone surrogate."""
    if isinstance(value, Mapping):
        return any(map(has_surrogate, value)) or any(map(has_surrogate, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(has_surrogate, value))
    return isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value)


def refuse_surrogates(names: Sequence[str]) -> None:
    if half := next((name for name in names if has_surrogate(name)), None):
        finding = "half a character (a lone surrogate) in the name"
        raise UploadError(Problem("bad-text", f"column '{printable(half)}'", finding, WHOLE_TEXT))


def printable(value: Any) -> str:
    """Returns displayable text: lone surrogates escaped, at most 40 characters."""
    text = escaped(value)
    return text if len(text) <= 40 else text[:39] + "…"


def escaped(value: Any) -> str:
    return str(value).encode(errors="backslashreplace").decode()
