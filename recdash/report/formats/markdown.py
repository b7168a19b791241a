"""A document as Markdown: text and tables, for a wiki or a pull request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from recdash.formatting.sanitize import CONTROL
from recdash.report.document import (
    Answers,
    Cell,
    Command,
    Document,
    Figure,
    Formula,
    Notices,
    Paragraph,
    Part,
    Section,
    Table,
    footnotes,
    shown,
)
from recdash.report.document import Number as OneNumber

Names = Mapping[str, str]
MARKUP = re.compile(r"([\\`*_{}\[\]<>|#~&$^])")
LINK = re.compile(r"(?i)(https?|ftp|mailto|xmpp|www)(?=[:.])")
MENTION = re.compile(r"@(?!\d+(?![\w.-]))")
"""Not the cutoff of a metric: nDCG@10."""
AT_START = re.compile(r"^(\s*)([-+=]|\d+(?=[.)](?:\s|$)))")


def escaped(text: str) -> str:
    """Text that starts a line of Markdown: no markup, no link, no list; sentences stay as they are."""
    return AT_START.sub(_not_a_list, within(text))


def within(text: str) -> str:
    """Text within a line: no markup, no link, nobody mentioned; numbers and metrics stay as they are."""
    clean = LINK.sub("\\1\u2060", MENTION.sub("\u2060@", CONTROL.sub(" ", text)))
    return MARKUP.sub(r"\\\1", clean)


def _not_a_list(found: re.Match[str]) -> str:
    return f"{found[1]}\u2060{found[2]}"


def to_markdown(document: Document) -> str:
    """The whole text; of figures their alternative text and their tables."""
    lead = document.lead
    lines = [
        f"# {within(lead.headline)}",
        "",
        f"**{within(lead.badge)}**: {escaped(lead.why)}.",
        "",
        escaped(" ".join(lead.sentences)),
        "",
        f"*{escaped(document.title)}. {escaped(_when(document))}*",
    ]
    if document.narrative:
        lines += ["", *(f"> {escaped(line)}" for line in document.narrative.splitlines())]
    for section in document.sections:
        lines += ["", *_section(section, document.names)]
    return "\n".join(lines) + "\n"


def _when(document: Document) -> str:
    by = f", by {document.author}" if document.author else ""
    return f"{'As of' if document.live else 'Snapshot of'} {document.moment}{by}"


def _section(section: Section, names: Names) -> Iterator[str]:
    yield f"## {within(section.title)}"
    if section.note:
        yield from ("", escaped(section.note))
    for part in section.parts:
        yield ""
        yield from WRITTEN[type(part)](part, names)


def _paragraph(part: Paragraph, names: Names) -> Iterator[str]:  # noqa: ARG001 - one signature for all parts
    yield escaped(part.text)


def _table(part: Table, names: Names) -> Iterator[str]:
    marks = footnotes(part)
    yield from (f"**{within(part.title)}**", "")
    yield f"| {' | '.join(within(column.title) for column in part.columns)} |"
    yield f"| {' | '.join('---:' if column.number else '---' for column in part.columns)} |"
    for row in part.rows:
        yield f"| {' | '.join(_cell(cell, names, marks) for cell in row)} |"
    reasons = [f"{mark}: {why}." for why, mark in marks.items()]
    if part.note or reasons:
        yield from ("", escaped(" ".join([*([part.note] if part.note else []), *reasons])))


def _cell(cell: Cell, names: Names, marks: Mapping[str, str]) -> str:
    why = marks.get(cell.why, "") if isinstance(cell, OneNumber) and cell.value is None else ""
    return within(shown(cell, names) + (f" ({why})" if why else ""))


def _figure(part: Figure, names: Names) -> Iterator[str]:
    yield f"### {within(part.title)}"
    yield from ("", escaped(" ".join(filter(None, (part.alt, part.note)))), "")
    yield from _table(part.table, names)


def _formula(part: Formula, names: Names) -> Iterator[str]:  # noqa: ARG001
    yield f"{escaped(part.name)}: {escaped(part.words)}"
    yield from ("", "```latex", part.latex, "```")


def _notices(part: Notices, names: Names) -> Iterator[str]:  # noqa: ARG001
    told = [f"- **{within(one.place)}**: {escaped(f'{one.found} {one.fix}'.strip())}" for one in part.items]
    yield from told or [f"- {escaped(part.nothing)}"]


def _answers(part: Answers, names: Names) -> Iterator[str]:  # noqa: ARG001
    for one in part.items:
        yield f"- **{within(one.question)}**: {'≠ ' if one.matters else ''}{escaped(one.answer)}"


def _command(part: Command, names: Names) -> Iterator[str]:  # noqa: ARG001
    """In a fence longer than any that the line holds: names of runs are in it."""
    fence = "`" * (3 + part.line.count("`"))
    yield from (escaped(part.about), "", f"{fence}sh", CONTROL.sub(" ", part.line), fence)


WRITTEN: Mapping[type[Part], Callable[[Any, Names], Iterator[str]]] = {
    Paragraph: _paragraph,
    Table: _table,
    Figure: _figure,
    Formula: _formula,
    Notices: _notices,
    Answers: _answers,
    Command: _command,
}
