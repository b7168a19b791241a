"""Links names of commands, functions, settings and articles of the guide to the pages made of them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

KEPT = r"^(?P<fence>```+|~~~+).*?^(?P=fence)[ \t]*$|^#[^\n]*$|!?\[[^\]]*\]\([^)\n]*\)|<[a-zA-Z/][^>\n]*>"
"""Blocks of code, headings, links and HTML."""
NAME = r"(?<![`*\w])(?P<name>`[^`\n]+`|\*[^*\s][^*]*\*)(?![`*\w])"
PIECE = re.compile(f"{KEPT}|{NAME}", re.MULTILINE | re.DOTALL)


def link_known_names(text: str, page: str, addresses: Mapping[str, str]) -> str:
    """Returns a page's Markdown in which code and emphasised titles that name something link to its page.

    ``addresses`` are the pages by name. Headings, blocks of code and what is a link already stay as they are.
    """

    def linked(piece: re.Match[str]) -> str:
        written = piece["name"]
        address = addresses.get(_plain(written)) if written else None
        if address is None or address.partition("#")[0] == page:
            return piece[0]
        return f"[{written}]({posixpath.relpath(address, posixpath.dirname(page) or '.')})"

    return PIECE.sub(linked, text)


def _plain(written: str) -> str:
    """Returns the name within the marks: of a command without its options, of a function without its call."""
    name = " ".join(written[1:-1].split())
    if command := re.match(r"recdash ([a-z]+)\b(?!\.)", name):
        return command[0]
    return name.partition("(")[0].partition("=")[0] if written.startswith("`") else name
