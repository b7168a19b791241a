"""Reads reports from files, and checks whether an HTML file shows what its own numbers say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from recdash.errors import InputError, Problem
from recdash.report.document import FIRST_FORMAT, WORDING, Document
from recdash.report.formats.json import from_json
from recdash.report.reproduce import packed_page
from recdash.version import __version__

DATA = re.compile(r'<script type="application/json" id="document">([^<]*)</script>')
TAG = re.compile(r"<[^<>]*>")
GENERATOR = re.compile(r'<meta name="generator" content="recdash ([\w.+-]{1,40})">')
CHART = re.compile(
    r'(<svg [^<>]*class="chart">)((?:[^<]|<(?!/svg></div>|svg [^<>]*class="chart">))*)(?=</svg></div>)'
)
SHAPES = re.compile(r"</?(?:svg|g|line|polyline|polygon|path|rect|circle|text|tspan|title)(?: [^<>]*)?>")
"""Matches the elements of a drawing, of which only the texts are compared."""
LONGEST, MOST_BYTES = 160, 64_000_000


@dataclass(frozen=True)
class ReadReport:
    """The document in a file, and the file's text; "" for a JSON file, which shows nothing else."""

    document: Document
    text: str


def read_report(file: Path) -> ReadReport:
    """Returns the document in a file, and the text of the file.

    Raises InputError for a file that is not a report.
    """
    try:
        text = _read(file)
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, str(error)) from error
    if text.lstrip().startswith("{"):
        return ReadReport(from_json(text), "")
    if data := DATA.search(text):
        return ReadReport(from_json(data[1]), text)
    try:
        return ReadReport(from_json(packed_page.document_json(text)), text)
    except ValueError as error:
        raise _unreadable(file, str(error)) from error


def _read(file: Path) -> str:
    size = file.stat().st_size
    if size > MOST_BYTES:
        raise OSError(f"it has {size:,} bytes")
    return file.read_bytes().decode("utf-8")


def _unreadable(file: Path, message: str) -> InputError:
    fix = "Give the HTML or JSON file as recdash report wrote it."
    return InputError(Problem("no-report", str(file), message, fix))


@dataclass(frozen=True)
class Page:
    """How an HTML file compares with the page that its own numbers give.

    ``differs`` is the first difference in words, "" if there is none. ``comparable`` is whether the installed
    version made the file in today's wording, so that only a later change can explain a difference. ``charts``
    is the number of charts that an older release drew in another way; their numbers, descriptions and texts
    are compared, but not their coordinates.
    """

    version: str
    differs: str
    comparable: bool
    charts: int = 0


def page_of(text: str, document: Document) -> Page:
    """Returns how an HTML file compares with the page that its own numbers give under the same version."""
    from recdash.report.formats.html import to_html

    generator = GENERATOR.search(text)
    version = generator[1] if generator else "unknown"
    # Git and e-mail programs may change line ends, which make no difference to browsers.
    page, fresh = text.replace("\r\n", "\n"), to_html(document, version)
    is_packed = DATA.search(page) is None
    if is_packed:
        page, fresh = packed_page.shown(page), packed_page.shown_by(fresh, document)
    charts = 0
    if not is_packed and document.format == FIRST_FORMAT:
        drawings = zip(CHART.finditer(page), CHART.finditer(fresh), strict=False)
        charts = sum(drawing[2] != again[2] for drawing, again in drawings)
        page, fresh = CHART.sub(_with_texts, page), CHART.sub(_with_texts, fresh)
    is_of_today = document.format == FIRST_FORMAT or document.wording == WORDING
    is_comparable = version == __version__ and is_of_today and not is_packed
    return Page(version, _difference(page, fresh), is_comparable, charts)


def _with_texts(chart: re.Match[str]) -> str:
    """Returns a chart reduced to its texts; elements that no chart of recdash has are kept."""
    texts = (part.strip() for part in SHAPES.sub("\0", chart[2]).split("\0"))
    return chart[1] + " | ".join(filter(None, texts))


def _difference(text: str, made: str) -> str:
    if text == made:
        return ""
    for line, expected in zip_longest(text.split("\n"), made.split("\n"), fillvalue=""):
        if line != expected:
            return f"the file shows “{_plain(line, expected)}”, its numbers make “{_plain(expected, line)}”"
    return "the file has other lines than its numbers make"


def _plain(line: str, other: str) -> str:
    """Returns the visible text of a line from shortly before its first difference to the other line."""
    text, other_text = TAG.sub(" ", line), TAG.sub(" ", other)
    if text == other_text:
        text, other_text = line, other
    shorter = min(len(text), len(other_text))
    differing = next((index for index in range(shorter) if text[index] != other_text[index]), shorter)
    begin = max(0, differing - 40)
    return " ".join(text[begin : begin + LONGEST].split())
