"""A document as one standalone HTML file: nothing is fetched, and it can be read without its script.

Plotly's own script, as it is installed, is packed into the file; the reader's browser unpacks and runs it.
The page's policy names the two scripts by their hashes and allows nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from recdash.charts.marks import DARK, LIGHT, Mark, Palette
from recdash.formatting import numbers
from recdash.formatting.sanitize import CONTROL
from recdash.formatting.wording import cut_inside
from recdash.report.document import Document, Figure, Split, footnotes
from recdash.report.formats.figures import colours_of, drawn, marks_of
from recdash.report.formats.json import to_json
from recdash.report.formats.mathml import mathml
from recdash.report.formats.packing import pack
from recdash.report.sections import BLOCKS
from recdash.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent / "page"
FEW, LONGEST_CHIP = 100, 44
"""Of fewer users each is counted, instead of a share of 100."""
POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


def to_html(document: Document, version: str = __version__) -> str:
    """The whole file as text. ``version``: by which it says that it was made."""
    scripts = (_file("report.js"), plotly_script())
    facts = {
        "document": document,
        "version": version,
        "style": _ours(_style()),
        "script": _ours(scripts[0]),
        "policy": POLICY.format(scripts=" ".join(map(_hash, scripts))),
        "names": {name: block.title for name, block in BLOCKS.items()},
        "runs": {run: _run(mark) for run, mark in marks_of(document, LIGHT).items()},
        "chips": _chips(document),
        "split": _split(document.lead.split) if document.lead.split else None,
        "packed": {
            "document": _ours(pack(to_json(document))),
            "figures": _ours(pack(_figures(document))),
            "plotly": _ours(packed_plotly()),
        },
        "licence": licence(),
        "notice": _ours(_file("plotly-licence.txt").replace("--", "- -")),
    }
    return _environment().get_template("report.html.j2").render(facts)


# ── the parts of the file ────────────────────────────────────────────────────────────────────


def _ours(text: str) -> Markup:
    """Text of this package, or packed: nothing of a user is in it that a page could read."""
    return Markup(text)  # noqa: S704


@lru_cache(maxsize=1)
def plotly_script() -> str:
    """Plotly's script as the installed package has it."""
    return resources.files("plotly").joinpath("package_data/plotly.min.js").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def packed_plotly() -> str:
    return pack(plotly_script())


def licence() -> str:
    """``plotly.js v4.1.1, Copyright 2012-2026, Plotly, Inc., MIT licence``, from the script's own notice."""
    lines = [line.lstrip("* ").strip() for line in plotly_script()[:400].splitlines()[1:3]]
    return f"{lines[0]}, {lines[1].rstrip('.')}, MIT licence"


@lru_cache(maxsize=8)
def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _style() -> str:
    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}"
    return f":root{{{_variables(LIGHT)}}}{dark}{_file('report.css')}"


def _variables(colours: Palette) -> str:
    return (
        f"--ink:{colours.ink};--muted:{colours.muted};--faint:{colours.faint};--line:{colours.border};"
        f"--panel:{colours.panel};--bg:{colours.background};--better:{colours.better};--same:{colours.same};"
        f"--worse:{colours.worse};--base:{colours.baseline};--primary:{colours.primary};"
        f"--tint:{26 if colours.dark else 14}%"
    )


def _figures(document: Document) -> str:
    """The charts, the colours of both themes, and the names in which no number is written anew."""
    figures = [
        drawn(document, part)
        for section in document.sections
        for part in section.parts
        if isinstance(part, Figure)
    ]
    names = sorted(sorted({document.experiment, *document.names.values()}), key=len, reverse=True)
    themes = {"light": colours_of(LIGHT), "dark": colours_of(DARK)}
    return json.dumps(
        {"names": names, "themes": themes, "figures": figures}, ensure_ascii=False, separators=(",", ":")
    )


def _run(mark: Mark) -> Markup:
    return Markup("<span class=run>{glyph}<bdi>{name}</bdi></span>").format(
        glyph=_glyph(mark), name=_clean(mark.name)
    )


def _glyph(mark: Mark) -> Markup:
    if mark.role == "baseline":
        return Markup("<i class=dash></i>")
    return Markup('<i class="glyph {shape}" style=--run:{colour}></i>').format(
        shape=mark.shape, colour=mark.colour
    )


def _chips(document: Document) -> dict[str, Any]:
    marks = marks_of(document, LIGHT)
    candidates = [run.run_id for run in document.runs if run.run_id in document.question["runs"]]
    base = next((marks[run.run_id] for run in document.runs if run.role == "baseline"), None)
    return {"baseline": _chip(base) if base else "", "candidates": [_chip(marks[run]) for run in candidates]}


def _chip(mark: Mark) -> Markup:
    name = _clean(mark.name)
    return Markup(
        '<span class="{kind}" style="--run:{colour}" title="{name}">{glyph}<bdi>{brief}</bdi></span>'
    ).format(
        kind="chip base" if mark.role == "baseline" else "chip",
        colour=mark.colour,
        glyph=_glyph(mark),
        name=name,
        brief=cut_inside(name, LONGEST_CHIP),
    )


def _split(split: Split) -> dict[str, Any]:
    """Better, no change and worse, of 100 users; of fewer each is counted."""
    n, parts = split.n, []
    for tone, sign, words, count in (
        ("better", "▲", "better for", split.wins),
        ("same", "=", "no change for", split.ties),
        ("worse", "▼", "worse for", split.losses),
    ):
        share = numbers.of_100(count, n) if n >= FEW else numbers.count(count)
        parts.append({"tone": tone, "sign": sign, "words": words, "count": count, "share": share})
    return {"of": f"{min(n, FEW)} {'user' if n == 1 else 'users'}", "parts": parts}


# ── the template's filters ───────────────────────────────────────────────────────────────────


def _clean(text: str) -> str:
    """Without control characters, and without those that turn text around."""
    return CONTROL.sub(" ", text)


def _finalize(value: Any) -> Any:
    return _clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _exact(value: float) -> str:
    """No longer than a reader of the page needs: the packed document has all of it."""
    return str(value) if isinstance(value, int) else f"{value:.5g}"


def _day(moment: str) -> str:
    time = datetime.fromisoformat(moment)
    return f"{time.day} {time:%B %Y, %H:%M} {time.tzname() or ''}".strip()


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()]


def _without_unit(text: str, unit: str) -> Markup:
    return Markup(text.removesuffix(unit)) if unit else Markup(text)  # noqa: S704 - the macro escaped it


FILTERS: Mapping[str, Any] = {
    "kind": lambda value: type(value).__name__,
    "exact": _exact,
    "day": _day,
    "paragraphs": _paragraphs,
    "footnotes": footnotes,
    "mathml": mathml,
    "without_unit": _without_unit,
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
