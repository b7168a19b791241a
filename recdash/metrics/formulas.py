"""Computes mean and standard error at every cutoff at once from per-user values.

A :class:`RatioFormula` (credit and norm) is scored from one histogram over (rank, m) and never builds a
[users × depth] table. Formulas that are no ratio of sums run from k = 1 to depth with one value per user.
Whatever adds up over users is summed some users at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.metrics.sample import Kinds, Number, RelevantHits, order_by_counting, relevant_items

Credit = Callable[[RelevantHits], Floats]
Norm = Callable[[Ints, Ints], Floats]
"""A function of k and one number per user (m, unless the formula names another)."""
Moments = tuple[Floats, Floats]


class MetricFormula(Protocol):
    """A metric with its parameters filled in.

    ``pooled``: it is a ratio over all users, so that ``values`` are shares of it rather than a user's own.
    """

    @property
    def pooled(self) -> bool: ...

    def additive(self, sample: RelevantHits) -> Additive | None:
        """Returns the same formula as sums that add up over users; None if all users are needed at once."""

    def curve(self, sample: RelevantHits) -> Moments:
        """Returns mean [depth] and standard error [depth] at k = 1..depth."""

    def values(self, sample: RelevantHits, k: int) -> Floats:
        """Returns [n] the value of each user at k; their mean and spread are the metric's."""

    def own(self, sample: RelevantHits, k: int) -> Floats:
        """Returns [n] each user's own value, for counting who is better off; ``values`` unless users are
        pooled.
        """


class Additive(ABC):
    """A formula made of sums over users, which add up over groups of users."""

    @abstractmethod
    def sums(self, part: RelevantHits) -> Floats:
        """Returns [depth, n] sums over the users of a part at k = 1..depth: of values and squares, or
        whatever the formula's ``moments`` takes.
        """

    def moments(self, sums: Floats, n_users: int) -> Moments:
        """Returns mean and standard error from the sums of all users."""
        total, squares = sums.T
        return total / n_users, standard_error(total, squares, n_users)

    def additive(self, sample: RelevantHits) -> Additive:
        return self

    def curve(self, sample: RelevantHits) -> Moments:
        sums = [self.sums(part) for part in sample.parts()]
        return self.moments(np.sum(sums, axis=0), sample.n_users)


def curves(formulas: Sequence[MetricFormula], sample: RelevantHits) -> list[Moments]:
    """Returns the curves of several formulas, computed for some users at a time.

    Formulas share intermediate results of these users, which stay in the processor's cache, and no array as
    long as the hits is written for all users: at a million users a third of the memory.
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
    """Returns [H] the user's credits up to and including each hit."""
    total = np.cumsum(credit)
    return total - (total - credit)[sample.first_hit]


def standard_error(total: Floats, squares: Floats, n: int) -> Floats:
    """Returns the standard error of a mean over n users from sum and sum of squares; NaN below two users."""
    if n < 2:
        return np.full(total.shape, np.nan)  # sums over no hits are integers
    spread = more_than_rounding(squares - total * total / n, squares)
    return np.sqrt(spread / (n - 1) / n)


def more_than_rounding(spread: Floats, squares: Floats) -> Floats:
    """Returns the spread, or 0 where it is only rounding of the squares of a constant."""
    return np.where(spread <= 1e-12 * squares, 0.0, spread)


# ── credit and norm ──────────────────────────────────────────────────────────────────────────


def credit_by_rank(sample: RelevantHits, credit: Floats, kinds: Kinds) -> Floats:
    """Returns [depth, C] credits of all hits with rank ≤ k, by kind of user."""
    n_kinds = len(kinds.size)
    table = np.bincount(kinds.cell, weights=credit, minlength=sample.depth * n_kinds)
    return table.reshape(sample.depth, n_kinds).cumsum(axis=0)


@dataclass(frozen=True)
class RatioFormula(Additive):
    """Σ credit over the hits up to k, divided by norm(k, number), the number being m by default.

    The squares add up the same way: between two hits a user's sum is constant, so the j-th hit adds
    C_j² − C_{j−1}² to the square, C_j being the user's credits so far.
    """

    credit: Credit
    norm: Norm
    number: Number = relevant_items
    pooled: bool = False
    view: Callable[[RelevantHits], RelevantHits] | None = None
    """The hits that it covers, if not all hits of the lists."""

    def sums(self, part: RelevantHits) -> Floats:
        sums, squares, norm, _ = self.tables(part)
        return np.stack([share(sums, norm).sum(axis=1), share(squares, norm**2).sum(axis=1)], axis=1)

    def seen(self, sample: RelevantHits) -> RelevantHits:
        return sample if self.view is None else self.view(sample)

    def tables(self, sample: RelevantHits) -> tuple[Floats, Floats, Floats, Ints]:
        """Returns sums [depth, C], sums of squares [depth, C], norm [depth, C], users per kind [C]."""
        sample = self.seen(sample)
        kinds = sample.kinds(self.number)
        known = sample.credited.setdefault(self.credit, {})
        if self.number not in known:  # precision, recall and r_precision credit alike
            known[self.number] = self._credited(sample, kinds)
        sums, squares = known[self.number]
        k = np.arange(1, sample.depth + 1)[:, None]
        return sums, squares, np.broadcast_to(self.norm(k, kinds.number), sums.shape), kinds.size

    def _credited(self, sample: RelevantHits, kinds: Kinds) -> tuple[Floats, Floats]:
        credit = self.credit(sample)
        twice_between = 2 * running_sum(credit, sample) - credit  # C_j + C_{j−1}
        return (
            credit_by_rank(sample, credit, kinds),
            credit_by_rank(sample, credit * twice_between, kinds),
        )

    def values(self, sample: RelevantHits, k: int) -> Floats:
        cut = self.seen(sample).up_to(k)
        total: Any = np.bincount(cut.user, weights=self.credit(cut), minlength=sample.n_users)
        return share(total, self.norm_of(sample, k))

    def norm_of(self, sample: RelevantHits, k: int) -> Floats:
        """Returns [n] the denominator of each user's sum at k."""
        return self.norm(np.array(k), self.number(sample))

    own = values


def share(part: Any, whole: Any) -> Floats:
    """Returns part / whole, and 0 where the whole is 0 (an empty list)."""
    # bincount over no hits returns integers: the result is made float here
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole > 0)


@dataclass(frozen=True)
class Micro(Additive):
    """Σ over all users of the credits ÷ Σ over all users of the norms; error by the delta method."""

    ratio: RatioFormula
    pooled: bool = True

    def sums(self, part: RelevantHits) -> Floats:
        """Returns [depth, 5] sums of the credits a, the norms b, a², ab and b²."""
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
        """Returns [n] credits and [n] norms, whose sums are divided."""
        norm = self.ratio.norm_of(sample, k).astype(np.float64)
        return self.ratio.values(sample, k) * norm, norm

    def pulls(self, a: Floats, b: Floats) -> Floats:
        """Returns [n] R + (a − R·b) / mean b, where R = Σa / Σb: the delta method."""
        ratio = share(a.mean(), b.mean())
        return ratio + share(a - ratio * b, np.full_like(a, b.mean()))

    def own(self, sample: RelevantHits, k: int) -> Floats:
        return self.ratio.values(sample, k)


def ratio_of_sums(a: Floats, b: Floats, aa: Floats, ab: Floats, bb: Floats, n: int) -> Moments:
    """Returns Σa / Σb over n users and its standard error, from the sums a, b, a², ab, b²."""
    ratio = share(a, b)
    if n < 2:
        return ratio, np.full_like(ratio, np.nan)
    spread = more_than_rounding(aa - 2 * ratio * ab + ratio**2 * bb, aa)
    return ratio, share(np.sqrt(spread / (n - 1) / n), b / n)


@dataclass(frozen=True)
class OfUser(Additive):
    """A value per user that does not depend on k."""

    value: Callable[[RelevantHits], Floats]
    pooled: bool = False

    def sums(self, part: RelevantHits) -> Floats:
        return np.tile(sum_and_squares(self.value(part)), (part.depth, 1))

    def values(self, sample: RelevantHits, k: int) -> Floats:
        return self.value(sample)

    own = values


@dataclass(frozen=True)
class OverJudged(Additive):
    """A ratio over everything that was judged instead of the relevant hits alone."""

    ratio: RatioFormula
    pooled: bool = False

    def sums(self, part: RelevantHits) -> Floats:
        return self.ratio.sums(part.of_judged())

    def values(self, sample: RelevantHits, k: int) -> Floats:
        return self.ratio.values(sample.of_judged(), k)

    own = values


@dataclass(frozen=True)
class OverGrades(Additive):
    """A formula over all items with a relevance above 0, also below the threshold."""

    formula: Additive

    def sums(self, part: RelevantHits) -> Floats:
        return self.formula.sums(part.of_every_grade)


# ── formulas that are not ratios ─────────────────────────────────────────────────────────────


def sum_and_squares(value: Floats) -> Floats:
    """Returns sum and sum of squares; not by value @ value, for which the linear algebra starts threads."""
    return np.array([value.sum(), (value * value).sum()])


@dataclass(frozen=True)
class GradedNdcg(Additive):
    """nDCG whose ideal differs by user: the denominator changes as long as k ≤ m."""

    gain: Callable[[Floats], Floats]
    discount: Callable[[Ints], Floats]
    ideal: str
    pooled: bool = False

    def credit(self, sample: RelevantHits) -> Floats:
        return self.gain(sample.gain) / self.discount(sample.rank)

    def sums(self, part: RelevantHits) -> Floats:
        """Returns the sums; only users whose ideal still changes are divided anew at every k."""
        if self.ideal == "all":
            return self._settled(part, self.ideal_at(part, part.depth), np.zeros_like(part.n_relevant))
        by_k, best = self._moving(part)
        return by_k if self.ideal == "full" else by_k + self._settled(part, best, part.n_relevant)

    def _settled(self, sample: RelevantHits, best: Floats, m: Ints) -> Floats:
        """Returns [depth, 2] sums of users at k > m: hits up to m count from m + 1, later ones from their
        rank.
        """
        credit = self.credit(sample) / best[sample.user]
        since = np.maximum(sample.rank, m[sample.user] + 1)
        squares = credit * (2 * running_sum(credit, sample) - credit)
        steps = [np.bincount(since, step, sample.depth + 1) for step in (credit, squares)]
        return np.stack(steps, axis=1)[1 : sample.depth + 1].cumsum(axis=0)

    def _moving(self, sample: RelevantHits) -> tuple[Floats, Floats]:
        """Returns [depth, 2] sums of users at k ≤ m (ideal=full: at every k), and everyone's ideal at the
        last of these.

        Users are ordered by falling m, so that those whose ideal changes are the first, as one slice.
        """
        order = order_by_counting(sample.n_relevant.max(initial=0) - sample.n_relevant)
        user, credit, edges = self._hits_that_move(sample, order)
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

    def _hits_that_move(self, sample: RelevantHits, order: Ints) -> tuple[Ints, Floats, list[int]]:
        """Returns order index and credit of hits with rank ≤ m (ideal=full: all), by rank, and their
        edges.
        """
        place = np.empty(sample.n_users, dtype=np.int64)
        place[order] = np.arange(sample.n_users)
        hit = np.flatnonzero(sample.rank <= (sample.depth if self.ideal == "full" else sample.m))
        hit = hit[order_by_counting(sample.rank[hit])]
        often = np.bincount(sample.rank[hit], minlength=sample.depth + 1)
        return place[sample.user[hit]], self.credit(sample)[hit], np.cumsum(often).tolist()

    def values(self, sample: RelevantHits, k: int) -> Floats:
        cut = sample.up_to(k)
        gained: Any = np.bincount(cut.user, weights=self.credit(cut), minlength=sample.n_users)
        return share(gained, sample.ideals.get((self, k), lambda: self.ideal_at(sample, k)))

    own = values

    def _ideal_steps(self, sample: RelevantHits, order: Ints) -> Iterator[tuple[int, Floats]]:
        """Yields for k = 1, 2 … how many leading users have an ideal that changes, and the gain it adds for
        each.
        """
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
        """Returns [n] the gain of the best possible list at k, the denominator."""
        place = np.arange(len(sample.ideal_gain)) - np.repeat(sample.ideal_start[:-1], sample.n_relevant)
        worth = self.gain(sample.ideal_gain) / self.discount(place + 1)
        if self.ideal != "all":
            worth[place >= k] = 0.0
        best = np.zeros(sample.n_users)
        some = sample.n_relevant > 0
        best[some] = np.add.reduceat(worth, sample.ideal_start[:-1][some]) if some.any() else 0.0
        if self.ideal == "full":
            best += self._places_beyond_m(sample, k)
        return best

    def _places_beyond_m(self, sample: RelevantHits, k: int) -> Floats:
        """Returns the gains of positions m+1..k, which ideal=full fills with the user's smallest relevant
        gain.
        """
        worth = np.concatenate(([0.0], np.cumsum(1.0 / self.discount(np.arange(1, k + 1)))))
        least = np.zeros(sample.n_users)
        some = sample.n_relevant > 0
        least[some] = self.gain(sample.ideal_gain[sample.ideal_start[1:][some] - 1])
        return least * (worth[k] - worth[np.minimum(sample.n_relevant, k)])


@dataclass(frozen=True)
class MeanRecall(Additive):
    """Mean of recall@1..k: a hit at rank r counts in k − r + 1 of the k recalls."""

    pooled: bool = False

    def sums(self, part: RelevantHits) -> Floats:
        """Returns the sums of A, R and their products for each k.

        A user with A hits up to k, whose ranks add up to R, has ((k + 1)·A − R) / km. The sums add up from
        hit to hit as those of a RatioFormula do.
        """
        a, rank = part.ordinal.astype(np.float64), part.rank.astype(np.float64)
        steps = _added_by_a_hit(a, rank, running_sum(rank, part))
        kinds = part.kinds(relevant_items)
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
    """Yields [H] what a user's hit number A, with which the ranks add up to R, adds to A, R, A², AR and
    R².
    """
    yield np.ones_like(a)
    yield rank
    yield 2 * a - 1
    yield r + (a - 1) * rank
    yield rank * (2 * r - rank)


@dataclass(frozen=True)
class ListAuc(Additive):
    """Share of the pairs (hit, miss) in the top k of a list in which the hit ranks higher.

    The hit number j at rank r has r − j misses above it. 0 without a hit, ``without_miss`` where every place
    is a hit.
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
    """(1 + β²)·ab / (β²·a + b) of two metrics, per user (0 where both are 0) or of the two means."""

    a: MetricFormula
    b: MetricFormula
    of_means: bool = False
    weight: float = 1.0
    """β²: how much more b weighs than a."""

    @property
    def pooled(self) -> bool:
        return self.of_means

    def additive(self, sample: RelevantHits) -> None:
        """Returns None: a share in the mean depends on all users."""

    def curve(self, sample: RelevantHits) -> Moments:
        by_k = [sum_and_squares(self.values(sample, k)) for k in range(1, sample.depth + 1)]
        total, squares = np.array(by_k).T
        return total / sample.n_users, standard_error(total, squares, sample.n_users)

    def values(self, sample: RelevantHits, k: int) -> Floats:
        """Returns [n] values per user; with ``of_means``, each user's influence on the value."""
        a, b = self.parts(sample, k)
        return self.pulls(a, b) if self.of_means else harmonic(a, b, self.weight)

    def parts(self, sample: RelevantHits, k: int) -> tuple[Floats, Floats]:
        """Returns [n] of each metric."""
        return self.a.values(sample, k), self.b.values(sample, k)

    def pulls(self, a: Floats, b: Floats) -> Floats:
        """Returns [n] linear shares.

        The harmonic mean is homogeneous, so that their mean is exactly the value, and their spread gives its
        error by the delta method.
        """
        slope_a, slope_b = harmonic_slopes(a.mean(), b.mean(), self.weight)
        return slope_a * a + slope_b * b

    def own(self, sample: RelevantHits, k: int) -> Floats:
        return harmonic(self.a.own(sample, k), self.b.own(sample, k), self.weight)


def harmonic(a: Floats, b: Floats, weight: float = 1.0) -> Floats:
    return share((1.0 + weight) * a * b, weight * a + b)


def harmonic_slopes(a: float, b: float, weight: float = 1.0) -> tuple[float, float]:
    """Returns ∂/∂a and ∂/∂b of (1 + w)·ab / (w·a + b); 0 where both are 0."""
    if a + b == 0:
        return 0.0, 0.0
    below = (weight * a + b) ** 2
    return (1.0 + weight) * b * b / below, (1.0 + weight) * weight * a * a / below
