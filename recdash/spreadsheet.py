"""Text that goes into a spreadsheet must not start a formula there."""

from __future__ import annotations

_STARTS_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_INVISIBLE = "\ufeff \t\r\n\u00a0\u200b\u200c\u200d\u2060\u3000"


def safe_cell(value: object) -> object:
    """Text that would start a formula, also behind blanks, gets an apostrophe in front."""
    if isinstance(value, str) and value.lstrip(_INVISIBLE).startswith(_STARTS_FORMULA):
        return f"'{value}"
    return value
