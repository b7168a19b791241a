"""What would change the verdict: the same decision asked otherwise."""

from __future__ import annotations

from recdash.report.context import ReportContext
from recdash.report.document import Answer, Answers, Section


def changes(context: ReportContext) -> Section | None:
    if context.verdict is None or context.verdict.evidence.leader is None:
        return None
    answers = context.workspace.comparisons.changes(context.verdict_query)
    if not answers:
        return None
    n_changing = sum(answer.matters for answer in answers)
    title = "Nothing asked here would change it"
    if n_changing:
        title = f"{n_changing} of {len(answers)} other questions would change it"
    items = tuple(Answer(answer.question, answer.answer, answer.matters) for answer in answers)
    note = "The same decision at other cutoffs, by another metric or definition, and for other users."
    return Section("changes", title, note, (Answers(items),))
