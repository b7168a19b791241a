"""Handles lone surrogates, which are half characters that no text file can contain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recdash.errors import Problem, UploadError

WHOLE_TEXT = "Write the text again as UTF-8; it was cut in the middle of a character."


def has_surrogate(value: Any) -> bool:
    """Returns True if a text, or a text inside a container, has a lone surrogate."""
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
    """Returns the value as text of at most 40 characters, with lone surrogates escaped."""
    text = escaped(value)
    return text if len(text) <= 40 else text[:39] + "…"


def escaped(value: Any) -> str:
    return str(value).encode(errors="backslashreplace").decode()
