"""Computes any number of metrics of one run in a single call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.domain.results import Curve, Unavailable
from recdash.metrics.catalogue import OTHER_LISTS_UNKNOWN, CatalogueInputs, CatalogueMetric
from recdash.metrics.formulas import curves
from recdash.metrics.ranking import RankingMetric
from recdash.metrics.ratings import Predictions, RatingMetric
from recdash.metrics.registry import Definition
from recdash.metrics.sample import RelevantHits


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
        elif isinstance(metric, RatingMetric):
            results.append(_rating(definition, metric, inputs.predictions))
        else:
            results.append(_catalogue(definition, metric, inputs.catalogue))
    return results


def by_metric(results: Iterable[Curve | Unavailable]) -> tuple[dict[str, Curve], dict[str, str]]:
    """Returns the curves, and the reasons of unavailable metrics, as two dicts keyed by canonical spec."""
    results = list(results)
    curves = {result.metric: result for result in results if isinstance(result, Curve)}
    return curves, {result.metric: result.reason for result in results if isinstance(result, Unavailable)}


def _ranked(definitions: Sequence[Definition], sample: RelevantHits | None) -> Iterator[Curve | Unavailable]:
    """Yields the results of all ranking metrics in the given order; they share intermediate results."""
    reasons = [_why_unavailable(definition, sample) for definition in definitions]
    formulas = [
        definition.formula() for definition, reason in zip(definitions, reasons, strict=True) if not reason
    ]
    moments = iter(curves(formulas, sample) if sample and formulas else ())
    for definition, reason in zip(definitions, reasons, strict=True):
        if reason or sample is None:
            yield Unavailable(str(definition), reason)
            continue
        value, error = next(moments)
        if definition.metric.has_cutoff:
            yield _curve(definition, value, error, sample.n_users)
        else:
            yield Curve(str(definition), _NO_CUTOFF, value[-1:], error[-1:], sample.n_users)


def _why_unavailable(definition: Definition, sample: RelevantHits | None) -> str:
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
