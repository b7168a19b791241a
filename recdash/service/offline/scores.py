"""Scores of stored runs, and caveats about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.comparison import population
from recdash.domain.arguments import texts_of
from recdash.domain.hits import IdOverlap, TiedHits
from recdash.domain.kinds import Users
from recdash.domain.records import Run
from recdash.domain.results import WHOLE, Curve, Scope, Unavailable
from recdash.engines.known_ids import stored_overlap
from recdash.errors import Problem
from recdash.evaluation.comparability import basis_of, comparability_problems
from recdash.evaluation.known_ids import caveats, stored_problems
from recdash.metrics import check_k, define, naming
from recdash.metrics.populations import POPULATION, WHO_COUNTS
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
    """The service for curves and scores of stored runs, with the caveats that apply."""

    def __init__(
        self, context: ServiceContext, data: RunData, values: MetricValues, run_curves: RunCurves
    ) -> None:
        self._context, self._data, self._values, self._run_curves = context, data, values, run_curves
        self._store = context.store
        self._means = context.cached(self._compute_mean, most=4096)
        self._effects = context.cached(self._compute_effect, most=256)
        self._tie_bands = context.cached(self._compute_tie_band, most=1024)
        self._ties_again = context.cached(self._find_ties, most=32)
        self._stored_overlap = context.cached(self._count_known, most=1024)
        self._stored_caveats = context.cached(self._look_at_ids, most=1024)

    def metrics_of(self, run_ids: Sequence[str]) -> list[str]:
        """Returns the metrics to offer for these runs: default metrics that any of them has or could have, in
        the order of the guide; then other stored ones.
        """
        stored = {metric for metrics in self._store.curves.metrics(run_ids).values() for metric in metrics}
        runs = self._context.runs_of(run_ids)

        def is_offered(metric: str) -> bool:
            return metric in stored or any(
                metric not in run.absent and self._values.is_possible(run.id, metric) for run in runs
            )

        defaults = [str(define(metric)) for metric in naming.default_specs()]
        return [*filter(is_offered, defaults), *sorted(stored.difference(defaults))]

    def gone_metrics(self, run_ids: Sequence[str]) -> dict[str, str]:
        """Returns {metric: reason} of the own metrics that were installed when one of these runs was added,
        and are not now.
        """
        names = {name for run in self._context.runs_of(run_ids) for name in run.own_metrics}
        return {name: why for name in sorted(names) if (why := naming.why_not_installed(name))}

    def curves(self, run_ids: Sequence[str], metrics: Sequence[str], scope: Scope = WHOLE) -> pd.DataFrame:
        """Returns the runs' curves as a tidy frame: run_id, run, metric, k, value, std_error, n_users.

        Curves that are not stored (other definitions, other scopes) are computed from the hits.
        """
        run_ids, metrics = _texts(run_ids, metrics)
        curves = self._run_curves.of(run_ids, metrics, scope)
        return frames.curve_frame(self._context.runs_of(run_ids), curves)

    def scoreboard(
        self, run_ids: Sequence[str], metrics: Sequence[str], k: int, scope: Scope = WHOLE
    ) -> pd.DataFrame:
        """Returns a frame of run_id, run, metric, value, std_error, n_users at k; the runs that are best in
        the first metric come first.
        """
        check_k(k)
        run_ids, metrics = _texts(run_ids, metrics)
        runs = self._context.runs_of(run_ids)
        self._data.remember_runs(runs)
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
        """Returns value, std_error and n_users of a metric at k, from ``curve`` if it is stored; None if the
        run lacks it.

        Without a stored curve only this k is computed, if the users who count are known individually.
        """
        run = self._data.cached_run(run_id)
        if curve is None and define(metric).has_user_values and self._values.rule(run, None) != "run":
            values = self._values.user_values(run_id, metric, k, None, scope)
            return None if values is None or not len(values.users) else frames.score_of_values(values)
        curve = curve or self._run_curves.curve(run_id, metric, scope)
        return frames.score_at(curve, k) if isinstance(curve, Curve) else None

    def absences(self, run_ids: Sequence[str], metric: str, scope: Scope = WHOLE) -> dict[str, str]:
        """Returns {run id: reason} of the runs that lack the metric; empty if all have it."""
        if why := naming.why_not_installed(metric):
            return dict.fromkeys(run_ids, why)
        stored = self._store.curves.of_runs(run_ids, [metric]) if scope == WHOLE else {}
        reasons = {}
        for run in self._context.runs_of(run_ids):
            reason = run.absent.get(metric)
            if not reason:
                curve = stored.get(run.id, {}).get(metric)
                in_store = curve.reason if isinstance(curve, Unavailable) else ""
                reason = in_store if curve else self._run_curves.why_absent(run.id, metric, scope)
            if reason:
                reasons[run.id] = reason
        return reasons

    def list_ends(self, run_ids: Sequence[str]) -> dict[str, int | None]:
        """Returns {run id: the smallest k for which more than half of the run's lists are shorter than k}.

        The k is None if there is none up to the run's depth.
        """
        return {run.id: run.provenance.get("list_end") for run in self._context.runs_of(run_ids)}

    def population_effect(
        self, run_ids: Sequence[str], metric: str, k: int
    ) -> population.PopulationEffect | None:
        """Returns whether the winner depends on counting users without a list: who leads among the users with
        a list from every run, and who among all.

        None for fewer than two runs with lists, and if no user has a list from every run.
        """
        check_k(k)
        names = {run.id: run.name for run in self._context.runs_of(run_ids) if run.has_lists or run.is_mean}
        if len(names) < 2:
            return None
        return self._effects(tuple(names.items()), metric, k)

    def _compute_effect(
        self, names: tuple[tuple[str, str], ...], metric: str, k: int
    ) -> population.PopulationEffect | None:
        rules: tuple[Users, Users] = ("truth", "both")
        known = define(metric)
        if known.own_rule:  # it would count the same users under both rules
            metric = str(replace(known, parameters={**known.parameters, POPULATION.name: WHO_COUNTS}))
        everyone, with_lists = (
            {
                run: own
                for run, _ in names
                if (own := self._values.user_values(run, metric, k, rule)) is not None
            }
            for rule in rules
        )
        if not everyone or any(own.rated or not len(own.users) for own in everyone.values()):
            return None  # predicted ratings have no lists that a user may lack
        title = naming.metric_title(metric, k)
        return population.population_effect(dict(names), everyone, with_lists, title)

    def _compute_mean(self, run_id: str, metric: str, k: int, users: Users | None) -> tuple[float, int]:
        """Returns the metric's mean and the number of users who count; (0, 0) if there are none."""
        values = self._values.compute_user_values(run_id, metric, k, users)
        if values is None or not len(values.users):
            return 0.0, 0
        return float(values.values.mean()), len(values.users)

    def standing(
        self, run_ids: Sequence[str], metric: str, k: int
    ) -> reference_scale.ReferenceStanding | None:
        """Returns the runs' values on the scale between the experiment's reference candidates.

        None without reference candidates, and for a metric in which an ideal list does not have the best
        value.
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
        return reference_scale.reference_standing(self._context.runs_of(ids), scoreboard, metric, k)

    def tie_band(self, run_id: str, metric: str, k: int) -> TieBand | None:
        """Returns the worst, expected and best value of the metric over all orders of items with tied scores.

        None if the three are equal, for lists ordered by rank, and if the run lacks the metric.
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
            )  # ties are not stored and need another pass over the upload
        return tie_band(define(metric), hits, sample, k)

    def _mean_band(self, run_id: str, metric: str, k: int) -> TieBand | None:
        """Returns the band of a run with seeds: the means of the seeds' worst, expected and best values.

        None if no seed has a band, and if the seeds have different numbers of users.
        """
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

    def comparability(
        self,
        run_ids: Sequence[str],
        names: Mapping[str, str] | None = None,
        *,
        alike: bool = False,
        former: bool = False,
    ) -> list[Problem]:
        """Returns why the numbers of these runs may not be comparable; empty if they are.

        ``names`` are used in the texts in place of the runs' own names: {run id: name}. ``alike``: whether
        users without a list from any run are reported, too. ``former``: tied scores are reported as older
        reports do.
        """
        runs = [run for run in self._context.runs_of(run_ids) if run.has_lists or run.is_mean]
        experiments = {id_: self._store.experiments.get(id_) for id_ in {run.experiment for run in runs}}
        bases = [basis_of(run, experiments[run.experiment], self._id_caveats(run)) for run in runs]
        if names:
            bases = [replace(basis, run=names[run.id]) for basis, run in zip(bases, runs, strict=True)]
        return comparability_problems(bases, alike=alike, former=former)

    def id_overlap(self, run_id: str) -> IdOverlap | None:
        """Returns how many of the run's user and item ids are known from the experiment's tables.

        None for a reference candidate, and for a run without lists. For a run of an older release, which did
        not record it, only items are counted (from the hits), and users are unknown.
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
        """Returns the problems of the run's ids: those stored with it, or computed now for runs of older
        releases.
        """
        if run.overlap is not None:
            return caveats(run.notices)
        return self._stored_caveats(run.id, run.name) if run.reference is None else ()

    def _look_at_ids(self, run_id: str, name: str) -> tuple[Problem, ...]:
        run = self._data.cached_run(run_id)
        if run.is_mean:
            return next(filter(None, map(self._id_caveats, self._data.replicates_of(run_id))), ())
        reference = self._data.reference(run.experiment)
        return stored_problems(name, self._data.hits(run_id), reference) if run.has_lists else ()


def _texts(run_ids: object, metrics: object) -> tuple[list[str], list[str]]:
    """Returns the ids and the metrics, each one or several. Raises InputError for what is no text."""
    return texts_of("run_ids", run_ids, "the id of a run"), texts_of("metrics", metrics, "ndcg")
