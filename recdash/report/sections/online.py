"""The section on an A/B test: its results next to the offline scores of the served runs, and why they
differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, NamedTuple, cast

from recdash.comparison.headlines import agreement, some
from recdash.diagnosis.summary import summary
from recdash.domain.records import OnlineTest
from recdash.domain.results import WHOLE
from recdash.errors import RecdashError
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number, none_if_nan
from recdash.formatting.records import Row, plain_columns, records
from recdash.formatting.signs import OPEN, sign_of
from recdash.formatting.tables import (
    PERCENT,
    Cell,
    Column,
    Number,
    RunName,
    Table,
    Tone,
    Word,
    count,
    number_columns,
    single,
    with_intervals,
)
from recdash.formatting.wording import count_range, listed, long_day, shown, small
from recdash.metrics import define
from recdash.metrics.naming import lower_is_better as lower_offline_is_better
from recdash.online.agreement.agreement import AGREE, DISAGREE, UNDECIDED
from recdash.online.agreement.join import (
    SPLIT_BROKEN,
    SRM_BLOCKS,
    SideResults,
    is_mixed,
    judged_by,
    lower_metric_is_better,
    offline_intervals,
    outcome,
    split_counts,
    split_is_broken,
)
from recdash.online.analysis.judgement import TONES
from recdash.online.analysis.results import OnlineRow, validity_notes
from recdash.report.context import ReportContext
from recdash.report.document import (
    AGREEMENT_WORDING,
    NOVELTY_WORDING,
    RISKS_WORDING,
    SIGNED_WORDING,
    THRESHOLD_WORDING,
    TIES_WORDING,
    Figure,
    Paragraph,
    Part,
    Section,
)

if TYPE_CHECKING:
    import pandas as pd

MOST_EXPLAINED, MOST_ROWS = 2, 45
SIDES = ("offline_delta", "offline_low", "offline_high")
LIFTS = ("online_lift", "online_low", "online_high")
NOT_JUDGED = "not judged (SRM)"
OFFLINE_APART = "Offline numbers of this section have the experiment's relevance threshold."
DIRECTION = " (lower is better)"
"""Follows the axis title of a metric of which less is better."""
QUADRANTS = "Offline change against online lift, 95 % CIs. Hollow: inconclusive."


class OfflineOnlineResults(NamedTuple):
    """The runs that an A/B test served, with their offline results and one online metric, whose title is
    ``title``.
    """

    test: OnlineTest
    metric: str
    title: str
    rows: pd.DataFrame
    results: pd.DataFrame

    @property
    def is_judged(self) -> bool:
        return not split_is_broken(self.test.notices)

    @property
    def lower_is_better(self) -> bool:
        """Returns whether less of the online metric is better."""
        return lower_metric_is_better(self.results, self.metric)


def offline_online_results(context: ReportContext) -> OfflineOnlineResults | None:
    """Returns the offline and online results; None without an A/B test, and if no variant is linked to a
    run.
    """
    test, metric = context.test, context.question.online_metric
    if test is None or metric is None:
        return None
    query = context.query
    joined = context.workspace.online_tests.offline_online(
        test.id, query.metric, query.k, metric, context.holm, former=context.wording <= TIES_WORDING
    )
    rows = joined[joined["quadrant"] != "control"]
    rows = rows[rows["run_id"].isin(list(context.names))].reset_index(drop=True)
    if rows.empty:
        return None
    results = context.workspace.online_tests.result_frame(test.id)
    title = str(results.loc[results["metric"] == metric, "title"].iloc[0])
    return OfflineOnlineResults(test, metric, title, rows, results)


def online(context: ReportContext) -> Section | None:
    """Returns the section; None without an A/B test with linked runs."""
    sides = offline_online_results(context)
    if sides is None:
        return None
    query, (test, metric, title, rows, results) = context.query, sides
    apart = "" if query.scope == WHOLE else f" {OFFLINE_APART}"
    note = (
        f"{test.name}, {long_day(test.created)}: {context.query.where} offline, {small(title)} online. "
        f"A run keeps its position and colour on both sides. Filled bars: the CI excludes zero.{apart}"
    )
    parts: list[Part] = [*planned(context), *broken_split(test), *_figures(context, sides)]
    parts += [Paragraph(text) for text in _sentences(context, sides)]
    if context.wording > THRESHOLD_WORDING:
        parts += _other_disagreements(context, sides)
    agreed = context.workspace.agreement.of(
        test.id, query.metric, query.k, metric, former=context.wording <= TIES_WORDING
    )
    parts += [Paragraph(text, "muted") for text in agreed.sentences]
    odd = [row["variant"] for row in records(rows) if row["quadrant"] in DISAGREE]
    if define(context.query.metric).has_user_values:  # those of rating errors are not explained
        parts += [_explained(context, test, variant) for variant in odd[:MOST_EXPLAINED]]
    parts += [all_lifts(context, test, results), *adjusted(context, results)]
    parts += validity(test, results, metric)
    return Section("online", _title(context, rows), note, tuple(parts))


def _title(context: ReportContext, rows: pd.DataFrame) -> str:
    """Returns the section's title: the headline of the page *Offline vs online*, in reports of
    ``TIES_WORDING`` and older only on how many candidates both sides agree.
    """
    if context.wording > TIES_WORDING:
        return headline_of_sides(rows)
    offline = offline_intervals(rows) if context.wording > AGREEMENT_WORDING else ()
    return agreement(list(rows["quadrant"]), offline)


def headline_of_sides(rows: pd.DataFrame) -> str:
    """Returns which runs won on one side and lost on the other, then which won or lost both.

    Without a disagreement it says on how many candidates offline and online agree, and which other metrics
    a run lost that did not lose by this one.
    """
    names = {
        quadrant: list(rows.loc[rows["quadrant"] == quadrant, "run"]) for quadrant in (*DISAGREE, *AGREE)
    }
    if any(names[quadrant] for quadrant in DISAGREE):
        return "; ".join(f"{some(runs, 'candidates')} {quadrant}" for quadrant, runs in names.items() if runs)
    lost = [f"{row['run']} lost {row['also_lost']} online" for row in records(rows) if is_mixed(row)]
    agreed = agreement(list(rows["quadrant"]), offline_intervals(rows))
    return ", but ".join([agreed, *([listed(lost)] if lost else [])])


def _sentences(context: ReportContext, sides: OfflineOnlineResults) -> list[str]:
    """Returns a sentence for each run; one of ``EQUAL_USERS_WORDING`` and older has its former digits."""
    if context.tells_equal_users or not sides.is_judged:
        return list(sides.rows["sentence"])
    results = [
        SideResults(
            row["run"], row["quadrant"], [none_if_nan(row[name]) for name in SIDES],
            [none_if_nan(row[name]) for name in LIFTS],
        )
        for row in records(sides.rows)
    ]  # fmt: skip
    where = context.query.where
    return [of_run.sentence(where, sides.title, former=True) for of_run in results]


# ── offline and online results ───────────────────────────────────────────────────────────────


def _figures(context: ReportContext, sides: OfflineOnlineResults) -> list[Part]:
    table, base = _table(context, sides), _base(context, sides.test)
    direction = DIRECTION if _falls_are_better(context, sides) else ""
    heading = f"Online: {sides.title}, lift over {base}, %{direction}"
    lifts = _side(context, sides, heading, LIFTS, lifted=True)
    scatter = quadrants(context, sides)
    if scatter is None:
        return [lifts, table]
    heading = f"Offline: {context.query.where}, difference from {base}{_offline_direction(context)}"
    return [_side(context, sides, heading, SIDES, lifted=False), lifts, scatter]


def _base(context: ReportContext, test: OnlineTest) -> str:
    """Returns the name of the run that control served, or "the control" if it is unknown."""
    return context.names.get(test.links.get(test.control) or context.experiment.baseline or "", "the control")


def _side(
    context: ReportContext,
    sides: OfflineOnlineResults,
    heading: str,
    names: tuple[str, str, str],
    *,
    lifted: bool,
) -> Figure:
    """Returns the bars of the offline or online results, with their table.

    ``names`` are the columns of the value and its interval; ``lifted`` is whether they are lifts, shown in %.
    """
    rows = sides.rows
    scale, unit = (100, PERCENT) if lifted else (1, "")
    values_in_words = [
        f"{context.short_names[row['run_id']]} {numbers.three(scale * row[names[0]])}{unit}"
        for row in records(rows)
        if is_number(row[names[0]])
    ]
    ends = list(zip(rows[names[1]], rows[names[2]], strict=True))
    values, bounds = with_intervals(list(rows[names[0]]), ends, unit=unit, scale=scale)
    lines = tuple(zip(map(RunName, rows["run_id"]), values, bounds, strict=True))
    columns = (Column("Run"), *number_columns("Lift" if lifted else "Difference", "95 % CI"))
    table = Table(heading, columns, lines)
    alt = f"{heading}. {listed(values_in_words)}."
    data = {"rows": plain_columns(rows, ["run_id", *names]), "lifts": lifted, "judged": sides.is_judged}
    if _falls_are_better(context, sides) if lifted else _offline_falls_are_better(context):
        data["lower_is_better"] = True
    if context.tells_equal_users:
        data["open"] = OPEN
    return Figure("bars", heading, "95 % CIs", alt, data, table, wide=False)


def _falls_are_better(context: ReportContext, sides: OfflineOnlineResults) -> bool:
    """Returns whether the charts say that less of the online metric is better; False in a report of
    ``TIES_WORDING`` and older.
    """
    return context.wording > TIES_WORDING and sides.lower_is_better


def _offline_falls_are_better(context: ReportContext) -> bool:
    """Returns whether the charts say that less of the offline metric is better; False in a report of
    ``TIES_WORDING`` and older.
    """
    return context.wording > TIES_WORDING and lower_offline_is_better(context.query.metric)


def _offline_direction(context: ReportContext) -> str:
    return DIRECTION if _offline_falls_are_better(context) else ""


def quadrants(context: ReportContext, sides: OfflineOnlineResults | None = None) -> Figure | None:
    """Returns a scatter chart of offline against online results; None without an A/B test, or offline
    differences.
    """
    sides = sides or offline_online_results(context)
    if sides is None or not any(is_number(value) for value in sides.rows["offline_delta"]):
        return None
    rows, judged = sides.rows, sides.is_judged
    outcomes = [
        f"{context.short_names[row['run_id']]} {_in_words(context, row) if judged else NOT_JUDGED}"
        for row in records(rows)
    ]
    falls = _falls_are_better(context, sides)
    base = _base(context, sides.test)
    titles = axis_titles(
        context.query.where, base, sides.title,
        lower_is_better=falls, offline_lower_is_better=_offline_falls_are_better(context),
    )  # fmt: skip
    columns = plain_columns(rows, ["run_id", *SIDES, *LIFTS])
    data = {"rows": columns, "judged": judged, "titles": titles}
    if falls:
        data["lower_is_better"] = True
    if _offline_falls_are_better(context):
        data["offline_lower_is_better"] = True
    heading = _disagreements(context, sides)
    table = _table(context, sides)
    return Figure("quadrants", heading, QUADRANTS, f"{listed(outcomes)}.", data, table)


def _disagreements(context: ReportContext, sides: OfflineOnlineResults) -> str:
    """Returns the runs whose offline and online results disagree, such as ``ALS won offline, lost online``.

    If there are none, it says so, with the other online metrics in which there are some.
    """
    odd = [f"{row['run']} {row['quadrant']}" for row in records(sides.rows) if row["quadrant"] in DISAGREE]
    if odd:
        return "; ".join(odd[:MOST_EXPLAINED])
    if not sides.is_judged:
        return "No metric is judged (SRM)"
    if context.wording <= RISKS_WORDING:
        return "No significant disagreement"
    others = _disagreeing_others(context, sides)
    if others and context.wording > TIES_WORDING:
        return f"Offline and online disagree significantly in {listed(others)}, not in {small(sides.title)}"
    but = f", but in {listed(others)}" if others else ""
    return f"No significant disagreement in {small(sides.title)}{but}"


def _in_words(context: ReportContext, row: Row) -> str:
    """Returns how offline and online agree for a run; in reports of ``TIES_WORDING`` and older without what
    else it lost.
    """
    return outcome(row) if context.wording > TIES_WORDING else str(row["quadrant"])


def axis_titles(
    where: str, base: str, online_title: str, *, lower_is_better: bool, offline_lower_is_better: bool
) -> list[str]:
    """Returns the titles of the x axis and the y axis of the scatter chart."""
    offline = DIRECTION if offline_lower_is_better else ""
    online = DIRECTION if lower_is_better else ""
    return [f"Offline: change in {where} vs {base}{offline}", f"Online: lift in {online_title}, %{online}"]


def _table(context: ReportContext, sides: OfflineOnlineResults) -> Table:
    """Returns a table with a row for each run: offline result, online result, and how they agree."""
    rows = sides.rows
    offline, below = with_intervals(
        list(rows["offline_delta"]), list(zip(rows["offline_low"], rows["offline_high"], strict=True))
    )
    ends = list(zip(rows["online_low"], rows["online_high"], strict=True))
    lifts, above = with_intervals(list(rows["online_lift"]), ends, unit=PERCENT, scale=100)
    lines: list[tuple[Cell, ...]] = []
    for row, off, off_ci, on, on_ci in zip(records(rows), offline, below, lifts, above, strict=True):
        reading = _in_words(context, row) if sides.is_judged else "not judged"
        if row["quadrant"] == UNDECIDED and sides.is_judged and context.wording > TIES_WORDING:
            reading = outcome(row, sides.title)
        lines.append((RunName(row["run_id"]), row["variant"], off, off_ci, on, on_ci, reading))
    where = context.query.where
    titles = (f"Offline, {where}", "95 % CI, offline", f"Online, {small(sides.title)}", "95 % CI, online")
    columns = (Column("Run"), Column("Variant"), *number_columns(*titles), Column("Result"))
    return Table("Offline and online, run by run", columns, tuple(lines))


# ── explanations, and all results of the test ────────────────────────────────────────────────


def _explained(context: ReportContext, test: OnlineTest, variant: str) -> Paragraph:
    """Returns the summary of the twelve checks for a variant."""
    query = context.query
    try:
        answer = context.workspace.diagnosis.explain(
            test.id,
            variant,
            query.metric,
            query.k,
            context.question.online_metric or "",
            by_record=False,
        )
    except RecdashError as error:
        return Paragraph(f"{variant} cannot be explained here: {error}", "muted")
    causes = summary(
        answer.answers,
        former=context.wording <= THRESHOLD_WORDING,
        mismatch=context.wording <= TIES_WORDING,
        former_verdicts=context.wording <= RISKS_WORDING,
        former_answers=context.wording <= NOVELTY_WORDING,
        signed_answers=context.wording == SIGNED_WORDING,
    )
    return Paragraph(f"{answer.question} {causes}")


def _other_disagreements(context: ReportContext, sides: OfflineOnlineResults) -> list[Part]:
    """Returns a sentence on the other online metrics in which a run won on one side and lost on the other;
    empty if there are none.
    """
    others = _disagreeing_others(context, sides)
    return [Paragraph(f"Offline and online disagree in {listed(others)}.")] if others else []


def _disagreeing_others(context: ReportContext, sides: OfflineOnlineResults) -> list[str]:
    """Returns the titles of the other online metrics in which a run won on one side and lost on the other."""
    query, source = context.query, context.workspace.online_tests
    former = context.wording <= TIES_WORDING
    disagreeing = source.disagreeing_metrics(sides.test.id, query.metric, query.k, former=former)
    return [small(title) for metric, title in disagreeing.items() if metric != sides.metric]


def planned(context: ReportContext) -> list[Paragraph]:
    """Returns who planned the A/B test and when, and what differs from the plan; empty without a plan, and in
    reports of older wordings.
    """
    check = context.plan
    if check is None:
        return []
    deviations = [Paragraph(deviation.text, "worse") for deviation in check.deviations]
    return [Paragraph(check.sentence), *deviations]


def broken_split(test: OnlineTest) -> list[Paragraph]:
    """Returns that no metric is judged, with the users per variant; empty without a sample ratio mismatch."""
    return [
        Paragraph(f"{SRM_BLOCKS} {split_counts(notice)}", "worse")
        for notice in test.notices
        if notice.code == SPLIT_BROKEN
    ]


def all_lifts(context: ReportContext, test: OnlineTest, results: pd.DataFrame) -> Table:
    """Returns a table of goals and guardrails by variant, the chosen metric first, with at most ``MOST_ROWS``
    rows.
    """
    chosen = context.question.online_metric
    rows = [row for row in records(results) if row["role"] != "other" or row["metric"] == chosen]
    metrics = list(dict.fromkeys((str(chosen), *(row["metric"] for row in rows))))
    n_variants = max(1, len({row["variant"] for row in rows}))
    listed_metrics = metrics[: max(1, MOST_ROWS // n_variants)]
    rows = [row for metric in listed_metrics for row in rows if row["metric"] == metric]
    judged = not split_is_broken(test.notices)
    lines = [lift_row(row, judged=judged, sign=context.sign_of) for row in rows]
    names = (Column("Online metric"), Column("Variant"))
    values = number_columns("Value", "Lift", "95 % CI")
    columns = (*names, *values, Column("Finding"), *number_columns("n"))
    bands = tuple(place for place, row in enumerate(rows) if row["is_control"])
    users = count_range(row["n_users"] for row in rows)
    n_left_out = len(metrics) - len(listed_metrics)
    more = f" {n_left_out} more metrics are not shown." if n_left_out else ""
    note = f"Lift over control; CIs of the goals are corrected together. n = {users} per variant."
    return Table(f"{test.name}: goals and guardrails", columns, tuple(lines), f"{note}{more}", bands)


def adjusted(context: ReportContext, results: pd.DataFrame) -> list[Paragraph]:
    """Returns a paragraph with the unadjusted lifts beside those that CUPED adjusted; empty without one, and
    in reports of older wordings.
    """
    rows = [row for row in records(results) if row["role"] != "other"]
    text = adjusted_lifts(rows) if context.tells_adjusted else ""
    return [Paragraph(text, "muted")] if text else []


def adjusted_lifts(rows: Iterable[Row]) -> str:
    """Returns a note with the unadjusted lifts beside those that CUPED adjusted; empty without one."""
    lifts = [
        f"{small(row['title'])} {row['variant']} {numbers.change(100 * row['lift'], PERCENT)} "
        f"({numbers.change(100 * row['plain_lift'], PERCENT)})"
        for row in rows
        if is_number(row["plain_lift"])
    ]
    if not lifts:
        return ""
    return (
        "Adjusted for pre-test behaviour (CUPED), so not the plain ratio of the values, with the unadjusted "
        f"lift in brackets: {listed(lifts)}."
    )


def validity(test: OnlineTest, results: pd.DataFrame, chosen: str) -> list[Paragraph]:
    """Returns the notes on validity that the page Results shows below the lifts; empty for a sample ratio
    mismatch.
    """
    if split_is_broken(test.notices):
        return []
    names = [field.name for field in fields(OnlineRow)]
    rows = [OnlineRow(**{name: row[name] for name in names}) for row in records(results)]
    notes = validity_notes(row for row in rows if row.role != "other" or row.metric == chosen)
    return [Paragraph(text, "muted") for text in notes]


def lift_row(row: Row, *, judged: bool, sign: Callable[[str], str] = sign_of) -> tuple[Cell, ...]:
    """Returns metric, variant, value, lift, its interval, finding and n for a row of an A/B test's
    results. ``sign`` returns the sign of a finding.
    """
    none = Number(None, why="control itself")
    change: tuple[Cell, ...] = (none, none, Word("", "control", "muted"))
    if not row["is_control"]:
        low, high = judged_by(row)
        lift, bounds = with_intervals([row["lift"]], [(low, high)], unit=PERCENT, scale=100)
        change = (lift[0], bounds[0], _finding(row, judged=judged, sign=sign))
    # shares are shown in %
    scale, unit = (100, PERCENT) if row["unit"] == "0..1" else (1, f" {row['unit']}" if row["unit"] else "")
    value = single(row["value"], unit=unit, scale=scale)
    if value.value is None:
        value = replace(value, why=str(row["note"] or ""))
    return row["title"], row["variant"], value, *change, count(int(row["n_users"]))


def _finding(row: Row, *, judged: bool, sign: Callable[[str], str] = sign_of) -> Word:
    """Returns the finding of the A/B test's row, in which guardrails and metrics of which less is better have
    their own rules.
    """
    if not judged:
        return Word("", "not judged", "muted")
    word = str(row["word"] or "")
    if not word:
        return Word("", "–", "muted")
    return Word(sign(word), shown(word), cast("Tone", TONES.get(word, "same")))
