"""Checks aggregated tables of A/B tests: which columns a row needs, and which values are impossible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import pyarrow as pa

from recdash import arrow as pc
from recdash.errors import Problem, UploadError
from recdash.ingest.values import Findings, in_rows

MOST_COUNTED: Mapping[str, float] = {
    "n": 1e12, "trials": 1e12, "successes": 1e12, "mean": 1e12, "variance": 1e24,
}  # fmt: skip


def finish_aggregates(table: pa.Table, findings: Findings) -> pa.Table:
    """Returns the checked table. Raises UploadError for incomplete rows and impossible values.

    Each row needs n, mean and variance, or successes and trials.
    """
    _refuse_negative(table, ("n", "variance", "successes", "trials"))
    _refuse_impossible(table)
    sets = (("n", "mean", "variance"), ("successes", "trials"))
    complete = [_have_all(table, names) for names in sets if set(names) <= set(table.column_names)]
    usable = complete[0] if len(complete) == 1 else pc.or_(*complete)
    n_incomplete = table.num_rows - (pc.sum(usable).as_py() or 0)
    if n_incomplete:
        finding = f"neither n, mean and variance nor successes and trials in {in_rows(n_incomplete)}"
        fix = "Fill in one of the two sets."
        raise UploadError(Problem("incomplete-rows", "table", finding, fix, n_incomplete))
    if len(complete) == 2:
        _note_contradictions(table.filter(pc.and_(*complete)), findings)
    return table


def _refuse_impossible(table: pa.Table) -> None:
    """Raises UploadError for counts that are not whole numbers, and for infinite or too large numbers."""
    problems = []
    for name in [name for name in MOST_COUNTED if name in table.column_names]:
        size = pc.abs(table[name])
        large = pc.greater(size, MOST_COUNTED[name])
        broken = pc.and_not(pc.less(pc.floor(size), size), large)
        problems += _first_of(large, table, name, "too-large", "is larger than any test can have")
        if name in ("n", "trials"):
            problems += _first_of(
                broken, table, name, "not-whole", "is not a whole number of users or trials"
            )
    if problems:
        raise UploadError(problems)


def _first_of(bad: pa.ChunkedArray, table: pa.Table, name: str, code: str, says: str) -> list[Problem]:
    """Returns the problem of the rows marked by ``bad``, with value, metric and variant of the first one.

    The result is empty if no row is marked.
    """
    rows = table.filter(bad)
    if not rows.num_rows:
        return []
    where = f"'{rows['metric'][0]}' of '{rows['variant'][0]}'"
    finding = f"'{rows[name][0].as_py():.12g}' {says} ({where}), in {in_rows(rows.num_rows)}"
    return [Problem(code, f"column '{name}'", finding, "Correct it, or leave the row out.", rows.num_rows)]


def _note_contradictions(table: pa.Table, findings: Findings) -> None:
    """Adds a notice if n and mean contradict successes and trials in some rows."""
    rate = pc.divide(table["successes"], table["trials"])  # NaN without trials; NaN equals no number
    alike = pc.less_equal(pc.abs(pc.subtract(rate, table["mean"])), 1e-3)
    same = pc.and_(alike, pc.equal(table["n"], table["trials"]))
    count = table.num_rows - (pc.sum(same).as_py() or 0)
    if count:
        first = int(pc.index(pc.fill_null(same, False), False).as_py())
        example = f"'{table['metric'][first].as_py()}' of '{table['variant'][first].as_py()}'"
        finding = "n and mean contradict successes and trials in {rows}"
        fix = "n, mean and variance are used. Leave one of the two sets empty to choose the other."
        findings.notice("two-sets", "table", finding, fix, count, lambda: example)


def _have_all(table: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    """Returns [rows] True where all these columns have a finite number."""
    return reduce(pc.and_, (pc.is_finite(pc.fill_null(table[name], float("nan"))) for name in names))


def _refuse_negative(table: pa.Table, names: Sequence[str]) -> None:
    problems, fix = [], "Counts and times start at 0."
    for name in names:
        count = pc.sum(pc.less(table[name], 0)).as_py() if name in table.column_names else 0
        if count:
            finding = f"negative in {in_rows(count)}"
            problems.append(Problem("negative", f"column '{name}'", finding, fix, count))
    if problems:
        raise UploadError(problems)
