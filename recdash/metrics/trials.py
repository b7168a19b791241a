"""Tries an own metric on small built-in data, to see whether it keeps the laws that every number relies on.

Intervals need values whose mean is the metric, ranks and paired tests need values per user that no other user
changes, tie bands need that a better list never gets a lower value, and charts need the declared range.

Letters in shapes: ``n`` users.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise, product
from typing import cast

import numpy as np

from recdash.domain.hits import Exposure, RankCounts
from recdash.domain.kinds import Floats
from recdash.domain.results import RatedRows
from recdash.metrics.catalogue import CatalogueInputs, CatalogueMetric, Labels
from recdash.metrics.formulas import MetricFormula
from recdash.metrics.ranking import RankingMetric
from recdash.metrics.ratings import Predictions, RatingMetric, values_of_rows
from recdash.metrics.registry import Definition, Metric
from recdash.metrics.sample import ItemExpectedness, JudgedHits, RelevantHits, positions

DEPTH, N_USERS, N_ITEMS = 6, 12, 20
MOST_DEFINITIONS = 64
"""Of a metric with many parameters so many combinations of their values are tried."""
CLOSE = 1e-9
NAMES = {"name": "kind", "number": "1"}
"""Kind of parameter → the value that a required parameter gets."""


def broken_law(metric: Metric) -> str:
    """Returns which law the metric breaks, in words; an empty text if it keeps all.

    Exceptions of the metric's own functions are not caught.
    """
    try_one = {RankingMetric: _of_ranking, CatalogueMetric: _of_catalogue, RatingMetric: _of_rating}
    with np.errstate(all="ignore"):  # what is not finite is found anyway
        for definition in definitions_of(metric):
            for broken in try_one[type(metric)](definition):
                if broken:
                    return f"{definition} {broken}"
    return ""


def definitions_of(metric: Metric) -> Iterator[Definition]:
    """Yields the metric under combinations of its parameters' values, the defaults first."""
    names = [knob.name for knob in metric.parameters]
    choices = [list(knob.values) or [NAMES.get(knob.kind, "")] for knob in metric.parameters]
    for chosen in islice(product(*choices), MOST_DEFINITIONS):
        yield Definition(metric, dict(zip(names, chosen, strict=True)))


# ── accuracy ─────────────────────────────────────────────────────────────────────────────────


def _of_ranking(definition: Definition) -> Iterator[str]:
    for sample in (_sample(graded=True), _sample(graded=False)):
        reason: object = _ranking(definition).why_unavailable(sample, definition.parameters)
        if not isinstance(reason, str):
            yield f"says why it is unavailable by {reason!r}, not by a text"
        elif not definition.why_unavailable(sample):
            formula = definition.formula()
            yield from _of_values(definition, formula, sample)
            yield _of_curve(definition, formula, sample)
            yield _of_other_users(formula, sample)
            yield _of_better_lists(definition, formula, sample)


def _ranking(definition: Definition) -> RankingMetric:
    return cast("RankingMetric", definition.metric)


def _of_values(definition: Definition, formula: MetricFormula, sample: RelevantHits) -> Iterator[str]:
    for k in (1, 3, DEPTH):
        values = np.asarray(formula.own(sample, k))
        if values.shape != (sample.n_users,):
            yield f"gives values of shape {values.shape} for {sample.n_users} users"
            return
        yield range_broken(definition, values, definition.bound([sample], k))
        if np.any(values[sample.list_length == 0] != 0):
            yield "gives a user without a list another value than 0"
        if definition.metric.has_cutoff and not _alike(formula.own(sample.up_to(k), k), values):
            yield f"depends at k = {k} on positions below k"


def range_broken(definition: Definition, values: Floats, largest: float | None) -> str:
    """Returns which value is outside the metric's range, in words; an empty text if none is."""
    if not np.isfinite(values).all():
        return "gives a value that is not a finite number"
    if values.min(initial=0.0) < -CLOSE:
        return f"gives {values.min():.4g}, and the smallest value of an accuracy metric is 0"
    if largest is not None and values.max(initial=0.0) > largest * (1 + CLOSE) + CLOSE:
        bound = "its largest" if largest == definition.largest_value else "that of an ideal list"
        return f"gives {values.max():.4g}, above {largest:.4g}, {bound}"
    return ""


def _of_curve(definition: Definition, formula: MetricFormula, sample: RelevantHits) -> str:
    mean, error = formula.curve(sample)
    if np.shape(mean) != (DEPTH,) or np.shape(error) != (DEPTH,):
        return f"gives a curve of shape {np.shape(mean)} for a depth of {DEPTH}"
    by_k = [np.asarray(formula.values(sample, k)).mean() for k in range(1, DEPTH + 1)]
    if not _alike(mean, np.array(by_k)):
        return "has a curve that is not the mean of its values per user (does a credit depend on later hits?)"
    is_plain = str(definition) == definition.metric.name
    if is_plain and definition.metric.rises_with_k and (np.diff(mean) < -CLOSE).any():
        return "falls with k, although rises_with_k says that it does not"
    return ""


def _of_other_users(formula: MetricFormula, sample: RelevantHits) -> str:
    """Returns whether a user's value changes if the user is scored apart from some others."""
    half = sample.n_users // 2
    parts = [sample.of_users(*ends) for ends in pairwise((0, half, sample.n_users))]
    alone = np.concatenate([np.asarray(formula.own(part, DEPTH)) for part in parts])
    return "" if _alike(alone, formula.own(sample, DEPTH)) else "gives a user a value that other users change"


def _of_better_lists(definition: Definition, formula: MetricFormula, sample: RelevantHits) -> str:
    moves, more = (sample, _hits_moved_up(sample)), (_without_last_hits(sample), sample)
    for what, (worse, better) in {"moves up": moves, "is added": more}.items():
        for k in (1, 3, DEPTH):
            falls = np.asarray(formula.own(better, k)) < np.asarray(formula.own(worse, k)) - CLOSE
            if falls.any() and not definition.may_fall:
                return f"falls if a hit {what}, and may_fall does not say so"
    return ""


def _hits_moved_up(sample: RelevantHits) -> RelevantHits:
    """Returns the sample with each hit one rank higher where the position above is free."""
    above = np.where(sample.ordinal > 1, np.concatenate(([0], sample.rank[:-1])), 0)
    return replace(sample, rank=sample.rank - (sample.rank - above > 1), judged=None)


def _without_last_hits(sample: RelevantHits) -> RelevantHits:
    """Returns the sample in which a miss replaces each user's last hit."""
    is_last = np.append(sample.user[1:] != sample.user[:-1], True)
    kept = {name: getattr(sample, name)[~is_last] for name in ("user", "rank", "gain", "item")}
    return replace(sample, **kept, judged=None)


def _alike(first: Floats, second: Floats) -> bool:
    return np.shape(first) == np.shape(second) and bool(np.allclose(first, second, rtol=CLOSE, atol=CLOSE))


def _sample(*, graded: bool) -> RelevantHits:
    """Returns hits of twelve users: one has no list, another no hit, a third only hits.

    If they are graded, there are judged negatives and training data; else there are neither.
    """
    rng = np.random.default_rng(12)
    m = np.array([1, 2, 3, 4, 5, 6, 1, 2, 3, 8, 2, 3])
    length = np.array([6, 6, 6, 6, 6, 6, 0, 6, 2, 6, 3, 5])
    n_hits = np.array([1, 1, 2, 3, 2, 6, 0, 0, 1, 4, 2, 2])
    user = np.repeat(np.arange(N_USERS), n_hits)
    rank = np.concatenate(
        [np.sort(rng.permutation(length[u])[: n_hits[u]]) + 1 for u in range(N_USERS)]
    ).astype(np.int64)
    item_of_relevant = np.concatenate([rng.permutation(N_ITEMS)[: m[u]] for u in range(N_USERS)])
    gains = rng.integers(1, 4, len(item_of_relevant)).astype(np.float64) if graded else np.ones(m.sum())
    row = (np.cumsum(m) - m)[user] + positions(user)
    negative = np.ones(N_USERS, dtype=np.int64)
    return RelevantHits(
        depth=DEPTH,
        user=user,
        rank=rank,
        gain=gains[row],
        n_relevant=m,
        list_length=length,
        truth_user=np.arange(N_USERS),
        relevant_gain=gains,
        item=item_of_relevant[row],
        top_gain=float(gains.max()),
        judged=JudgedHits(user, rank, np.ones(len(user), dtype=bool), negative) if graded else None,
        expectedness=ItemExpectedness(np.arange(N_ITEMS) / N_ITEMS, N_ITEMS) if graded else None,
        population=lambda _: N_USERS,
    )


# ── catalogue and ratings ────────────────────────────────────────────────────────────────────


def _of_catalogue(definition: Definition) -> Iterator[str]:
    metric = cast("CatalogueMetric", definition.metric)
    if metric.curve is None or metric.from_lists(definition.parameters):
        yield "needs the lists themselves, which only metrics of recdash can read: give it a curve of counts"
        return
    for inputs in (_exposure(with_tables=True), _exposure(with_tables=False)):
        reason: object = metric.why_unavailable(inputs, definition.parameters)
        if not isinstance(reason, str):
            yield f"says why it is unavailable by {reason!r}, not by a text"
        elif not reason:
            yield _of_values_at_k(metric, np.asarray(metric.curve(inputs, definition.parameters)))


def _of_values_at_k(metric: CatalogueMetric, value: Floats) -> str:
    if value.shape != (DEPTH,) or value.dtype.kind not in "fiu":
        return f"gives a curve of shape {value.shape} and type {value.dtype} for a depth of {DEPTH}"
    known = value[~np.isnan(value)]  # NaN: no list has a value at this k
    if np.isinf(known).any():
        return "gives a value that is not a finite number"
    if metric.unit == "0..1" and ((known < -CLOSE) | (known > 1 + CLOSE)).any():
        return f"gives {known.min():.4g} to {known.max():.4g}, and its unit is 0..1"
    if metric.rises_with_k and (np.diff(known) < -CLOSE).any():
        return "falls with k, although rises_with_k says that it does not"
    return ""


def _exposure(*, with_tables: bool) -> CatalogueInputs:
    """Returns four full lists that show ten of twenty items, with or without the other tables."""
    lists = [[0, 1, 2, 3, 4, 5], [0, 2, 1, 6, 7, 8], [0, 1, 3, 2, 9, 4], [1, 0, 2, 3, 4, 5]]
    at_rank = [np.unique([items[rank] for items in lists], return_counts=True) for rank in range(DEPTH)]
    shown = RankCounts(
        np.cumsum([0, *(len(item) for item, _ in at_rank)]),
        np.concatenate([item for item, _ in at_rank]),
        np.concatenate([count for _, count in at_rank]),
    )
    nothing = np.zeros(0, dtype=np.int64)
    ended = RankCounts(np.zeros(DEPTH + 1, dtype=np.int64), nothing, nothing)
    exposure = Exposure([f"i{number}" for number in range(N_ITEMS)], shown, ended, len(lists))
    in_truth = np.arange(N_ITEMS) < N_ITEMS // 2
    if not with_tables:
        return CatalogueInputs(exposure, DEPTH, in_truth)
    items = np.arange(N_ITEMS)
    labels = Labels(("a", "b", "c"), items, items % 3)
    return CatalogueInputs(
        exposure, DEPTH, in_truth, np.ones(N_ITEMS, dtype=bool), N_ITEMS - items, N_ITEMS, ["kind"],
        lambda _: labels, ("catalogue", "train"),
    )  # fmt: skip


def _of_rating(definition: Definition) -> Iterator[str]:
    metric = cast("RatingMetric", definition.metric)
    user = np.array([0, 0, 0, 1, 1, 2, 3, 3])
    rating = np.array([1.0, 2, 3, 4, 5, 3, 2, 4])
    prediction = np.array([1.5, 2, 2.5, 4.5, 3, 3, 1, 5])
    rows = Predictions(user, rating, prediction)
    reason: object = metric.why_unavailable(rows)
    if not isinstance(reason, str):
        yield f"says why it is unavailable by {reason!r}, not by a text"
    elif not reason:
        value, error = metric.value(rows)
        per_user = values_of_rows(metric, RatedRows(np.arange(len(user)), user, rating, prediction))
        if not np.isfinite([value, error]).all():
            yield "gives a value that is not a finite number"
        elif value < -CLOSE and not metric.may_be_negative:
            yield f"gives {value:.4g}, and may_be_negative does not say so"
        elif not _alike(np.array(per_user.values.mean()), np.array(value)):
            yield "has values per user (parts and pulls) whose mean is not its value"
