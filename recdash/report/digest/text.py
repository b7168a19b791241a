"""A digest as text: plain, as Markdown for a chat, as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from recdash.formatting.html import WORD_JOINER, unlinked
from recdash.formatting.sanitize import on_a_line
from recdash.report.digest.digest import Digest, DigestEntry, as_dict

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_DOMAIN = re.compile(r"(?<=\w)\.(?=[^\W\d_])")
"""Chats make a link of any name with a dot in it."""
_MARKS = re.compile(r"([\\`*\[\]~|])|(?<![^\W_])_|_(?![^\W_])")


def as_text(digest: Digest) -> str:
    """Without any mark-up."""
    return "\n".join([digest.title, _clean(digest.summary), *(_block(one, digest) for one in digest.told)])


def _block(told: DigestEntry, digest: Digest) -> str:
    address = [f"  {digest.link}{told.path}"] if digest.link else []
    lines = [told.question, *told.words, *told.decided, *_changes(told, digest)]
    return "\n".join(["", _clean(f"{told.name}: {_sign(told)}{told.headline}"),
                      *(f"  {_clean(line)}" for line in lines), *address])  # fmt: skip


def as_markdown(digest: Digest) -> str:
    """For a chat: bold lines and bullets, nothing that only some chats show; what users wrote is escaped."""
    lines = [f"**{escaped(digest.title)}**", escaped(digest.summary)]
    for one in digest.told:
        lines += ["", *_bullets(one, digest)]
    return "\n".join(lines)


def _bullets(told: DigestEntry, digest: Digest) -> Iterator[str]:
    name = escaped(told.name)
    where = f"[{name}]({digest.link}{told.path})" if digest.link else name
    yield f"**{where}** {_sign(told)}**{escaped(told.headline)}**"
    for line in (told.question, *told.words, *told.decided, *_changes(told, digest)):
        yield f"- {escaped(line)}"


def _sign(told: DigestEntry) -> str:
    return f"{told.badge.sign} " if told.badge else ""


def _changes(told: DigestEntry, digest: Digest) -> Iterable[str]:
    if told.changed:
        return [f"Changed {digest.period}: {'; '.join(told.changed)}"]
    return [f"Nothing changed {digest.period}."]


def as_json(digest: Digest) -> str:
    return json.dumps(as_dict(digest), indent=2, ensure_ascii=False)


def escaped(text: str) -> str:
    """Text in which nothing is mark-up in a chat: no link, no image, nobody called by their name.

    < > & become entities, as chats and Markdown both read them; other marks get a backslash, an underscore
    only where it could begin or end something.
    """
    apart = _DOMAIN.sub(f".{WORD_JOINER}", unlinked(_clean(text)))
    quiet = "".join(_ENTITIES.get(sign, sign) for sign in apart)
    return _MARKS.sub(lambda found: f"\\{found[0]}", quiet)


def _clean(text: str) -> str:
    """On one line."""
    return " ".join(on_a_line(text).split())
