"""Escapes texts for Markdown."""

from __future__ import annotations

import re
from urllib.parse import quote

from recdash.formatting.sanitize import CONTROL

MARKUP = re.compile(r"([\\`*_{}\[\]<>|#~&$^])")
URL = ":/?=&%~@+"
LINK = re.compile(r"(?i)(https?|ftp|mailto|xmpp|www)(?=[:.])")
MENTION = re.compile(r"@(?!\d+(?![\w.-]))")
"""Matches the @ of a mention, not that before the cutoff of a metric (nDCG@10)."""
AT_START = re.compile(r"^(\s*)([-+=]|\d+(?=[.)](?:\s|$)))")


def escaped(text: str) -> str:
    """Returns the text escaped for the start of a Markdown line, so that it makes no markup, link or list."""
    return AT_START.sub("\\1\u2060\\2", within(text))


def within(text: str) -> str:
    """Returns the text escaped for the inside of a Markdown line, so that it makes no markup, link or
    mention.
    """
    clean = LINK.sub("\\1\u2060", MENTION.sub("\u2060@", CONTROL.sub(" ", text)))
    return MARKUP.sub(r"\\\1", clean)


def linked(title: str, url: str) -> str:
    """Returns a link, whose address is escaped so that it ends where it should."""
    return f"[{title}](<{quote(url, safe=URL)}>)"
