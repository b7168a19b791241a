"""One escaping function per sink: Markdown and HTML.

Names, titles, tags, notes and column names come from users' files; none of them may become a link,
an image or a tag.
"""

from __future__ import annotations

import re

from markupsafe import Markup as Html
from markupsafe import escape

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


def html(template: str, /, **values: object) -> Html:
    """``template`` with every ``{name}`` filled in, escaped unless the value is :class:`Html`."""
    return Html(template.format(**{name: _safe(value) for name, value in values.items()}))  # noqa: S704


def join(parts: list[Html], separator: str = "") -> Html:
    return Html(separator.join(map(_safe, parts)))  # noqa: S704


def _safe(value: object) -> Html:
    return value if isinstance(value, Html) else escape(on_a_line(str(value)))
