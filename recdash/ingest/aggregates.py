"""Checks aggregated tables of A/B tests: which columns a row needs, and which values are impossible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import pyarrow as pa

from recdash import arrow as pc
from recdash.errors import Problem, UploadError
from recdash.ingest.attributes import MOST_LABELS, ROW_NUMBERS, numbers_if_all
from recdash.ingest.columns import DAY
from recdash.ingest.moment_columns import (
    MAIN,
    is_deviation,
    is_product,
    moment_columns,
    parsed,
)
from recdash.ingest.timestamps import read_moments
from recdash.ingest.values import ColumnCheck, Findings, in_rows, is_missing, is_text

MOST_COUNTED: Mapping[str, float] = {
    "n": 1e12, "trials": 1e12, "successes": 1e12, "mean": 1e12, "variance": 1e24,
}  # fmt: skip
MOST_SUMMED = 1e24
"""A larger sum of amounts or of their squares is an error."""
OWN = ("variant", "metric", "n", "mean", "variance", "successes", "trials", "day")
SETS = (("n", "mean", "variance"), ("successes", "trials"))


def finish_aggregates(table: pa.Table, findings: Findings) -> pa.Table:
    """Returns the checked table. Raises UploadError for incomplete rows and impossible values.

    Each row needs n, mean and variance; n, sum and sum_squares; or successes and trials (or n). Columns such
    as ``revenue_sum`` are renamed (``moment_columns``). Columns of text, and of days, are kept if several
    rows have the same variant and metric; the rows are then those of segments or days.
    """
    table, written = _with_moments(table, findings)
    table = _with_groups(table, findings)
    _refuse_negative(table, written)
    _refuse_impossible(table, written)
    complete = [_have_all(table, names) for names in _sets(table)]
    usable = reduce(pc.or_, complete, pa.chunked_array([pa.array([False] * table.num_rows, pa.bool_())]))
    n_incomplete = table.num_rows - (pc.sum(usable).as_py() or 0)
    if n_incomplete:
        finding = "neither n, mean and variance nor successes and trials, nor n, sum and sum_squares, in "
        fix = "Fill in one of the sets."
        raise UploadError(
            Problem("incomplete-rows", "table", f"{finding}{in_rows(n_incomplete)}", fix, n_incomplete)
        )
    both = [_have_all(table, names) for names in SETS if {*names} <= {*table.column_names}]
    if len(both) == 2:
        _note_contradictions(table.filter(pc.and_(*both)), findings)
    return table


def _sets(table: pa.Table) -> list[tuple[str, ...]]:
    """Returns the sets of columns of this table, one of which each row must have filled in."""
    names = {*table.column_names}
    sums = [(column, moment) for column in names if (moment := parsed(column)) is not None]
    levels = {moment.names[0] for _, moment in sums if not moment.is_second}
    squares = [
        column
        for column, moment in sums
        if moment.is_second and moment.names[0] in levels & {MAIN, *_wide(table)}
    ]
    sets = [*SETS, ("n", "successes"), *(("n", column) for column in squares)]
    return [of_row for of_row in sets if {*of_row} <= names]


def _wide(table: pa.Table) -> list[str]:
    """Returns the totals of a table without a column metric; empty if it has the column."""
    if "metric" in table.column_names:
        return []
    return [moment.names[0] for column in table.column_names if (moment := parsed(column)) is not None]


def _with_moments(table: pa.Table, findings: Findings) -> tuple[pa.Table, Mapping[str, str]]:
    """Returns the table with its columns of sums, means and variances of totals renamed, as numbers, and how
    each of them is written in the file.

    In a table without a column metric, columns of numbers that say neither are removed with a notice.
    """
    has_metrics = "metric" in table.column_names
    if has_metrics:
        table = _with_variances(table)
    free = [name for name in table.column_names if name not in OWN]
    written: dict[str, str] = {}
    if not has_metrics and {"mean", "variance"} & {*table.column_names}:
        bare = [name for name in table.column_names if name in ("mean", "variance") or is_deviation(name)]
        table = table.rename_columns([f"{MAIN}_{n}" if n in bare else n for n in table.column_names])
        free = [name for name in free if name not in bare] + [f"{MAIN}_{name}" for name in bare]
        own_names = {f"{MAIN}_{name}": name for name in bare}
    else:
        own_names = {}
    for column, moment in moment_columns(free, of_one_metric=has_metrics).items():
        values = numbers_if_all(table[column])
        _refuse_text(values, column)
        index = table.column_names.index(column)
        table = table.set_column(index, str(moment), values.cast(pa.float64(), safe=False))
        written[str(moment)] = own_names.get(column, column)
    if not has_metrics:
        _note_unused(table, written, findings)
        table = _without_other_numbers(table, findings)
    return table, written


def _with_variances(table: pa.Table) -> pa.Table:
    """Returns the table with a column of standard deviations beside ``mean`` as variances."""
    names = table.column_names
    deviations = [name for name in names if name not in OWN and is_deviation(name)]
    if "mean" not in names or "variance" in names or len(deviations) != 1:
        return table
    (name,) = deviations
    values = numbers_if_all(table[name])
    _refuse_text(values, name)
    deviation = values.cast(pa.float64(), safe=False)
    if problems := _below_zero(deviation, name, is_spread=True):
        raise UploadError(problems)
    return table.set_column(names.index(name), "variance", pc.multiply(deviation, deviation))


def _refuse_text(values: pa.ChunkedArray, column: str) -> None:
    if is_text(values.type):
        finding, fix = "not all values are numbers", "Write numbers, or rename the column."
        raise UploadError(Problem("bad-number", f"column '{column}'", finding, fix))


def _note_unused(table: pa.Table, written: Mapping[str, str], findings: Findings) -> None:
    """Adds a notice for each column of a total that is no metric: it has gaps, or its squares are lacking."""
    moments = {column: moment for column in written if (moment := parsed(column)) is not None}
    varied = {moment.names[0] for moment in moments.values() if moment.is_second}
    for column, moment in moments.items():
        name = moment.names[0]
        gaps = pc.sum(pc.invert(pc.is_finite(pc.fill_null(table[column], float("nan"))))).as_py() or 0
        if gaps:
            finding, fix = "ignored: no number in {rows}", "Fill in all rows."
            findings.notice("column-left-out", f"column '{written[column]}'", finding, fix, gaps)
        elif len(set(moment.names)) == 1 and name not in varied:
            _note_unvaried(written[column], name, findings)


def _note_unvaried(column: str, total: str, findings: Findings) -> None:
    finding = "ignored: no column says how much it varies between users"
    fix = f"Add {total}_sum_squares, the sum over users of its square."
    findings.notice("column-left-out", f"column '{column}'", finding, fix, 1)


def _without_other_numbers(table: pa.Table, findings: Findings) -> pa.Table:
    for name in [name for name in table.column_names if name not in OWN and parsed(name) is None]:
        values = numbers_if_all(table[name])
        if pa.types.is_floating(values.type) or (pa.types.is_integer(values.type) and not _is_code(values)):
            if is_product(name):
                finding = "ignored: no column has the squares of both totals"
                fix = "Add the sum over users of the square of each, such as revenue_sum_squares."
                findings.notice("column-left-out", f"column '{name}'", finding, fix, 1)
            elif not ROW_NUMBERS.fullmatch(name.strip().lower()):
                _note_unvaried(name, name, findings)
            table = table.remove_column(table.column_names.index(name))
    return table


def _is_code(values: pa.ChunkedArray) -> bool:
    return len(values.unique()) <= MOST_LABELS and len(values.unique()) < len(values) // 2


def _with_groups(table: pa.Table, findings: Findings) -> pa.Table:
    """Returns the table with columns of segments and days, if rows repeat variant and metric.

    Other columns without a meaning are removed.
    """
    keys = [name for name in ("variant", "metric") if name in table.column_names]
    others = [name for name in table.column_names if name not in OWN and parsed(name) is None]
    has_groups = len(table.select(keys).group_by(keys).aggregate([])) < table.num_rows
    if "day" in table.column_names:
        place = table.column_names.index("day")
        if has_groups:
            table = table.set_column(place, "day", _days(table["day"], findings))
        else:
            table = table.remove_column(place)
    for name in others:
        place, labels = table.column_names.index(name), _labels(table[name])
        if not has_groups or len(labels.unique()) > MOST_LABELS:
            table = table.remove_column(place)
            if has_groups:
                finding = f"ignored: more than {MOST_LABELS} distinct values are too many for segments"
                findings.notice("column-left-out", f"column '{name}'", finding, "", 1)
            continue
        table = table.set_column(place, name, labels)
    return table


def _labels(column: pa.ChunkedArray) -> pa.ChunkedArray:
    words = pc.utf8_trim_whitespace(column.cast(pa.string()))
    return pc.if_else(is_missing(words), None, words)


def _days(column: pa.ChunkedArray, findings: Findings) -> pa.ChunkedArray:
    """Returns the days of a column, which may be written as 20261102. Raises UploadError for other values."""
    values = numbers_if_all(column).combine_chunks()
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        values = values.cast(pa.int64(), safe=False).cast(pa.string())
        values = pc.replace_substring_regex(values, r"^(\d{4})(\d\d)(\d\d)$", r"\1-\2-\3")
        # other numbers would be read as seconds since 1970
        values = pc.if_else(
            pc.match_substring(values, "-"), values, pc.binary_join_element_wise("no. ", values, "")
        )
    check = ColumnCheck(DAY, "day", findings, lambda row: f"row {row + 1}", zone="UTC")
    moments = read_moments(values, check)
    if findings.problems:
        raise UploadError(findings.problems)
    return pa.chunked_array([moments.cast(pa.date32(), safe=False)])


def _refuse_impossible(table: pa.Table, written: Mapping[str, str]) -> None:
    """Raises UploadError for counts that are not whole numbers, and for infinite or too large numbers."""
    most = {**MOST_COUNTED, **{name: MOST_SUMMED for name in table.column_names if parsed(name) is not None}}
    problems = []
    for name in [name for name in most if name in table.column_names]:
        size, column = pc.abs(table[name]), written.get(name, name)
        large = pc.greater(size, most[name])
        broken = pc.and_not(pc.less(pc.floor(size), size), large)
        problems += _first_of(large, table, name, column, "too-large", "is larger than any test can have")
        if name in ("n", "trials"):
            problems += _first_of(
                broken, table, name, column, "not-whole", "is not a whole number of users or trials"
            )
    if problems:
        raise UploadError(problems)


def _first_of(
    bad: pa.ChunkedArray, table: pa.Table, name: str, column: str, code: str, says: str
) -> list[Problem]:
    """Returns the problem of the rows marked by ``bad``, with value, metric and variant of the first one.

    The result is empty if no row is marked.
    """
    rows = table.filter(bad)
    if not rows.num_rows:
        return []
    of = f"'{rows['metric'][0]}' of " if "metric" in rows.column_names else ""
    where = f"{of}'{rows['variant'][0]}'"
    finding = f"'{rows[name][0].as_py():.12g}' {says} ({where}), in {in_rows(rows.num_rows)}"
    return [Problem(code, f"column '{column}'", finding, "Correct it, or leave the row out.", rows.num_rows)]


def _note_contradictions(table: pa.Table, findings: Findings) -> None:
    """Adds a notice if n and mean contradict successes and trials in some rows."""
    rate = pc.divide(table["successes"], table["trials"])  # NaN without trials; NaN equals no number
    alike = pc.less_equal(pc.abs(pc.subtract(rate, table["mean"])), 1e-3)
    same = pc.and_(alike, pc.equal(table["n"], table["trials"]))
    count = table.num_rows - (pc.sum(same).as_py() or 0)
    if count:
        first = int(pc.index(pc.fill_null(same, False), False).as_py())
        of = f"'{table['metric'][first].as_py()}' of " if "metric" in table.column_names else ""
        example = f"{of}'{table['variant'][first].as_py()}'"
        finding = "n and mean contradict successes and trials in {rows}"
        fix = "n, mean and variance are used. Leave one of the two sets empty to choose the other."
        findings.notice("two-sets", "table", finding, fix, count, lambda: example)


def _have_all(table: pa.Table, names: Sequence[str]) -> pa.ChunkedArray:
    """Returns [rows] True where all these columns have a finite number."""
    return reduce(pc.and_, (pc.is_finite(pc.fill_null(table[name], float("nan"))) for name in names))


def _refuse_negative(table: pa.Table, written: Mapping[str, str]) -> None:
    """Raises UploadError for counts, variances and standard deviations below 0."""
    spreads = [name for name in written if name.startswith(("var(", "std("))]
    problems = [
        problem
        for name in ("n", "variance", "successes", "trials", *spreads)
        if name in table.column_names
        for problem in _below_zero(
            table[name], written.get(name, name), is_spread=name in ("variance", *spreads)
        )
    ]
    if problems:
        raise UploadError(problems)


def _below_zero(values: pa.ChunkedArray, column: str, *, is_spread: bool) -> list[Problem]:
    """Returns the problem of a column's values below 0; nothing if there are none."""
    count = pc.sum(pc.less(values, 0)).as_py()
    if not count:
        return []
    fix = "A variance or standard deviation is at least 0." if is_spread else "Counts and times start at 0."
    return [Problem("negative", f"column '{column}'", f"negative in {in_rows(count)}", fix, count)]
