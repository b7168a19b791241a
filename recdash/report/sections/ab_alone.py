"""The opening and the sections of a report about an A/B test alone, in an experiment without runs."""

from __future__ import annotations

from collections.abc import Mapping

from recdash.comparison.key_numbers import KeyNumber
from recdash.decisions.lift_numbers import lift_numbers, users_of
from recdash.decisions.snapshot import AGGREGATED
from recdash.domain.records import OnlineTest
from recdash.errors import NotFound
from recdash.formatting import numbers
from recdash.formatting.numbers import percent
from recdash.formatting.tables import (
    PERCENT,
    Cell,
    Column,
    Number,
    Table,
    Tone,
    count,
    number_columns,
    single,
)
from recdash.formatting.wording import listed, long_day, lowered, many
from recdash.online.analysis.caveats import caveats
from recdash.online.analysis.health import Population
from recdash.online.analysis.next_step import STEP_LOOKS, NextStep, leading_step
from recdash.online.analysis.results import OnlineResults
from recdash.online.analysis.sample import SampleSummary
from recdash.report.context import ReportContext
from recdash.report.document import (
    ROLES_WORDING,
    SIGNED_WORDING,
    TIES_WORDING,
    Decided,
    Lead,
    Paragraph,
    Part,
    Section,
)
from recdash.report.sections.caveats import notes
from recdash.report.sections.online import adjusted, all_lifts, broken_split, planned, validity

GONE = "What this report is about is not here any more: its A/B test was deleted."
RULES = (
    "Lifts are relative to control, with 95 % CIs. Better or worse: the CI excludes zero; the goals of all "
    "variants are corrected together (Holm). A guardrail holds if its CI excludes a loss of the margin, and "
    "is broken if its CI excludes every smaller loss. Inconclusive: neither."
)
ROLES = ("goal", "guardrail", "other")
"""The roles of metrics in the order of the table."""
BETTER = {"up": "more", "down": "less"}


def _test_of(context: ReportContext) -> OnlineTest:
    """Returns the A/B test that the report is about. Raises NotFound if it was deleted."""
    if context.test is None:
        raise NotFound(GONE)
    return context.test


def headline_of_test(context: ReportContext) -> str:
    """Returns the headline of the report: the decision, else what the results say to do."""
    today, _ = _next_steps(context)
    return context.decision.headline if context.decision else today


def _next_steps(context: ReportContext) -> tuple[str, tuple[NextStep, ...]]:
    return context.workspace.online_tests.next_steps(
        _test_of(context).id,
        former=context.wording <= TIES_WORDING,
        moment=context.moment,
        planned=context.tells_plan,
        all_roles=context.wording <= ROLES_WORDING,
    )


def lead_of_test(context: ReportContext) -> Lead:
    """Returns the opening: the decision on a variant, else what the results say to do."""
    test, source = _test_of(context), context.workspace.online_tests
    today, steps = _next_steps(context)
    results = source.results(test.id)
    variant = _variant(context, results, steps)
    sign, tone = _look(context, results, steps)
    badge = steps[0].title if len(steps) == 1 else "By the A/B test"
    unknown = caveats(results, _sample(context, test))
    return Lead(
        sign,
        badge,
        tone,
        test.name,
        headline_of_test(context),
        (*_reasons(steps), *([_against(results, variant)] if variant else [])),
        decision=_decided(context, today),
        numbers=_numbers(context, results, variant) if variant else (),
        risks=tuple(unknown),
    )


def _numbers(context: ReportContext, results: OnlineResults, variant: str) -> tuple[KeyNumber, ...]:
    lifts = lift_numbers(results, variant, tells_adjusted=context.tells_adjusted)
    return tuple(number for _, number in lifts)


def _look(context: ReportContext, results: OnlineResults, steps: tuple[NextStep, ...]) -> tuple[str, Tone]:
    """Returns the sign and the tone of the leading step; without one those of a broken split, or of a test
    that nothing can be said of.
    """
    leading = leading_step(steps)
    if leading is None:
        return STEP_LOOKS["check the split"] if results.health.blocked else (numbers.NONE, "same")
    if not context.tells_equal_users and leading.action in ("keep running", "inconclusive"):
        return numbers.NONE, "same"
    return STEP_LOOKS[leading.action]


def _variant(context: ReportContext, results: OnlineResults, steps: tuple[NextStep, ...]) -> str:
    """Returns the variant in question: the decided one unless it is the control now, else that of the leading
    step; empty without one.
    """
    decided = context.decision.subject.variant if context.decision else None
    if decided and decided.name in results.variants and decided.name != results.control and steps:
        return decided.name
    leading = leading_step(steps)
    return leading.variant if leading else ""


def _reasons(steps: tuple[NextStep, ...]) -> list[str]:
    if len(steps) == 1:
        return [steps[0].reason]
    return [f"{step.title}: {step.variant}. {step.reason}" for step in steps]


def _against(results: OnlineResults, variant: str) -> str:
    """Returns a sentence on the users of the test."""
    users = users_of(results)
    return f"{variant} against {results.control}{f', {users}' if users else ''}."


def _decided(context: ReportContext, today: str) -> Decided | None:
    decision = context.decision
    if decision is None:
        return None
    moment = decision.created.isoformat()
    return Decided(decision.author, moment, decision.text, f"The results today: {today}.", None)


def _sample(context: ReportContext, test: OnlineTest) -> SampleSummary | None:
    return None if test.kind == "aggregates" else context.workspace.online_tests.sample(test.id)


# ── sections ─────────────────────────────────────────────────────────────────────────────────


def results_of_test(context: ReportContext) -> Section:
    """Returns the section with all lifts, the split of users, and how long and how large the test was."""
    test, source = _test_of(context), context.workspace.online_tests
    results, (headline, _) = source.results(test.id), _next_steps(context)
    frame = source.result_frame(test.id)
    parts: list[Part] = [*planned(context), *broken_split(test)]
    parts += [all_lifts(context, test, frame), *adjusted(context, frame)]
    if results.users:
        parts.append(_split(results, test.rules.get("split") or {}))
    parts += [Paragraph(text) for text in (_checked(context, test, results), _size(context, test, results))]
    parts += validity(test, frame, str(context.question.online_metric))
    note = f"{test.name}, uploaded on {long_day(test.created)}: each variant against {results.control}."
    return Section("online", headline, note, tuple(parts))


def _split(results: OnlineResults, planned: Mapping[str, float]) -> Table:
    """Returns a table with the users of each variant, their share, and the planned share."""
    total, n_planned = sum(results.users.values()), sum(planned.values())
    rows: list[tuple[Cell, ...]] = []
    for variant in results.variants:
        n = results.users.get(variant, 0)
        wanted = planned[variant] / n_planned if variant in planned else None
        share = single(n / total if total else None, unit=PERCENT, scale=100)
        plan = single(wanted, unit=PERCENT, scale=100) if wanted else Number(None, why="no planned split")
        rows.append((variant, count(n), share, plan))
    columns = (Column("Variant"), *number_columns("Users", "Share", "Planned"))
    return Table("Users by variant", columns, tuple(rows))


def _checked(context: ReportContext, test: OnlineTest, results: OnlineResults) -> str:
    """Returns a sentence on the check of the split."""
    p = results.health.srm_p
    if p is None:
        return f"The split of users was not checked: {results.health.unchecked or 'it is unknown'}."
    against = "the planned split" if test.rules.get("split") else "an even split; no planned split is given"
    is_former = p < 0.001 and not context.tells_equal_users
    text = (
        f"Sample ratio mismatch (SRM): {'p <0.001' if is_former else numbers.p_equals(p)} against {against}."
    )
    smaller = results.health.smaller_populations if context.wording > SIGNED_WORDING else ()
    titles = {row.metric: lowered(row.title) for row in results.rows}
    most = sum(results.users.values())
    return " ".join([text, *(_population(population, most, titles) for population in smaller)])


def _population(population: Population, most: int, titles: Mapping[str, str]) -> str:
    """Returns a sentence on the users of metrics that do not count the users of the largest one, ``most``."""
    n = sum(population.users.values())
    which, users = "Fewer" if n < most else "Other", numbers.users(n)
    metrics = listed([titles.get(name, name) for name in population.metrics])
    split = "" if population.srm_p is None else f", SRM {numbers.p_equals(population.srm_p)}"
    return f"{which} users count for {metrics}: {users}{split}."


def _size(context: ReportContext, test: OnlineTest, results: OnlineResults) -> str:
    """Returns sentences on dates, planned size and the lift that the test can detect."""
    sample, planned_users = _sample(context, test), test.rules.get("planned_users")
    if context.plan is not None:
        planned_users = context.plan.plan.users or planned_users
    said = ["No dates were uploaded."]
    if sample is not None and sample.dates:
        said = [f"{sample.dates}, {many(sample.days, 'day')}."]
    said.append(
        f"Planned sample size: {numbers.users(planned_users)}."
        if planned_users
        else "No planned sample size is given."
    )
    goal = next((row for row in results.rows if row.role == "goal"), None)
    if sample is not None and goal is not None and len(results.variants) > 1:
        smallest = context.workspace.online_analysis.detectable(test.id, goal.metric)
        said += [
            f"With 80 % power, the test finds a lift of {numbers.three(percent(lift))} % in "
            f"{lowered(goal.title)} of {variant}."
            for variant, lift in smallest.items()
            if lift is not None
        ]
    return " ".join(said)


def metrics_of_test(context: ReportContext) -> Section:
    """Returns the section with the definitions of the test's metrics and the rules of judgement."""
    test = _test_of(context)
    results = context.workspace.online_tests.results(test.id)
    definitions = context.workspace.online_analysis.definitions(test.id)
    rows: list[tuple[Cell, ...]] = []
    for row in sorted((row for row in results.rows if row.is_control), key=lambda row: ROLES.index(row.role)):
        margin = single(row.margin, unit=PERCENT, scale=100)
        shown = margin if row.margin else Number(None, why="only guardrails have a margin")
        meaning = definitions[row.metric].meaning if row.metric in definitions else AGGREGATED
        rows.append((row.title, row.role, BETTER[row.direction], shown, meaning))
    columns = (Column("Metric"), Column("Role"), Column("Better"), *number_columns("Margin"))
    table = Table("Metrics of the test", (*columns, Column("Definition")), tuple(rows))
    title = f"{many(len(rows), 'metric')} of {test.name}"
    return Section("defined", title, "", (Paragraph(RULES), table))


def notes_of_test(context: ReportContext) -> Section:
    """Returns the section with the notices of the test."""
    return notes(_test_of(context).notices, "No problem was found in the upload.")
