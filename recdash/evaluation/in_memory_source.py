"""An evaluation as what a comparison asks: run names stand for run ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from recdash.domain.hits import IdOverlap
from recdash.domain.inputs import Upload
from recdash.domain.kinds import Replication, Users
from recdash.domain.records import Replicated
from recdash.domain.results import Curve, OnlineLift, Slice, UserValues
from recdash.engines import Reference
from recdash.engines.list_pulls import ListSource, pulls_of_runs
from recdash.errors import InputError, Problem, UploadError
from recdash.evaluation.reading import RatedPairs, predictions_of
from recdash.evaluation.replicate_means import rated_values
from recdash.evaluation.replicates import hits_of, mean_curve, overlap_of, samples_of, user_values
from recdash.evaluation.request import CountingRules
from recdash.evaluation.scoring import Scored, familiar_of, material_of, score_hits, shelf_of
from recdash.evaluation.slices import user_slices
from recdash.metrics import Definition, MetricInputs, define, score
from recdash.metrics.ratings import RatingMetric
from recdash.metrics.sample import RelevantHits, sample_of
from recdash.stats.jackknife import Pulls


class ScoredRuns(Protocol):
    """What the source needs of an evaluation."""

    @property
    def runs(self) -> Sequence[Scored]: ...
    @property
    def rules(self) -> CountingRules: ...
    @property
    def reference(self) -> Reference: ...

    def comparability(self, names: Sequence[str] | None = None) -> list[Problem]:
        """Why the runs' numbers may not stand side by side as they are; empty where they may."""


class EvaluationSource:
    """Candidates that were scored from files and are still in memory."""

    def __init__(self, evaluation: ScoredRuns, users: Users | None = None) -> None:
        self._evaluation, self._users = evaluation, users or evaluation.rules.users
        self._runs: Mapping[str, Scored] = {run.name: run for run in evaluation.runs}
        self._material = lru_cache(maxsize=None)(self._material_of)
        self._seeds = lru_cache(maxsize=None)(self._samples_of)
        self._curve = lru_cache(maxsize=None)(self._score)
        self._pairs = RatedPairs(evaluation.reference)
        self._rated_values = lru_cache(maxsize=None)(self._values_of_ratings)
        self._parts = lru_cache(maxsize=1)(lambda: user_slices(evaluation.reference))

    @property
    def names(self) -> Mapping[str, str]:
        return {name: name for name in self._runs}

    def under(self, users: Users) -> EvaluationSource:
        return EvaluationSource(self._evaluation, users)

    def values(self, run: str, metric: str, k: int) -> UserValues | None:
        definition = define(metric)
        if isinstance(definition.metric, RatingMetric):
            return self._rated_values(run, metric)
        users = definition.own_rule or self._users
        seeds = self._seeds(run, users)
        samples = seeds if len(seeds) > 1 else [self._material(run, users).sample]
        there = [sample for sample in samples if sample is not None]
        return user_values(definition, there, k) if there else None

    def value(self, run: str, metric: str, k: int) -> float | None:
        curve, _ = self._curve(run, metric)
        return None if curve is None else float(curve.value[k - 1 if len(curve.k) else 0])

    def why_absent(self, run: str, metric: str) -> str:
        return self._curve(run, metric)[1]

    def user_slices(self) -> Sequence[Slice]:
        return self._parts()

    def replicated(self, run: str) -> Replicated | None:
        return self._runs[run].replicated

    def replicate_value(self, run: str, label: str, metric: str, k: int) -> float | None:
        definition, replicate = define(metric), self._replicate(run, label)
        curves, _ = score_hits(
            hits_of(replicate), self._evaluation.reference, [definition], self._rule_of(run, self._users)
        )
        curve = curves.get(str(definition))
        return None if curve is None else float(curve.value[k - 1 if len(curve.k) else 0])

    def replicate_values(self, run: str, label: str, metric: str, k: int) -> UserValues | None:
        familiar, definition = familiar_of(self._evaluation.reference), define(metric)
        users = self._rule_of(run, definition.own_rule or self._users)
        sample = sample_of(hits_of(self._replicate(run, label)), users, familiar=familiar)
        return user_values(definition, [sample], k)

    def _replicate(self, run: str, label: str) -> Scored:
        replicated = self._runs[run].replicated
        return self._runs[run].replicates[replicated.labels.index(label) if replicated else 0]

    def _rule_of(self, run: str, users: Users) -> Users:
        """Which users count in a replicate: in a fold those with a list."""
        return "both" if self._kind(run) == "folds" else users

    def _kind(self, run: str) -> Replication | None:
        replicated = self._runs[run].replicated
        return replicated.kind if replicated else None

    def list_pulls(
        self, runs: Sequence[str], metrics: Sequence[str], k: int
    ) -> Sequence[Mapping[str, Pulls]]:
        sources = (map(self._list_source, self._runs[run].with_lists) for run in runs)
        try:
            return pulls_of_runs(sources, self._evaluation.reference, [*map(define, metrics)], k)
        except (OSError, UploadError) as error:
            found = "a file of lists cannot be read any more"
            raise InputError(
                Problem("lists-gone", "candidates", found, "Keep the files in place.")
            ) from error

    def _list_source(self, run: Scored) -> ListSource:
        """Raises InputError for a run whose lists are not there."""
        shelf = None if run.hits is None else shelf_of(run.hits, self._evaluation.reference)
        if run.lists is None or shelf is None or run.hits is None:
            raise InputError(Problem("no-lists", f"run '{run.name}'", "its lists are not there", ""))
        ties = self._evaluation.rules.ties
        return ListSource(run.lists, shelf, run.hits.order, ties, run.hits.duplicates)

    def online(self, run: str, baseline: str) -> Sequence[OnlineLift]:  # noqa: ARG002
        """Files know of no test."""
        return ()

    def known_ids(self, run: str) -> IdOverlap | None:
        return overlap_of(self._runs[run])

    def problems(self, runs: Sequence[str]) -> Sequence[Problem]:
        return self._evaluation.comparability(runs)

    def _values_of_ratings(self, run: str, metric: str) -> UserValues | None:
        table, definition = self._runs[run].predictions, define(metric)
        return None if table is None else rated_values(definition, self._pairs.rows(table))

    def _material_of(self, run: str, users: Users) -> MetricInputs:
        hits = self._runs[run].hits
        return MetricInputs() if hits is None else material_of(hits, self._evaluation.reference, users)

    def _samples_of(self, run: str, users: Users) -> Sequence[RelevantHits]:
        """Of a run that is the mean of several seeds, one for each; empty for the others."""
        one = self._runs[run]
        return samples_of(one, users, familiar_of(self._evaluation.reference)) if one.hits is None else ()

    def _score(self, run: str, metric: str) -> tuple[Curve | None, str]:
        one, definition = self._runs[run], define(metric)
        if isinstance(definition.metric, RatingMetric):
            return self._score_ratings(one, definition)
        users = self._users
        as_scored = users == self._evaluation.rules.users or not definition.has_user_values
        curve = one.curves.get(metric) if as_scored else None
        if curve is None and one.replicates and one.hits is None:
            return self._mean_curve(one, definition, users)
        if curve is not None or one.hits is None:
            return curve, one.absent.get(metric, "" if curve else "it has no lists")
        curves, absent = score_hits(one.hits, self._evaluation.reference, [definition], users)
        return curves.get(str(definition)), absent.get(str(definition), "")

    def _score_ratings(self, one: Scored, definition: Definition) -> tuple[Curve | None, str]:
        rows = one.predictions and predictions_of(Upload("predictions", one.name, one.predictions, {}))
        (found,) = score([definition], MetricInputs(predictions=rows))
        return (found, "") if isinstance(found, Curve) else (None, found.reason)

    def _mean_curve(self, one: Scored, definition: Definition, users: Users) -> tuple[Curve | None, str]:
        reference, metric = self._evaluation.reference, str(definition)
        found = [score_hits(hits_of(part), reference, [definition], users) for part in one.replicates]
        curve = mean_curve(
            definition, self._seeds(one.name, users), [curves.get(metric) for curves, _ in found]
        )
        return curve, next((absent[metric] for _, absent in found if metric in absent), "")
