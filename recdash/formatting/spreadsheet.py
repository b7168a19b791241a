"""Prevents that texts in a spreadsheet are read as formulas."""

from __future__ import annotations

from unicodedata import category

_STARTS_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦", "﹢", "﹣", "﹫")


def safe_cell(value: object) -> object:
    """Returns a text with an apostrophe before it if a spreadsheet would read it as a formula, also after
    invisible characters; any other value unchanged.
    """
    if not isinstance(value, str):
        return value
    # blanks, control characters and direction marks do not count
    first = next((letter for letter in value if category(letter)[0] not in "CZ"), "")
    return f"'{value}" if first in _STARTS_FORMULA else value
