"""Text that goes into a spreadsheet must not start a formula there."""

from __future__ import annotations

from unicodedata import category

_STARTS_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦", "﹢", "﹣", "﹫")


def safe_cell(value: object) -> object:
    """Text that would start a formula gets an apostrophe in front, also behind what cannot be seen."""
    if not isinstance(value, str):
        return value
    # blanks, controls and marks of direction do not count
    first = next((letter for letter in value if category(letter)[0] not in "CZ"), "")
    return f"'{value}" if first in _STARTS_FORMULA else value
