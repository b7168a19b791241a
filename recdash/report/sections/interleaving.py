"""The section on interleaving tests: which ranking users prefer, beside offline and A/B results."""

from __future__ import annotations

from collections.abc import Iterator

from recdash.domain.records import OnlineTest
from recdash.domain.results import WHOLE
from recdash.formatting import tables
from recdash.formatting.numbers import none_if_nan
from recdash.formatting.tables import (
    PERCENT,
    Cell,
    Column,
    Number,
    RunName,
    Table,
    Word,
    number_columns,
    with_intervals,
)
from recdash.formatting.wording import finding as by_interval
from recdash.formatting.wording import long_day, small
from recdash.metrics import define
from recdash.online.agreement.join import judged_by
from recdash.online.interleaving import wording
from recdash.online.interleaving.results import InterleavingResults
from recdash.report.context import ReportContext
from recdash.report.document import SIGNED_WORDING, Paragraph, Part, Section
from recdash.service.online.interleaving import InterleavedPair, LiftOfPair

NAME = "interleaving"


def interleaving_tests(context: ReportContext) -> list[OnlineTest]:
    """Returns the interleaving tests that the report shows, the newest first: those stored until its moment.

    Empty in a report without this section, and about a part of the users or items.
    """
    if NAME not in context.blocks or not context.has_tests:
        return []
    tests = context.workspace.interleaving.all(context.experiment.id)
    return [test for test in tests if test.created <= context.moment]


def interleaved(context: ReportContext) -> Section | None:
    """Returns the section, the newest test first; None without an interleaving test."""
    tests = interleaving_tests(context)
    if not tests:
        return None
    pairs = _pairs(context)
    parts = [part for test in tests for part in _of_test(context, test, pairs.get(test.id))]
    title = _headline(context, tests[0])
    note = f"{tests[0].name}, {long_day(tests[0].created)}: the items of two rankings in one list."
    return Section(NAME, title, note, tuple(parts))


def _headline(context: ReportContext, test: OnlineTest) -> str:
    return wording.headline(context.workspace.interleaving.results_of(test), *_names(context, test))


def _names(context: ReportContext, test: OnlineTest) -> list[str]:
    """Returns what control and candidate are called: the names of their runs, if they are linked."""
    results = context.workspace.interleaving.results_of(test)
    return [context.names.get(test.links.get(name, ""), name) for name in results.variants]


def _of_test(context: ReportContext, test: OnlineTest, pair: InterleavedPair | None) -> list[Part]:
    results, (a, b) = context.workspace.interleaving.results_of(test), _names(context, test)
    rows = tuple(map(tuple, wording.measure_rows(results)))
    title = f"{test.name}: preference for {b} over {a}"
    return [
        *(Paragraph(str(warning), "worse") for warning in results.warnings),
        Table(title, wording.measure_columns(b), rows, f"{wording.size(results)}."),
        *(Paragraph(text, "muted") for text in wording.reading(results, b)),
        *(_parts_of_requests(test, results, b) if context.wording > SIGNED_WORDING else ()),
        *([_beside(context, pair)] if pair is not None else []),
    ]


def _parts_of_requests(test: OnlineTest, results: InterleavingResults, b: str) -> Iterator[Table]:
    """Yields a table per attribute of the preference in its segments, and one of days, where the upload has
    them.
    """
    about, labels = f"{test.name}: preference for {b} by", results.requests.labels
    for attribute in sorted(labels.segments):
        rows = tuple(map(tuple, wording.segment_rows(results, attribute)))
        columns = wording.segment_columns(attribute, b)
        yield Table(f"{about} {attribute}", columns, rows, wording.segment_note(attribute))
    if labels.day is not None:
        days, note = wording.latest_days(results)
        yield Table(f"{about} day", wording.day_columns(b), tuple(map(tuple, days)), note)


def _pairs(context: ReportContext) -> dict[str, InterleavedPair]:
    """Returns {test: its pair of runs}; empty if the report is not about all users with the experiment's
    relevance threshold.
    """
    if not context.is_about_runs or context.query.scope != WHOLE:
        return {}
    pairs = context.workspace.interleaving.pairs(context.experiment.id, context.query.metric, context.query.k)
    return {pair.test.id: pair for pair in pairs}


def _beside(context: ReportContext, pair: InterleavedPair) -> Table:
    """Returns a table of what offline, interleaving and A/B tests found of a pair of runs."""
    a, b = (RunName(pair.test.links[name]) for name in pair.results.variants)
    tells_all = context.wording > SIGNED_WORDING
    lifts = [lift for lift in pair.lifts if tells_all or lift.sensitivity is not None]
    lines = [_offline(context, pair), _preference(pair), *map(_lift, lifts)]
    columns = (
        *(Column(title) for title in ("Evidence", "Run", "Against")),
        *number_columns("Estimate", "95 % CI"),
        Column("Finding"),
    )
    title = f"{pair.names[1]} against {pair.names[0]}: offline, interleaved and A/B"
    note = "Offline: difference in the metric. Interleaved: preference, 50 % is none. A/B test: lift."
    return Table(title, columns, tuple((line[0], b, a, *line[1:]) for line in lines), note)


def _offline(context: ReportContext, pair: InterleavedPair) -> tuple[Cell, ...]:
    title = f"Offline, {context.query.where}"
    if pair.offline is None:
        none = Number(None, why="the metric has no paired difference")
        return title, none, none, tables.muted("not compared")
    mean, low, high = (none_if_nan(pair.offline[name]) for name in ("mean_diff", "ci_low", "ci_high"))
    amount, interval = with_intervals([mean], [(low, high)])
    word = Word("", "inconclusive")
    if low is not None and high is not None:
        lower_is_better = define(context.query.metric).lower_is_better
        word = tables.finding(by_interval(low, high, lower_is_better=lower_is_better))
    return title, amount[0], interval[0], word


def _preference(pair: InterleavedPair) -> tuple[Cell, ...]:
    _, share, interval, _, word, _ = wording.measure_rows(pair.results)[0]
    if pair.results.reason:
        word = tables.muted("no verdict")
    return f"Interleaved, {pair.test.name}", share, interval, word


def _lift(of_pair: LiftOfPair) -> tuple[Cell, ...]:
    row = of_pair.row
    low, high = judged_by(row)
    lift, interval = with_intervals([none_if_nan(row["lift"])], [(low, high)], unit=PERCENT, scale=100)
    word = tables.finding(str(row.get("word") or "not settled"))
    return f"{of_pair.test.name}, {small(str(row['title']))}", lift[0], interval[0], word
