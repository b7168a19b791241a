"""Scores of stored runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.comparison import population
from recdash.domain.hits import IdOverlap, TiedHits
from recdash.domain.kinds import Users
from recdash.domain.records import Run
from recdash.domain.results import WHOLE, Curve, Scope, Unavailable
from recdash.engines.known_ids import stored_overlap
from recdash.errors import Problem
from recdash.evaluation.comparability import basis_of, comparability_problems
from recdash.evaluation.known_ids import caveats, stored_problems
from recdash.metrics import check_k, define, naming
from recdash.metrics.ties import TieBand, tie_band
from recdash.references import reference_scale
from recdash.service import frames
from recdash.service.context import ServiceContext
from recdash.service.metric_values import MetricValues
from recdash.service.offline.run_curves import RunCurves
from recdash.service.run_data import RunData

if TYPE_CHECKING:
    import pandas as pd


class Scores:
    """Curves, scores, paired differences, and caveats about them."""

    def __init__(
        self, context: ServiceContext, data: RunData, values: MetricValues, run_curves: RunCurves
    ) -> None:
        self._context, self._data, self._values, self._run_curves = context, data, values, run_curves
        self._store = context.store
        self._means = context.cached(self._compute_mean, most=4096)
        self._tie_bands = context.cached(self._compute_tie_band, most=1024)
        self._ties_again = context.cached(self._find_ties, most=32)
        self._stored_overlap = context.cached(self._count_known, most=1024)
        self._stored_caveats = context.cached(self._look_at_ids, most=1024)

    def metrics_of(self, run_ids: Sequence[str]) -> list[str]:
        """Returns metrics that at least one run has or, for default ones, can have; those first, in the order
        of the guide.
        """
        stored = {metric for metrics in self._store.curves.metrics(run_ids).values() for metric in metrics}
        runs = self._context.runs_of(run_ids)

        def is_offered(metric: str) -> bool:
            return metric in stored or any(
                metric not in run.absent and self._values.is_possible(run.id, metric) for run in runs
            )

        defaults = [str(define(metric)) for metric in naming.SCORED]
        return [*filter(is_offered, defaults), *sorted(stored.difference(defaults))]

    def curves(self, run_ids: Sequence[str], metrics: Sequence[str], scope: Scope = WHOLE) -> pd.DataFrame:
        """Returns a tidy frame: run_id, run, metric, k, value, std_error, n_users.

        A definition that was not stored, and a part of the experiment, are computed from the hits.
        """
        curves = self._run_curves.of(run_ids, metrics, scope)
        return frames.curve_frame(self._context.runs_of(run_ids), curves)

    def scoreboard(
        self, run_ids: Sequence[str], metrics: Sequence[str], k: int, scope: Scope = WHOLE
    ) -> pd.DataFrame:
        """Returns run_id, run, metric, value, std_error, n_users at k; best first by the first metric."""
        check_k(k)
        runs = self._context.runs_of(run_ids)
        stored = self._store.curves.of_runs(run_ids, metrics) if scope == WHOLE else {}
        scores = {
            (run.id, metric): score
            for run in runs
            for metric in metrics
            if metric not in run.absent
            and (score := self._score_at(run.id, metric, k, scope, stored.get(run.id, {}).get(metric)))
        }
        return frames.score_rows(runs, scores, metrics)

    def _score_at(
        self, run_id: str, metric: str, k: int, scope: Scope, curve: Curve | Unavailable | None
    ) -> dict[str, Any] | None:
        """Returns value, std_error and n_users; ``curve``: the stored one.

        Without a stored curve, only this k is computed if the counted users are known individually.
        """
        run = self._data.lasting_run(run_id)
        if curve is None and define(metric).has_user_values and self._values.rule(run, None) != "run":
            values = self._values.user_values(run_id, metric, k, None, scope)
            return None if values is None or not len(values.users) else frames.score_of_values(values)
        curve = curve or self._run_curves.curve(run_id, metric, scope)
        return frames.score_at(curve, k) if isinstance(curve, Curve) else None

    def absences(self, run_ids: Sequence[str], metric: str, scope: Scope = WHOLE) -> dict[str, str]:
        """Returns {run id: reason} for the runs that lack the metric."""
        stored = self._store.curves.of_runs(run_ids, [metric]) if scope == WHOLE else {}
        reasons = {}
        for run in self._context.runs_of(run_ids):
            curve = None
            if not run.absent.get(metric):
                curve = stored.get(run.id, {}).get(metric) or self._run_curves.curve(run.id, metric, scope)
            reason = curve.reason if isinstance(curve, Unavailable) else run.absent.get(metric)
            if reason:
                reasons[run.id] = reason
        return reasons

    def list_ends(self, run_ids: Sequence[str]) -> dict[str, int | None]:
        """Returns the k from which more than half of a run's lists have ended; None = never within depth."""
        return {run.id: run.provenance.get("list_end") for run in self._context.runs_of(run_ids)}

    def population_effect(
        self, run_ids: Sequence[str], metric: str, k: int
    ) -> population.PopulationEffect | None:
        """Returns whether the winner depends on counting users without a list. None below two runs with
        lists.
        """
        check_k(k)
        names = {run.id: run.name for run in self._context.runs_of(run_ids) if run.has_lists or run.is_mean}
        if len(names) < 2:
            return None
        values: dict[str, dict[str, float]] = {"truth": {}, "both": {}}
        n_users: dict[str, dict[str, int]] = {"truth": {}, "both": {}}
        rules: tuple[Users, Users] = ("truth", "both")
        for rule in rules:
            for run_id in names:
                mean, n = self._means(run_id, metric, k, rule)
                if n:
                    values[rule][run_id], n_users[rule][run_id] = mean, n
        if not values["truth"] or not values["both"]:
            return None
        return population.population_effect(names, values, n_users, naming.metric_title(metric, k))

    def _compute_mean(self, run_id: str, metric: str, k: int, users: Users | None) -> tuple[float, int]:
        """Returns mean and number of users; (0, 0) if no user counts."""
        values = self._values.compute_user_values(run_id, metric, k, users)
        if values is None or not len(values.users):
            return 0.0, 0
        return float(values.values.mean()), len(values.users)

    def standing(self, run_ids: Sequence[str], metric: str, k: int) -> reference_scale.Standing | None:
        """Returns where runs are between the experiment's reference candidates; None if that is
        meaningless.
        """
        check_k(k)
        references = [
            run.id
            for experiment in {run.experiment for run in self._context.runs_of(run_ids)}
            for run in self._store.runs.of_experiment(experiment)
            if run.reference
        ]
        if not references or not define(metric).ideal_is_best:
            return None
        ids = list(dict.fromkeys((*run_ids, *references)))
        scoreboard = self.scoreboard(ids, [metric], k)
        return reference_scale.standing(self._context.runs_of(ids), scoreboard, metric, k)

    def tie_band(self, run_id: str, metric: str, k: int) -> TieBand | None:
        """Returns worst, expected and best value of a metric over the orders of tied scores; None if all are
        equal.

        Also None for lists ordered by rank and for metrics that the run lacks.
        """
        check_k(k)
        return self._tie_bands(run_id, metric, k)

    def _compute_tie_band(self, run_id: str, metric: str, k: int) -> TieBand | None:
        run = self._store.runs.get(run_id)
        if run.is_mean and metric not in run.absent:
            return self._mean_band(run_id, metric, k)
        if not run.has_lists or metric in run.absent:
            return None
        sample, hits = self._values.sample(run_id), self._data.hits(run_id)
        check_k(k, sample.depth)
        if hits.ties is None and hits.order == "score" and hits.ledger.tied_rows:
            hits = replace(
                hits, ties=self._ties_again(run_id)
            )  # not stored: needs another pass over the upload
        return tie_band(define(metric), hits, sample, k)

    def _mean_band(self, run_id: str, metric: str, k: int) -> TieBand | None:
        """Returns the mean band over replicates: the worst is the mean of their worsts, and so on."""
        ids = self._data.replicate_ids(run_id)
        means = [self._means(replicate, metric, k, None) for replicate in ids]
        bands = [self._tie_bands(replicate, metric, k) for replicate in ids]
        known = [band for band in bands if band is not None]
        if not known or len({n_users for _, n_users in means}) > 1:
            return None

        def mean_end(end: str) -> float:
            pairs = zip(bands, means, strict=True)
            return float(np.mean([mean if band is None else getattr(band, end) for band, (mean, _) in pairs]))

        return TieBand(
            worst=mean_end("worst"),
            expected=mean_end("expected"),
            best=mean_end("best"),
            n_users=max(band.n_users for band in known),
            n_crossed=max(band.n_crossed for band in known),
        )

    def _find_ties(self, run_id: str) -> TiedHits | None:
        return self._data.match_again(run_id, exposure=False).ties

    def comparability(self, run_ids: Sequence[str], names: Mapping[str, str] | None = None) -> list[Problem]:
        """Returns why the numbers of these runs may not be comparable; empty if they are.

        ``names``: run id → what the texts call it, where that is not its name.
        """
        runs = [run for run in self._context.runs_of(run_ids) if run.has_lists or run.is_mean]
        experiments = {id_: self._store.experiments.get(id_) for id_ in {run.experiment for run in runs}}
        bases = [basis_of(run, experiments[run.experiment], self._id_caveats(run)) for run in runs]
        if names:
            bases = [replace(basis, run=names[run.id]) for basis, run in zip(bases, runs, strict=True)]
        return comparability_problems(bases)

    def id_overlap(self, run_id: str) -> IdOverlap | None:
        """Returns how many of a run's ids the experiment's tables know; None for a reference candidate and
        without lists.

        If that was not recorded when the run was scored, its items are counted from its hits; its users are
        then unknown.
        """
        run = self._store.runs.get(run_id)
        return run.overlap or self._stored_overlap(run_id)

    def _count_known(self, run_id: str) -> IdOverlap | None:
        run = self._store.runs.get(run_id)
        if run.is_mean:
            overlaps = filter(None, map(self.id_overlap, self._data.replicate_ids(run_id)))
            return min(overlaps, key=lambda overlap: overlap.items.share, default=None)
        if run.reference or not run.has_lists or (exposure := self._data.hits(run_id).exposure) is None:
            return None
        return stored_overlap(exposure, self._data.reference(run.experiment))

    def _id_caveats(self, run: Run) -> tuple[Problem, ...]:
        """Returns problems of a run's ids; of one scored before they were counted, computed now."""
        if run.overlap is not None:
            return caveats(run.notices)
        return self._stored_caveats(run.id, run.name) if run.reference is None else ()

    def _look_at_ids(self, run_id: str, name: str) -> tuple[Problem, ...]:
        run = self._data.lasting_run(run_id)
        if run.is_mean:
            return next(filter(None, map(self._id_caveats, self._data.replicates_of(run_id))), ())
        reference = self._data.reference(run.experiment)
        return stored_problems(name, self._data.hits(run_id), reference) if run.has_lists else ()
