"""Differences to the baseline over folds or seeds: the same whether files or a store hold the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recdash.comparison.source import Source
from recdash.domain.kinds import Ints, Replication
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

    Without the runs that lack the metric, and those that were uploaded once where the baseline was too.
    """
    alone = {run: _difference(source, run, baseline, metric, k, level) for run in runs}
    known = {run: difference for run, difference in alone.items() if difference is not None}
    return dict(zip(known, judge_replicates(list(known.values()), correction, level), strict=True))


def _difference(
    source: Source, run: str, baseline: str, metric: str, k: int, level: float
) -> ReplicateDifference | None:
    kinds = {_kind(source, run_id) for run_id in (run, baseline)}
    if kinds == {None}:
        return None
    if not define(metric).has_user_values:
        of_runs = [_plain_values(source, run_id, metric, k) for run_id in (run, baseline)]
        return _compared(of_runs, level, same_users=kinds == {"seeds"} or None in kinds)
    both = [source.values(run_id, metric, k) for run_id in (run, baseline)]
    if both[0] is None or both[1] is None:
        return None
    users = np.intersect1d(both[0].users, both[1].users)
    of_runs = [
        _values(source, run_id, other, _Question(metric, k, users))
        for run_id, other in ((run, baseline), (baseline, run))
    ]
    same_users = kinds != {"folds", "seeds"} and (
        kinds != {"folds"} or _same_folds(source, run, baseline, metric, k)
    )
    return _compared(of_runs, level, same_users=same_users)


def _compared(
    of_runs: Sequence[ReplicateValues | None], level: float, *, same_users: bool
) -> ReplicateDifference | None:
    values, base_values = of_runs
    if not values or not base_values:
        return None
    return replicate_difference(values, base_values, same_users=same_users, level=level)


@dataclass(frozen=True)
class _Question:
    """A metric at k over ``users`` [n]: those in the paired test over users."""

    metric: str
    k: int
    users: Ints

    def mean(self, values: UserValues | None, among: Ints | None = None) -> float | None:
        """The mean over these users, or over those of them who are ``among`` others; None for none."""
        users = self.users if among is None else np.intersect1d(self.users, among)
        if values is None:
            return None
        if len(users) and np.array_equal(values.users, users):  # the rule for seeds, and much the faster
            return float(values.values.mean())
        inside = np.isin(values.users, users)
        return float(values.of(inside).values.mean()) if inside.any() else None


def _values(source: Source, run: str, other: str, question: _Question) -> ReplicateValues | None:
    """The run's value in each of its replicates, or its only one.

    A run that was trained once is cut to the users of the other's folds, which pairs the two.
    """
    metric, k = question.metric, question.k
    replicated, folds = source.replicated(run), source.replicated(other)
    if replicated is None:
        own = source.values(run, metric, k)
        if folds is None or folds.kind == "seeds":
            return _known({"": question.mean(own)})
        of_folds = {label: source.replicate_values(other, label, metric, k) for label in folds.labels}
        cut = {label: question.mean(own, fold.users) for label, fold in of_folds.items() if fold}
        return _known(cut, folds.noun, overlap=True, trained_once=True)
    by_label = {label: source.replicate_values(run, label, metric, k) for label in replicated.labels}
    means = {label: question.mean(values) for label, values in by_label.items()}
    return _known(means, replicated.noun, overlap=replicated.kind == "folds")


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


def _kind(source: Source, run: str) -> Replication | None:
    replicated = source.replicated(run)
    return replicated.kind if replicated else None


def _same_folds(source: Source, run: str, baseline: str, metric: str, k: int) -> bool:
    """Whether the folds of both have the same users, label by label."""
    of_run, of_baseline = (
        {label: source.replicate_values(run_id, label, metric, k) for label in folds.labels}
        for run_id in (run, baseline)
        if (folds := source.replicated(run_id))
    )
    if of_run.keys() != of_baseline.keys():
        return False
    return all(
        values is not None
        and (base := of_baseline[label]) is not None
        and np.array_equal(values.users, base.users)
        for label, values in of_run.items()
    )
