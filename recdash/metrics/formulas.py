"""How per-user values become a curve: mean and standard error at every cutoff at once.

A :class:`Sentence` (credit and norm) is scored from one histogram over (rank, m) and never makes a
[users × depth] table. What cannot be said as a sentence is a :class:`Walk`: it goes from
k = 1 to depth holding one value per user.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from recdash.domain import Floats, Ints
from recdash.metrics.sample import Kinds, Number, Sample, order_by_counting, relevant_items

Credit = Callable[[Sample], Floats]
Norm = Callable[[Ints, Ints], Floats]
"""From k and one number of the user's (m, unless the sentence names another)."""
Moments = tuple[Floats, Floats]


class Formula(Protocol):
    """A metric with its parameters filled in.

    ``pooled``: it is a ratio over all users, so that ``values`` are shares of it and no user's own.
    """

    @property
    def pooled(self) -> bool: ...

    def curve(self, sample: Sample) -> Moments:
        """Mean [depth] and standard error [depth] at k = 1..depth."""

    def values(self, sample: Sample, k: int) -> Floats:
        """[n] the value of each user at k; their mean and spread are the metric's."""

    def own(self, sample: Sample, k: int) -> Floats:
        """[n] what each user got, for counting who is better off; ``values`` unless users are pooled."""


def running_sum(credit: Floats, sample: Sample) -> Floats:
    """[H] the user's credits up to and including each hit."""
    total = np.cumsum(credit)
    return total - (total - credit)[sample.first_hit]


def standard_error(total: Floats, squares: Floats, n: int) -> Floats:
    """Of a mean over n users, from the sum and the sum of squares; NaN below two users."""
    if n < 2:
        return np.full_like(total, np.nan)
    spread = more_than_rounding(squares - total * total / n, squares)
    return np.sqrt(spread / (n - 1) / n)


def more_than_rounding(spread: Floats, squares: Floats) -> Floats:
    """A constant value leaves only rounding of its squares behind; that is not a spread."""
    return np.where(spread <= 1e-12 * squares, 0.0, spread)


# ── credit and norm ──────────────────────────────────────────────────────────────────────────


def credit_by_rank(sample: Sample, credit: Floats, kinds: Kinds) -> Floats:
    """[depth, C] credits of all hits with rank ≤ k, by kind of user."""
    n_kinds = len(kinds.size)
    table = np.bincount(kinds.cell, weights=credit, minlength=sample.depth * n_kinds)
    return table.reshape(sample.depth, n_kinds).cumsum(axis=0)


@dataclass(frozen=True)
class Sentence:
    """Σ credit over the hits up to k, divided by norm(k, number), the number being m unless said otherwise.

    The squares add up the same way: between two hits a user's sum stands still, so the j-th hit adds
    C_j² − C_{j−1}² to the square, C_j being the user's credits so far.
    """

    credit: Credit
    norm: Norm
    number: Number = relevant_items
    pooled: bool = False

    def curve(self, sample: Sample) -> Moments:
        sums, squares, norm, _ = self.tables(sample)
        n = sample.n_users
        total = share(sums, norm).sum(axis=1)
        return total / n, standard_error(total, share(squares, norm**2).sum(axis=1), n)

    def tables(self, sample: Sample) -> tuple[Floats, Floats, Floats, Ints]:
        """Sums [depth, C], sums of squares [depth, C], norm [depth, C], users per kind [C]."""
        kinds = sample.kinds(self.number)
        known = sample.credited.setdefault(self.credit, {})
        if self.number not in known:  # precision, recall and r_precision credit alike
            known[self.number] = self._credited(sample, kinds)
        sums, squares = known[self.number]
        k = np.arange(1, sample.depth + 1)[:, None]
        return sums, squares, np.broadcast_to(self.norm(k, kinds.number), sums.shape), kinds.size

    def _credited(self, sample: Sample, kinds: Kinds) -> tuple[Floats, Floats]:
        credit = self.credit(sample)
        twice_between = 2 * running_sum(credit, sample) - credit  # C_j + C_{j−1}
        return (
            credit_by_rank(sample, credit, kinds),
            credit_by_rank(sample, credit * twice_between, kinds),
        )

    def values(self, sample: Sample, k: int) -> Floats:
        credit = np.where(sample.rank <= k, self.credit(sample), 0.0)
        total: Any = np.bincount(sample.user, weights=credit, minlength=sample.n_users)
        return share(total, self.norm_of(sample, k))

    def norm_of(self, sample: Sample, k: int) -> Floats:
        """[n] what each user's sum is divided by at k."""
        return self.norm(np.array(k), self.number(sample))

    own = values


def share(part: Any, whole: Any) -> Floats:
    """part / whole, and 0 where the whole is 0 (an empty list has no places to fill)."""
    # bincount over no hits at all yields integers: the result is made float here
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole > 0)


@dataclass(frozen=True)
class Micro:
    """Σ over all users of the credits ÷ Σ over all users of the norms; error by the delta method."""

    sentence: Sentence
    pooled: bool = True

    def curve(self, sample: Sample) -> Moments:
        sums, squares, norm, size = self.sentence.tables(sample)
        n = sample.n_users
        return ratio_of_sums(
            sums.sum(axis=1),
            (norm * size).sum(axis=1),
            squares.sum(axis=1),
            (sums * norm).sum(axis=1),
            (norm**2 * size).sum(axis=1),
            n,
        )

    def values(self, sample: Sample, k: int) -> Floats:
        """[n] the ratio R, moved by the user's pull on it, (a − R·b) / mean b: the delta method."""
        norm = self.sentence.norm_of(sample, k)
        a = self.sentence.values(sample, k) * norm
        ratio = share(a.mean(), norm.mean())
        return ratio + share(a - ratio * norm, np.full_like(a, norm.mean()))

    def own(self, sample: Sample, k: int) -> Floats:
        return self.sentence.values(sample, k)


def ratio_of_sums(a: Floats, b: Floats, aa: Floats, ab: Floats, bb: Floats, n: int) -> Moments:
    """Σa / Σb over n users and its standard error, from the sums a, b, a², ab, b²."""
    ratio = share(a, b)
    if n < 2:
        return ratio, np.full_like(ratio, np.nan)
    spread = more_than_rounding(aa - 2 * ratio * ab + ratio**2 * bb, aa)
    return ratio, share(np.sqrt(spread / (n - 1) / n), b / n)


@dataclass(frozen=True)
class OfUser:
    """A value that each user has, whatever k."""

    value: Callable[[Sample], Floats]
    pooled: bool = False

    def curve(self, sample: Sample) -> Moments:
        value = self.value(sample)
        total, squares = np.full(sample.depth, value.sum()), np.full(sample.depth, value @ value)
        return total / sample.n_users, standard_error(total, squares, sample.n_users)

    def values(self, sample: Sample, k: int) -> Floats:
        return self.value(sample)

    own = values


@dataclass(frozen=True)
class OverJudged:
    """A sentence about everything that was judged instead of the hits alone."""

    sentence: Sentence
    pooled: bool = False

    def curve(self, sample: Sample) -> Moments:
        return self.sentence.curve(sample.of_judged())

    def values(self, sample: Sample, k: int) -> Floats:
        return self.sentence.values(sample.of_judged(), k)

    own = values


# ── walks ────────────────────────────────────────────────────────────────────────────────────


class Walk(ABC):
    """A formula that goes through k = 1..depth with a value per user in hand, or knows a short cut."""

    @property
    def pooled(self) -> bool:
        return False

    @abstractmethod
    def values(self, sample: Sample, k: int) -> Floats:
        """[n] the value of each user at k."""

    def own(self, sample: Sample, k: int) -> Floats:
        return self.values(sample, k)

    def curve(self, sample: Sample) -> Moments:
        return curve_of([sums(self.values(sample, k)) for k in range(1, sample.depth + 1)], sample)


def sums(value: Floats) -> Floats:
    """Sum and sum of squares."""
    return np.array([value.sum(), (value * value).sum()])


def curve_of(by_k: Sequence[Floats], sample: Sample) -> Moments:
    """From sum and sum of squares over the users at every k."""
    total, squares = np.array(by_k).T
    return total / sample.n_users, standard_error(total, squares, sample.n_users)


@dataclass(frozen=True)
class GradedNdcg(Walk):
    """nDCG whose ideal differs from user to user: the denominator moves as long as k ≤ m."""

    gain: Callable[[Floats], Floats]
    discount: Callable[[Ints], Floats]
    ideal: str

    def credit(self, sample: Sample) -> Floats:
        return self.gain(sample.gain) / self.discount(sample.rank)

    def curve(self, sample: Sample) -> Moments:
        """Some users at a time: what is looked up of them stays in the processor's cache."""
        return curve_of(np.sum([self._sums(part) for part in sample.parts()], axis=0), sample)

    def _sums(self, sample: Sample) -> list[Floats]:
        """[depth, 2] the users' values and their squares, summed at every k.

        Users stand in order of falling m: those whose ideal still moves at k are in front, one slice. Only
        these are divided anew at every k. The others' values change with their hits alone, so that their
        sums are carried on: an eighth of the time with ten relevant items per user.
        """
        order = order_by_counting(sample.n_relevant.max(initial=0) - sample.n_relevant)
        place = np.empty(sample.n_users, dtype=np.int64)
        place[order] = np.arange(sample.n_users)
        by_rank, edges = sample.by_rank
        user, credit = place[sample.user[by_rank]], self.credit(sample)[by_rank]
        found, value = np.zeros(sample.n_users), np.zeros(sample.n_users)
        settled, moved, by_k = np.zeros(2), sample.n_users, []
        for at_k, (moving, best) in zip(
            pairwise(edges.tolist()), self._ideal_steps(sample, order), strict=True
        ):
            settled += sums(value[moving:moved])
            hit = user[slice(*at_k)]  # a user has at most one hit at a rank
            found[hit] += credit[slice(*at_k)]
            late = hit[hit >= moving]
            settled -= sums(value[late])
            value[late] = found[late] / best[late]
            settled += sums(value[late])
            np.divide(found[:moving], best[:moving], out=value[:moving])
            by_k.append(settled + sums(value[:moving]))
            moved = moving
        return by_k

    def values(self, sample: Sample, k: int) -> Floats:
        credit = np.where(sample.rank <= k, self.credit(sample), 0.0)
        found: Any = np.bincount(sample.user, weights=credit, minlength=sample.n_users)
        return share(found, self.ideal_at(sample, k))

    def _ideal_steps(self, sample: Sample, order: Ints) -> Iterator[tuple[int, Floats]]:
        """Yield for k = 1, 2 … depth how many users in front have an ideal that moves, and everyone's [n]."""
        if self.ideal == "all":
            fixed = self.ideal_at(sample, sample.depth)[order]
            yield from ((0, fixed) for _ in range(sample.depth))
            return
        best, gains = np.zeros(sample.n_users), self.gain(sample.ideal_gain)
        start, m = sample.ideal_start[:-1][order], sample.n_relevant[order]
        fewer = np.searchsorted(-m, -np.arange(1, sample.depth + 1), side="right").tolist()
        for k in range(1, sample.depth + 1):
            moving = sample.n_users if self.ideal == "full" else fewer[k - 1]
            place = start[:moving] + (k - 1 if moving == fewer[k - 1] else np.minimum(k, m) - 1)
            best[:moving] += gains[place] / self.discount(np.array(k))
            yield moving, best

    def ideal_at(self, sample: Sample, k: int) -> Floats:
        """[n] the gain of the best possible list at k, by which the found gain is divided."""
        place = np.arange(len(sample.ideal_gain)) - np.repeat(sample.ideal_start[:-1], sample.n_relevant)
        worth = self.gain(sample.ideal_gain) / self.discount(place + 1)
        if self.ideal != "all":
            worth[place >= k] = 0.0
        best = np.add.reduceat(worth, sample.ideal_start[:-1])
        if self.ideal == "full":
            best += self._places_beyond_m(sample, k)
        return best

    def _places_beyond_m(self, sample: Sample, k: int) -> Floats:
        """ideal=full fills the places m+1..k with the user's least relevant gain."""
        worth = np.concatenate(([0.0], np.cumsum(1.0 / self.discount(np.arange(1, k + 1)))))
        least = self.gain(sample.ideal_gain[sample.ideal_start[1:] - 1])
        return least * (worth[k] - worth[np.minimum(sample.n_relevant, k)])


@dataclass(frozen=True)
class MeanRecall(Walk):
    """Mean of recall@1..k: a hit at rank r counts in k − r + 1 of the k recalls."""

    def curve(self, sample: Sample) -> Moments:
        """A user with A hits up to k, whose ranks add up to R, has ((k + 1)·A − R) / km: sums of A, R and of
        their products say all, and they add up from hit to hit as those of a Sentence do.
        """
        a, rank = sample.ordinal.astype(np.float64), sample.rank.astype(np.float64)
        steps = _added_by_a_hit(a, rank, running_sum(rank, sample))
        kinds = sample.kinds(relevant_items)
        sum_a, sum_r, aa, ar, rr = (credit_by_rank(sample, step, kinds) for step in steps)
        k = np.arange(1, sample.depth + 1)[:, None]
        norm = k * kinds.number
        total = ((k + 1) * sum_a - sum_r) / norm
        squares = ((k + 1) ** 2 * aa - 2 * (k + 1) * ar + rr) / norm**2
        n = sample.n_users
        return total.sum(axis=1) / n, standard_error(total.sum(axis=1), squares.sum(axis=1), n)

    def values(self, sample: Sample, k: int) -> Floats:
        worth = np.maximum(k - sample.rank + 1, 0).astype(np.float64)
        return np.bincount(sample.user, weights=worth, minlength=sample.n_users) / (k * sample.n_relevant)


def _added_by_a_hit(a: Floats, rank: Floats, r: Floats) -> Iterator[Floats]:
    """[H] what a user's hit number A, with which the ranks add up to R, adds to A, R, A², AR and R²."""
    yield np.ones_like(a)
    yield rank
    yield 2 * a - 1
    yield r + (a - 1) * rank
    yield rank * (2 * r - rank)


@dataclass(frozen=True)
class HarmonicMean(Walk):
    """2ab / (a + b) of two metrics, per user (0 where both are 0) or of the two means."""

    a: Formula
    b: Formula
    of_means: bool = False

    @property
    def pooled(self) -> bool:
        return self.of_means

    def values(self, sample: Sample, k: int) -> Floats:
        """[n] per user. With ``of_means`` each user's linear share: 2ab / (a + b) is homogeneous, so the
        mean of the shares is exactly the value, and their spread is its error by the delta method.
        """
        a, b = self.a.values(sample, k), self.b.values(sample, k)
        if not self.of_means:
            return harmonic(a, b)
        slope_a, slope_b = harmonic_slopes(a.mean(), b.mean())
        return slope_a * a + slope_b * b

    def own(self, sample: Sample, k: int) -> Floats:
        return harmonic(self.a.own(sample, k), self.b.own(sample, k))


def harmonic(a: Floats, b: Floats) -> Floats:
    return share(2 * a * b, a + b)


def harmonic_slopes(a: float, b: float) -> tuple[float, float]:
    """∂/∂a and ∂/∂b of 2ab / (a + b); 0 where both are 0."""
    if a + b == 0:
        return 0.0, 0.0
    return 2 * b * b / (a + b) ** 2, 2 * a * a / (a + b) ** 2
