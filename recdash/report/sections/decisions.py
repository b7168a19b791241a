"""The section with the decisions about the experiment, their authors and reasons."""

from __future__ import annotations

from recdash.decisions import Decision
from recdash.decisions.checklist import ITEM_SIGNS
from recdash.formatting.tables import Column, Table, Word
from recdash.formatting.wording import long_day, named_number
from recdash.report.context import ReportContext
from recdash.report.document import THRESHOLD_WORDING, TIES_WORDING, Paragraph, Part, Section


def decided(context: ReportContext) -> Section | None:
    """Returns the section, with the newest decision first; None if nothing was decided yet."""
    made = context.decisions
    if not made:
        return None
    is_old = context.wording <= THRESHOLD_WORDING
    replaced = " Superseded since." if is_old else " Replaced since."
    parts: list[Part] = []
    for decision in made:
        then = f" Evidence at the time: {decision.offline.headline}." if decision.offline else ""
        later = "" if decision.is_current else replaced
        by = f"by {decision.author} on {long_day(decision.created)}"
        parts.append(Paragraph(f"{_title(decision)}, {by}.{then}{later}"))
        parts += [Paragraph(f"“{text}”", "muted") for text in (decision.text, decision.although) if text]
        if decision.checklist and decision.is_current and context.wording > TIES_WORDING:
            parts.append(_checklist(decision))
    last = next((decision for decision in made if decision.is_current), made[0])
    older = f"{named_number(len(made)).capitalize()} decisions, the newest first. " if len(made) > 1 else ""
    rule = "A decision cannot be edited; a new one replaces it."
    if is_old:
        rule = "Decisions are immutable: a later one supersedes an earlier one."
    return Section(
        "decisions",
        f"{_title(last)}: {last.author}, {long_day(last.created)}",
        f"{older}{rule}",
        tuple(parts),
    )


def _checklist(decision: Decision) -> Table:
    """Returns the checklist of a decision as it stood, with a row per check."""
    rows = [
        (item.title, Word(sign, item.state, tone), item.reason)
        for item in decision.checklist
        for sign, tone in (ITEM_SIGNS[item.state],)
    ]
    columns = (Column("Check"), Column("State"), Column("Why"))
    return Table(f"Checklist on {long_day(decision.created)}", columns, tuple(rows))


def _title(decision: Decision) -> str:
    return f"{decision.label} {decision.about}".strip()
