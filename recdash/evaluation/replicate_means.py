"""A candidate user by user, and the mean of its several uploads as a curve with its standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.domain.results import Curve, RatedRows, Ratio, UserValues, pulled
from recdash.metrics import Definition, check_k
from recdash.metrics.formulas import HarmonicMean, MetricFormula, Micro, OfUser, OverJudged, RatioFormula
from recdash.metrics.ranking import RankingMetric
from recdash.metrics.ratings import Predictions, RatingMetric, values_of_rows
from recdash.metrics.sample import RelevantHits, relevant_items


def mean_curve(
    definition: Definition, samples: Sequence[RelevantHits], curves: Sequence[Curve | None]
) -> Curve | None:
    """The candidate's curve, from what its replicates were given and scored; None where one has no curve.

    Of accuracy metrics the mean of the users' means. Of the others, which have no value per user, the mean of
    the replicates' values; its standard error is at most the mean of theirs, and that is given.
    """
    known = [curve for curve in curves if curve is not None]
    if len(known) < len(curves):
        return None
    if isinstance(definition.metric, RankingMetric):
        return _of_users(definition, samples, known)
    value, error = (np.mean([getattr(one, of) for one in known], axis=0) for of in ("value", "std_error"))
    return Curve(str(definition), known[0].k, value, error, max(one.n_users for one in known))


def user_values(definition: Definition, samples: Sequence[RelevantHits], k: int) -> UserValues | None:
    """The users' values at k, or their means over several replicates; None where one lacks the metric.

    Users who are not in the truth are left out: whatever they are shown, they have 0.

    Raises InputError for a metric without a value per user, and for a k beyond the depth.
    """
    formula = definition.formula()
    if any(definition.lacks(sample) for sample in samples):
        return None
    check_k(k, samples[0].depth)
    samples = [sample.in_truth() for sample in samples]
    users, own = mean_per_user((one.truth_user, formula.own(one, k)) for one in samples)
    if not isinstance(formula, Micro | HarmonicMean) or not formula.pooled:
        return UserValues(users, own, own, bound=definition.bound(samples, k))
    pooled = tuple(_among(users, one.truth_user, formula.parts(one, k), formula.pulls) for one in samples)
    return UserValues(users, pulled(pooled), own, pooled)


def rated_values(definition: Definition, rows: RatedRows) -> UserValues | None:
    """The users' pulls on a metric of predicted ratings; None where the rows do not give it."""
    metric = definition.metric
    if not isinstance(metric, RatingMetric):
        return None
    lacks = metric.lacks(Predictions(rows.user, rows.rating, rows.prediction))
    return None if lacks else values_of_rows(metric, rows)


def _among(
    users: Ints, own: Ints, parts: tuple[Floats, Floats], pulls: Callable[[Floats, Floats], Floats]
) -> Ratio:
    """A ratio over the users ``own``, of whom all are among ``users``."""
    a, b = (np.full(len(users), np.nan) for _ in parts)
    here = np.searchsorted(users, own)
    a[here], b[here] = parts
    return Ratio(a, b, pulls)


def mean_per_user(parts: Iterable[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    """Users [n], ascending, and each one's mean over the parts (users, values) in which the user counts."""
    known = list(parts)
    if len(known) == 1:
        return known[0]
    users, place, times = _everyone([users for users, _ in known])
    return users, np.bincount(place, np.concatenate([values for _, values in known])) / times


def _everyone(parts: Sequence[Ints]) -> tuple[Ints, Ints, Ints]:
    """Users of any part [n], the place among them of each user of all parts, how often each is there [n]."""
    if all(np.array_equal(users, parts[0]) for users in parts[1:]):
        n = len(parts[0])
        return parts[0], np.tile(np.arange(n), len(parts)), np.full(n, len(parts))
    users, place = np.unique(np.concatenate(parts), return_inverse=True)
    return users, place, np.bincount(place)


def _of_users(definition: Definition, samples: Sequence[RelevantHits], curves: Sequence[Curve]) -> Curve:
    k, formula = curves[0].k, definition.formula()
    users, place, times = _everyone([sample.truth_user for sample in samples])
    short_cut = _one_formula(formula, samples) if (times == len(samples)).all() else None
    if short_cut is not None:
        one, fused = short_cut
        value, error = one.curve(fused)
    else:
        whatever_k = isinstance(formula, OfUser) or not len(k)
        cutoffs = [samples[0].depth] if whatever_k else k.tolist()
        value, error = _at_each(_means(formula, samples, cutoffs, place, times), len(cutoffs))
    n = len(curves[0].value)
    value, error = (np.tile(one, n) if len(one) == 1 else one[-n:] for one in (value, error))
    return Curve(str(definition), k, value, error, len(users))


def _means(
    formula: MetricFormula, samples: Sequence[RelevantHits], cutoffs: Sequence[int], place: Ints, times: Ints
) -> Iterator[Floats]:
    """[n] the users' means at one cutoff after the other."""
    for k in cutoffs:
        yield np.bincount(place, np.concatenate([formula.values(one, k) for one in samples])) / times


def _at_each(means: Iterator[Floats], n_cutoffs: int) -> tuple[Floats, Floats]:
    """Mean and standard error over the users at each cutoff."""
    value, error = np.empty(n_cutoffs), np.full(n_cutoffs, np.nan)
    for at, values in enumerate(means):
        value[at] = values.mean()
        if len(values) > 1:
            error[at] = values.std(ddof=1) / len(values) ** 0.5
    return value, error


# ── the replicates' hits as those of one list ────────────────────────────────────────────────
#
# A user's mean over R replicates of Σ credit / norm is Σ credit / R over the hits of all of them, divided by
# the same norm: one sentence about one heap of hits, whose curve takes no value per user and cutoff.


def _one_formula(
    formula: MetricFormula, samples: Sequence[RelevantHits]
) -> tuple[MetricFormula, RelevantHits] | None:
    """The formula and the hits whose curve is that of the users' means; None where there is none.

    The samples have the same users, in the same order.
    """
    if isinstance(formula, OverJudged):
        return _one_heap(formula.sentence, [sample.of_judged() for sample in samples])
    if isinstance(formula, Micro):
        found = _one_heap(formula.sentence, samples)
        return found and (replace(formula, sentence=found[0]), found[1])
    told = formula.additive(samples[0])
    return _one_heap(told, samples) if isinstance(told, RatioFormula) else None


def _one_heap(
    sentence: RatioFormula, samples: Sequence[RelevantHits]
) -> tuple[RatioFormula, RelevantHits] | None:
    """A sentence whose credit is written beside each hit; None where lists of other lengths are divided."""
    if sentence.number is not relevant_items or sentence.view is not None:
        return None
    user = np.concatenate([sample.user for sample in samples])
    rank = np.concatenate([sample.rank for sample in samples])
    item = np.concatenate([sample.item for sample in samples])
    credit = np.concatenate([sentence.credit(sample) for sample in samples]) / len(samples)
    order = np.lexsort((rank, user))
    heap = replace(
        samples[0], user=user[order], rank=rank[order], gain=credit[order], item=item[order], judged=None
    )
    return replace(sentence, credit=_written_beside), heap


def _written_beside(sample: RelevantHits) -> Floats:
    return sample.gain
