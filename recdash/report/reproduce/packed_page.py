"""Reads HTML reports of older releases, in which Plotly drew the figures: their numbers, and what they show.

In such a page the numbers, the figures and Plotly's script were compressed and encoded: three characters of
an alphabet of 10,322 (each two bytes in UTF-8) encode five bytes. No release writes such pages any more.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from html import unescape
from itertools import groupby
from typing import Any

import numpy as np

from recdash.charts.mark_html import ROLES
from recdash.charts.marks import DARK, LIGHT
from recdash.report.document import Document, Figure
from recdash.report.formats.figures import drawn, names_by_length

MOST_BYTES = 64_000_000
"""The limit for unpacked data. No report is nearly so large; more must have been made to exhaust memory."""
DOCUMENT = re.compile(r'<script type="text/plain" id="packed-document">([^<]*)</script>')
FIGURES = re.compile(r'<script type="text/plain" id="packed-figures">([^<]*)</script>')
TO_A_NAME = "name"
"""The name of the line between the end of a curve and the run's name."""
DATA = re.compile(r'(?<= id="packed-)(document|figures|plotly)">[^<]*')
BODY = re.compile(r"<title>[^<]*</title>|<body>.*</main>", re.DOTALL)
FRAME = "54b5f2c21652f657659dabdf2af8fc35b5fa8b72ad303186c099ec2e888c22eb"
"""The SHA-256 of what all such pages have in common: style, scripts, and the policy with the scripts'
hashes.
"""
CHART = re.compile(
    r'<div class="scroll" tabindex="0" hidden><div class="chart" role="img" aria-label="([^"]*)"></div></div>'
    r"\n<details open>"
)
SVG = re.compile(
    r'<div class="scroll" tabindex="0"><svg [^<>]*aria-label="([^"]*)"'
    r'(?:[^<]|<(?!/svg></div>|div class="scroll"))*</svg></div>\n<details>'
)
FORMULA = re.compile(r"<math [^<>]*>((?:[^<]|<(?!/?math\b))*)</math>")
ELEMENT = re.compile(r"</?m[a-z]+( [^<>]*)?>")

ASCII = "".join(chr(code) for code in range(33, 127) if chr(code) != "<")
N_SIGNS, FIRST_LETTER = 10_322, 0xAE
SIGNS = [first + second for first in ASCII for second in ASCII]
SIGNS += [chr(FIRST_LETTER + place) for place in range(N_SIGNS - len(SIGNS))]


def document_json(page: str) -> str:
    """Returns the JSON of the page's document. Raises ValueError if the page has none."""
    packed = DOCUMENT.search(page)
    if packed is None:
        raise ValueError("it holds no document of recdash")
    return unpack(packed[1])


def shown(page: str) -> str:
    """Returns what a packed page shows as a text to compare with that of ``shown_by``."""
    figures = FIGURES.search(page)
    try:
        values = json.loads(unpack(figures[1] if figures else ""))
        values["names"] = _names(values["names"])
        values["figures"] = list(map(_points_and_texts, values["figures"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        values = {}
    frame = hashlib.sha256(DATA.sub("", BODY.sub("", page)).encode()).hexdigest()
    return _shown(frame, CHART.sub(r"\1", page), values)


def shown_by(page: str, document: Document) -> str:
    """Returns what a packed page of the document would show, as text.

    ``page`` is the page that is made of it today.
    """
    parts = [part for section in document.sections for part in section.parts]
    values = {
        "names": _names(names_by_length(document)),
        "themes": {
            "light": [getattr(LIGHT, role) for role in ROLES],
            "dark": [getattr(DARK, role) for role in ROLES],
        },
        "figures": [_points_and_texts(drawn(document, part)) for part in parts if isinstance(part, Figure)],
    }
    return _shown(FRAME, SVG.sub(r"\1", page), values)


def _shown(frame: str, page: str, figures: object) -> str:
    body = FORMULA.sub(_letters, "\n".join(part[0] for part in BODY.finditer(page)))
    return f"{body}\nstyle and scripts {frame}\nfigures {json.dumps(figures, sort_keys=True)}"


def _points_and_texts(figure: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the points and texts of a figure, without sizes, markers and lines to names, which may have
    changed since.
    """
    layout = figure["layout"]
    notes = [note["text"] for note in layout.get("annotations", ())]
    ticks = {name: axis.get("ticktext") for name, axis in layout.items() if re.match("[xy]axis", name)}
    traces = [trace for trace in figure["data"] if trace.get("name") != TO_A_NAME or trace.get("hovertext")]
    points = [[trace.get("x"), trace.get("y"), trace.get("hovertext")] for trace in traces]
    return {"points": points, "notes": sorted(notes), "ticks": ticks}


def _names(names: Iterable[str]) -> list[str]:
    """Returns the names with those of equal length sorted, because the pages had these in arbitrary order."""
    return [name for _, alike in groupby(names, len) for name in sorted(alike)]


def _letters(formula: re.Match[str]) -> str:
    return "".join(unescape(ELEMENT.sub("", formula[1])).split())


def unpack(text: str) -> str:
    """Returns the text that was packed into such a page. Raises ValueError for anything else."""
    length, colon, body = text.partition(":")
    written = body.encode("utf-8", "replace")
    if not colon or not length.isdecimal() or len(length) > 9 or len(written) % 6:
        raise ValueError("this was not packed by recdash")
    places = np.full(1 << 16, N_SIGNS, dtype=np.int64)
    places[np.frombuffer("".join(SIGNS).encode(), dtype=">u2")] = np.arange(N_SIGNS)
    signs = places[np.frombuffer(written, dtype=">u2")]
    words = signs.reshape(-1, 3) @ N_SIGNS ** np.arange(2, -1, -1, dtype=np.int64)
    if (signs == N_SIGNS).any() or (words >= 1 << 40).any():
        raise ValueError("this was not packed by recdash")
    packed = (words[:, None] // 256 ** np.arange(4, -1, -1, dtype=np.int64) % 256).astype(np.uint8)
    stream = zlib.decompressobj()
    try:
        unpacked = stream.decompress(packed.tobytes()[: int(length)], MOST_BYTES).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"this was not packed by recdash: {error}") from error
    if not stream.eof or stream.unused_data:
        raise ValueError(f"this was not packed by recdash: it does not end within {MOST_BYTES:,} bytes")
    return unpacked
