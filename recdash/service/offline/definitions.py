"""Scores one run under the definitions of many libraries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recdash.definitions import conventions
from recdash.definitions import worked_example as worked
from recdash.definitions.conventions import Convention, MetricValue
from recdash.definitions.guide import MetricGuide, PresetGuide, metric_guides, preset_guides
from recdash.domain.hits import Hits
from recdash.domain.results import Curve, Unavailable
from recdash.engines import Reference, list_metrics
from recdash.errors import InputError, Problem
from recdash.evaluation import replicate_means, scoring
from recdash.evaluation.metric_inputs import expectedness_of
from recdash.metrics import METRICS, check_k, define, sample_of
from recdash.metrics import preset as preset_named
from recdash.service import frames
from recdash.service.context import ServiceContext
from recdash.service.metric_values import absent_for
from recdash.service.offline.run_curves import RunCurves
from recdash.service.run_data import RunData

if TYPE_CHECKING:
    import pandas as pd

    from recdash.definitions.worked_example import Worked


class PresetResults:
    """The service that computes what each library would report for a run, and why its value differs."""

    def __init__(self, context: ServiceContext, data: RunData, run_curves: RunCurves) -> None:
        self._context, self._data, self._run_curves = context, data, run_curves
        self._counted = context.cached(self._count, most=1024)
        self._hits_again = context.cached(self._read_hits_again, most=8)

    def guide(self) -> list[MetricGuide]:
        """Returns the explanation of each metric, in the order of the guide."""
        return metric_guides()

    def refused_metrics(self) -> list[Problem]:
        """Returns why own metrics are not used, one problem for each metric or unreadable file."""
        return list(METRICS.refused.values())

    def presets(self) -> list[PresetGuide]:
        """Returns the explanation of each preset, which is the set of definitions of one library."""
        return preset_guides()

    def under_presets(self, run_id: str, metric: str, k: int) -> pd.DataFrame:
        """Returns the run's value under every preset, as a frame with the columns of
        ``conventions.preset_frame``.

        A parameter that ``metric`` states overrides that of the preset. Raises InputError for a k beyond the
        depth.
        """
        own_order = self._context.store.runs.get(run_id).provenance.get("order", "rank")
        return conventions.preset_frame(
            self._conventions(run_id, metric), self._count_at(run_id, k), own_order
        )

    def preset_causes(self, run_id: str, metric: str, k: int) -> pd.DataFrame:
        """Returns why the value of each preset differs from the default: a frame with one row per cause.

        The columns are those of ``recdash.definitions.conventions.cause_frame``. Raises InputError for a k
        beyond the depth.
        """
        return conventions.cause_frame(self._conventions(run_id, metric), self._count_at(run_id, k))

    def worked_example(self, run_id: str, metric: str, k: int, preset: str = "default") -> Worked | None:
        """Returns the computation of the metric for one user with a short list, step by step.

        None if there is no such user, and for a run without lists. Raises UnknownName for an unknown preset,
        InputError for a k beyond the depth, Forbidden for a guest whose link shows numbers only.
        """
        self._context.person.must_see_users()
        if not self._context.store.runs.get(run_id).has_lists:
            return None
        convention = self._conventions(run_id, metric)[preset_named(preset).name]
        hits, reference = self._hits_under(run_id, convention)
        check_k(k, hits.depth)
        return worked.of_run(define(convention.spec), hits, k, expectedness_of(reference))

    def _conventions(self, run_id: str, metric: str) -> dict[str, Convention]:
        settings = self._context.settings_of(self._data.cached_run(run_id).experiment)
        return conventions.conventions_of(metric, settings)

    def _count_at(self, run_id: str, k: int) -> conventions.Count:
        """Returns a function that scores the run at k under a given convention."""
        check_k(k)

        def count(convention: Convention) -> MetricValue:
            curve = self._counted(run_id, convention)
            if isinstance(curve, Unavailable):
                return MetricValue(float("nan"), reason=curve.reason)
            return MetricValue(**frames.score_at(curve, k))

        return count

    def _count(self, run_id: str, convention: Convention) -> Curve | Unavailable:
        spec, run = convention.spec, self._data.cached_run(run_id)
        if run.is_mean:
            return self._count_mean(run_id, convention)
        if not run.has_lists:
            return self._run_curves.curve(run_id, spec)
        try:
            hits, reference = self._hits_under(run_id, convention)
        except InputError as error:
            return absent_for(spec, error)
        rated = self._data.predictions(run_id)
        curves, absent = scoring.score_hits(hits, reference, [define(spec)], convention.users, rated)
        return curves[spec] if curves else Unavailable(spec, absent[spec])

    def _count_mean(self, run_id: str, convention: Convention) -> Curve | Unavailable:
        curves, samples = [], []
        for replicate in self._data.replicate_ids(run_id):
            curve = self._counted(replicate, convention)
            if isinstance(curve, Unavailable):
                return curve
            curves.append(curve)
        for replicate in self._data.replicate_ids(run_id):
            hits, reference = self._hits_under(replicate, convention)
            samples.append(sample_of(hits, convention.users, expectedness=expectedness_of(reference)))
        mean = replicate_means.mean_curve(define(convention.spec), samples, curves)
        return mean or Unavailable(convention.spec, "one of its replicates does not have it")

    def _hits_under(self, run_id: str, convention: Convention) -> tuple[Hits, Reference]:
        """Returns the run's hits with the order and relevance of a convention, and the reference data that
        belongs to it.

        Raises InputError if the upload lacks the column by which the convention orders lists.
        """
        reference = self._data.reference_of(run_id)
        truth = conventions.truth_under(reference.truth, convention)
        hits = self._data.hits(run_id)
        if conventions.needs_upload(hits, truth, convention):
            hits = self._hits_again(run_id, conventions.of_upload(convention))
        return replace(hits, truth=truth), replace(reference, truth=truth)

    def _read_hits_again(self, run_id: str, convention: Convention) -> Hits:
        stored = self._data.reference_of(run_id)
        reference = replace(stored, truth=conventions.truth_under(stored.truth, convention))
        metrics = list_metrics([define(convention.spec)], reference, self._data.hits(run_id).depth)
        how = {"order": convention.order, "ties": convention.ties, "duplicates": convention.duplicates}
        return self._data.match_again(run_id, reference, list_metrics=metrics, **how)
