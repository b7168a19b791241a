"""Escaping, one function per output: Markdown and HTML.

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
    """Returns text escaped for Markdown. Backslashes do not stop autolinks; word joiners do."""
    return _PUNCTUATION.sub(r"\\\1", unlinked(on_a_line(str(text))))


def unlinked(text: str) -> str:
    """Returns text in which no part becomes a link by itself: word joiners are put in addresses and before
    each @.
    """
    return _AUTOLINK.sub(rf"\1{WORD_JOINER}", text.replace("@", f"{WORD_JOINER}@"))


def html(template: str, /, **values: object) -> Html:
    """Returns ``template`` with every ``{name}`` filled in, escaped unless the value is :class:`Html`."""
    return Html(template.format(**{name: _safe(value) for name, value in values.items()}))  # noqa: S704


def join(parts: list[Html], separator: str = "") -> Html:
    return Html(separator.join(map(_safe, parts)))  # noqa: S704


def _safe(value: object) -> Html:
    return value if isinstance(value, Html) else escape(on_a_line(str(value)))
