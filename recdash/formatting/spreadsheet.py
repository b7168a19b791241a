"""Text in a spreadsheet must not start a formula."""

from __future__ import annotations

from unicodedata import category

_STARTS_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦", "﹢", "﹣", "﹫")


def safe_cell(value: object) -> object:
    """Returns text with an apostrophe in front if it would start a formula, also after invisible
    characters.
    """
    if not isinstance(value, str):
        return value
    # blanks, control characters and direction marks do not count
    first = next((letter for letter in value if category(letter)[0] not in "CZ"), "")
    return f"'{value}" if first in _STARTS_FORMULA else value
