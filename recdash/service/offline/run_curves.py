"""A metric of a stored run at every cutoff: read from the store, or else computed."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.domain.records import Run
from recdash.domain.results import WHOLE, Curve, Scope, Unavailable
from recdash.errors import InputError
from recdash.evaluation import replicate_means, scoring
from recdash.metrics import METRICS, Definition, MetricInputs, define, score
from recdash.metrics.catalogue import CatalogueMetric
from recdash.metrics.ranking import RankingMetric
from recdash.metrics.ratings import RatingMetric
from recdash.metrics.scoring import why_ranking_unavailable
from recdash.service.context import ServiceContext
from recdash.service.metric_values import MetricValues, absent_for
from recdash.service.offline.slices import Slices
from recdash.service.run_data import RunData


class RunCurves:
    """The service that reads or computes curves of stored runs; cached."""

    def __init__(self, context: ServiceContext, data: RunData, values: MetricValues, slices: Slices) -> None:
        self._context, self._data, self._values, self._slices = context, data, values, slices
        self._store = context.store
        self.curve = context.sized_cache(self._compute_curve, least=1024)

    def of(
        self, run_ids: Sequence[str], metrics: Sequence[str], scope: Scope = WHOLE
    ) -> dict[str, dict[str, Curve]]:
        """Returns {run id: {metric: curve}}, read from the store or computed; metrics that a run lacks are
        missing.
        """
        stored = self._store.curves.of_runs(run_ids, metrics) if scope == WHOLE else {}
        curves: dict[str, dict[str, Curve]] = {run_id: {} for run_id in run_ids}
        for run in self._context.runs_of(run_ids):
            known = stored.get(run.id, {})
            self._compute_together(run, [metric for metric in metrics if metric not in known], scope)
            for metric in metrics:
                curve = known.get(metric)
                if curve is None and metric not in run.absent:
                    curve = self.curve(run.id, metric, scope)
                if isinstance(curve, Curve):
                    curves[run.id][metric] = curve
        return curves

    def why_absent(self, run_id: str, metric: str, scope: Scope = WHOLE) -> str:
        """Returns why the run lacks a metric that is not stored with it; empty if it has it.

        Metrics of single users are not computed for that: under a new threshold, whether they exist would
        take longer than their values at one k.
        """
        definition, run = define(metric), self._data.cached_run(run_id)
        if _is_plain(definition) and run.has_lists and not run.is_mean:
            try:
                inputs = self._values.inputs_for(run_id, definition, scope)
            except InputError as error:
                return absent_for(metric, error).reason
            return why_ranking_unavailable(definition, inputs.sample)
        curve = self.curve(run_id, metric, scope)
        return curve.reason if isinstance(curve, Unavailable) else ""

    def _compute_together(self, run: Run, metrics: Sequence[str], scope: Scope) -> None:
        """Computes curves that are not known in one pass over the run's hits: four of them take half of the
        time of four passes. Curves of other than plain accuracy metrics are left out.
        """
        if run.is_mean or not run.has_lists:
            return
        definitions = {
            metric: definition
            for metric in metrics
            if metric not in run.absent
            and _is_plain(definition := define(metric))
            and not self.curve.knows(run.id, metric, scope)
        }
        if len(definitions) < 2:
            return
        try:
            inputs = MetricInputs(self._values.sample(run.id, None, scope))
        except InputError:  # each metric tells the reason
            return
        for metric, curve in zip(definitions, score(definitions.values(), inputs), strict=True):
            self.curve.remember(curve, run.id, metric, scope)

    def _compute_curve(self, run_id: str, metric: str, scope: Scope = WHOLE) -> Curve | Unavailable:
        definition = define(metric)
        if scope.slice and isinstance(definition.metric, RatingMetric):
            return Unavailable(metric, scoring.NOT_IN_SLICES)
        if scope.slice and isinstance(definition.metric, CatalogueMetric):
            return self._curve_of_slice(run_id, metric, scope)
        try:
            if self._store.runs.get(run_id).is_mean:
                return self._mean_curve(run_id, definition, scope)
            return score([definition], self._values.inputs_for(run_id, definition, scope))[0]
        except InputError as error:
            return absent_for(metric, error)

    def _mean_curve(self, run_id: str, definition: Definition, scope: Scope) -> Curve | Unavailable:
        """Returns the mean curve over the seeds of a run; if a seed lacks the metric, the metric as
        unavailable with the reason.
        """
        metric, replicates = str(definition), self._data.replicates_of(run_id)
        curves_of = self.of([replicate.id for replicate in replicates], [metric], scope)
        samples = [self._values.sample(replicate.id, None, scope) for replicate in replicates]
        curves = [curves_of[replicate.id].get(metric) for replicate in replicates]
        curve = replicate_means.mean_curve(definition, samples, curves)
        if curve is not None:
            return curve
        for replicate in replicates:
            if metric in replicate.absent:
                return Unavailable(metric, replicate.absent[metric])
        for replicate in replicates:
            computed = self.curve(replicate.id, metric)
            if isinstance(computed, Unavailable):
                return computed
        return Unavailable(metric, "one of its replicates does not have it")

    def _curve_of_slice(self, run_id: str, metric: str, scope: Scope) -> Curve | Unavailable:
        """Returns the curve of the metric in a slice, or why it is unavailable there.

        The scope's threshold does not matter here, as it is used for exposure, which does not depend on
        relevance.
        """
        part = self._data.slice(self._store.runs.get(run_id).experiment, scope)
        for scores in self._slices.slice_scores(run_id, part.by, metric):
            if scores.of.value == part.value:
                reason = scores.absent.get(metric, "this slice has no recommendations")
                return scores.curves.get(metric) or Unavailable(metric, reason)
        return Unavailable(metric, "no user in this slice counts")


def _is_plain(definition: Definition) -> bool:
    """Returns whether it is an accuracy metric of this package, which fails for no input."""
    return isinstance(definition.metric, RankingMetric) and not METRICS.is_own(definition.metric.name)
