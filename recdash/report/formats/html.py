"""Writes a document as one standalone HTML file, which makes no requests and can be read without its script.

The file has the document's numbers as JSON. Its content security policy allows one script, by its hash, and
nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from markupsafe import Markup

from recdash.charts.mark_html import RULES, glyph, variables
from recdash.charts.marks import DARK, LIGHT, Mark
from recdash.comparison.wording import user_split
from recdash.formatting import numbers
from recdash.formatting.sanitize import CONTROL
from recdash.formatting.signs import EQUAL, former_sign, sign_of
from recdash.formatting.tables import table_html
from recdash.formatting.wording import cut_inside, long_day, tone
from recdash.report.document import (
    EQUAL_USERS_WORDING,
    FIRST_FORMAT,
    TIES_WORDING,
    Document,
    Figure,
    Split,
)
from recdash.report.formats.figures import drawn, drawn_narrow, marks_of, names_by_length
from recdash.report.formats.json import to_json
from recdash.report.formats.mathml import mathml
from recdash.report.formats.svg import to_svg
from recdash.report.sections import BLOCKS
from recdash.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent / "page"
LONGEST_CHIP = 44
PHONE_STYLE = "phone_and_brief.css"
"""The style of phones and of reports of the decision only, which reports of ``TIES_WORDING`` lack."""
THIS_COMPUTER = ("localhost", "127.0.0.1", "::1")
WIDE, HALF, PHONE = 960, 470, 358
"""The widths of wide and other figures, and of those on a phone, in pixels; a browser scales them to the
page.
"""
POLICY = (
    "default-src 'none'; script-src {script}; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


class Layout(NamedTuple):
    """A template with its style sheet, and the titles of its sections."""

    template: str
    style: str
    titles: Mapping[str, str]


TODAY = Layout("report.html.j2", "report.css", {name: kind.title for name, kind in BLOCKS.items()})
FIRST = Layout(
    "first.html.j2",
    "first.css",
    {
        "defined": "What was asked",
        "evidence": "Evidence",
        "scores": "All metrics",
        "curves": "Metric vs k",
        "precision-recall": "Precision and recall",
        "online": "Offline vs online",
        "slices": "Slices",
        "changes": "What would change it",
        "decisions": "Decisions",
        "caveats": "Caveats",
        "reproducing": "Reproduce it",
    },
)
"""The layout of reports of the first format.

It must not change, as files are compared with it letter by letter.
"""


def to_html(document: Document, version: str = __version__) -> str:
    """Returns the document as an HTML file.

    ``version`` is the version of recdash that the file names as its maker.
    """
    layout = FIRST if document.format == FIRST_FORMAT else TODAY
    runs = {run: _run(mark) for run, mark in marks_of(document, LIGHT).items()}
    is_today = document.wording > TIES_WORDING
    facts = {
        "document": document,
        "is_today": is_today,
        "is_brief": is_today and len(document.sections) < 2,
        "only_here": is_today and urlsplit(document.link).hostname in THIS_COMPUTER,
        "version": version,
        "style": _trusted_html(_style(layout.style, *([PHONE_STYLE] if is_today else []))),
        "script": _trusted_html(_file("report.js")),
        "policy": POLICY.format(script=_hash(_file("report.js"))),
        "names": layout.titles,
        "tone": tone,
        "sign": sign_of if document.wording > EQUAL_USERS_WORDING else _former_sign,
        "table": lambda table: table_html(table, runs),
        "chips": _chips(document),
        "link": document.link if document.link.startswith(("http://", "https://")) else "",
        "split": _split(document.lead.split) if document.lead.split else None,
        "svg": lambda figure: to_svg(drawn(document, figure), figure.alt, WIDE if figure.wide else HALF),
        "svg_on_phones": lambda figure: _svg_on_phones(document, figure) if is_today else "",
        "untouched": _data(json.dumps(names_by_length(document), ensure_ascii=False)),
        "data": _data(to_json(document)),
    }
    return _environment().get_template(layout.template).render(facts)


def _former_sign(word: str) -> str:
    """Returns the sign of a key number's finding in older reports: also = for one that is not judged."""
    sign = former_sign(word)
    return EQUAL if sign == numbers.NONE else sign


def _svg_on_phones(document: Document, figure: Figure) -> Markup | str:
    narrow = drawn_narrow(document, figure)
    return to_svg(narrow, figure.alt, PHONE) if narrow else ""


# ── the parts of the file ────────────────────────────────────────────────────────────────────


def _trusted_html(text: str) -> Markup:
    """Returns a text of this package as HTML without escaping; it must contain nothing that a user wrote."""
    return Markup(text)  # noqa: S704


def _data(json_text: str) -> Markup:
    """Returns JSON for a data element of the page, with < escaped, as browsers give no other character a
    meaning there.
    """
    return Markup(json_text.replace("<", r"\u003c"))  # noqa: S704


@lru_cache(maxsize=8)
def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _style(*names: str) -> str:
    rules = "".join(map(_file, names)).replace("/* marks.css */\n", RULES)
    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}"
    return f":root{{{variables(LIGHT)}}}{dark}{rules}"


def _run(mark: Mark) -> Markup:
    return Markup("<span class=run>{glyph}<bdi>{name}</bdi></span>").format(
        glyph=glyph(mark), name=_clean(mark.name)
    )


def _chips(document: Document) -> dict[str, Any]:
    marks = marks_of(document, LIGHT)
    candidates = [run.run_id for run in document.runs if run.run_id in document.question.get("runs", ())]
    base = next((marks[run.run_id] for run in document.runs if run.role == "baseline"), None)
    return {"baseline": _chip(base) if base else "", "candidates": [_chip(marks[run]) for run in candidates]}


def _chip(mark: Mark) -> Markup:
    name = _clean(mark.name)
    return Markup(
        '<span class="{kind}" style="--run:{colour}" title="{name}">{glyph}<bdi>{brief}</bdi></span>'
    ).format(
        kind="chip base" if mark.role == "baseline" else "chip",
        colour=mark.colour,
        glyph=glyph(mark),
        name=name,
        brief=cut_inside(name, LONGEST_CHIP),
    )


def _split(split: Split) -> dict[str, Any]:
    of, parts = user_split(split.wins, split.ties, split.losses)
    return {"of": numbers.users(of), "parts": parts}


# ── the template's filters ───────────────────────────────────────────────────────────────────


def _clean(text: str) -> str:
    """Returns the text without control characters and characters that change the direction of writing."""
    return CONTROL.sub(" ", text)


def _finalize(value: Any) -> Any:
    return _clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _day(moment: str) -> str:
    """Returns the day in words, such as ``24 November 2026``."""
    return long_day(datetime.fromisoformat(moment))


def _time(moment: str) -> str:
    """Returns the time in words, such as ``24 November 2026, 12:41 UTC``."""
    time = datetime.fromisoformat(moment)
    return f"{long_day(time)}, {time:%H:%M} {time.tzname() or ''}".strip()


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()]


FILTERS: Mapping[str, Any] = {
    "kind": lambda value: type(value).__name__,
    "day": _day,
    "time": _time,
    "paragraphs": _paragraphs,
    "mathml": mathml,
}


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize,
    )
    environment.filters.update(FILTERS)
    return environment
