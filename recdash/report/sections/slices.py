"""The section on segments of users or items in which a candidate is better or worse."""

from __future__ import annotations

from itertools import chain
from math import isfinite

from recdash.comparison.cells import metric_values
from recdash.comparison.segments import EVERYBODY, SegmentComparison, flags
from recdash.domain.results import WHOLE
from recdash.formatting import numbers
from recdash.formatting.tables import (
    Cell,
    Column,
    Number,
    RunName,
    Table,
    count,
    intervals,
    number_columns,
    number_of,
)
from recdash.metrics.naming import is_percent, scale_of
from recdash.report.context import ReportContext
from recdash.report.document import TIES_WORDING, Figure, Paragraph, Part, Section

MOST_ROWS, LEAST_SLICES, MOST_BESIDE = 45, 3, 4
"""If an attribute's values would give more than MOST_ROWS rows, only those with the most users are shown."""


def slices(context: ReportContext) -> Section | None:
    """Returns the section; None if the question has no segments, or is about one of them."""
    from recdash.comparison.segment_wording import finding, flag_sentence, subtitle

    question = context.question
    if not question.by or context.query.scope != WHOLE:
        return None
    result = context.workspace.segments.segmented(context.judged_query, question.by)
    parts: list[Part] = [Paragraph(flag_sentence(result, flag), "worse") for flag in flags(result)]
    by_users = sorted(result.titles, key=lambda name: -result.cells[name, result.query.baseline].n)
    largest = set(by_users[: max(LEAST_SLICES, MOST_ROWS // len(result.runs) - 1)])
    names = [name for name in result.titles if name in largest]
    if not result.candidates:
        parts.append(_table(context, result, names, result.runs))
    else:  # a chart of differences has no panel for the baseline
        runs = result.runs if result.by_value else result.candidates
        panels = (runs[first : first + MOST_BESIDE] for first in range(0, len(runs), MOST_BESIDE))
        parts += [_figure(context, result, names, panel) for panel in panels]
    heading = finding(result, former=not context.tells_equal_users)
    note = subtitle(result, former=context.wording <= TIES_WORDING)
    return Section("slices", heading, note, tuple(parts))


def _figure(
    context: ReportContext, result: SegmentComparison, names: list[str], runs: tuple[str, ...]
) -> Figure:
    lines = []
    for name in names:
        counts = {result.cell(name, run).n for run in result.runs} - {0}
        lines.append({"title": result.titles[name], "n": sorted(counts) or [0]})
    dots = {run: [_dot(context, result, name, run) for name in names] for run in runs}
    data = {
        "by_value": result.by_value,
        "percent": is_percent(result.query.metric),
        "span": _span(context, result, names),
        "lines": lines,
        "runs": [{"run_id": run, "dots": dots_of_run} for run, dots_of_run in dots.items()],
    }
    outcomes = "; ".join(f"{context.short_names[run]}: {_outcome(result, run)}" for run in runs)
    title = f"{result.query.where} by segment"
    table = _table(context, result, names, tuple(dict.fromkeys((result.query.baseline, *runs))))
    return Figure("segments", title, note="", alt=f"{title}. {outcomes}.", data=data, table=table)


def _span(context: ReportContext, result: SegmentComparison, names: list[str]) -> list[float]:
    """Returns the ends of the axis that all runs share, so that their charts can be compared."""
    scale = scale_of(result.query.metric) if result.by_value else 1
    runs = result.runs if result.by_value else result.candidates
    cells = [result.cell(name, run) for name in names for run in runs]
    judged = [context.interval_of(cell.pair) for cell in cells if cell.pair]
    values = [cell.value if result.by_value else cell.difference for cell in cells]
    ends = [scale * value for value in (*values, *chain(*judged)) if isfinite(value)]
    return [min(ends), max(ends)] if ends else [0.0, 0.0]


def _dot(
    context: ReportContext, result: SegmentComparison, segment: str, run: str
) -> dict[str, float | int | str | None]:
    cell = result.cell(segment, run)
    low, high = context.interval_of(cell.pair) if cell.pair else (None, None)
    return {
        "value": number_of(cell.value),
        "base": number_of(result.cell(segment, result.query.baseline).value),
        "difference": number_of(cell.difference),
        "low": number_of(low),
        "high": number_of(high),
        "word": cell.word or "",
        "sign": context.finding_of(cell.pair).sign if cell.pair else numbers.NONE,
        "why": cell.why,
        "n": cell.n_shared or cell.n,
    }


def _outcome(result: SegmentComparison, run: str) -> str:
    """Returns in how many segments a run is better or worse, in words."""
    if result.by_value:
        return numbers.three(result.cell(EVERYBODY, run).value)
    counts = {word: len(result.with_word(run, word)) for word in ("better", "worse")}
    settled = " and ".join(f"{word} in {count}" for word, count in counts.items() if count)
    return f"{settled or 'significant in none'} of {len(result.judged(run))}"


def _table(
    context: ReportContext, result: SegmentComparison, names: list[str], runs: tuple[str, ...]
) -> Table:
    """Returns a table with one row per segment and run, all users first."""
    keys = [(name, run) for name in (EVERYBODY, *names) for run in runs]
    cells = [result.cell(*key) for key in keys]
    values = metric_values(result.query.metric, [cell.value for cell in cells], [cell.why for cell in cells])
    ends = [context.interval_of(cell.pair) if cell.pair else (None, None) for cell in cells]
    bounds = intervals(ends, beside=[cell.difference for cell in cells if cell.pair])
    decimals = bounds[0].low.decimals if bounds else 0
    titles = {EVERYBODY: "All users", **result.titles}
    rows: list[tuple[Cell, ...]] = []
    for (segment, run), cell, value, bound in zip(keys, cells, values, bounds, strict=True):
        gap = Number(number_of(cell.difference), decimals, sign=True)
        unjudged = "baseline" if run == result.query.baseline else cell.why or numbers.NONE
        judged = context.finding_of(cell.pair) if cell.pair else unjudged
        rows.append((titles[segment], RunName(run), value, gap, bound, judged, count(cell.n)))
    metric = result.query.where
    values_and_gaps = number_columns(metric, f"Difference from {context.base}", "95 % CI")
    columns = (Column("Segment"), Column("Run"), *values_and_gaps, Column("Finding"), *number_columns("n"))
    bands = tuple(place for place, (_, run) in enumerate(keys) if run == result.query.baseline)
    more = len(result.titles) - len(names)
    note = f"{more} more segments with fewer users are not shown." if more else ""
    return Table(f"{metric} by segment", columns, tuple(rows), note, bands)
