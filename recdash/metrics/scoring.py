"""Computes any number of metrics of one run in a single call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.domain.results import Curve, Unavailable
from recdash.errors import InputError
from recdash.metrics.catalogue import OTHER_LISTS_UNKNOWN, CatalogueInputs, CatalogueMetric
from recdash.metrics.formulas import Moments, curves
from recdash.metrics.ranking import RankingMetric
from recdash.metrics.ratings import Predictions, RatingMetric
from recdash.metrics.registry import METRICS, Definition
from recdash.metrics.sample import RelevantHits
from recdash.metrics.trials import range_broken


@dataclass(frozen=True)
class MetricInputs:
    """The data of a run that metrics are computed from; an input is None if the run does not have it."""

    sample: RelevantHits | None = None
    catalogue: CatalogueInputs | None = None
    predictions: Predictions | None = None


def score(definitions: Iterable[Definition], inputs: MetricInputs) -> list[Curve | Unavailable]:
    """Returns for each definition its curve over k = 1..depth, or the reason why it is unavailable."""
    wanted = list(definitions)
    ranked = _ranked([definition for definition in wanted if definition.has_user_values], inputs.sample)
    results: list[Curve | Unavailable] = []
    for definition in wanted:
        metric = definition.metric
        if isinstance(metric, RankingMetric):
            results.append(next(ranked))
        else:
            results.append(_of_run(definition, metric, inputs))
    return results


def _of_run(
    definition: Definition, metric: CatalogueMetric | RatingMetric, inputs: MetricInputs
) -> Curve | Unavailable:
    """Returns the result of a metric of a whole run; unavailable if it is an own metric that fails."""
    try:
        if isinstance(metric, RatingMetric):
            return _rating(definition, metric, inputs.predictions)
        return _catalogue(definition, metric, inputs.catalogue)
    except InputError as error:
        return _failed(definition, error)


def by_metric(results: Iterable[Curve | Unavailable]) -> tuple[dict[str, Curve], dict[str, str]]:
    """Returns the curves, and the reasons of unavailable metrics, as two dicts keyed by canonical spec."""
    results = list(results)
    curves = {result.metric: result for result in results if isinstance(result, Curve)}
    return curves, {result.metric: result.reason for result in results if isinstance(result, Unavailable)}


def _ranked(definitions: Sequence[Definition], sample: RelevantHits | None) -> Iterator[Curve | Unavailable]:
    """Yields the results of all ranking metrics in the given order; they share intermediate results."""
    ours = [definition for definition in definitions if not METRICS.is_own(definition.metric.name)]
    reasons = {id(definition): why_ranking_unavailable(definition, sample) for definition in ours}
    formulas = [definition.formula() for definition in ours if not reasons[id(definition)]]
    moments = iter(curves(formulas, sample) if sample and formulas else ())
    for definition in definitions:
        if METRICS.is_own(definition.metric.name):
            yield _own_curve(definition, sample)
        elif (reason := reasons[id(definition)]) or sample is None:
            yield Unavailable(str(definition), reason)
        else:
            yield _ranked_curve(definition, next(moments), sample)


def _own_curve(definition: Definition, sample: RelevantHits | None) -> Curve | Unavailable:
    """Returns the result of an own metric, computed alone: if it fails, others have their results."""
    try:
        if (reason := why_ranking_unavailable(definition, sample)) or sample is None:
            return Unavailable(str(definition), reason)
        moments = definition.formula().curve(sample)
    except InputError as error:
        return _failed(definition, error)
    if broken := range_broken(definition, moments[0], definition.largest_value):
        return Unavailable(str(definition), f"the metric breaks its own law: it {broken}")
    return _ranked_curve(definition, moments, sample)


def _failed(definition: Definition, error: InputError) -> Unavailable:
    return Unavailable(str(definition), "; ".join(problem.found for problem in error.problems))


def _ranked_curve(definition: Definition, moments: Moments, sample: RelevantHits) -> Curve:
    value, error = moments
    if definition.metric.has_cutoff:
        return _curve(definition, value, error, sample.n_users)
    return Curve(str(definition), _NO_CUTOFF, value[-1:], error[-1:], sample.n_users)


def why_ranking_unavailable(definition: Definition, sample: RelevantHits | None) -> str:
    """Returns why a sample lacks a ranking metric, without computing it; empty if it has it."""
    if sample is None:
        return "needs ranked lists, and only rating predictions were given"
    if sample.n_users == 0:
        return "no user has both a list and a relevant item"
    return definition.why_unavailable(sample)


def _catalogue(
    definition: Definition, metric: CatalogueMetric, inputs: CatalogueInputs | None
) -> Curve | Unavailable:
    reason = (
        "needs ranked lists"
        if inputs is None
        else why_catalogue_metric_unavailable(definition, metric, inputs)
    )
    if reason or inputs is None:
        return Unavailable(str(definition), reason)
    inputs = inputs.of(definition.parameters["users"])
    if not inputs.exposure.n_lists:
        return Unavailable(str(definition), "no user who counts has a list")
    if metric.curve is not None and not metric.from_lists(definition.parameters):
        value = metric.curve(inputs, definition.parameters)
        return _curve(definition, value, np.full_like(value, np.nan), inputs.exposure.n_lists)
    means = inputs.exposure.list_means.get(definition.of_lists)
    if means is None:
        reason = f"{definition} needs the lists themselves; score the upload again with this metric"
        return Unavailable(str(definition), reason)
    if not means.n_lists.any():
        return Unavailable(str(definition), f"no list has its input: {metric.needs}")
    return _curve(definition, means.mean, means.std_error, int(means.n_lists[-1]))


def why_catalogue_metric_unavailable(
    definition: Definition, metric: CatalogueMetric, inputs: CatalogueInputs
) -> str:
    """Returns why a run has no value of a catalogue-level metric; an empty text if it has one."""
    users = definition.parameters["users"]
    if users == "run" and not inputs.is_whole:
        return OTHER_LISTS_UNKNOWN
    return metric.why_unavailable(inputs.of(users), definition.parameters)


def _rating(definition: Definition, metric: RatingMetric, rows: Predictions | None) -> Curve | Unavailable:
    reason = metric.why_unavailable(rows)
    if reason or rows is None:
        return Unavailable(str(definition), reason)
    value, error = metric.value(rows)
    return Curve(str(definition), _NO_CUTOFF, np.array([value]), np.array([error]), rows.n_users)


def _curve(definition: Definition, value: Floats, error: Floats, n_users: int) -> Curve:
    return Curve(str(definition), np.arange(1, len(value) + 1), value, error, n_users)


_NO_CUTOFF: Ints = np.zeros(0, dtype=np.int64)
