"""The decisions about the experiment, with author and reason, from the journal."""

from __future__ import annotations

from recdash.decisions import Decision, decisions
from recdash.formatting.wording import day, named_number
from recdash.report.context import ReportContext
from recdash.report.document import Paragraph, Part, Section


def decided(context: ReportContext) -> Section | None:
    """None where nothing was decided yet; the newest first."""
    journal = context.workspace.journal.entries(context.experiment.id)
    made = decisions([entry for entry in journal if entry.created <= context.moment][::-1])
    if not made:
        return None
    parts: list[Part] = []
    for decision in made:
        then = f" Then: {decision.offline.headline}." if decision.offline else ""
        later = "" if decision.is_current else " Superseded since."
        by = f"by {decision.author} on {day(decision.created)}"
        parts.append(Paragraph(f"{_title(decision)}, {by}.{then}{later}"))
        parts += [Paragraph(f"“{text}”", "muted") for text in (decision.text, decision.although) if text]
    last = next((decision for decision in made if decision.is_current), made[0])
    older = f"{named_number(len(made)).capitalize()} decisions, the newest first. " if len(made) > 1 else ""
    note = f"{older}Nothing is edited: a later decision supersedes an earlier one."
    return Section("decisions", f"{_title(last)}: {last.author}, {day(last.created)}", note, tuple(parts))


def _title(decision: Decision) -> str:
    return f"{decision.label} {decision.about}".strip()
