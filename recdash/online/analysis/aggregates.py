"""Reads the aggregated table of an A/B test: one row per variant and metric."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash.errors import InputError, Problem
from recdash.online.analysis import lift
from recdash.online.metrics import KNOWN, OnlineMetric, summarised

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Summary:
    """One metric in one variant: the number ``n`` of users or trials, with their mean and variance.

    ``of_trials`` says that ``n`` counts trials. ``users`` is the number of users, None if the table counts
    only trials. The variance is NaN if there are more trials than users, because the variance between users
    is then unknown.
    """

    variant: str
    metric: str
    n: int
    mean: float
    variance: float
    of_trials: bool = False
    users: int | None = None

    @property
    def repeats_users(self) -> bool:
        """Returns True if there are more trials than users: the trials are then not independent."""
        return self.of_trials and self.users is not None and self.n > self.users


def summaries(table: pa.Table) -> list[Summary]:
    """Returns the rows of an aggregated table, checked.

    Each row has variant and metric, and either n, mean and variance, or successes and trials. Raises
    InputError with all problems: rates above 1, counts below 1, duplicate rows.
    """
    rows = [_summary(row) for row in table.to_pylist()]
    problems = [
        *(problem for line, row in enumerate(rows, start=1) for problem in _problems(row, line)),
        *_repeated_rows(rows),
    ]
    if problems:
        raise InputError(problems)
    return rows


def _summary(row: Mapping[str, Any]) -> Summary:
    """Returns a row's mean over users if it has one, else its rate over trials.

    Trials are assumed to be independent.
    """
    name = (str(row["variant"]), str(row["metric"]))
    users = int(row["n"]) if _is_known(row.get("n")) else None
    if users is not None and all(_is_known(row.get(column)) for column in ("mean", "variance")):
        return Summary(*name, users, float(row["mean"]), float(row["variance"]), users=users)
    trials = row["trials"] if _is_known(row.get("trials")) else row["n"]
    n, successes = int(trials), float(row["successes"])
    share = successes / max(n, 1)
    is_repeated = users is not None and n > users
    variance = math.nan if is_repeated else share * (1 - share) * n / max(n - 1, 1)
    return Summary(*name, n, share, variance, of_trials=True, users=users)


def _is_known(number: float | None) -> bool:
    """Returns True for a finite number; tables in memory and Parquet files may have NaN in an empty cell."""
    return number is not None and math.isfinite(number)


def _problems(row: Summary, line: int) -> Iterator[Problem]:
    place = f"row {line}"
    fewest = row.n if row.users is None else min(row.n, row.users)
    if fewest < 1:
        message = f"'{row.metric}' counts {fewest} of '{row.variant}'"
        yield Problem("nobody-counted", place, message, "Remove the row, or give at least 1.")
    if row.of_trials and row.mean > 1:
        message = f"'{row.metric}' has more successes than trials in '{row.variant}'"
        yield Problem("impossible-rate", place, message, "Are the two columns swapped?")


def _repeated_rows(rows: Sequence[Summary]) -> list[Problem]:
    times = Counter((row.metric, row.variant) for row in rows)
    fix = "Keep one row per variant and metric."
    return [
        Problem("duplicate-row", "aggregates", f"'{metric}' of '{variant}' has {count} rows", fix, count)
        for (metric, variant), count in times.items()
        if count > 1
    ]


def measured(
    rows: Sequence[Summary], metrics: Sequence[OnlineMetric] = ()
) -> Iterator[tuple[OnlineMetric, dict[str, Any]]]:
    """Yields each metric with its aggregates per variant.

    ``metrics`` are custom metrics; they and the standard ones give rows of the same name their role and
    title.
    """
    roles = {metric.name: metric for metric in (*KNOWN, *metrics)}
    for name, group in by_metric(rows).items():
        arms = {row.variant: lift.arm(row.n, row.mean, row.variance) for row in group}
        yield summarised(name, roles.get(name), rate=any(row.of_trials for row in group)), arms


def by_metric(rows: Sequence[Summary]) -> dict[str, list[Summary]]:
    """Returns the rows grouped by metric, with the metrics in table order."""
    grouped: dict[str, list[Summary]] = {}
    for row in rows:
        grouped.setdefault(row.metric, []).append(row)
    return grouped


def user_counts(rows: Sequence[Summary]) -> dict[str, dict[str, int]]:
    """Returns metric → variant → number of users, for metrics with a number of users in every row.

    Metrics that lack a variant which other such metrics have are left out. The result is empty if the table
    counts only trials.
    """
    counted = {
        metric: {row.variant: row.users for row in group if row.users is not None}
        for metric, group in by_metric(rows).items()
        if all(row.users is not None for row in group)
    }
    most = max((len(counts) for counts in counted.values()), default=0)
    return {metric: counts for metric, counts in counted.items() if len(counts) == most}


def trial_counts(rows: Sequence[Summary]) -> dict[str, dict[str, int]]:
    """Returns metric → variant → number of trials, for metrics that have trials in all their variants."""
    return {
        metric: {row.variant: row.n for row in group}
        for metric, group in by_metric(rows).items()
        if all(row.of_trials for row in group)
    }


def notices(rows: Sequence[Summary]) -> Iterator[Problem]:
    """Yields notices where trials are treated as users, and where a share is not between 0 and 1."""
    repeated = {row.metric for row in rows if row.repeats_users}
    trials = {row.metric for row in rows if row.of_trials and row.n != row.users} - repeated
    if trials:
        message = f"{', '.join(sorted(trials))}: the interval assumes that each trial is independent"
        fix = (
            "If users have several trials the interval is too narrow: upload sessions, or n, mean and "
            "variance."
        )
        yield Problem("independent-trials", "columns 'successes', 'trials'", message, fix)
    if repeated:
        names = ", ".join(sorted(repeated))
        message = f"{names}: more trials than users, so trials are not independent"
        fix = "Their lifts are not judged. Upload sessions, or n, mean and variance over users."
        yield Problem("repeated-trials", "columns 'n', 'trials'", message, fix)
    # a metric known as a share may be given in per cent, or be another metric of the same name
    shares = {metric.name: metric.title for metric in KNOWN if metric.high == 1}
    for row in rows:
        if row.metric in shares and not 0 <= row.mean <= 1:
            message = f"'{row.metric}' of '{row.variant}' is {row.mean:g}, but a share is between 0 and 1"
            fix = f"Lifts are valid for per cent too. If it is not '{shares[row.metric]}', rename it."
            yield Problem("share-beyond-one", "column 'mean'", message, fix)
