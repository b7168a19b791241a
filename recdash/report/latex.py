"""The tables of a document for a paper: booktabs, everything that a user wrote escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from recdash.report.document import Document, Section, Table, footnotes, shown

SPECIAL: Mapping[str, str] = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_",
    "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "−": "$-$", "–": "--", "±": r"$\pm$",
    "▲": r"$\blacktriangle$", "▼": r"$\blacktriangledown$", "≠": r"$\neq$", "≤": r"$\leq$", "≥": r"$\geq$",
    "×": r"$\times$", "λ": r"$\lambda$", "τ": r"$\tau$", "…": r"\dots{}", "⇄": r"$\rightleftarrows$",
    "“": "``", "”": "''", "’": "'", "\u2060": "",
}  # fmt: skip
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
HEAD = (
    "% {title}",
    "% {headline}",
    r"% Needs \usepackage{{booktabs}}, \usepackage{{amssymb}} and \usepackage{{textcomp}}; made by recdash.",
)


def to_latex(document: Document) -> str:
    """One table environment per table, to be put into a text as it is."""
    facts = {"title": _one_line(document.title), "headline": _one_line(document.lead.headline)}
    lines = [line.format(**facts) for line in HEAD]
    lines += [f"% {_one_line(sentence)}" for sentence in document.lead.sentences]
    for place, (section, table) in enumerate(document.tables(), start=1):
        lines += ["", *_table(table, section, document.names, place)]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Text for LaTeX: none of it is a command."""
    return "".join(SPECIAL.get(letter, letter) for letter in CONTROL.sub(" ", text))


def _one_line(text: str) -> str:
    return CONTROL.sub(" ", text)


def _table(table: Table, section: Section, names: Mapping[str, str], place: int) -> Iterator[str]:
    marks = footnotes(table)
    kinds = "".join("r" if column.number else "l" for column in table.columns)
    told = [
        table.title,
        *([table.note] if table.note else []),
        *(f"{mark}: {why}" for why, mark in marks.items()),
    ]
    yield from (r"\begin{table}", r"\centering", rf"\caption{{{escape('. '.join(told))}}}")
    yield rf"\label{{tab:{section.name}-{place}}}"
    yield from (rf"\begin{{tabular}}{{{kinds}}}", r"\toprule")
    yield " & ".join(escape(column.title) for column in table.columns) + r" \\"
    yield r"\midrule"
    for row in table.rows:
        yield " & ".join(escape(shown(cell, names)) for cell in row) + r" \\"
    yield from (r"\bottomrule", r"\end{tabular}", r"\end{table}")
