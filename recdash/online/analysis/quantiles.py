"""Compares a quantile, such as the 95th percentile of load times, between a variant and the control.

Rows such as sessions belong to users, who were randomised, so the share of rows up to a value is a ratio of
sums over users. Its variance is inflated by the design effect: what the variance over users is of that of as
many independent rows. No density is estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.online import validity
from recdash.online.analysis.comparison import NoComparison
from recdash.online.analysis.lift import Estimate

FEWEST_BEYOND = 30
"""The independent rows that must lie beyond the quantile in each variant;
``benchmarks.calibration_quantiles`` measures from how many on the test holds.
"""
FAR = 12.0
"""A share that misses the quantile by so many standard errors is rejected at every level."""
WIDEST = 30.0
"""Largest logarithm of a ratio at the end of an interval."""
TOO_FEW = "too few rows lie beyond the quantile for an interval"
BESIDE = 2
"""Places beside the two quantiles between which the common value may lie."""
FEW_OF = 4
"""Users are renumbered if there are so many times more of them than rows."""
STEPS = 60
"""The number of halvings with which the end of an interval is found."""


@dataclass(frozen=True)
class QuantileSide:
    """The rows of one variant: their ``values`` [n] and the ``user`` [n] that each is of, an index from 0.

    ``n_users`` is the number of users of the variant, also those without rows. ``quantile`` is between 0 and
    1.
    """

    values: Floats
    user: Ints
    n_users: int
    quantile: float

    @cached_property
    def sorted_values(self) -> Floats:
        return np.sort(self.values)

    @cached_property
    def _knots(self) -> tuple[Floats, Floats, Floats]:
        """Returns the distinct values near the quantile in ascending order, and the least and the largest
        share of rows up to each, less the quantile.

        A row counts half at its own value, so that a single one has one share. Other values are more than
        ``FAR`` standard errors away from the quantile.
        """
        n, half = len(self.values), FAR * math.sqrt(self.squared_error)
        first = max(math.floor(n * (self.quantile - half)), 0)
        near = self.sorted_values[first : math.ceil(n * (self.quantile + half)) + 1]
        distinct, counts = np.unique(near, return_counts=True)
        up_to = first + np.cumsum(counts)
        least, most = (up_to - counts + 0.5) / n, (up_to - 0.5) / n
        return distinct, least - self.quantile, most - self.quantile

    def near(self, shift: float = 0.0, scale: float = 1.0) -> Floats:
        """Returns the distinct values near the quantile, as (value − ``shift``) / ``scale``, ascending."""
        return (self._knots[0] - shift) / scale

    @cached_property
    def value(self) -> float | None:
        """Returns the least value up to which at least the quantile's share of the rows lies; None without
        rows.
        """
        n = len(self.values)
        return float(self.sorted_values[max(math.ceil(self.quantile * n - 1e-9), 1) - 1]) if n else None

    @cached_property
    def design_effect(self) -> float:
        """Returns the variance of the share of rows up to the quantile, by users, as a multiple of that of
        as many independent rows; 1 if each row is of another user.
        """
        user = self._user_of_few
        rows = np.bincount(user)
        if not (rows > 1).any():
            return 1.0
        cut = math.inf if self.value is None else self.value
        below = np.bincount(user, self.values <= cut, minlength=len(rows))
        rest = below - below.sum() / rows.sum() * rows
        share = float(below.sum() / rows.sum())
        independent = len(self.values) * share * (1 - share)
        n_users = int((rows > 0).sum())
        if not independent > 0 or n_users < 2:
            return 1.0
        return max(float(rest @ rest) * n_users / (n_users - 1) / independent, 1e-9)

    @property
    def _user_of_few(self) -> Ints:
        """Returns [n] the user of each row, renumbered if the rows are of few of the users up to the largest
        index: so counting costs as much as there are rows, also for each of many segments and days.
        """
        if int(self.user.max(initial=-1)) < FEW_OF * len(self.user):
            return self.user
        return np.unique(self.user, return_inverse=True)[1]

    @cached_property
    def squared_error(self) -> float:
        """Returns the squared standard error of the share of rows up to the true quantile."""
        return self.quantile * (1 - self.quantile) * self.design_effect / len(self.values)

    @property
    def n_beyond(self) -> float:
        """Returns how many independent rows lie beyond the quantile, on the side with fewer."""
        return len(self.values) / self.design_effect * min(self.quantile, 1 - self.quantile)

    @property
    def why_no_interval(self) -> str:
        """Returns why the quantile has no valid interval; an empty text if it has one."""
        if not len(self.values):
            return "there are no rows with a value"
        if self.n_beyond < FEWEST_BEYOND:
            return (
                f"{self.n_beyond:,.0f} independent rows lie beyond the quantile; a valid interval needs "
                f"{FEWEST_BEYOND} in each variant"
            )
        return ""

    def interval(self, level: float) -> tuple[float | None, float | None]:
        """Returns the values that the share of rows up to them does not reject as the quantile.

        An end is None if it lies beyond all rows.
        """
        half, n = _critical(level) * math.sqrt(self.squared_error), len(self.values)
        low, high = math.floor(n * (self.quantile - half)), math.ceil(n * (self.quantile + half))
        ends = [float(self.sorted_values[place - 1]) if 1 <= place <= n else None for place in (low, high)]
        return ends[0], ends[1]

    def deviations(self, places: Floats, shift: float = 0.0, scale: float = 1.0) -> tuple[Floats, Floats]:
        """Returns by how much the share of rows up to each place exceeds the quantile, at least and at most.

        Rows count as (value − ``shift``) / ``scale``; between two of them the share rises in a straight line.
        """
        knots, (_, least, most) = self.near(shift, scale), self._knots
        between = np.interp(places, np.repeat(knots, 2), np.column_stack([least, most]).ravel())
        index = np.minimum(np.searchsorted(knots, places), len(knots) - 1)
        is_knot = knots[index] == places
        return np.where(is_knot, least[index], between), np.where(is_knot, most[index], between)


@dataclass(frozen=True)
class QuantileComparison:
    """Compares a quantile by the shares of rows up to a common value, as Mood's median test does.

    Two quantiles differ by δ if one value is the quantile of both, once δ is taken from the variant's rows.
    That value is the quantile of all rows, weighted by the precision of the two shares, so that its error is
    independent of their difference. The statistic is this difference in standard errors.
    """

    method: ClassVar[str] = "quantile test by users"

    control: QuantileSide
    variant: QuantileSide
    _lifts: dict[float, Estimate] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def p(self) -> float:
        from scipy.special import ndtr

        return min(float(f"{2 * ndtr(-abs(self._deviate())):.10g}"), 1.0)

    def lift(self, level: float) -> Estimate:
        if level not in self._lifts:
            self._lifts[level] = self._lift(level)
        return self._lifts[level]

    def _lift(self, level: float) -> Estimate:
        base, other = self._values
        if not base > 0 or not other > 0:
            side, value = ("control", base) if not base > 0 else ("variant", other)
            return Estimate(None, p=self.p, note=f"the {side} is {value:g}, and a lift needs values above 0")
        middle, critical = math.log(other / base), _critical(level)
        low, high = (
            _end(lambda ratio: self._deviate(scale=math.exp(ratio)), middle, step, critical, WIDEST)
            for step in (-0.01, 0.01)
        )
        if low is None or high is None:
            return Estimate(math.expm1(middle), p=self.p, note=TOO_FEW)
        return Estimate(math.expm1(middle), *self._with_p(math.expm1(low), math.expm1(high), level), self.p)

    def difference(self, level: float) -> Estimate:
        base, other = self._values
        size, critical = max(abs(base), abs(other), 1e-9), _critical(level)
        low, high = (
            _end(lambda shift: self._deviate(shift=shift), other - base, step * size, critical, 1e9 * size)
            for step in (-0.01, 0.01)
        )
        if low is None or high is None:
            return Estimate(other - base, p=self.p, note=TOO_FEW)
        return Estimate(other - base, *self._with_p(low, high, level), self.p)

    @property
    def _values(self) -> tuple[float, float]:
        assert self.control.value is not None  # noqa: S101 - compared only with rows
        assert self.variant.value is not None  # noqa: S101
        return self.control.value, self.variant.value

    def _deviate(self, shift: float = 0.0, scale: float = 1.0) -> float:
        """Returns by how many standard errors the variant's quantile is above the control's, if its rows are
        less ``shift`` and divided by ``scale``.
        """
        base, other = self._values
        low, high = sorted((base, (other - shift) / scale))
        places = np.unique(np.concatenate([self.control.near(), self.variant.near(shift, scale)]))
        first, last = np.searchsorted(places, [low, high])
        places = places[max(int(first) - BESIDE, 0) : int(last) + BESIDE + 1]
        of_control, of_variant = (
            np.column_stack(ends).ravel()
            for ends in (self.control.deviations(places), self.variant.deviations(places, shift, scale))
        )
        errors = self.control.squared_error, self.variant.squared_error
        together = of_control / errors[0] + of_variant / errors[1]
        distance = float(np.interp(0.0, together, of_control - of_variant))
        return distance / math.sqrt(sum(errors))

    def _with_p(self, low: float, high: float, level: float) -> tuple[float, float]:
        ends = validity.with_p(low, high, self.p, level)
        return float(ends[0]), float(ends[1])


def compare_sides(control: QuantileSide, variant: QuantileSide) -> QuantileComparison | NoComparison:
    """Returns the comparison of two variants, or why there is none."""
    note = control.why_no_interval or variant.why_no_interval
    if not note:
        return QuantileComparison(control, variant)
    base, other = control.value, variant.value
    if base is None or other is None:
        return NoComparison(None, None, note)
    return NoComparison(other / base - 1 if base > 0 else None, other - base, note)


def _critical(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def _end(
    deviate: Callable[[float], float], middle: float, step: float, critical: float, most: float
) -> float | None:
    """Returns the effect in the direction of ``step`` at which the ``deviate`` is ``critical`` or more.

    The deviate is a step function that falls as the effect rises. Returns None if no effect up to ``most`` is
    rejected.
    """
    near, far = middle, middle + step
    while abs(deviate(far)) <= critical:
        near, far = far, far + 2 * (far - near)
        if abs(far) > most:
            return None
    for _ in range(STEPS):
        between = (near + far) / 2
        if abs(deviate(between)) > critical:
            far = between
        else:
            near = between
    return far
