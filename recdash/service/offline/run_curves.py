"""A metric of a run at every cutoff: stored, or computed when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.domain.records import Run
from recdash.domain.results import WHOLE, Curve, Scope, Unavailable
from recdash.errors import InputError
from recdash.evaluation import replicate_means, scoring
from recdash.metrics import Definition, define, score
from recdash.metrics.catalogue import CatalogueMetric
from recdash.metrics.ratings import RatingMetric
from recdash.service.context import ServiceContext
from recdash.service.metric_values import MetricValues, absent_for
from recdash.service.offline.slices import Slices
from recdash.service.run_data import RunData


class RunCurves:
    """Curves of stored runs, each computed once."""

    def __init__(self, context: ServiceContext, data: RunData, values: MetricValues, slices: Slices) -> None:
        self._context, self._data, self._values, self._slices = context, data, values, slices
        self.curve = context.cached(self._compute_curve, most=1024)

    def of(
        self, run_ids: Sequence[str], metrics: Sequence[str], scope: Scope = WHOLE
    ) -> dict[str, dict[str, Curve]]:
        stored: dict[str, dict[str, Curve | Unavailable]] = {run_id: {} for run_id in run_ids}
        if scope == WHOLE:
            stored |= {
                run_id: dict(curves)
                for run_id, curves in self._context.store.curves(run_ids, metrics).items()
            }
        for run in self._context.runs_of(run_ids):
            for metric in metrics:
                if metric not in stored[run.id] and metric not in run.absent:
                    stored[run.id][metric] = self.curve(run.id, metric, scope)
        return {
            run_id: {metric: curve for metric, curve in curves.items() if isinstance(curve, Curve)}
            for run_id, curves in stored.items()
        }

    def _compute_curve(self, run_id: str, metric: str, scope: Scope = WHOLE) -> Curve | Unavailable:
        definition = define(metric)
        if scope.slice and isinstance(definition.metric, RatingMetric):
            return Unavailable(metric, scoring.NOT_IN_SLICES)
        if scope.slice and isinstance(definition.metric, CatalogueMetric):
            return self._curve_of_slice(run_id, metric, scope)
        try:
            if self._context.store.run(run_id).is_mean:
                return self._mean_curve(run_id, definition, scope)
            (curve,) = score([definition], self._values.material_for(run_id, definition, scope))
        except InputError as error:
            return absent_for(metric, error)
        return curve

    def _mean_curve(self, run_id: str, definition: Definition, scope: Scope) -> Curve | Unavailable:
        """Of a run whose users have a list in each of its replicates."""
        metric, replicated = str(definition), self._data.replicates_of(run_id)
        known = self.of([replicate.id for replicate in replicated], [metric], scope)
        samples = [self._values.sample(replicate.id, None, scope) for replicate in replicated]
        curve = replicate_means.mean_curve(
            definition, samples, [known[replicate.id].get(metric) for replicate in replicated]
        )
        return curve or self._first_absence(replicated, metric)

    def _first_absence(self, below: Sequence[Run], metric: str) -> Unavailable:
        """Why the first that lacks the metric does."""
        asked = (
            Unavailable(metric, replicate.absent[metric]) for replicate in below if metric in replicate.absent
        )
        computed = (self.curve(replicate.id, metric) for replicate in below if metric not in replicate.absent)
        lacking = [replicate for replicate in (*asked, *computed) if isinstance(replicate, Unavailable)]
        return lacking[0] if lacking else Unavailable(metric, "one of its replicates lacks it")

    def _curve_of_slice(self, run_id: str, metric: str, scope: Scope) -> Curve | Unavailable:
        """What is shown to a slice of users does not depend on what counts as relevant."""
        of = self._data.slice(self._context.store.run(run_id).experiment, scope)
        for scores in self._slices.slice_scores(run_id, of.by, metric):
            if scores.of.value == of.value and metric in scores.curves:
                return scores.curves[metric]
            if scores.of.value == of.value:
                return Unavailable(metric, scores.absent.get(metric, "nothing is shown to this slice"))
        return Unavailable(metric, "nobody in this slice counts")
