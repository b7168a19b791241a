"""Tables that are already added up: one row per variant and metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash.errors import InputError, Problem

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Summary:
    """One metric in one variant: ``n`` users (or trials), their mean and variance."""

    variant: str
    metric: str
    n: int
    mean: float
    variance: float
    of_trials: bool = False


def summaries(table: pa.Table) -> list[Summary]:
    """Rows with variant and metric, and either n, mean, variance or successes, trials.

    Raises InputError with all that is wrong in the table.
    """
    rows: Sequence[Row] = table.to_pylist()
    problems = [problem for line, row in enumerate(rows, start=1) for problem in _wrong(row, line)]
    problems += _repeated(rows)
    if not rows:
        problems.append(
            Problem("empty-table", "aggregates", "There are no rows", "Upload a table with rows.")
        )
    if problems:
        raise InputError(problems)
    return [_of_trials(row) if _has_trials(row) else _of_users(row) for row in rows]


def _of_users(row: Row) -> Summary:
    mean, variance = float(row["mean"]), float(row["variance"])
    return Summary(str(row["variant"]), str(row["metric"]), int(row["n"]), mean, variance)


def _of_trials(row: Row) -> Summary:
    n = int(row["trials"])
    share = float(row["successes"]) / n
    variance = share * (1 - share) * n / max(n - 1, 1)
    return Summary(str(row["variant"]), str(row["metric"]), n, share, variance, of_trials=True)


def _has_trials(row: Row) -> bool:
    return _is_number(row.get("successes")) and _is_number(row.get("trials"))


def _is_number(cell: Any) -> bool:
    return cell is not None and cell == cell and abs(float(cell)) != float("inf")  # noqa: PLR0124 (NaN)


def _wrong(row: Row, line: int) -> Iterator[Problem]:
    place = f"row {line}"
    if row["variant"] is None or row["metric"] is None:
        yield Problem("missing-name", place, "The variant or the metric is empty", "Name both in every row.")
    if _has_trials(row):
        if not 0 <= row["successes"] <= row["trials"] or row["trials"] < 1:
            found = f"{row['successes']:g} successes of {row['trials']:g} trials cannot be"
            yield Problem(
                "impossible-rate", place, found, "Give at least 1 trial and at most as many successes."
            )
    elif not all(_is_number(row.get(name)) for name in ("n", "mean", "variance")):
        fix = "Give n, mean and variance, or successes and trials."
        yield Problem("missing-number", place, "A number is missing", fix)
    elif row["n"] < 1 or row["variance"] < 0:
        found = f"n is {row['n']:g} and the variance {row['variance']:g}"
        yield Problem("impossible-number", place, found, "n starts at 1 and a variance at 0.")


def _repeated(rows: Sequence[Row]) -> list[Problem]:
    names = [(row["variant"], row["metric"]) for row in rows]
    again = sorted(
        {f"'{metric}' of '{variant}'" for variant, metric in names if names.count((variant, metric)) > 1}
    )
    fix = "Keep one row per variant and metric."
    return [Problem("duplicate-row", "aggregates", f"{name} has several rows", fix) for name in again]


def by_metric(rows: Sequence[Summary]) -> dict[str, list[Summary]]:
    """The rows of each metric, metrics in the order of the table."""
    grouped: dict[str, list[Summary]] = {}
    for row in rows:
        grouped.setdefault(row.metric, []).append(row)
    return grouped


def users(rows: Sequence[Summary]) -> dict[str, int]:
    """Users by variant, of the first metric that was counted per user; trials are not users."""
    counted = [group for group in by_metric(rows).values() if not any(row.of_trials for row in group)]
    return {row.variant: row.n for row in counted[0]} if counted else {}


def notices(rows: Sequence[Summary]) -> tuple[Problem, ...]:
    """A caution where trials stand for users."""
    rates = sorted({row.metric for row in rows if row.of_trials})
    if not rates:
        return ()
    found = f"{', '.join(rates)}: successes of trials, the interval takes each trial as independent"
    fix = "Where one user has several trials it is too narrow: upload sessions, or n, mean and variance."
    return (Problem("independent-trials", "columns 'successes', 'trials'", found, fix),)
