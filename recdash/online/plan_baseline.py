"""Reads the baseline of a plan: that of each metric of an earlier A/B test, or of a table of users."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recdash.errors import InputError, Problem, UnknownName
from recdash.online import counts
from recdash.online.analysis.sample import SampleSummary, summarise
from recdash.online.metrics import OnlineMetric
from recdash.online.plan import Baseline
from recdash.online.users import Removed

if TYPE_CHECKING:
    from recdash.evaluation.column_choice import ColumnsGiven
    from recdash.ingest import Limits
    from recdash.online.analysis.analysed_test import AnalysedTest

ALL_USERS = "all users"
"""The variant of the users of a table without variants."""
IRRELEVANT = frozenset({"metrics-proposed", "single-variant", "naive-times"})
"""The codes of notices about lifts, which a baseline does not have, and about hours, which change no pace."""
MOST_VARIANTS = 50
"""A column of more texts has no variants."""


@dataclass(frozen=True)
class MetricBaselines:
    """The baselines of the metrics of an earlier test or of a table: those of the users of its control.

    ``users`` is the number of counted users per variant, empty if unknown. A table without variants has one,
    ALL_USERS; ``attributes`` are its columns of text, one of which may have the variants. ``crossover`` is
    the number of users with multiple exposures, who are excluded, and ``removed`` is what the rules excluded.
    """

    baselines: Mapping[str, Baseline]
    control: str
    users: Mapping[str, int]
    users_per_day: float | None = None
    crossover: int = 0
    removed: tuple[Removed, ...] = ()
    notices: tuple[Problem, ...] = ()
    attributes: tuple[str, ...] = ()

    def of(self, metric: str) -> Baseline:
        """Returns the baseline of a metric. Raises UnknownName for one that is not here."""
        if metric not in self.baselines:
            raise UnknownName("online metric", metric, list(self.baselines))
        return self.baselines[metric]

    @property
    def n_users(self) -> int | None:
        """Returns the number of the control's users; None if it is unknown."""
        return self.users.get(self.control)

    @property
    def other_users(self) -> dict[str, int]:
        """Returns the number of users of each other variant, who are left out."""
        return {variant: n for variant, n in self.users.items() if variant != self.control}

    def as_dict(self) -> dict[str, Any]:
        """Returns the baselines as JSON-ready values."""
        return {
            "control": None if self.control == ALL_USERS else self.control,
            "users": self.n_users,
            "users_per_day": self.users_per_day,
            "metrics": {metric: _facts(baseline) for metric, baseline in self.baselines.items()},
            "left_out": {
                "other_variants": self.other_users,
                "crossover": self.crossover,
                "removed": [part.as_dict() for part in self.removed],
            },
            "notices": [{"code": notice.code, "text": str(notice)} for notice in self.notices],
        }


def _facts(baseline: Baseline) -> dict[str, Any]:
    values = {"mean": baseline.mean, "std_dev": baseline.std_dev}
    finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
    return {**finite, "is_rate": baseline.is_rate}


def baselines_of(results: AnalysedTest, sample: SampleSummary | None) -> MetricBaselines:
    """Returns the baselines of an A/B test's metrics, each with mean and deviation of the control's users.

    ``sample``, from which the users per day are known, is None for aggregated data.
    """
    pace, control = _pace(sample), results.control
    baselines = {
        name: _baseline(metric, arms[control], pace)
        for name, (metric, arms) in results.source.measured.items()
        if control in arms
    }
    notices = tuple(notice for notice in results.notices if notice.code not in IRRELEVANT)
    crossover = results.health.crossover
    return MetricBaselines(baselines, control, results.users, pace, crossover, results.removed, notices)


def read_baselines(
    table: Any,
    control: str | None = None,
    columns: ColumnsGiven | None = None,
    limits: Limits | None = None,
) -> MetricBaselines:
    """Returns the baselines of the metrics in a file or table with a row per session or per user.

    They are those of the users of the ``control`` (None: recognised by its name), or of all users if no
    column has variants. ``columns`` is as in ``recdash.ab_test``. Raises InputError with the problems of the
    table, and UnknownName for a control that is not in it.
    """
    import pyarrow as pa

    from recdash.online.ab_test import counted_test, read_logs
    from recdash.online.analysis.analysed_test import with_source

    logs = read_logs({"sessions": table}, limits=limits, columns=columns)
    if "variant" not in logs.table.column_names:
        if control is not None:
            fix = "Leave the control out, or name the column that has the variants."
            raise InputError(Problem("no-variants", f"control '{control}'", "no column has variants", fix))
        control, variants = ALL_USERS, pa.repeat(ALL_USERS, len(logs.table))
        logs = replace(logs, table=logs.table.append_column("variant", variants))
    counted = counted_test(logs)
    results = counted.results(control)
    results = replace(results, notices=(*logs.notices, *results.notices))
    users = counted.source.users
    assert users is not None  # noqa: S101 - aggregated data have no users, but these are sessions
    read = baselines_of(with_source(results, counted.source), summarise(users))
    if control != ALL_USERS:
        return read
    texts = {name: segment.labels for name, segment in users.segments.items()}
    return replace(read, attributes=tuple(name for name in texts if len(texts[name]) <= MOST_VARIANTS))


def _baseline(metric: OnlineMetric, arm: Any, users_per_day: float | None) -> Baseline:
    """Returns the baseline of a metric; its values are not a number if the denominator is 0."""
    denominator = arm.mean(metric.denominator)
    if not denominator:
        return Baseline(math.nan, math.nan, users_per_day=users_per_day)
    return Baseline(
        mean=arm.mean(metric.numerator) / denominator,
        std_dev=math.sqrt(arm.ratio_var(metric.numerator, metric.denominator)),
        is_rate=counts.counted(metric, arm) is not None,
        users_per_day=users_per_day,
    )


def _pace(sample: SampleSummary | None) -> float | None:
    if sample is None or not sample.days:
        return None
    return sum(sample.recent.values()) / sample.recent_days or None
