"""Metric values per user of stored runs, their inputs, and whether a run has the data that a metric needs."""

from __future__ import annotations

from dataclasses import replace

from recdash.domain.kinds import Users
from recdash.domain.records import Run
from recdash.domain.results import WHOLE, Scope, Unavailable, UserValues
from recdash.engines import list_metrics
from recdash.errors import InputError
from recdash.evaluation import replicate_means
from recdash.evaluation.metric_inputs import catalogue_inputs_of, relevant_hits_of
from recdash.evaluation.replicate_means import rated_values
from recdash.metrics import METRICS, Definition, MetricInputs, define
from recdash.metrics.catalogue import CatalogueInputs, CatalogueMetric
from recdash.metrics.ratings import RatingMetric
from recdash.metrics.sample import CountedTruth, RelevantHits, counted_truth
from recdash.service.context import ServiceContext
from recdash.service.run_data import RunData


def absent_for(metric: str, error: InputError) -> Unavailable:
    """Returns the metric as unavailable, with the findings of ``error`` as the reason."""
    return Unavailable(metric, "; ".join(problem.found for problem in error.problems))


class MetricValues:
    """The service for values and inputs of metrics of stored runs; cached."""

    def __init__(self, context: ServiceContext, data: RunData) -> None:
        self._context, self._data = context, data
        self._store = context.store
        self._counted_truth = context.cached(self._count_truth, most=8)
        self._user_values = context.sized_cache(self.compute_user_values, least=64)
        self.inputs = context.sized_cache(self._read_inputs, least=64)
        self._samples = context.sized_cache(self.read_sample, least=64)
        self.is_possible = context.cached(self._check_possible, most=4096)
        self._catalogue_of_all_lists = context.cached(self._read_all_lists, most=16)

    def _count_truth(self, experiment_id: str, scope: Scope) -> CountedTruth:
        truth = self._data.reference_under(experiment_id, scope.threshold).truth
        part = self._data.slice(experiment_id, scope) if scope.slice else None
        return counted_truth(truth) if part is None else counted_truth(truth, part.users, part.rows)

    def inputs_for(self, run_id: str, definition: Definition, scope: Scope = WHOLE) -> MetricInputs:
        """Returns the inputs that a metric needs of a run; empty inputs for a run without lists.

        Data about the lists that was not stored with the run is computed again from its upload. Raises
        InputError if that is necessary and the upload was not kept.
        """
        metric = definition.metric
        if isinstance(metric, RatingMetric):
            return MetricInputs(predictions=self._data.predictions(run_id))
        run = self._store.runs.get(run_id)
        if not run.has_lists:
            return MetricInputs()
        if not isinstance(metric, CatalogueMetric):
            return MetricInputs(self.sample(run_id, None, scope))
        inputs = self.inputs(run_id, None, scope)
        catalogue = inputs.catalogue
        if catalogue is None:
            return inputs
        known_means = catalogue.exposure.list_means
        if metric.from_lists(definition.parameters) and definition.of_lists not in known_means:
            reference = self._data.reference(run.experiment)
            metrics_of_lists = list_metrics([definition], reference, catalogue.depth)
            if metrics_of_lists:  # otherwise the set-up lacks a table that the metric needs
                hits = self._data.match_again(run_id, list_metrics=metrics_of_lists)
                catalogue = catalogue_inputs_of(hits, reference) or catalogue
        elif definition.parameters["users"] == "run":
            catalogue = self._with_all_lists(run_id, catalogue)
        return replace(inputs, catalogue=catalogue)

    def catalogue_of_all_lists(self, run_id: str) -> CatalogueInputs | None:
        """Returns the run's exposure to all users with a list; None for a run without lists."""
        catalogue = self.inputs(run_id).catalogue if self._store.runs.get(run_id).has_lists else None
        whole = None if catalogue is None else self._with_all_lists(run_id, catalogue)
        return None if whole is None else whole.of("run")

    def _with_all_lists(self, run_id: str, catalogue: CatalogueInputs) -> CatalogueInputs | None:
        """Returns the inputs with the lists that were not counted, which are read again if necessary."""
        return catalogue if catalogue.is_whole else self._catalogue_of_all_lists(run_id)

    def _read_all_lists(self, run_id: str) -> CatalogueInputs | None:
        """Returns the exposure of the run's stored upload to all users, for runs that were scored by releases
        which did not store it.
        """
        reference = self._data.reference_of(run_id)
        return catalogue_inputs_of(self._data.match_again(run_id), reference)

    def _check_possible(self, run_id: str, metric: str) -> bool:
        """Returns whether the run and its experiment have the tables that the metric needs; computes no
        value.
        """
        definition, run = define(metric), self._store.runs.get(run_id)
        if run.is_mean:
            return all(self.is_possible(replicate, metric) for replicate in self._data.replicate_ids(run_id))
        if isinstance(definition.metric, RatingMetric):
            return "predictions" in run.hits
        if not run.has_lists:
            return False
        try:
            return self._has_inputs(run_id, definition)
        except InputError:
            if not METRICS.is_own(definition.metric.name):
                raise
            return True  # it fails: it is offered, so that the reason is shown

    def _has_inputs(self, run_id: str, definition: Definition) -> bool:
        """Returns whether a run with lists has the inputs of a metric of lists."""
        if isinstance(definition.metric, CatalogueMetric):
            catalogue, parameters = self.inputs(run_id).catalogue, definition.parameters
            return catalogue is not None and not definition.metric.why_unavailable(
                catalogue.of(parameters["users"]), parameters
            )
        return not definition.why_unavailable(self.sample(run_id))

    def user_values(
        self, run_id: str, metric: str, k: int, users: Users | None = None, scope: Scope = WHOLE
    ) -> UserValues | None:
        """Returns what ``compute_user_values`` does; cached, under the run's own rule once and not twice."""
        if users is not None and users == self.rule(self._data.cached_run(run_id), None):
            users = None
        return self._user_values(run_id, metric, k, users, scope)

    def compute_user_values(
        self, run_id: str, metric: str, k: int, users: Users | None = None, scope: Scope = WHOLE
    ) -> UserValues | None:
        """Returns the metric's value per user; None if the run has no lists or lacks what the metric needs.

        Raises InputError for a metric without a value per user.
        """
        definition, run = define(metric), self._data.cached_run(run_id)
        if isinstance(definition.metric, RatingMetric):
            if scope.slice or "predictions" not in run.hits:
                return None
            table = self._store.artifacts.table(run.hits["predictions"])
            return rated_values(definition, self._data.rated_pairs(run.experiment).rows(table))
        definition.formula()  # raises InputError if there is no value per user
        users = definition.own_rule or users
        if run.is_mean:
            samples = [self.sample(replicate, users, scope) for replicate in self._data.replicate_ids(run_id)]
            return replicate_means.user_values(definition, samples, k)
        if not run.has_lists:
            return None
        if definition.own_rule is None and self.rule(run, users) == "both":
            values = self.user_values(run_id, metric, k, "truth", scope)
            if values is not None:  # a user's value does not depend on which other users count
                listed = self.sample(run_id, "truth", scope).list_length > 0
                return values if listed.all() else values.of(listed)
        return replicate_means.user_values(definition, [self.sample(run_id, users, scope)], k)

    def sample(self, run_id: str, users: Users | None = None, scope: Scope = WHOLE) -> RelevantHits:
        """Returns the hits of the users who count, by the population rule ``users`` or else the experiment's
        own rule.
        """
        return self._samples(run_id, users, scope)

    def _read_inputs(self, run_id: str, users: Users | None = None, scope: Scope = WHOLE) -> MetricInputs:
        """Returns the inputs of metrics for a run.

        For a slice they suffice for accuracy metrics only, as exposure would need another pass over the
        lists.
        """
        sample = self.sample(run_id, users, scope)
        if scope.slice:
            return MetricInputs(sample)
        run = self._data.cached_run(run_id)
        reference = self._data.reference_under(run.experiment, scope.threshold)
        return MetricInputs(sample, catalogue_inputs_of(self._data.hits(run_id), reference))

    def read_sample(self, run_id: str, users: Users | None = None, scope: Scope = WHOLE) -> RelevantHits:
        """Returns what ``sample`` does, not cached."""
        run = self._data.cached_run(run_id)
        rule = self.rule(run, users)
        reference = self._data.reference_under(run.experiment, scope.threshold)
        hits = replace(self._data.hits_alone(run_id), truth=reference.truth)
        # if the same users count for every run, their rows and ideal lists are computed once
        shared = self._counted_truth(run.experiment, scope) if rule == "truth" else None
        part = self._data.slice(run.experiment, scope) if scope.slice else None
        return relevant_hits_of(hits, reference, rule, part, shared=shared)

    def rule(self, run: Run, users: Users | None) -> Users:
        """Returns the population rule: ``users`` if given, else the one stored with the run, else the
        experiment's.
        """
        named: Users | None = users or run.provenance.get("users")
        return named or self._context.settings_of(run.experiment)["users"]
