"""Writes the tables of a document in LaTeX for a paper, with booktabs; what users wrote is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from recdash.formatting.sanitize import INVISIBLE, NEEDED
from recdash.formatting.tables import Table, footnotes, shown
from recdash.report.document import Document, Section

SPECIAL: Mapping[str, str] = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_",
    "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"{\char34}", "−": "$-$", "–": "--", "±": r"$\pm$",
    "▲": r"$\blacktriangle$", "▼": r"$\blacktriangledown$", "≠": r"$\neq$", "≤": r"$\leq$", "≥": r"$\geq$",
    "×": r"$\times$", "λ": r"$\lambda$", "τ": r"$\tau$", "…": r"\dots{}", "⇄": r"$\rightleftarrows$",
    "“": "``", "”": "''", "’": "'", "≈": r"$\approx$",
}  # fmt: skip
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
UNSEEN = re.compile(f"[{INVISIBLE}{NEEDED}]")
"""Matches characters without width, which pdflatex does not know."""
HEAD = (
    "% {title}",
    "% {headline}",
    r"% Needs \usepackage{{booktabs}}, \usepackage{{amssymb}} and \usepackage{{textcomp}}; made by recdash.",
    "% Where names hold letters that are not Latin, or signs: lualatex or xelatex.",
)


def to_latex(document: Document) -> str:
    """Returns the document's tables in LaTeX, each in its own environment."""
    facts = {"title": _one_line(document.title), "headline": _one_line(document.lead.headline)}
    lines = [line.format(**facts) for line in HEAD]
    lines += [f"% {_one_line(sentence)}" for sentence in document.lead.sentences]
    for place, (section, table) in enumerate(document.tables(), start=1):
        lines += ["", *_table(table, section, document.names, place)]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Returns the text escaped for LaTeX, so that no part of it is a command."""
    return "".join(SPECIAL.get(letter, letter) for letter in UNSEEN.sub("", CONTROL.sub(" ", text)))


def _one_line(text: str) -> str:
    return CONTROL.sub(" ", text)


def _row(cells: Iterable[str]) -> str:
    """Returns a row of a LaTeX table, beginning with an empty group.

    Otherwise a first cell that begins with [ or * would be an argument of the line before.
    """
    return f"{{}}{' & '.join(map(escape, cells))} \\\\"


def _table(table: Table, section: Section, names: Mapping[str, str], place: int) -> Iterator[str]:
    kinds = "".join("r" if column.number else "l" for column in table.columns)
    notes = (f"{mark}: {why}" for why, mark in footnotes(table).items())
    caption = escape(". ".join([table.title, *([table.note] if table.note else []), *notes]))
    yield from (r"\begin{table}", r"\centering", rf"\caption{{{caption}}}")
    yield rf"\label{{tab:{section.name}-{place}}}"
    yield from (rf"\begin{{tabular}}{{{kinds}}}", r"\toprule")
    yield _row(column.title for column in table.columns)
    yield r"\midrule"
    for row in table.rows:
        yield _row(shown(cell, names) for cell in row)
    yield from (r"\bottomrule", r"\end{tabular}", r"\end{table}")
