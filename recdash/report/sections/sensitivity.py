"""What would change the verdict: the same decision asked otherwise."""

from __future__ import annotations

from recdash.report.context import ReportContext
from recdash.report.document import Answer, Answers, Section


def changes(asked: ReportContext) -> Section | None:
    if asked.verdict is None or asked.verdict.evidence.leader is None:
        return None
    one = asked.question
    found = asked.space.comparisons.changes(
        asked.contenders, one.baseline, one.metric, one.k, one.terms, one.scope
    )
    if not found:
        return None
    matter = sum(change.matters for change in found)
    title = "Nothing asked here would change it" if not matter else _title(matter, len(found))
    items = tuple(Answer(change.question, change.answer, change.matters) for change in found)
    note = "The same decision at other cutoffs, by another metric or definition, and for other users."
    return Section("changes", title, note, (Answers(items),))


def _title(matter: int, asked: int) -> str:
    return f"{matter} of {asked} other questions would change it"
