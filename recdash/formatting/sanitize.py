"""Characters that must not reach a reader: those that steer a terminal, and those that cannot be seen."""

from __future__ import annotations

import re
import unicodedata

from recdash.errors import InputError, Problem

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
"""What moves a cursor, rings a bell, ends a line or turns the direction of writing."""
UNSEEN = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]+"
)
"""What no font draws, and half characters, which cannot be written out. Joiners of letters (U+200C, U+200D)
are not among them: Persian words and emoji need them.
"""
WORD_JOINER = "\u2060"
BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that no font draws."""


def on_a_line(text: str) -> str:
    """The text without control characters, so on one line."""
    return CONTROL.sub(" ", text)


def is_visible(text: str) -> bool:
    """Does any character leave a mark, unlike blanks, joiners of no width and marks without a letter?"""
    return any(letter not in BLANK and unicodedata.category(letter)[0] in "LNPS" for letter in text)


def visible(text: str) -> str:
    r"""The text on one line, its control and unseen characters written as ``\u001b``.

    In a JSON text that reads as the very character. Word joiners stay: they keep addresses from being links.
    """
    return "".join(_written_out(letter) for letter in text) if _is_strange(text) else text


def visible_lines(text: str) -> str:
    """As ``visible``, with the text's line ends."""
    return "\n".join(map(visible, text.split("\n")))


def _is_strange(text: str) -> bool:
    return bool(CONTROL.search(text) or UNSEEN.search(text))


def _written_out(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if letter != WORD_JOINER and _is_strange(letter) else letter


def check_name(subject: str, name: object) -> str:
    """The name without blanks around it; ``subject`` is what it names.

    Raises InputError for a name that is empty, is no text, or has control or unseen characters, also at its
    ends: some callers keep the name as it was given.
    """
    if not isinstance(name, str):
        fix = "Give a text as the name, such as 'als'."
        raise InputError(Problem("no-name", subject, f"{name!r} is no text", fix))
    clean = name.strip()
    if not clean:
        raise InputError(Problem("no-name", subject, "nothing", "Give it a name."))
    if _is_strange(name):
        raise InputError(_strange(subject, name))
    return clean


def check_note(subject: str, text: str) -> str:
    """The text. Raises InputError where it holds control characters other than line ends and tabs."""
    if CONTROL.search(re.sub(r"[\t\r\n]", "", text)):
        raise InputError(_strange(subject, text))
    return text


def _strange(subject: str, text: str) -> Problem:
    finding = f"'{visible(text)}' holds characters that steer a terminal or cannot be seen"
    return Problem(
        "control-character", subject, finding, "Leave out what is written as \\u and a number here."
    )
