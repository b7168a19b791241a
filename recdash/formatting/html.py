"""Escapes texts, with one function for each output: Markdown and HTML.

Names, titles, tags, notes and column names come from users' files. None of them may become a link, an image
or a tag.
"""

from __future__ import annotations

import re

from markupsafe import Markup as Html
from markupsafe import escape

from recdash.formatting.sanitize import on_a_line

__all__ = ["Html", "as_label", "html", "join", "markdown"]

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_IN_LABELS = re.compile(r"([\\`*\[\]<>&$:~|^]|(?<![^\W_])_|_(?![^\W_])|-(?=[->])|^[#+\-=])")
"""Pattern of the characters that are markup in a label. An underscore inside a word, dots and round
brackets are not.
"""
_NUMBERED = re.compile(r"^(\d+)([.)])")
_AUTOLINK = re.compile(r"(?i)(https?|ftp|mailto|xmpp|www)(?=[:.])")
WORD_JOINER = "\u2060"


def markdown(text: object) -> str:
    """Returns the text escaped for Markdown. Word joiners prevent automatic links, which backslashes do
    not.
    """
    return _PUNCTUATION.sub(r"\\\1", unlinked(on_a_line(str(text))))


def as_label(text: object) -> str:
    """Returns the text escaped for the label of a widget. Only characters that would be markup are escaped,
    because a screen reader also reads the backslashes; ``exposures.csv`` stays unchanged.
    """
    escaped = _IN_LABELS.sub(r"\\\1", unlinked(on_a_line(str(text))))
    return _NUMBERED.sub(r"\1\\\2", escaped)


def unlinked(text: str) -> str:
    """Returns the text with word joiners in addresses and before each @, so that no part of it becomes a link
    automatically.
    """
    return _AUTOLINK.sub(rf"\1{WORD_JOINER}", text.replace("@", f"{WORD_JOINER}@"))


def html(template: str, /, **values: object) -> Html:
    """Returns ``template`` with a value in place of every ``{name}``; values are escaped unless they are
    :class:`Html`.
    """
    return Html(template.format(**{name: _safe(value) for name, value in values.items()}))  # noqa: S704


def join(parts: list[Html], separator: str = "") -> Html:
    return Html(separator.join(map(_safe, parts)))  # noqa: S704


def _safe(value: object) -> Html:
    return value if isinstance(value, Html) else escape(on_a_line(str(value)))
