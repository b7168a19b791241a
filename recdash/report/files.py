"""Reports read back from their files, and whether a file shows what its numbers say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from recdash.errors import InputError, Problem
from recdash.report.document import Document
from recdash.report.packing import unpack
from recdash.report.plain import from_json

PACKED = re.compile(r'<script type="text/plain" id="packed-document">([^<]*)</script>')
TAG = re.compile(r"<[^>]*>")
LONGEST = 160


@dataclass(frozen=True)
class ReadReport:
    """A file's document, and the text that shows it; "" for one that is nothing but its numbers."""

    document: Document
    text: str


def read_report(file: Path) -> ReadReport:
    """Raises InputError for a file that is no report of ours."""
    try:
        text = file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, str(error)) from error
    if text.lstrip().startswith("{"):
        return ReadReport(from_json(text), "")
    found = PACKED.search(text)
    if found is None:
        raise _unreadable(file, "it holds no document of recdash")
    try:
        return ReadReport(from_json(unpack(found[1])), text)
    except ValueError as error:
        raise _unreadable(file, str(error)) from error


def _unreadable(file: Path, found: str) -> InputError:
    fix = "Give the HTML or JSON file as recdash report wrote it."
    return InputError(Problem("no-report", str(file), found, fix))


def shown_otherwise(text: str, document: Document) -> str:
    """The first line of an HTML file that its own numbers do not make, in words; "" where there is none."""
    from recdash.report.html_file import to_html

    made = to_html(document)
    if text == made:
        return ""
    for said, found in zip_longest(text.splitlines(), made.splitlines(), fillvalue=""):
        if said != found:
            return f"the file shows “{_plain(said, found)}”, its numbers make “{_plain(found, said)}”"
    return "the file ends its lines otherwise than recdash writes them"


def _plain(line: str, other: str) -> str:
    """What a person sees of a line, from a little before where it differs from the other."""
    one, two = (TAG.sub(" ", each) for each in (line, other))
    one, two = (one, two) if one != two else (line, other)
    shorter = min(len(one), len(two))
    begin = max(0, next((at for at in range(shorter) if one[at] != two[at]), shorter) - 40)
    return " ".join(one[begin : begin + LONGEST].split())
