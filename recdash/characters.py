"""Characters that strangers may write and nobody should meet: what steers a terminal, what cannot be seen."""

from __future__ import annotations

import re
import unicodedata

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
"""What moves a cursor, rings a bell, ends a line or turns the direction of writing."""
BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that no font draws."""


def on_a_line(text: str) -> str:
    """The text without control characters, so on one line."""
    return CONTROL.sub(" ", text)


def is_visible(text: str) -> bool:
    """Does any character leave a mark, unlike blanks, joiners of no width and marks without a letter?"""
    return any(one not in BLANK and unicodedata.category(one)[0] in "LNPS" for one in text)
