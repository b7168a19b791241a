"""An uploaded online test → its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from recdash.domain import Upload
from recdash.errors import Problem
from recdash.online import compare, health, sessions, summaries
from recdash.online.measures import METRICS, OnlineMetric, summarised


@dataclass(frozen=True)
class OnlineRow:
    """One metric in one variant. Lifts are relative (0.05 = 5 % above the control), intervals 95 %.

    ``n_users`` may be trials where the upload says so. A number that cannot be had is None, and
    ``note`` says why.
    """

    metric: str
    title: str
    unit: str
    variant: str
    is_control: bool
    n_users: int
    value: float | None
    ci_low: float | None
    ci_high: float | None
    lift: float | None
    lift_low: float | None
    lift_high: float | None
    p: float | None
    note: str


@dataclass(frozen=True)
class OnlineResults:
    """``variants`` with the control first, ``rows`` metric by metric in that order."""

    control: str
    variants: tuple[str, ...]
    rows: tuple[OnlineRow, ...]
    health: health.Health
    notices: tuple[Problem, ...]

    def records(self) -> list[dict[str, Any]]:
        """The rows as plain values, for a table or for the store."""
        return [asdict(row) for row in self.rows]


@dataclass(frozen=True)
class Measured:
    """A metric with its aggregates (count, means, variances) by variant."""

    metric: OnlineMetric
    arms: Mapping[str, Any]


def results(upload: Upload, control: str | None = None) -> OnlineResults:
    """Values, lifts and intervals of every metric and variant of an uploaded test.

    ``control`` None: the variant whose name says so, else the first by name with a notice.
    Raises InputError for a table that holds no test, UnknownName for an unknown control.
    """
    return _of_sessions(upload, control) if upload.kind == "sessions" else _of_summaries(upload, control)


def _of_sessions(upload: Upload, control: str | None) -> OnlineResults:
    users = sessions.per_user(upload.table)
    counts = np.bincount(users.variant).tolist()
    arms = dict(zip(users.variants, compare.arms(users.totals, users.variant), strict=True))
    measured = [Measured(metric, arms) for metric in METRICS if metric.numerator in users.totals]
    crossed = health.crossovers(users.crossed, len(users.unit) + users.crossed)
    return _results(measured, dict(zip(users.variants, counts, strict=True)), control, users.crossed,
                    (*crossed, *users.notices))  # fmt: skip


def _of_summaries(upload: Upload, control: str | None) -> OnlineResults:
    rows = summaries.summaries(upload.table)
    by_metric = summaries.by_metric(rows)
    measured = [
        Measured(
            summarised(name, rate=any(row.of_trials for row in group)),
            {row.variant: compare.arm(row.n, row.mean, row.variance) for row in group},
        )
        for name, group in by_metric.items()
    ]
    return _results(measured, summaries.users(rows), control, 0, summaries.notices(rows))


def _results(
    measured: Sequence[Measured],
    users: Mapping[str, int],
    control: str | None,
    crossed: int,
    notices: tuple[Problem, ...],
) -> OnlineResults:
    """``users`` by variant, where they are known: those of a rate of trials are not."""
    names = sorted({variant for one in measured for variant in one.arms})
    chosen, guessed = health.control_among(names, control)
    variants = (chosen, *(name for name in names if name != chosen))
    srm_p, mismatch = health.sample_ratio(users)
    return OnlineResults(
        control=chosen,
        variants=variants,
        rows=tuple(row for one in measured for row in _rows(one, variants)),
        health=health.Health(srm_p, crossed),
        notices=(*mismatch, *guessed, *health.single(names), *notices),
    )


def _rows(measured: Measured, variants: Sequence[str]) -> Iterator[OnlineRow]:
    for variant in variants:
        if variant in measured.arms:
            yield _row(measured, variant, control=variants[0])


def _row(measured: Measured, variant: str, control: str) -> OnlineRow:
    metric, arm = measured.metric, measured.arms[variant]
    own, lift = compare.value(metric, arm), _lift(measured, variant, control)
    return OnlineRow(
        metric=metric.name,
        title=metric.title,
        unit=metric.unit,
        variant=variant,
        is_control=variant == control,
        n_users=int(arm.count()),
        value=own.value,
        ci_low=own.low,
        ci_high=own.high,
        lift=lift.value,
        lift_low=lift.low,
        lift_high=lift.high,
        p=lift.p,
        note=lift.note or own.note,
    )


def _lift(measured: Measured, variant: str, control: str) -> compare.Estimate:
    if variant == control:
        return compare.Estimate(None)
    if control not in measured.arms:
        return compare.Estimate(None, note="the control has no row of this metric")
    return compare.lift(measured.metric, measured.arms[control], measured.arms[variant])
