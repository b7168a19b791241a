"""Computes the mean and standard error of accuracy metrics at every cutoff at once.

A :class:`RatioFormula` (credit ÷ norm) is computed from one histogram over rank and m; it never builds a
table [users × depth]. A formula that is not a ratio of sums is computed for k = 1..depth with one value per
user. Sums over users are computed for one group of users at a time.

Letters in shapes: ``n`` users who count, ``H`` their hits, ``depth`` the cutoffs 1..depth, ``C`` groups of
users with the same m.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.metrics.sample import Number, RelevantHits, UserGroups, order_by_counting, relevant_items

Credit = Callable[[RelevantHits], Floats]
Norm = Callable[[Ints, Ints], Floats]
"""A function of k and one number per user, which is m unless the formula names another number."""
Moments = tuple[Floats, Floats]


class MetricFormula(Protocol):
    """A metric's formula with its parameters filled in.

    ``pooled`` is True for a ratio over all users. ``values`` are then the users' contributions to that ratio,
    whose mean is the metric, and not the users' own values.
    """

    @property
    def pooled(self) -> bool: ...

    def additive(self, sample: RelevantHits) -> Additive | None:
        """Returns the formula as sums over users.

        Returns None if it cannot be computed from sums over groups of users.
        """

    def curve(self, sample: RelevantHits) -> Moments:
        """Returns mean [depth] and standard error [depth] at k = 1..depth."""

    def values(self, sample: RelevantHits, k: int) -> Floats:
        """Returns [n] one value per user at k.

        Their mean is the metric, and their spread gives its standard error.
        """

    def own(self, sample: RelevantHits, k: int) -> Floats:
        """Returns [n] each user's own value, for counting the users who gain.

        It equals ``values`` unless the formula is pooled.
        """


class Additive(ABC):
    """A formula that is computed from sums over users; the sums of groups of users can be added."""

    @abstractmethod
    def sums(self, part: RelevantHits) -> Floats:
        """Returns [depth, s] the s sums over the users of one group at k = 1..depth.

        They are the sums of values and of squares, or whatever the formula's ``moments`` expects.
        """

    def moments(self, sums: Floats, n_users: int) -> Moments:
        """Returns mean [depth] and standard error [depth], computed from the sums over all users."""
        total, squares = sums.T
        return total / n_users, standard_error(total, squares, n_users)

    def additive(self, sample: RelevantHits) -> Additive:
        return self

    def curve(self, sample: RelevantHits) -> Moments:
        sums = [self.sums(part) for part in sample.parts()]
        return self.moments(np.sum(sums, axis=0), sample.n_users)


def curves(formulas: Sequence[MetricFormula], sample: RelevantHits) -> list[Moments]:
    """Returns the curves of several formulas, computed for one group of users at a time.

    Formulas share the intermediate results of a group, which stay in the processor's cache. No array as long
    as the hits is written for all users at once; with a million users this takes a third of the memory.
    """
    additive = [formula.additive(sample) for formula in formulas]
    totals: list[Any] = [0.0] * len(formulas)
    for part in sample.parts():
        for index, in_sums in enumerate(additive):
            totals[index] += 0.0 if in_sums is None else in_sums.sums(part)
    return [
        formula.curve(sample) if in_sums is None else in_sums.moments(total, sample.n_users)
        for formula, in_sums, total in zip(formulas, additive, totals, strict=True)
    ]


def running_sum(credit: Floats, sample: RelevantHits) -> Floats:
    """Returns [H] the sum of the user's credits up to and including each hit."""
    total = np.cumsum(credit)
    return total - (total - credit)[sample.first_hit]


def standard_error(total: Floats, squares: Floats, n: int) -> Floats:
    """Returns the standard error of a mean over n users, given the sums of values and of squares.

    The result is NaN if n < 2.
    """
    if n < 2:
        return np.full(total.shape, np.nan)  # full() makes floats: sums over no hits are integers
    spread = more_than_rounding(squares - total * total / n, squares)
    return np.sqrt(spread / (n - 1) / n)


def more_than_rounding(spread: Floats, squares: Floats) -> Floats:
    """Returns the sum of squared deviations, with 0 where it is only a rounding error of constant values."""
    return np.where(spread <= 1e-12 * squares, 0.0, spread)


# ── credit and norm ──────────────────────────────────────────────────────────────────────────


def credit_by_rank(sample: RelevantHits, credit: Floats, kinds: UserGroups) -> Floats:
    """Returns [depth, C] the total credit of all hits with rank ≤ k, per group of users."""
    n_kinds = len(kinds.size)
    table = np.bincount(kinds.cell, weights=credit, minlength=sample.depth * n_kinds)
    return table.reshape(sample.depth, n_kinds).cumsum(axis=0)


@dataclass(frozen=True)
class RatioFormula(Additive):
    """Σ credit over the hits with rank ≤ k, divided by norm(k, number), where number is m by default.

    Squares accumulate over the hits, too: C_j is the sum of the user's first j credits, and since it is
    constant between two hits, the j-th hit adds C_j² − C_{j−1}² to the square.
    """

    credit: Credit
    norm: Norm
    number: Number = relevant_items
    pooled: bool = False
    view: Callable[[RelevantHits], RelevantHits] | None = None
    """Returns the hits that the formula uses; None if it uses all hits of the lists."""

    def sums(self, part: RelevantHits) -> Floats:
        sums, squares, norm, _ = self.tables(part)
        return np.stack([share(sums, norm).sum(axis=1), share(squares, norm**2).sum(axis=1)], axis=1)

    def seen(self, sample: RelevantHits) -> RelevantHits:
        """Returns the sample with the hits that the formula uses."""
        return sample if self.view is None else self.view(sample)

    def tables(self, sample: RelevantHits) -> tuple[Floats, Floats, Floats, Ints]:
        """Returns sums [depth, C], sums of squares [depth, C], norms [depth, C] and users per group [C]."""
        sample = self.seen(sample)
        kinds = sample.user_groups(self.number)
        known = sample.credited.setdefault(self.credit, {})
        if self.number not in known:  # precision, recall and r_precision have the same credit
            known[self.number] = self._credited(sample, kinds)
        sums, squares = known[self.number]
        k = np.arange(1, sample.depth + 1)[:, None]
        return sums, squares, np.broadcast_to(self.norm(k, kinds.number), sums.shape), kinds.size

    def _credited(self, sample: RelevantHits, kinds: UserGroups) -> tuple[Floats, Floats]:
        credit = self.credit(sample)
        twice_between = 2 * running_sum(credit, sample) - credit  # C_j + C_{j−1}
        return (
            credit_by_rank(sample, credit, kinds),
            credit_by_rank(sample, credit * twice_between, kinds),
        )

    def values(self, sample: RelevantHits, k: int) -> Floats:
        return share(self.seen(sample).credit_up_to(self.credit, k), self.norm_of(sample, k))

    def norm_of(self, sample: RelevantHits, k: int) -> Floats:
        """Returns [n] the denominator of each user's value at k."""
        return self.norm(np.array(k), self.number(sample))

    own = values


def share(part: Any, whole: Any) -> Floats:
    """Returns part / whole, and 0 where the whole is 0, as for an empty list."""
    # np.zeros makes the result float: bincount over no hits returns integers
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole > 0)


@dataclass(frozen=True)
class Micro(Additive):
    """Σ of all users' credits ÷ Σ of all users' norms, with a standard error by the delta method."""

    ratio: RatioFormula
    pooled: bool = True

    def sums(self, part: RelevantHits) -> Floats:
        """Returns [depth, 5] the sums over users of a, b, a², ab and b², for a user's credit a and norm b."""
        sums, squares, norm, size = self.ratio.tables(part)
        by_kind = sums, norm * size, squares, sums * norm, norm**2 * size
        return np.stack([table.sum(axis=1) for table in by_kind], axis=1)

    def moments(self, sums: Floats, n_users: int) -> Moments:
        a, b, aa, ab, bb = sums.T
        return ratio_of_sums(a, b, aa, ab, bb, n_users)

    def values(self, sample: RelevantHits, k: int) -> Floats:
        """Returns [n] the ratio plus each user's influence on it."""
        return self.pulls(*self.parts(sample, k))

    def parts(self, sample: RelevantHits, k: int) -> tuple[Floats, Floats]:
        """Returns [n] the users' credits and [n] their norms; the ratio divides the sums of the two."""
        norm = self.ratio.norm_of(sample, k).astype(np.float64)
        return self.ratio.values(sample, k) * norm, norm

    def pulls(self, a: Floats, b: Floats) -> Floats:
        """Returns [n] each user's contribution R + (a − R·b) / mean b (delta method), where R = Σa / Σb."""
        ratio = share(a.mean(), b.mean())
        return ratio + share(a - ratio * b, np.full_like(a, b.mean()))

    def own(self, sample: RelevantHits, k: int) -> Floats:
        return self.ratio.values(sample, k)


def ratio_of_sums(a: Floats, b: Floats, aa: Floats, ab: Floats, bb: Floats, n: int) -> Moments:
    """Returns Σa / Σb over n users and its standard error, given the sums of a, b, a², ab and b².

    The standard error is NaN if n < 2.
    """
    ratio = share(a, b)
    if n < 2:
        return ratio, np.full_like(ratio, np.nan)
    spread = more_than_rounding(aa - 2 * ratio * ab + ratio**2 * bb, aa)
    return ratio, share(np.sqrt(spread / (n - 1) / n), b / n)


@dataclass(frozen=True)
class OfUser(Additive):
    """A formula with one value per user at every k."""

    value: Callable[[RelevantHits], Floats]
    pooled: bool = False

    def sums(self, part: RelevantHits) -> Floats:
        return np.tile(sum_and_squares(self.value(part)), (part.depth, 1))

    def values(self, sample: RelevantHits, k: int) -> Floats:
        return self.value(sample)

    own = values


@dataclass(frozen=True)
class OverJudged(Additive):
    """A ratio formula over the hits on all judged items, relevant or not."""

    ratio: RatioFormula
    pooled: bool = False

    def sums(self, part: RelevantHits) -> Floats:
        return self.ratio.sums(part.of_judged())

    def values(self, sample: RelevantHits, k: int) -> Floats:
        return self.ratio.values(sample.of_judged(), k)

    own = values


@dataclass(frozen=True)
class OverGrades(Additive):
    """A formula over all items with relevance above 0, including those below the threshold."""

    formula: Additive

    def sums(self, part: RelevantHits) -> Floats:
        return self.formula.sums(part.of_every_grade)


# ── formulas that are not ratios ─────────────────────────────────────────────────────────────


def sum_and_squares(value: Floats) -> Floats:
    """Returns the sum and the sum of squares.

    It avoids value @ value, for which the linear algebra library starts threads.
    """
    return np.array([value.sum(), (value * value).sum()])


@dataclass(frozen=True)
class DiscountedGain:
    """The gain of each hit divided by the discount at its rank: the credit of DCG."""

    gain: Callable[[Floats], Floats]
    discount: Callable[[Ints], Floats]

    def __call__(self, sample: RelevantHits) -> Floats:
        return self.gain(sample.gain) / self.discount(sample.rank)


@dataclass(frozen=True)
class GradedNdcg(Additive):
    """nDCG with graded gains, whose denominator differs between users and changes with k as long as k ≤ m."""

    gain: Callable[[Floats], Floats]
    discount: Callable[[Ints], Floats]
    ideal: str
    pooled: bool = False

    def credit(self, sample: RelevantHits) -> Floats:
        """Returns [H] the discounted gain of each hit."""
        return DiscountedGain(self.gain, self.discount)(sample)

    def sums(self, part: RelevantHits) -> Floats:
        """Returns [depth, 2] sums of values and squares.

        Only users whose ideal still changes are divided anew at every k.
        """
        if self.ideal == "all":
            return self._sums_of_fixed_ideals(
                part, self.ideal_at(part, part.depth), np.zeros_like(part.n_relevant)
            )
        by_k, best = self._sums_of_growing_ideals(part)
        return (
            by_k if self.ideal == "full" else by_k + self._sums_of_fixed_ideals(part, best, part.n_relevant)
        )

    def _sums_of_fixed_ideals(self, sample: RelevantHits, best: Floats, m: Ints) -> Floats:
        """Returns [depth, 2] sums over the users with k > m, whose ideal ``best`` no longer changes.

        A hit with rank ≤ m counts from k = m + 1, a later one from its rank.
        """
        credit = self.credit(sample) / best[sample.user]
        since = np.maximum(sample.rank, m[sample.user] + 1)
        squares = credit * (2 * running_sum(credit, sample) - credit)
        steps = [np.bincount(since, step, sample.depth + 1) for step in (credit, squares)]
        return np.stack(steps, axis=1)[1 : sample.depth + 1].cumsum(axis=0)

    def _sums_of_growing_ideals(self, sample: RelevantHits) -> tuple[Floats, Floats]:
        """Returns [depth, 2] sums over the users with k ≤ m, and [n] each user's ideal at the last such k.

        With ideal=full every k belongs to them. Users are ordered by descending m, so that the users whose
        ideal still changes are one slice at the start.
        """
        order = order_by_counting(sample.n_relevant.max(initial=0) - sample.n_relevant)
        user, credit, edges = self._hits_of_growing_ideals(sample, order)
        gained_so_far, best, by_k = (
            np.zeros(sample.n_users),
            np.zeros(sample.n_users),
            np.zeros((sample.depth, 2)),
        )
        for index, (moving, gained) in enumerate(self._ideal_steps(sample, order)):
            hits = slice(edges[index], edges[index + 1])
            gained_so_far[user[hits]] += credit[hits]  # a user has at most one hit at a rank
            best[:moving] += gained
            by_k[index] = sum_and_squares(gained_so_far[:moving] / best[:moving])
        of_user = np.empty_like(best)
        of_user[order] = best
        return by_k, of_user

    def _hits_of_growing_ideals(self, sample: RelevantHits, order: Ints) -> tuple[Ints, Floats, list[int]]:
        """Returns the hits with rank ≤ m (all hits if ideal=full) in ascending order of rank.

        They are given as the user's index in ``order``, the credit, and the indexes at which each rank
        begins.
        """
        place = np.empty(sample.n_users, dtype=np.int64)
        place[order] = np.arange(sample.n_users)
        hit = np.flatnonzero(sample.rank <= (sample.depth if self.ideal == "full" else sample.m))
        hit = hit[order_by_counting(sample.rank[hit])]
        often = np.bincount(sample.rank[hit], minlength=sample.depth + 1)
        return place[sample.user[hit]], self.credit(sample)[hit], np.cumsum(often).tolist()

    def values(self, sample: RelevantHits, k: int) -> Floats:
        gained = sample.credit_up_to(DiscountedGain(self.gain, self.discount), k)
        return share(gained, sample.ideals.get((self, k), lambda: self.ideal_at(sample, k)))

    own = values

    def _ideal_steps(self, sample: RelevantHits, order: Ints) -> Iterator[tuple[int, Floats]]:
        """Yields for each k how many leading users have an ideal that changes, and [users] by how much."""
        gains, start, m = (
            self.gain(sample.ideal_gain),
            sample.ideal_start[:-1][order],
            sample.n_relevant[order],
        )
        fewer = np.searchsorted(-m, -np.arange(1, sample.depth + 1), side="right").tolist()
        for k in range(1, sample.depth + 1):
            moving = sample.n_users if self.ideal == "full" else fewer[k - 1]
            if not moving:
                return
            place = start[:moving] + (k - 1 if moving == fewer[k - 1] else np.minimum(k, m) - 1)
            yield moving, gains[place] / self.discount(np.array(k))

    def ideal_at(self, sample: RelevantHits, k: int) -> Floats:
        """Returns [n] the discounted gain of the best possible list at k, which is the denominator."""
        # looked up by place, as a logarithm for each of 1.6 million rows takes twice the time
        discount = self.discount(np.arange(1, sample.n_relevant.max(initial=0) + 2))
        best = np.zeros(sample.n_users)
        for users, rows in sample.user_blocks():
            m = sample.n_relevant[users]
            start = np.cumsum(m) - m
            place = np.arange(rows.stop - rows.start) - np.repeat(start, m)
            worth = self.gain(sample.ideal_gain[rows]) / discount.take(place)
            if self.ideal != "all":
                worth[place >= k] = 0.0
            some = m > 0
            if some.any():
                best[users][some] = np.add.reduceat(worth, start[some])
        if self.ideal == "full":
            best += self._places_beyond_m(sample, k)
        return best

    def _places_beyond_m(self, sample: RelevantHits, k: int) -> Floats:
        """Returns [n] the discounted gains of positions m+1..k.

        The option ideal=full fills these positions with the user's smallest relevant gain.
        """
        worth = np.concatenate(([0.0], np.cumsum(1.0 / self.discount(np.arange(1, k + 1)))))
        least = np.zeros(sample.n_users)
        some = sample.n_relevant > 0
        least[some] = self.gain(sample.ideal_gain[sample.ideal_start[1:][some] - 1])
        return least * (worth[k] - worth[np.minimum(sample.n_relevant, k)])


@dataclass(frozen=True)
class MeanRecall(Additive):
    """The mean of recall@1..k; a hit at rank r counts in k − r + 1 of the k recalls."""

    pooled: bool = False

    def sums(self, part: RelevantHits) -> Floats:
        """Returns [depth, 2] sums of values and squares.

        A user with A hits up to k whose ranks add up to R has the value ((k + 1)·A − R) / (k·m). The sums of
        A, R and their products accumulate over the hits as in a RatioFormula.
        """
        a, rank = part.ordinal.astype(np.float64), part.rank.astype(np.float64)
        steps = _added_by_a_hit(a, rank, running_sum(rank, part))
        kinds = part.user_groups(relevant_items)
        sum_a, sum_r, aa, ar, rr = (credit_by_rank(part, step, kinds) for step in steps)
        k = np.arange(1, part.depth + 1)[:, None]
        norm = k * kinds.number
        total = share((k + 1) * sum_a - sum_r, norm)
        squares = share((k + 1) ** 2 * aa - 2 * (k + 1) * ar + rr, norm**2)
        return np.stack([total.sum(axis=1), squares.sum(axis=1)], axis=1)

    def values(self, sample: RelevantHits, k: int) -> Floats:
        worth = np.maximum(k - sample.rank + 1, 0).astype(np.float64)
        total = np.bincount(sample.user, weights=worth, minlength=sample.n_users)
        return share(total, k * sample.n_relevant)

    own = values


def _added_by_a_hit(a: Floats, rank: Floats, r: Floats) -> Iterator[Floats]:
    """Yields five arrays [H]: what each hit adds to A, R, A², AR and R².

    A is the number of the user's hits up to this one, R the sum of their ranks; ``a`` and ``r`` have both.
    """
    yield np.ones_like(a)
    yield rank
    yield 2 * a - 1
    yield r + (a - 1) * rank
    yield rank * (2 * r - rank)


@dataclass(frozen=True)
class ListAuc(Additive):
    """The share of pairs (hit, miss) in the first k positions in which the hit ranks higher.

    The hit number j at rank r has r − j misses above it. The value is 0 without a hit, and ``without_miss``
    if every position is a hit.
    """

    without_miss: float = 1.0
    pooled: bool = False

    def sums(self, part: RelevantHits) -> Floats:
        return np.array([sum_and_squares(self.values(part, k)) for k in range(1, part.depth + 1)])

    def values(self, sample: RelevantHits, k: int) -> Floats:
        cut = sample.up_to(k)
        hits = np.bincount(cut.user, minlength=sample.n_users)
        above = np.bincount(cut.user, weights=cut.rank - cut.ordinal, minlength=sample.n_users)
        misses = np.minimum(sample.list_length, k) - hits
        any_hit = (hits > 0).astype(np.float64)
        return np.where(misses > 0, any_hit - share(above, hits * misses), self.without_miss * any_hit)

    own = values


@dataclass(frozen=True)
class HarmonicMean:
    """(1 + β²)·ab / (β²·a + b) of two metrics a and b, per user or of their two means; 0 where both are 0."""

    a: MetricFormula
    b: MetricFormula
    of_means: bool = False
    weight: float = 1.0
    """β², the weight of b relative to a."""

    @property
    def pooled(self) -> bool:
        return self.of_means

    def additive(self, sample: RelevantHits) -> None:
        """Returns None: with ``of_means`` a user's contribution depends on the means over all users."""

    def curve(self, sample: RelevantHits) -> Moments:
        by_k = [sum_and_squares(self.values(sample, k)) for k in range(1, sample.depth + 1)]
        total, squares = np.array(by_k).T
        return total / sample.n_users, standard_error(total, squares, sample.n_users)

    def values(self, sample: RelevantHits, k: int) -> Floats:
        """Returns [n] the users' values or, with ``of_means``, each user's contribution to the value."""
        a, b = self.parts(sample, k)
        return self.pulls(a, b) if self.of_means else harmonic(a, b, self.weight)

    def parts(self, sample: RelevantHits, k: int) -> tuple[Floats, Floats]:
        """Returns [n] the users' values of the first metric, and [n] of the second."""
        return self.a.values(sample, k), self.b.values(sample, k)

    def pulls(self, a: Floats, b: Floats) -> Floats:
        """Returns [n] each user's linear contribution to the harmonic mean of the two means.

        The harmonic mean is homogeneous, so that the mean of the contributions equals the value. Their spread
        gives the standard error by the delta method.
        """
        slope_a, slope_b = harmonic_slopes(a.mean(), b.mean(), self.weight)
        return slope_a * a + slope_b * b

    def own(self, sample: RelevantHits, k: int) -> Floats:
        return harmonic(self.a.own(sample, k), self.b.own(sample, k), self.weight)


def harmonic(a: Floats, b: Floats, weight: float = 1.0) -> Floats:
    """Returns (1 + w)·ab / (w·a + b), the weighted harmonic mean; 0 where both are 0."""
    return share((1.0 + weight) * a * b, weight * a + b)


def harmonic_slopes(a: float, b: float, weight: float = 1.0) -> tuple[float, float]:
    """Returns the derivatives of (1 + w)·ab / (w·a + b) with respect to a and b; 0 and 0 where both are 0."""
    if a + b == 0:
        return 0.0, 0.0
    below = (weight * a + b) ** 2
    return (1.0 + weight) * b * b / below, (1.0 + weight) * weight * a * a / below
