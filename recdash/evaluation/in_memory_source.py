"""Lets a comparison read an evaluation in memory; run names serve as run ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Protocol

from recdash.domain.hits import IdOverlap
from recdash.domain.inputs import Upload
from recdash.domain.kinds import Users
from recdash.domain.records import Replicated
from recdash.domain.results import AbTestElsewhere, Curve, OnlineLift, Slice, UserValues
from recdash.engines import Reference
from recdash.engines.list_pulls import CHANGED, ListSource, pulls_of_runs
from recdash.errors import InputError, Problem, UploadError
from recdash.evaluation.metric_inputs import catalogue_inputs_of, expectedness_of, metric_inputs_of
from recdash.evaluation.reading import RatedPairs, predictions_of
from recdash.evaluation.replicate_means import mean_curve, rated_values, user_values
from recdash.evaluation.replicates import hits_of, overlap_of, samples_of
from recdash.evaluation.request import CountingRules
from recdash.evaluation.scoring import Scored, score_hits
from recdash.evaluation.slices import user_slices
from recdash.metrics import Definition, MetricInputs, define, score
from recdash.metrics.ratings import RatingMetric
from recdash.metrics.sample import RelevantHits, sample_of
from recdash.stats.jackknife import Pulls


class ScoredRuns(Protocol):
    """The part of an evaluation that the source needs."""

    @property
    def runs(self) -> Sequence[Scored]: ...
    @property
    def rules(self) -> CountingRules: ...
    @property
    def reference(self) -> Reference: ...

    def comparability(self, names: Sequence[str] | None = None) -> list[Problem]:
        """Returns the reasons why the numbers of these runs, or of all, may not be comparable; empty if they
        are.
        """


class EvaluationSource:
    """The source of a comparison of candidates that were scored from files and are still in memory."""

    def __init__(self, evaluation: ScoredRuns, users: Users | None = None) -> None:
        self._evaluation, self._reference = evaluation, evaluation.reference
        self._users = users or evaluation.rules.users
        self._runs: Mapping[str, Scored] = {run.name: run for run in evaluation.runs}
        self._rated_pairs = RatedPairs(evaluation.reference)
        self._inputs = lru_cache(maxsize=None)(self._make_inputs)
        self._samples = lru_cache(maxsize=None)(self._make_samples)
        self._curve = lru_cache(maxsize=None)(self._score)
        self._rated_values = lru_cache(maxsize=None)(self._compute_rated_values)

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
        samples = self._samples(run, users)
        if len(samples) < 2:
            sample = self._inputs(run, users).sample
            samples = [] if sample is None else [sample]
        return user_values(definition, samples, k) if samples else None

    def value(self, run: str, metric: str, k: int) -> float | None:
        curve, _ = self._curve(run, metric)
        return _value_at(curve, k)

    def why_absent(self, run: str, metric: str) -> str:
        return self._curve(run, metric)[1]

    @cached_property
    def _slices(self) -> Sequence[Slice]:
        return user_slices(self._reference)

    def user_slices(self) -> Sequence[Slice]:
        return self._slices

    def replicated(self, run: str) -> Replicated | None:
        return self._runs[run].replicated

    def replicate_value(self, run: str, label: str, metric: str, k: int) -> float | None:
        definition, hits = define(metric), hits_of(self._replicate(run, label))
        curves, _ = score_hits(hits, self._reference, [definition], self._rule_of(run, self._users))
        return _value_at(curves.get(str(definition)), k)

    def replicate_values(self, run: str, label: str, metric: str, k: int) -> UserValues | None:
        definition, hits = define(metric), hits_of(self._replicate(run, label))
        users = self._rule_of(run, definition.own_rule or self._users)
        return user_values(
            definition, [sample_of(hits, users, expectedness=expectedness_of(self._reference))], k
        )

    def _replicate(self, run: str, label: str) -> Scored:
        replicated = self._runs[run].replicated
        return self._runs[run].replicates[replicated.labels.index(label) if replicated else 0]

    def _rule_of(self, run: str, users: Users) -> Users:
        """Returns the rule by which users count in a replicate: in a fold, only users with a list."""
        replicated = self._runs[run].replicated
        return "both" if replicated and replicated.kind == "folds" else users

    def list_pulls(
        self, runs: Sequence[str], metrics: Sequence[str], k: int
    ) -> Sequence[Mapping[str, Pulls]]:
        sources = (map(self._list_source, self._runs[run].with_lists) for run in runs)
        try:
            return pulls_of_runs(sources, self._reference, [*map(define, metrics)], k)
        except (OSError, UploadError) as error:
            is_changed = isinstance(error, UploadError) and error.problems[0].code == "changed-file"
            text = CHANGED if is_changed else "a file of lists can no longer be read"
            raise InputError(
                Problem("lists-gone", "candidates", text, "Keep the files until the comparison is done.")
            ) from error

    def _list_source(self, run: Scored) -> ListSource:
        """Returns the lists of a run, to be read again. Raises InputError if they are missing."""
        inputs = None if run.hits is None else catalogue_inputs_of(run.hits, self._reference)
        if run.lists is None or inputs is None or run.hits is None:
            raise InputError(Problem("no-lists", f"run '{run.name}'", "its lists are missing", ""))
        ties = self._evaluation.rules.ties
        return ListSource(run.lists.name, run.lists, inputs, run.hits.order, ties, run.hits.duplicates)

    def invalid_tests(self, run: str, baseline: str) -> Sequence[str]:  # noqa: ARG002
        return ()

    def unlinked_tests(self) -> Sequence[str]:
        return ()

    def tests_elsewhere(self, run: str, baseline: str) -> Sequence[AbTestElsewhere]:  # noqa: ARG002
        return ()

    def lifts_elsewhere(self, run: str, baseline: str) -> Sequence[OnlineLift]:  # noqa: ARG002
        return ()

    def online(self, run: str, baseline: str) -> Sequence[OnlineLift]:  # noqa: ARG002
        """Returns no lifts, because evaluations of files have no A/B tests."""
        return ()

    def known_ids(self, run: str) -> IdOverlap | None:
        return overlap_of(self._runs[run])

    def problems(self, runs: Sequence[str]) -> Sequence[Problem]:
        return self._evaluation.comparability(runs)

    def _compute_rated_values(self, run: str, metric: str) -> UserValues | None:
        table = self._runs[run].predictions
        return None if table is None else rated_values(define(metric), self._rated_pairs.rows(table))

    def _make_inputs(self, run: str, users: Users) -> MetricInputs:
        hits = self._runs[run].hits
        return MetricInputs() if hits is None else metric_inputs_of(hits, self._reference, users)

    def _make_samples(self, run: str, users: Users) -> Sequence[RelevantHits]:
        """Returns one sample of relevant hits per seed if the run is the mean of seeds; empty for other
        runs.
        """
        scored = self._runs[run]
        return samples_of(scored, users, expectedness_of(self._reference)) if scored.hits is None else ()

    def _score(self, run: str, metric: str) -> tuple[Curve | None, str]:
        """Returns (curve, "") or (None, why there is none). Reuses the evaluation's curve if the same users
        count.
        """
        scored, definition = self._runs[run], define(metric)
        if isinstance(definition.metric, RatingMetric):
            return self._score_ratings(scored, definition)
        as_scored = self._users == self._evaluation.rules.users or not definition.has_user_values
        curve = scored.curves.get(metric) if as_scored else None
        if curve is None and scored.replicates and scored.hits is None:
            return self._mean_curve(scored, definition)
        if curve is not None or scored.hits is None:
            return curve, scored.absent.get(metric, "" if curve else "it has no lists")
        curves, absent = score_hits(scored.hits, self._reference, [definition], self._users)
        return curves.get(str(definition)), absent.get(str(definition), "")

    def _score_ratings(self, scored: Scored, definition: Definition) -> tuple[Curve | None, str]:
        rows = scored.predictions and predictions_of(
            Upload("predictions", scored.name, scored.predictions, {})
        )
        (result,) = score([definition], MetricInputs(predictions=rows))
        return (result, "") if isinstance(result, Curve) else (None, result.reason)

    def _mean_curve(self, scored: Scored, definition: Definition) -> tuple[Curve | None, str]:
        metric = str(definition)
        results = [
            score_hits(hits_of(part), self._reference, [definition], self._users)
            for part in scored.replicates
        ]
        samples = self._samples(scored.name, self._users)
        curve = mean_curve(definition, samples, [curves.get(metric) for curves, _ in results])
        return curve, next((absent[metric] for _, absent in results if metric in absent), "")


def _value_at(curve: Curve | None, k: int) -> float | None:
    return None if curve is None else float(curve.value[k - 1 if len(curve.k) else 0])
