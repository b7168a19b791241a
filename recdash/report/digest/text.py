"""A digest as plain text, and as Markdown for a chat."""

from __future__ import annotations

import json
import re

from recdash.formatting.html import WORD_JOINER, unlinked
from recdash.formatting.sanitize import on_a_line
from recdash.report.digest.digest import Digest, DigestEntry, as_dict

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_DOMAIN = re.compile(r"(?<=\w)\.(?=[^\W\d_])")
"""Matches the dot in a name that chats would turn into a link."""
_MARKS = re.compile(r"([\\`*\[\]~|])|(?<![^\W_])_|_(?![^\W_])")


def as_text(digest: Digest) -> str:
    """Returns the digest as plain text."""
    lines = [digest.title, _clean(digest.summary)]
    for entry in digest.entries:
        lines += ["", _clean(f"{entry.name}: {_sign(entry)}{entry.headline}")]
        lines += [f"  {_clean(line)}" for line in _lines(entry, digest)]
        lines += [f"  {digest.link}{entry.path}"] if digest.link else []
    lines += ["", digest.audit_line] if digest.audit_line else []
    return "\n".join(lines)


def as_markdown(digest: Digest) -> str:
    """Returns the digest as Markdown for a chat, with bold text and bullets only; what users wrote is
    escaped.
    """
    lines = [f"**{escaped(digest.title)}**", escaped(digest.summary)]
    for entry in digest.entries:
        name = escaped(entry.name)
        linked = f"[{name}]({digest.link}{entry.path})" if digest.link else name
        lines += ["", f"**{linked}** {_sign(entry)}**{escaped(entry.headline)}**"]
        lines += [f"- {escaped(line)}" for line in _lines(entry, digest)]
    lines += ["", digest.audit_line] if digest.audit_line else []
    return "\n".join(lines)


def _sign(entry: DigestEntry) -> str:
    return f"{entry.badge.sign} " if entry.badge else ""


def _lines(entry: DigestEntry, digest: Digest) -> list[str]:
    """Returns the lines below the headline of an experiment."""
    changes = f"Nothing changed {digest.period}."
    if entry.changed:
        changes = f"Changed {digest.period}: {'; '.join(entry.changed)}"
    return [entry.question, *entry.words, *entry.decided, changes]


def as_json(digest: Digest) -> str:
    return json.dumps(as_dict(digest), indent=2, ensure_ascii=False)


def escaped(text: str) -> str:
    """Returns the text escaped so that a chat shows it as it is, without links, images or mentions of people.

    <, > and & become entities, which chats and Markdown both read.

    Other special characters get a backslash, an underscore only if it could begin or end emphasis.
    """
    apart = _DOMAIN.sub(f".{WORD_JOINER}", unlinked(_clean(text)))
    quiet = "".join(_ENTITIES.get(sign, sign) for sign in apart)
    return _MARKS.sub(lambda match: f"\\{match[0]}", quiet)


def _clean(text: str) -> str:
    """Returns the text on one line, without control characters."""
    return " ".join(on_a_line(text).split())
