"""One escaping function per sink: Markdown and HTML.

Names, titles, tags, notes and column names come from users' files; none of them may become a link,
an image or a tag.
"""

from __future__ import annotations

import re
from html import escape as _escape

from recdash.formatting.sanitize import on_a_line

__all__ = ["Html", "html", "join", "markdown"]

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_AUTOLINK = re.compile(r"(?i)(https?|ftp|mailto|xmpp|www)(?=[:.])")
WORD_JOINER = "\u2060"


def markdown(text: object) -> str:
    """Text for any Markdown sink. Backslashes leave autolinks alive; a word joiner stops those."""
    return _PUNCTUATION.sub(r"\\\1", unlinked(on_a_line(str(text))))


def unlinked(text: str) -> str:
    """Text of which nothing makes a link by itself: word joiners stand in addresses and before each @."""
    return _AUTOLINK.sub(rf"\1{WORD_JOINER}", text.replace("@", f"{WORD_JOINER}@"))


class Html(str):
    """A string that is already safe HTML; only :func:`html` and :func:`join` make it."""

    __slots__ = ()


def html(template: str, /, **values: object) -> Html:
    """``template`` with every ``{name}`` filled in, escaped unless the value is :class:`Html`."""
    return Html(template.format(**{name: _safe(value) for name, value in values.items()}))


def join(parts: list[Html], separator: str = "") -> Html:
    return Html(separator.join(_safe(part) for part in parts))


def _safe(value: object) -> str:
    return value if isinstance(value, Html) else _escape(on_a_line(str(value)), quote=True)
