"""Computes candidates' differences from the baseline over folds or seeds, for files and for stored runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from recdash.comparison.query import ComparisonQuery
from recdash.comparison.source import Source
from recdash.domain.kinds import Ints
from recdash.domain.results import UserValues
from recdash.metrics import define
from recdash.stats.replicates import (
    ReplicateDifference,
    ReplicateValues,
    judge_replicates,
    replicate_difference,
)


def replicate_differences(source: Source, query: ComparisonQuery) -> dict[str, ReplicateDifference]:
    """Returns {run id: difference from the baseline over folds or seeds}, corrected as one family.

    Leaves out runs that lack the metric, and runs without replicates if the baseline has none either.
    """
    terms, replicates = query.terms, _Replicates(source, query.metric, query.k)
    alone = {run: replicates.difference(run, query.baseline, terms.level) for run in query.runs}
    unjudged = {run: difference for run, difference in alone.items() if difference is not None}
    judged = judge_replicates(list(unjudged.values()), terms.correction, terms.level)
    return dict(zip(unjudged, judged, strict=True))


def replicate_difference_from(
    source: Source, metric: str, k: int, runs: tuple[str, str], *, share: float = 1.0, level: float
) -> ReplicateDifference | None:
    """Returns the candidate's difference over folds or seeds from ``share`` times the baseline's value.

    ``runs`` are (baseline, candidate). None if neither has replicates, or if one lacks the metric.
    """
    baseline, candidate = runs
    return _Replicates(source, metric, k).difference(candidate, baseline, level, share)


@dataclass(frozen=True)
class _Replicates:
    """The folds or seeds of a source's runs, by one metric at one k."""

    source: Source
    metric: str
    k: int

    def difference(
        self, run: str, baseline: str, level: float, share: float = 1.0
    ) -> ReplicateDifference | None:
        """Returns the run's difference from ``share`` times the baseline; None if neither has replicates, or
        if one lacks the metric.
        """
        both = map(self.source.replicated, (run, baseline))
        kinds = {replicated.kind if replicated else None for replicated in both}
        if kinds == {None}:
            return None
        if define(self.metric).has_user_values:
            values, base_values = self._means_over_shared_users(run, baseline)
            has_same_folds = kinds != {"folds"} or self._have_same_folds(run, baseline)
            is_paired = kinds != {"folds", "seeds"} and has_same_folds
        else:
            values, base_values = self._plain_values(run), self._plain_values(baseline)
            is_paired = kinds == {"seeds"} or None in kinds
        if not values or not base_values:
            return None
        base_values = replace(
            base_values, values={label: share * value for label, value in base_values.values.items()}
        )
        return replicate_difference(values, base_values, same_users=is_paired, level=level)

    def _means_over_shared_users(
        self, run: str, baseline: str
    ) -> tuple[ReplicateValues | None, ReplicateValues | None]:
        """Returns the means of each replicate of the run, and of the baseline, over the users that both runs
        have. None for a run without such a mean, and for both if one lacks the metric.
        """
        own, base = (self.source.values(run_id, self.metric, self.k) for run_id in (run, baseline))
        if own is None or base is None:
            return None, None
        users = np.intersect1d(own.users, base.users)
        return self._means(run, own, baseline, users), self._means(baseline, base, run, users)

    def _means(self, run: str, own: UserValues, other: str, users: Ints) -> ReplicateValues | None:
        """Returns the mean over ``users`` [n] in each replicate of the run; a run that was trained once has a
        single mean.

        If a run was trained once and the other has folds, it gets one mean for the users of each of these
        folds, so that the means of the two can be paired. None if there is no mean.
        """
        replicated, folds = self.source.replicated(run), self.source.replicated(other)
        if replicated is not None:
            means = {label: _mean(values, users) for label, values in self._by_label(run).items()}
            return _present(means, replicated.noun, overlap=replicated.kind == "folds")
        if folds is None or folds.kind == "seeds":
            return _present({"": _mean(own, users)})
        of_folds = {label: fold.users for label, fold in self._by_label(other).items() if fold}
        means = {label: _mean(own, np.intersect1d(users, fold)) for label, fold in of_folds.items()}
        return _present(means, folds.noun, overlap=True, trained_once=True)

    def _by_label(self, run: str) -> dict[str, UserValues | None]:
        replicated = self.source.replicated(run)
        labels = replicated.labels if replicated else ()
        return {label: self.source.replicate_values(run, label, self.metric, self.k) for label in labels}

    def _have_same_folds(self, run: str, baseline: str) -> bool:
        """Returns whether folds with the same label have the same users in both runs, and no label is
        missing.
        """
        of_run, of_baseline = self._by_label(run), self._by_label(baseline)
        return of_run.keys() == of_baseline.keys() and all(
            values is not None
            and (base := of_baseline[label]) is not None
            and np.array_equal(values.users, base.users)
            for label, values in of_run.items()
        )

    def _plain_values(self, run: str) -> ReplicateValues | None:
        """Returns the value of a catalogue-level metric in each replicate; None for folds, because the value
        of a fold is not comparable with that of the whole.
        """
        replicated = self.source.replicated(run)
        if replicated is None:
            return _present({"": self.source.value(run, self.metric, self.k)})
        if replicated.kind == "folds":
            return None
        values = {
            label: self.source.replicate_value(run, label, self.metric, self.k) for label in replicated.labels
        }
        return _present(values, replicated.noun)


def _mean(values: UserValues | None, users: Ints) -> float | None:
    """Returns the mean of the values of ``users`` [n]; None if none of them has a value."""
    if values is None:
        return None
    if len(users) and np.array_equal(values.users, users):  # usual for seeds, and much faster
        return float(values.values.mean())
    inside = np.isin(values.users, users)
    return float(values.of(inside).values.mean()) if inside.any() else None


def _present(
    by_label: Mapping[str, float | None],
    noun: str = "seed",
    *,
    overlap: bool = False,
    trained_once: bool = False,
) -> ReplicateValues | None:
    """Returns the values that are not None, under their labels; None if all are."""
    values = {label: value for label, value in by_label.items() if value is not None}
    return ReplicateValues(values, noun, overlap, trained_once) if values else None
