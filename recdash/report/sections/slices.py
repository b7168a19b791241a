"""For whom a candidate is better, and for whom it is not."""

from __future__ import annotations

from itertools import chain
from math import isfinite

from recdash.comparison.segments import EVERYBODY, SegmentComparison, flags
from recdash.comparison.segments import Cell as OneCell
from recdash.domain.results import WHOLE
from recdash.formatting import numbers
from recdash.metrics.naming import is_percent, metric_at
from recdash.report.cells import corrected, count, finding_of, intervals, metric_values, number_of
from recdash.report.context import ReportContext
from recdash.report.document import Cell, Column, Figure, Number, Paragraph, Part, RunName, Section, Table

MOST_ROWS, LEAST_SLICES, MOST_BESIDE = 45, 3, 4
"""Of an attribute with more values than make so many rows, those with most users are told."""


def slices(asked: ReportContext) -> Section | None:
    """None where nothing tells users or items apart, and for a part of them."""
    from recdash.comparison.segment_wording import finding, flag_sentence, subtitle

    put = asked.question
    if not put.by or put.scope != WHOLE:
        return None
    found = asked.space.segments.segmented(asked.shown, put.baseline, put.metric, put.k, put.by, put.terms)
    parts: list[Part] = [Paragraph(flag_sentence(found, flag), "worse") for flag in flags(found)]
    named = _most(found)
    if not found.candidates:
        parts.append(_table(asked, found, named, found.runs))
    parts += [_figure(asked, found, named, runs) for runs in _lines(found)]
    return Section("slices", finding(found), subtitle(found), tuple(parts))


def _most(found: SegmentComparison) -> list[str]:
    """The slices that are told, in their own order."""
    by_users = sorted(found.titles, key=lambda each: -found.cells[each, found.baseline].n)
    kept = set(by_users[: max(LEAST_SLICES, MOST_ROWS // len(found.runs) - 1)])
    return [each for each in found.titles if each in kept]


def _cell(found: SegmentComparison, segment: str, run: str) -> OneCell:
    return found.cells.get((segment, run)) or OneCell(float("nan"), 0, why="not scored")


def _lines(found: SegmentComparison) -> list[tuple[str, ...]]:
    """The runs that stand beside each other in a chart; one of differences has no panel of the baseline."""
    if not found.candidates:
        return []
    runs = found.runs if found.by_value else found.candidates
    return [runs[at : at + MOST_BESIDE] for at in range(0, len(runs), MOST_BESIDE)]


def _figure(
    asked: ReportContext, found: SegmentComparison, named: list[str], runs: tuple[str, ...]
) -> Figure:
    data = {
        "by_value": found.by_value, "percent": is_percent(found.metric), "span": _span(found, named),
        "lines": [{"title": found.titles[each], "n": _counts(found, each)} for each in named],
        "runs": [{"run_id": run, "dots": [_dot(found, each, run) for each in named]} for run in runs],
    }  # fmt: skip
    told = [f"{asked.brief[run]}: {_said(found, run)}" for run in runs]
    where = metric_at(found.metric, found.k)
    return Figure(
        kind="segments", title=f"{where} by slice", note="", alt=f"{where} by slice. {'; '.join(told)}.",
        data=data, table=_table(asked, found, named, tuple(dict.fromkeys((found.baseline, *runs)))),
    )  # fmt: skip


def _span(found: SegmentComparison, named: list[str]) -> list[float]:
    """The ends of one axis for all runs, so that charts of some of them compare."""
    scale = 100 if found.by_value and is_percent(found.metric) else 1
    runs = found.runs if found.by_value else found.candidates
    cells = [_cell(found, each, run) for each in named for run in runs]
    judged = [corrected(cell.pair) for cell in cells if cell.pair]
    values = [cell.value if found.by_value else cell.difference for cell in cells]
    ends = [scale * value for value in (*values, *chain(*judged)) if isfinite(value)]
    return [min(ends), max(ends)] if ends else [0.0, 0.0]


def _counts(found: SegmentComparison, segment: str) -> list[int]:
    return sorted({cell.n for run in found.runs if (cell := _cell(found, segment, run)).n}) or [0]


def _dot(found: SegmentComparison, segment: str, run: str) -> dict[str, float | int | str | None]:
    cell = _cell(found, segment, run)
    low, high = corrected(cell.pair) if cell.pair else (None, None)
    facts = {
        "value": cell.value, "base": _cell(found, segment, found.baseline).value,
        "difference": cell.difference, "low": low, "high": high,
    }  # fmt: skip
    known: dict[str, float | int | str | None] = {name: number_of(value) for name, value in facts.items()}
    return {
        **known,
        "word": cell.word or "",
        "sign": cell.sign,
        "why": cell.why,
        "n": cell.n_shared or cell.n,
    }


def _said(found: SegmentComparison, run: str) -> str:
    """Of all slices; the table has them one by one."""
    if found.by_value:
        return numbers.three(_cell(found, EVERYBODY, run).value)
    judged = found.judged(run)
    words = {word: len(found.with_word(run, word)) for word in ("better", "worse")}
    told = [f"{word} in {count}" for word, count in words.items() if count]
    return f"{' and '.join(told) or 'settled in none'} of {len(judged)}"


def _table(asked: ReportContext, found: SegmentComparison, named: list[str], runs: tuple[str, ...]) -> Table:
    """One row per slice and run, all users first; a slice's rows stand together."""
    keys = [(each, run) for each in (EVERYBODY, *named) for run in runs]
    cells = [_cell(found, *key) for key in keys]
    values = metric_values(found.metric, [cell.value for cell in cells], [cell.why for cell in cells])
    ends = [corrected(cell.pair) if cell.pair else (None, None) for cell in cells]
    bounds = intervals(ends, beside=[cell.difference for cell in cells if cell.pair])
    decimals = bounds[0].low.decimals if bounds else 0
    titles = {EVERYBODY: "All users", **found.titles}
    rows: list[tuple[Cell, ...]] = []
    for (segment, run), cell, value, bound in zip(keys, cells, values, bounds, strict=True):
        gap = Number(number_of(cell.difference), decimals, sign=True)
        judged = finding_of(cell.pair) if cell.pair else _unjudged(found, run, cell)
        rows.append((titles[segment], RunName(run), value, gap, bound, judged, count(cell.n)))
    columns = (
        Column("Slice"), Column("Run"), Column(metric_at(found.metric, found.k), number=True),
        Column(f"Difference to {asked.base}", number=True), Column("95 % CI", number=True), Column("Finding"),
        Column("n", number=True),
    )  # fmt: skip
    bands = tuple(place for place, (_, run) in enumerate(keys) if run == found.baseline)
    more = len(found.titles) - len(named)
    note = f"{more} more slices with fewer users are left out." if more else ""
    return Table(f"{metric_at(found.metric, found.k)} by slice", columns, tuple(rows), note, bands)


def _unjudged(found: SegmentComparison, run: str, cell: OneCell) -> str:
    return "baseline" if run == found.baseline else cell.why or numbers.NONE
