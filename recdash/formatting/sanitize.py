"""Detects and escapes control characters and invisible characters."""

from __future__ import annotations

import re
import unicodedata

from recdash.errors import InputError, Problem

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
"""Control characters: they move a cursor, ring a bell, end a line or change the writing direction."""
UNSEEN = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]+"
)
"""Invisible characters, and half characters, which cannot be encoded. Joiners of letters (U+200C, U+200D) are
not among them: Persian words and emoji need them.
"""
WORD_JOINER = "\u2060"
BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that no font draws."""


def on_a_line(text: str) -> str:
    """Returns the text without control characters, so on one line."""
    return CONTROL.sub(" ", text)


def is_visible(text: str) -> bool:
    """Returns whether any character is visible, unlike blanks, zero-width joiners and marks without a
    letter.
    """
    return any(letter not in BLANK and unicodedata.category(letter)[0] in "LNPS" for letter in text)


def visible(text: str) -> str:
    r"""Returns the text on one line, with control and invisible characters written as ``\u001b``.

    A JSON reader decodes them again. Word joiners stay: they prevent links.
    """
    return "".join(_written_out(letter) for letter in text) if _is_strange(text) else text


def visible_lines(text: str) -> str:
    """Returns the same as ``visible``, with the text's line ends."""
    return "\n".join(map(visible, text.split("\n")))


def _is_strange(text: str) -> bool:
    return bool(CONTROL.search(text) or UNSEEN.search(text))


def _written_out(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if letter != WORD_JOINER and _is_strange(letter) else letter


def check_name(subject: str, name: object) -> str:
    """Returns the stripped name; ``subject`` is what it names.

    Raises InputError for a name that is empty, not a text, or has control or invisible characters, also at
    its ends: some callers keep the name as given.
    """
    if not isinstance(name, str):
        fix = "Give a text as the name, such as 'als'."
        raise InputError(Problem("no-name", subject, f"{name!r} is not a text", fix))
    clean = name.strip()
    if not clean:
        raise InputError(Problem("no-name", subject, "nothing", "Give it a name."))
    if _is_strange(name):
        raise InputError(_strange(subject, name))
    return clean


def check_note(subject: str, text: str) -> str:
    """Returns the text. Raises InputError if it has control characters other than line ends and tabs."""
    if CONTROL.search(re.sub(r"[\t\r\n]", "", text)):
        raise InputError(_strange(subject, text))
    return text


def _strange(subject: str, text: str) -> Problem:
    finding = f"'{visible(text)}' has control or invisible characters"
    return Problem(
        "control-character", subject, finding, "Remove the characters shown here as \\u and a number."
    )
