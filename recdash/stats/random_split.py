"""Tests two groups of users by the distribution of a group's total over all random splits of the users.

If both groups have the same distribution, every split of the N users into groups of these sizes is equally
likely, however skewed their values are and however unequal the groups. The p-value is therefore valid in
small and lopsided tests, where the normal approximation of a mean is not.

The splits are too many to list. Their distribution is that of a sample of n of N values without replacement,
and its tails are approximated by the double saddlepoint (Robinson 1982, Annals of Statistics 10, 1007; Booth
& Butler 1990, Biometrika 77, 787) in the form of Barndorff-Nielsen (1986): the total is mapped to a standard
normal deviate. If many users are tied, as with many zeros, its tail is about that of the mid-p: half of the
probability of the total itself counts.

Letters in shapes: ``N`` users, ``b`` distinct or binned values.
"""

from __future__ import annotations

import math

import numpy as np

from recdash.domain.kinds import Floats

MOST_DISTINCT = 1_000
"""More values than this are binned."""
BIN_WIDTH, LINEAR_BELOW = 0.05, 0.02
"""Bins have this relative width, and near the middle this share of a standard deviation of the values."""
NEAR_MIDDLE = 0.02
"""Below this deviate the saddlepoint formula divides 0 by 0, so it is interpolated."""
FAR = 38.0
"""The largest deviate whose tail is not 0 in double precision."""
MOST_STEPS = 60
_ROUNDED = 1e-9


class RandomSplits:
    """The distribution of the total of ``size`` of the ``values`` [N], drawn at random without replacement.

    ``size`` must be between 1 and N − 1.
    """

    def __init__(self, values: Floats, size: int) -> None:
        self.n, self.size = len(values), size
        self._middle = float(values.mean())
        self._sd = float(values.std())
        self._share = size / self.n
        largest = float(np.abs(values).max(initial=0.0))
        self.varies = self._sd > _ROUNDED * largest
        """True if the values differ by more than rounding errors."""
        if self.varies:
            self._value, self._weight = binned((values - self._middle) / self._sd)
            self._spread = math.sqrt(self.n * self._share * (1 - self._share))
            # Var Σ of a sample without replacement, with the variance over N of values scaled to 1.
            self._error = self._spread * math.sqrt(self.n / (self.n - 1))

    def deviate(self, total: float) -> float:
        """Returns the standard normal deviate of ``total``: larger totals have the probability Φ(−deviate).

        It is 0 if all values are equal, and at most ``FAR`` from 0.
        """
        if not self.varies:
            return 0.0
        distance = (total - self.size * self._middle) / self._sd
        if abs(distance) < NEAR_MIDDLE * self._error:
            step = NEAR_MIDDLE * self._error
            low, high = self._far_from_middle(-step), self._far_from_middle(step)
            return low + (high - low) * (distance + step) / (2 * step)
        return self._far_from_middle(distance)

    def total_at(self, deviate: float) -> float:
        """Returns the total with this deviate: the inverse of ``deviate``."""
        from scipy.optimize import brentq

        middle = self.size * self._middle
        if not self.varies or not deviate:
            return middle
        sign = math.copysign(1.0, deviate)
        largest = self._largest(sign)
        if abs(deviate) >= largest[1]:
            return middle + sign * largest[0] * self._sd
        ends = (0.0, sign * largest[0])
        distance = brentq(
            lambda distance: self.deviate(middle + distance * self._sd) - deviate, *ends, xtol=_ROUNDED
        )
        return middle + float(distance) * self._sd

    def _far_from_middle(self, distance: float) -> float:
        sign = 1.0 if distance > 0 else -1.0
        most = self._largest(sign)
        if sign * distance >= most[0] * (1 - _ROUNDED):
            return sign * most[1]
        root = self._saddlepoint(distance)
        if root is None:
            return sign * most[1]
        exponent, slope, determinant = root
        w = sign * math.sqrt(max(2 * exponent, 0.0))
        u = slope * math.sqrt(determinant) / self._spread
        return float(np.clip(w + math.log(u / w) / w, -FAR, FAR))

    def _saddlepoint(self, distance: float) -> tuple[float, float, float] | None:
        """Returns half the squared signed root, the slope λ, and the determinant of K'' at the saddlepoint.

        K(s, λ) = Σ log(1 − θ + θ exp(s + λ value)) is the cumulant function of independent draws with the
        probability θ = n / N; its convex dual is minimised by Newton's method. Returns None if the total is
        too close to the largest one.
        """
        value, weight, share = self._value, self._weight, self._share
        logit = math.log(share / (1 - share))
        s, slope = 0.0, distance / self._error**2
        outside, best = math.log1p(-share), math.inf
        step_s = step_slope = 0.0
        for _ in range(MOST_STEPS):
            x = s + slope * value
            cumulant = float(weight @ np.logaddexp(outside, math.log(share) + x))
            objective = cumulant - s * self.size - slope * distance
            if objective > best + _ROUNDED * (1 + abs(best)):  # too far: half the step
                step_s, step_slope = step_s / 2, step_slope / 2
                s, slope = s - step_s, slope - step_slope
                continue
            best = objective
            chance = weight / (1 + np.exp(-np.clip(logit + x, -700, 700)))
            variance = chance * (1 - chance / weight)
            first = variance @ value
            of_s, of_slope = float(variance.sum()), float(variance @ (value * value))
            determinant = of_s * of_slope - float(first) ** 2
            gap_s, gap_slope = self.size - float(chance.sum()), distance - float(chance @ value)
            if not determinant > _ROUNDED**2 * of_s * of_slope or not of_s > 0:
                return None
            if abs(gap_s) < _ROUNDED * self._error and abs(gap_slope) < _ROUNDED * self._error:
                return -objective, slope, determinant
            step_s = (of_slope * gap_s - float(first) * gap_slope) / determinant
            step_slope = (of_s * gap_slope - float(first) * gap_s) / determinant
            s, slope = s + step_s, slope + step_slope
        return None

    def _largest(self, sign: float) -> tuple[float, float]:
        """Returns the largest total in the direction ``sign``, and the deviate of its mid-p."""
        from scipy.special import gammaln, ndtri

        order = np.argsort(-sign * self._value, kind="stable")
        weight = self._weight[order]
        before = np.cumsum(weight) - weight
        taken = np.clip(self.size - before, 0.0, weight)
        largest = float(taken @ (sign * self._value[order]))
        last = int(np.flatnonzero(taken > 0)[-1])
        k, tied = float(taken[last]), float(weight[last])

        def log_choose(n: float, m: float) -> float:
            return float(gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1))

        log_p = log_choose(tied, k) - log_choose(self.n, self.size)
        return largest, float(min(-ndtri(max(math.exp(log_p), 1e-300) / 2), FAR))


def binned(values: Floats) -> tuple[Floats, Floats]:
    """Returns [b] values and their weights, which stand for ``values`` [N] with standard deviation 1.

    Few distinct values are counted. Many are put into bins that are narrow in relation to the value; two
    values stand for each bin, with its mean and variance. The result does not depend on the order.
    """
    values = np.sort(values)
    starts = np.flatnonzero(np.diff(values, prepend=-np.inf) > 0)
    if len(starts) <= MOST_DISTINCT:
        return values[starts], np.diff(starts, append=len(values)).astype(np.float64)
    place = np.floor(np.arcsinh(values / LINEAR_BELOW) / BIN_WIDTH)
    starts = np.flatnonzero(np.diff(place, prepend=-np.inf) > 0)
    count = np.diff(starts, append=len(values)).astype(np.float64)
    mean = np.add.reduceat(values, starts) / count
    off = values - np.repeat(mean, count.astype(np.int64))
    sd = np.sqrt(np.add.reduceat(off * off, starts) / count)
    single = sd <= _ROUNDED
    value = np.concatenate([mean[single], (mean - sd)[~single], (mean + sd)[~single]])
    weight = np.concatenate([count[single], count[~single] / 2, count[~single] / 2])
    return value, weight


def p_value(first: Floats, second: Floats) -> float:
    """Returns the two-sided p-value that two groups have the same distribution, from their totals.

    It is twice the smaller tail; 1 if all values are equal.
    """
    from scipy.special import ndtr

    splits = RandomSplits(np.concatenate([first, second]), len(second))
    return float(min(2 * ndtr(-abs(splits.deviate(float(second.sum())))), 1.0))
