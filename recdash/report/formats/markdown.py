"""Writes a document as Markdown with texts and tables, for a wiki or a pull request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from recdash.comparison.wording import user_split
from recdash.formatting import numbers
from recdash.formatting.markdown import escaped, linked, within
from recdash.formatting.sanitize import CONTROL
from recdash.formatting.tables import Cell, Table, footnotes, shown
from recdash.formatting.tables import Number as OneNumber
from recdash.formatting.wording import long_day
from recdash.report.document import (
    Answers,
    Command,
    Document,
    Figure,
    Formula,
    Notices,
    Paragraph,
    Part,
    Split,
)

Names = Mapping[str, str]


def to_markdown(document: Document) -> str:
    """Returns the document as Markdown, with figures as their alternative texts and tables."""
    lines = list(_opening(document))
    for section in document.sections:
        lines += ["", f"### {within(section.title)}"]
        lines += ["", escaped(section.note)] if section.note else []
        for part in section.parts:
            if isinstance(part, Figure) and part == document.lead.chart:
                lines += ["", f"{escaped(part.title)}: see above."]
            else:
                lines += ["", *WRITERS[type(part)](part, document.names)]
    return "\n".join(lines) + "\n"


def _opening(document: Document) -> Iterator[str]:
    """Yields the lines before the appendix: the decision or recommendation, its reasons, risks, summary and
    chart.
    """
    lead = document.lead
    yield from (f"# {within(lead.headline)}", "", _author(document), "")
    if lead.decision:
        yield f"**Decided** by {within(lead.decision.author)} on {_day(lead.decision.moment)}:"
        yield from ("", f"> {escaped(lead.decision.reason)}", "", escaped(lead.decision.evidence), "")
    else:
        yield from (f"**{within(lead.badge)}**{within(f': {lead.why}') if lead.why else ''}", "")
    yield escaped(" ".join(lead.sentences))
    if lead.split:
        yield from ("", f"{escaped(f'{lead.split.run} against {lead.split.base}')}:")
    if lead.numbers or lead.split:
        yield ""
    for number in lead.numbers:
        yield f"- **{within(number.title)}**: {within(f'{number.value}, {number.finding}, {number.note}')}"
    if lead.split:
        yield f"- **Users**: {within(_users(lead.split))}"
    if lead.risks:
        yield from ("", f"## {document.risks_heading}", "", *(f"- {escaped(risk)}" for risk in lead.risks))
    if document.narrative:
        yield from ("", "## Summary", "", *(f"> {escaped(line)}" for line in document.narrative.splitlines()))
    if lead.chart:
        yield ""
        yield from (line.replace("#### ", "## ", 1) for line in _figure(lead.chart, document.names))
    yield from ("", "## Appendix")


def _author(document: Document) -> str:
    """Returns title, day and author of the report, and the link to the dashboard, in italics."""
    day = f"{'Live, as of' if document.live else 'Snapshot of'} {_day(document.moment)}"
    author = f", by {document.author}" if document.author else ""
    link = ""
    if document.link.startswith(("http://", "https://")):
        link = f" {linked('Open this view in the dashboard', document.link)}"
    title = document.title if document.title.endswith(("?", "!", ".")) else f"{document.title}."
    return f"*{escaped(title)} {escaped(f'{day}{author}')}.*{link}"


def _users(split: Split) -> str:
    of, sides = user_split(split.wins, split.ties, split.losses)
    return f"of {numbers.users(of)}, {', '.join(f'{side.words} {side.share}' for side in sides)}"


def _day(moment: str) -> str:
    return long_day(datetime.fromisoformat(moment))


def _paragraph(part: Paragraph, names: Names) -> Iterator[str]:  # noqa: ARG001 - one signature for all parts
    yield escaped(part.text)


def _table(part: Table, names: Names) -> Iterator[str]:
    marks = footnotes(part)
    yield from (f"**{within(part.title)}**", "")
    yield f"| {' | '.join(within(column.title) for column in part.columns)} |"
    yield f"| {' | '.join('---:' if column.number else '---' for column in part.columns)} |"
    for row in part.rows:
        yield f"| {' | '.join(_cell(cell, names, marks) for cell in row)} |"
    notes = [*([part.note] if part.note else []), *(f"{mark}: {why}." for why, mark in marks.items())]
    if notes:
        yield from ("", escaped(" ".join(notes)))


def _cell(cell: Cell, names: Names, marks: Mapping[str, str]) -> str:
    why = marks.get(cell.why, "") if isinstance(cell, OneNumber) and cell.value is None else ""
    return within(shown(cell, names) + (f" ({why})" if why else ""))


def _figure(part: Figure, names: Names) -> Iterator[str]:
    yield f"#### {within(part.title)}"
    yield from ("", escaped(" ".join(filter(None, (part.alt, part.note)))), "")
    yield from _table(part.table, names)


def _formula(part: Formula, names: Names) -> Iterator[str]:  # noqa: ARG001
    yield f"{escaped(part.name)}: {escaped(part.words)}"
    yield from ("", "```latex", part.latex, "```")


def _notices(part: Notices, names: Names) -> Iterator[str]:  # noqa: ARG001
    for notice in part.items:
        yield f"- **{within(notice.place)}**: {escaped(f'{notice.found} {notice.fix}'.strip())}"
    if not part.items:
        yield f"- {escaped(part.nothing)}"


def _answers(part: Answers, names: Names) -> Iterator[str]:  # noqa: ARG001
    for answer in part.items:
        yield f"- **{within(answer.question)}**: {'≠ ' if answer.matters else ''}{escaped(answer.answer)}"


def _command(part: Command, names: Names) -> Iterator[str]:  # noqa: ARG001
    """Yields the command in a code fence that is longer than any sequence of backticks in the command."""
    fence = "`" * (3 + part.line.count("`"))
    yield from (escaped(part.about), "", f"{fence}sh", CONTROL.sub(" ", part.line), fence)


WRITERS: Mapping[type[Part], Callable[[Any, Names], Iterator[str]]] = {
    Paragraph: _paragraph,
    Table: _table,
    Figure: _figure,
    Formula: _formula,
    Notices: _notices,
    Answers: _answers,
    Command: _command,
}
