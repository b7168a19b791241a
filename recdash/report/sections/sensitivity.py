"""The section on what would change the recommendation: other k, metrics, definitions, users or slices."""

from __future__ import annotations

from recdash.comparison.sensitivity import former_title, summary_of
from recdash.report.context import ReportContext
from recdash.report.document import EQUAL_USERS_WORDING, VERDICT_WORDING, Answer, Answers, Section
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
    title = summary_of(answers)
    if context.wording <= EQUAL_USERS_WORDING:
        n_changing = sum(answer.matters for answer in answers)
        title = former_title(answers, "the recommendation")
        if n_changing:
            title = f"{n_changing} of {len(answers)} other questions would change the recommendation"
    items = tuple(Answer(answer.question, answer.answer, answer.matters) for answer in answers)
    note = "The same question at another k, by another metric or definition, and for other users."
    return Section("changes", title, note, (Answers(items),))
