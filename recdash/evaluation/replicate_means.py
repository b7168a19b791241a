"""Computes the mean of a candidate's several uploads, per user and as a curve with its standard error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """Returns the candidate's curve, from the samples and curves of its replicates; None if one of them has
    no curve.

    An accuracy metric is the mean over users of each user's mean. Any other metric is the mean of the
    replicates' values; as its standard error the mean of theirs is given, which the true one does not exceed.
    """
    present = [curve for curve in curves if curve is not None]
    if len(present) < len(curves):
        return None
    if isinstance(definition.metric, RankingMetric):
        return _curve_of_user_means(definition, samples, present)
    value = np.mean([curve.value for curve in present], axis=0)
    error = np.mean([curve.std_error for curve in present], axis=0)
    return Curve(str(definition), present[0].k, value, error, max(curve.n_users for curve in present))


def user_values(definition: Definition, samples: Sequence[RelevantHits], k: int) -> UserValues | None:
    """Returns the users' values at k, as means over the replicates; None if a replicate lacks the metric.

    Users outside the test set are left out, because they have 0 whatever is recommended to them. Raises
    InputError for a metric without a value per user, and for a k beyond the depth.
    """
    formula = definition.formula()
    if any(definition.why_unavailable(sample) for sample in samples):
        return None
    check_k(k, samples[0].depth)
    samples = [sample.in_truth() for sample in samples]
    users, own = mean_per_user((sample.truth_user, formula.own(sample, k)) for sample in samples)
    if not isinstance(formula, Micro | HarmonicMean) or not formula.pooled:
        return UserValues(users, own, own, bound=definition.bound(samples, k))
    ratios = []
    for sample in samples:
        a, b = (np.full(len(users), np.nan) for _ in range(2))
        places = np.searchsorted(users, sample.truth_user)
        a[places], b[places] = formula.parts(sample, k)
        ratios.append(Ratio(a, b, formula.pulls))
    return UserValues(users, pulled(ratios), own, tuple(ratios))


def rated_values(definition: Definition, rows: RatedRows) -> UserValues | None:
    """Returns the users' contributions to a metric of predicted ratings; None if it is another metric, or if
    these rows do not suffice.
    """
    metric = definition.metric
    if not isinstance(metric, RatingMetric):
        return None
    why_unavailable = metric.why_unavailable(Predictions(rows.user, rows.rating, rows.prediction))
    return None if why_unavailable else values_of_rows(metric, rows)


def mean_per_user(parts: Iterable[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    """Returns users [n], ascending, and the mean [n] of each over the parts in which the user counts; a part
    is (users, values).
    """
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    users, place, times = _union([users for users, _ in parts])
    return users, np.bincount(place, np.concatenate([values for _, values in parts])) / times


def _union(parts: Sequence[Ints]) -> tuple[Ints, Ints, Ints]:
    """Returns the users of all parts [n], ascending; the index among them of each entry of the concatenated
    parts; and in how many parts each user occurs [n].
    """
    if all(np.array_equal(users, parts[0]) for users in parts[1:]):
        n = len(parts[0])
        return parts[0], np.tile(np.arange(n), len(parts)), np.full(n, len(parts))
    users, place = np.unique(np.concatenate(parts), return_inverse=True)
    return users, place, np.bincount(place)


def _curve_of_user_means(
    definition: Definition, samples: Sequence[RelevantHits], curves: Sequence[Curve]
) -> Curve:
    k, formula = curves[0].k, definition.formula()
    users, place, times = _union([sample.truth_user for sample in samples])
    pooled = _as_one_sample(formula, samples) if (times == len(samples)).all() else None
    if pooled is not None:
        pooled_formula, sample = pooled
        value, error = pooled_formula.curve(sample)
    else:
        same_at_every_k = isinstance(formula, OfUser) or not len(k)
        cutoffs = [samples[0].depth] if same_at_every_k else k.tolist()
        value, error = np.empty(len(cutoffs)), np.full(len(cutoffs), np.nan)
        for index, cutoff in enumerate(cutoffs):
            values = np.concatenate([formula.values(sample, cutoff) for sample in samples])
            means = np.bincount(place, values) / times
            value[index] = means.mean()
            if len(means) > 1:
                error[index] = means.std(ddof=1) / len(means) ** 0.5
    n = len(curves[0].value)
    value, error = (np.tile(own, n) if len(own) == 1 else own[-n:] for own in (value, error))
    return Curve(str(definition), k, value, error, len(users))


# ── the replicates' hits as one sample ───────────────────────────────────────────────────────
# If the norm is the same in all R replicates, a user's mean of Σ credit / norm over them is Σ (credit / R)
# over the hits of all replicates, divided by that norm. This is one formula over one sample, whose curve is
# computed without a value per user and cutoff.


def _as_one_sample(
    formula: MetricFormula, samples: Sequence[RelevantHits]
) -> tuple[MetricFormula, RelevantHits] | None:
    """Returns a formula and a single sample whose curve equals that of the users' means over ``samples``;
    None if there is none.

    The samples must have the same users in the same order.
    """
    if isinstance(formula, OverJudged):
        return _merged(formula.ratio, [sample.of_judged() for sample in samples])
    if isinstance(formula, Micro):
        merged = _merged(formula.ratio, samples)
        return merged and (replace(formula, ratio=merged[0]), merged[1])
    ratio = formula.additive(samples[0])
    return _merged(ratio, samples) if isinstance(ratio, RatioFormula) else None


def _merged(ratio: RatioFormula, samples: Sequence[RelevantHits]) -> tuple[RatioFormula, RelevantHits] | None:
    """Returns a formula and a sample with the hits of all samples, whose gains are the hits' credits divided
    by the number of samples. None if the norm depends on the list.
    """
    if ratio.number is not relevant_items or ratio.view is not None:
        return None
    user = np.concatenate([sample.user for sample in samples])
    rank = np.concatenate([sample.rank for sample in samples])
    item = np.concatenate([sample.item for sample in samples])
    credit = np.concatenate([ratio.credit(sample) for sample in samples]) / len(samples)
    order = np.lexsort((rank, user))
    merged = replace(
        samples[0], user=user[order], rank=rank[order], gain=credit[order], item=item[order], judged=None
    )
    return replace(ratio, credit=lambda sample: sample.gain), merged
