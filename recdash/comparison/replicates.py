"""Differences to the baseline over folds or seeds: the same whether files or a store hold the runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recdash.comparison.source import Source
from recdash.metrics import define
from recdash.stats import LEVEL, Correction
from recdash.stats.replicates import (
    ReplicateDifference,
    ReplicateValues,
    judge_replicates,
    replicate_difference,
)


def replicate_differences(
    source: Source,
    runs: Sequence[str],
    baseline: str,
    metric: str,
    k: int,
    *,
    correction: Correction = "holm",
    level: float = LEVEL,
) -> dict[str, ReplicateDifference]:
    """Run → its difference to the baseline over folds or seeds, all judged as one family.

    Without the runs that lack the metric, and those that were uploaded once where the baseline was too.
    """
    alone = {run: _difference(source, run, baseline, metric, k, level) for run in runs}
    known = {run: difference for run, difference in alone.items() if difference is not None}
    return dict(zip(known, judge_replicates(list(known.values()), correction, level), strict=True))


def _difference(
    source: Source, run: str, baseline: str, metric: str, k: int, level: float
) -> ReplicateDifference | None:
    if not (source.replicated(run) or source.replicated(baseline)):
        return None
    values = _values(source, run, baseline, metric, k)
    base_values = _values(source, baseline, run, metric, k)
    if not values or not base_values:
        return None
    both_have_folds = has_folds(source, run) and has_folds(source, baseline)
    same_users = not both_have_folds or _same_folds(source, run, baseline)
    return replicate_difference(values, base_values, same_users=same_users, level=level)


def has_folds(source: Source, run: str) -> bool:
    replicated = source.replicated(run)
    return replicated is not None and replicated.kind == "folds"


def _values(source: Source, run: str, other: str, metric: str, k: int) -> ReplicateValues | None:
    """The run's value in each of its replicates, or its only one; None where it lacks the metric.

    A run without folds of its own is cut to the users of the other's folds, which pairs the two.
    """
    if has_folds(source, other) and not has_folds(source, run):
        return _over_folds_of(source, run, other, metric, k)
    replicated = source.replicated(run)
    if replicated is None:
        value = source.value(run, metric, k)
        return None if value is None else ReplicateValues({"": value})
    by_label = {label: source.replicate_value(run, label, metric, k) for label in replicated.labels}
    values = {label: value for label, value in by_label.items() if value is not None}
    return ReplicateValues(values, replicated.noun, overlap=replicated.kind == "folds")


def _over_folds_of(source: Source, run: str, other: str, metric: str, k: int) -> ReplicateValues | None:
    """None for a metric without a value per user: of fewer users it is another number."""
    folds = source.replicated(other)
    own = source.values(run, metric, k) if folds and define(metric).has_user_values else None
    if folds is None or own is None:
        return None
    inside = {label: np.isin(own.users, source.replicate_users(other, label)) for label in folds.labels}
    values = {label: float(own.of(users).values.mean()) for label, users in inside.items() if users.any()}
    return ReplicateValues(values, folds.noun, overlap=True)


def _same_folds(source: Source, run: str, baseline: str) -> bool:
    """Whether the folds of both have the same users, label by label."""
    of_run, of_baseline = (
        {label: source.replicate_users(each, label) for label in folds.labels}
        for each in (run, baseline)
        if (folds := source.replicated(each))
    )
    if of_run.keys() != of_baseline.keys():
        return False
    return all(np.array_equal(users, of_baseline[label]) for label, users in of_run.items())
