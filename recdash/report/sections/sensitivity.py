"""The section on what would change the recommendation: other k, metrics, definitions, users or slices."""

from __future__ import annotations

from recdash.comparison.sensitivity import former_summary, summary_of
from recdash.report.context import ReportContext
from recdash.report.document import VERDICT_WORDING, Answer, Answers, Section
from recdash.report.sections.first_changes import first_changes


def changes(context: ReportContext) -> Section | None:
    """Returns the section; None without a candidate. In older reports it is about the offline verdict."""
    if context.wording <= VERDICT_WORDING:
        return first_changes(context)
    if context.evidence is None or context.evidence.leader is None:
        return None
    answers = context.answers
    if not answers:
        return None
    title = summary_of(answers) if context.tells_equal_users else former_summary(answers)
    items = tuple(Answer(answer.question, answer.answer, answer.matters) for answer in answers)
    note = "The same question at another k, by another metric or definition, and for other users."
    return Section("changes", title, note, (Answers(items),))
