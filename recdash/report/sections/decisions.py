"""What was decided about the experiment, by whom, and why: as it stands in the journal."""

from __future__ import annotations

from recdash.decisions import Decision, decisions
from recdash.formatting.wording import day, named_number
from recdash.report.context import ReportContext
from recdash.report.document import Paragraph, Part, Section


def decided(asked: ReportContext) -> Section | None:
    """None where nothing was decided yet; the newest first."""
    journal = [one for one in asked.space.journal.entries(asked.experiment.id) if one.created <= asked.moment]
    found = decisions(journal[::-1])
    if not found:
        return None
    parts: list[Part] = []
    for one in found:
        parts.append(Paragraph(_told(one)))
        parts += [Paragraph(f"“{text}”", "muted") for text in (one.text, one.although) if text]
    last = next((one for one in found if one.is_current), found[0])
    many = named_number(len(found)).lower()
    older = f"{many.capitalize()} decisions, the newest first. " if len(found) > 1 else ""
    note = f"{older}Nothing is edited: a later decision supersedes an earlier one."
    return Section("decisions", f"{_what(last)}: {last.author}, {day(last.created)}", note, tuple(parts))


def _what(one: Decision) -> str:
    return f"{one.label} {one.about}".strip()


def _told(one: Decision) -> str:
    """With what the numbers said when it was decided."""
    then = f" Then: {one.offline.headline}." if one.offline else ""
    later = "" if one.is_current else " Superseded since."
    return f"{_what(one)}, by {one.author} on {day(one.created)}.{then}{later}"
