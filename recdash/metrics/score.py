"""From hits to curves: one call scores any list of metrics for one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Floats
from recdash.domain.results import Curve, Unavailable
from recdash.metrics.catalogue import OTHER_LISTS_UNKNOWN, CatalogueInputs, CatalogueMetric
from recdash.metrics.formulas import Moments, curves
from recdash.metrics.ranking import RankingMetric
from recdash.metrics.ratings import Predictions, RatingMetric
from recdash.metrics.registry import Definition
from recdash.metrics.sample import RelevantHits


@dataclass(frozen=True)
class MetricInputs:
    """What a run can be scored from; None where an input is missing."""

    sample: RelevantHits | None = None
    shelf: CatalogueInputs | None = None
    predictions: Predictions | None = None


def score(definitions: Iterable[Definition], material: MetricInputs) -> list[Curve | Unavailable]:
    """One curve over k = 1..depth per definition, or the reason why there is none."""
    wanted = list(definitions)
    ranked = _ranked([one for one in wanted if isinstance(one.metric, RankingMetric)], material.sample)
    return [_score_one(one, material, ranked) for one in wanted]


def _score_one(
    definition: Definition, material: MetricInputs, ranked: Iterator[Curve | Unavailable]
) -> Curve | Unavailable:
    """``ranked`` has the accuracy of ranked lists, in order."""
    metric = definition.metric
    if isinstance(metric, RankingMetric):
        return next(ranked)
    if isinstance(metric, RatingMetric):
        return _rating(definition, metric, material.predictions)
    return _catalogue(definition, metric, material.shelf)


def _ranked(definitions: Sequence[Definition], sample: RelevantHits | None) -> Iterator[Curve | Unavailable]:
    """All together, since what one works out of the hits the next need not."""
    reasons = [_lacks(definition, sample) for definition in definitions]
    formulas = [one.formula() for one, reason in zip(definitions, reasons, strict=True) if not reason]
    found = iter(curves(formulas, sample) if sample and formulas else ())
    n_users = sample.n_users if sample else 0
    for one, reason in zip(definitions, reasons, strict=True):
        yield Unavailable(str(one), reason) if reason else _of_ranking(one, next(found), n_users)


def _lacks(definition: Definition, sample: RelevantHits | None) -> str:
    if sample is None:
        return "needs ranked lists, and only rating predictions were given"
    if sample.n_users == 0:
        return "no user counts: none of them has both a list and a relevant item"
    return definition.lacks(sample)


def _of_ranking(definition: Definition, moments: Moments, n_users: int) -> Curve:
    value, error = moments
    if definition.metric.has_cutoff:
        return _curve(definition, value, error, n_users)
    return Curve(str(definition), np.zeros(0, dtype=np.int64), value[-1:], error[-1:], n_users)


def _catalogue(
    definition: Definition, metric: CatalogueMetric, shelf: CatalogueInputs | None
) -> Curve | Unavailable:
    lacks = "needs ranked lists" if shelf is None else lacks_of(definition, metric, shelf)
    if lacks or shelf is None:
        return Unavailable(str(definition), lacks)
    shelf = shelf.of(definition.parameters["users"])
    if not shelf.exposure.n_lists:
        return Unavailable(str(definition), "no user who counts has a list")
    if metric.curve is None or metric.from_lists(definition.parameters):
        return _over_lists(definition, metric, shelf)
    value = metric.curve(shelf, definition.parameters)
    return _curve(definition, value, np.full_like(value, np.nan), shelf.exposure.n_lists)


def lacks_of(definition: Definition, metric: CatalogueMetric, shelf: CatalogueInputs) -> str:
    """Why a catalogue metric cannot be had of a run; empty where it can."""
    users = definition.parameters["users"]
    if users == "run" and not shelf.is_whole:
        return OTHER_LISTS_UNKNOWN
    return metric.lacks(shelf.of(users), definition.parameters)


def _over_lists(
    definition: Definition, metric: CatalogueMetric, shelf: CatalogueInputs
) -> Curve | Unavailable:
    found = shelf.exposure.list_means.get(definition.of_lists)
    if found is None:
        reason = f"{definition} needs the lists themselves; score the upload again with this metric"
        return Unavailable(str(definition), reason)
    if not found.n_lists.any():
        return Unavailable(str(definition), f"no list has what it needs: {metric.needs}")
    return _curve(definition, found.mean, found.std_error, int(found.n_lists[-1]))


def _rating(definition: Definition, metric: RatingMetric, rows: Predictions | None) -> Curve | Unavailable:
    lacks = metric.lacks(rows)
    if lacks or rows is None:
        return Unavailable(str(definition), lacks)
    value, error = metric.value(rows)
    none = np.zeros(0, dtype=np.int64)
    return Curve(str(definition), none, np.array([value]), np.array([error]), rows.n_users)


def _curve(definition: Definition, value: Floats, error: Floats, n_users: int) -> Curve:
    return Curve(str(definition), np.arange(1, len(value) + 1), value, error, n_users)
