"""Detects and escapes control characters and invisible characters."""

from __future__ import annotations

import json
import re
import unicodedata

from recdash.domain.arguments import check_type
from recdash.errors import InputError, Problem

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
"""Pattern of control characters, which move a cursor, ring a bell, end a line or change the direction of
writing.
"""
INVISIBLE = (
    "\u00ad\u034f\u061c\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2060-\u2064\u206a-\u206f\ufe00-\ufe0e"
    "\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Invisible characters, such as selectors of a variant and tags, as they stand in a pattern between brackets.
``NEEDED`` are not included, because Persian words and emoji have them.
"""
NEEDED = "\u200c\u200d\ufe0f"
"""Invisible characters that change how others look: joiners of letters, the selector of an emoji."""
UNSEEN = re.compile(f"[{INVISIBLE}\ud800-\udfff]+")
"""Pattern of invisible characters and of surrogates, which cannot be encoded."""
WORD_JOINER = "\u2060"
BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that fonts draw as blanks."""


def on_a_line(text: str) -> str:
    """Returns the text on one line: control characters are replaced with blanks."""
    return CONTROL.sub(" ", text)


def is_visible(text: str) -> bool:
    """Returns whether at least one character is visible. Blanks, zero-width joiners and combining marks alone
    are not.
    """
    return any(letter not in BLANK and unicodedata.category(letter)[0] in "LNPS" for letter in text)


def visible(text: str) -> str:
    r"""Returns the text on one line, with control and invisible characters written like ``\u001b``.

    JSON readers decode them again. Word joiners are kept, because they prevent links.
    """
    return "".join(_written_out(letter) for letter in text) if _is_strange(text) else text


def visible_lines(text: str) -> str:
    """Returns what ``visible`` returns for each line of the text; the line ends stay."""
    return "\n".join(map(visible, text.split("\n")))


def _is_strange(text: str) -> bool:
    return bool(CONTROL.search(text) or UNSEEN.search(text))


def _written_out(letter: str) -> str:
    if letter == WORD_JOINER or not _is_strange(letter):
        return letter
    return json.dumps(letter)[1:-1] if ord(letter) > 0xFFFF else f"\\u{ord(letter):04x}"


def check_name(subject: str, name: object) -> str:
    """Returns the name without blanks at its ends; ``subject`` says what it is the name of.

    Raises InputError for a name that is empty, is not a text, or has control or invisible characters. They
    are not accepted at its ends either, because some callers keep the name as given.
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
    """Returns the text unchanged. Raises InputError if it has control characters other than line ends and
    tabs.
    """
    check_type(subject, text, str, "Give a text.")
    if CONTROL.search(re.sub(r"[\t\r\n]", "", text)):
        raise InputError(_strange(subject, text))
    return text


def _strange(subject: str, text: str) -> Problem:
    finding = f"'{visible(text)}' has control or invisible characters"
    return Problem(
        "control-character", subject, finding, "Remove the characters shown here as \\u and a number."
    )
