"""Text that goes into a spreadsheet must not start a formula there."""

from __future__ import annotations

from unicodedata import category

_STARTS_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦", "﹢", "﹣", "﹫")


def safe_cell(value: object) -> object:
    """Text that would start a formula gets an apostrophe in front, also behind what cannot be seen."""
    if isinstance(value, str) and _first_seen(value) in _STARTS_FORMULA:
        return f"'{value}"
    return value


def _first_seen(text: str) -> str:
    """The first character that is no blank, control or mark of direction; empty where there is none."""
    return next((letter for letter in text if category(letter)[0] not in "CZ"), "")
