"""Differences to the baseline over folds or seeds: the same whether files or a store hold the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recdash.comparison.source import Source
from recdash.domain.kinds import Ints
from recdash.domain.records import Replicated
from recdash.domain.results import UserValues
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

    Runs that lack the metric are left out, and so are runs uploaded once where the baseline was too.
    """
    alone = {run: _difference(source, run, baseline, metric, k, level) for run in runs}
    known = {run: difference for run, difference in alone.items() if difference is not None}
    return dict(zip(known, judge_replicates(list(known.values()), correction, level), strict=True))


def _difference(
    source: Source, run: str, baseline: str, metric: str, k: int, level: float
) -> ReplicateDifference | None:
    kinds = {
        replicated.kind if replicated else None for replicated in map(source.replicated, (run, baseline))
    }
    if kinds == {None}:
        return None
    if define(metric).has_user_values:
        values, base_values = _means_over_shared_users(source, run, baseline, metric, k)
        is_paired = kinds != {"folds", "seeds"} and (
            kinds != {"folds"} or _same_folds(source, run, baseline, metric, k)
        )
    else:
        values, base_values = (_plain_values(source, run_id, metric, k) for run_id in (run, baseline))
        is_paired = kinds == {"seeds"} or None in kinds
    if not values or not base_values:
        return None
    return replicate_difference(values, base_values, same_users=is_paired, level=level)


def _means_over_shared_users(
    source: Source, run: str, baseline: str, metric: str, k: int
) -> tuple[ReplicateValues | None, ReplicateValues | None]:
    """Of run and baseline: the mean of each replicate over the users of the paired test."""
    own, base = source.values(run, metric, k), source.values(baseline, metric, k)
    if own is None or base is None:
        return None, None
    users = np.intersect1d(own.users, base.users)
    return (
        _replicate_means(source, run, baseline, metric, k, users),
        _replicate_means(source, baseline, run, metric, k, users),
    )


def _replicate_means(
    source: Source, run: str, other: str, metric: str, k: int, users: Ints
) -> ReplicateValues | None:
    """The mean over ``users`` [n] in each of the run's replicates, or in its only one.

    A run that was trained once is cut to the users of the other's folds, which pairs the two.
    """
    replicated, folds = source.replicated(run), source.replicated(other)
    if replicated is not None:
        by_label = _by_label(source, run, replicated, metric, k)
        means = {label: _mean(values, users) for label, values in by_label.items()}
        return _known(means, replicated.noun, overlap=replicated.kind == "folds")
    own = source.values(run, metric, k)
    if folds is None or folds.kind == "seeds":
        return _known({"": _mean(own, users)})
    of_folds = _by_label(source, other, folds, metric, k)
    means = {label: _mean(own, np.intersect1d(users, fold.users)) for label, fold in of_folds.items() if fold}
    return _known(means, folds.noun, overlap=True, trained_once=True)


def _by_label(
    source: Source, run: str, replicated: Replicated, metric: str, k: int
) -> dict[str, UserValues | None]:
    return {label: source.replicate_values(run, label, metric, k) for label in replicated.labels}


def _mean(values: UserValues | None, users: Ints) -> float | None:
    """The mean over the values of ``users`` [n]; None where none of them counts."""
    if values is None:
        return None
    if len(users) and np.array_equal(values.users, users):  # the rule for seeds, and much the faster
        return float(values.values.mean())
    inside = np.isin(values.users, users)
    return float(values.of(inside).values.mean()) if inside.any() else None


def _plain_values(source: Source, run: str, metric: str, k: int) -> ReplicateValues | None:
    """Of a metric without a value per user; None of folds, whose fewer users make it another number."""
    replicated = source.replicated(run)
    if replicated is None:
        return _known({"": source.value(run, metric, k)})
    if replicated.kind == "folds":
        return None
    by_label = {label: source.replicate_value(run, label, metric, k) for label in replicated.labels}
    return _known(by_label, replicated.noun)


def _known(
    by_label: Mapping[str, float | None],
    noun: str = "seed",
    *,
    overlap: bool = False,
    trained_once: bool = False,
) -> ReplicateValues | None:
    known = {label: value for label, value in by_label.items() if value is not None}
    return ReplicateValues(known, noun, overlap, trained_once) if known else None


def _same_folds(source: Source, run: str, baseline: str, metric: str, k: int) -> bool:
    """Whether the folds of both have the same users, label by label."""
    of_run, of_baseline = (
        _by_label(source, run_id, folds, metric, k)
        for run_id in (run, baseline)
        if (folds := source.replicated(run_id))
    )
    return of_run.keys() == of_baseline.keys() and all(
        values is not None
        and (base := of_baseline[label]) is not None
        and np.array_equal(values.users, base.users)
        for label, values in of_run.items()
    )
