"""Compares a variant with the control by one statistic, from which p and all intervals follow.

An interval holds the effects that the test does not reject, so that p is below 1 − level exactly where the
interval excludes no effect.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from recdash.domain.kinds import Floats, Mask
from recdash.online import counts, validity
from recdash.online.analysis import lift
from recdash.online.analysis.lift import TOO_WIDE, Estimate
from recdash.online.analysis.pair_values import PairValues, Side
from recdash.online.counts import Count
from recdash.online.metrics import OnlineMetric
from recdash.stats.random_split import RandomSplits

KOHAVI = 355
"""Users per variant for a normal approximation of a mean, by squared skewness (Kohavi, Deng, Longbotham & Xu,
Seven rules of thumb for web site experimenters, KDD 2014).
"""
LARGE = 200
"""Fewer users of a variant are compared by their splits, as the skewness of few users is uncertain."""
WIDEST = 30.0
"""Largest logarithm of a ratio at the end of an interval."""
EXACT = 1e-8
NO_UPPER_END = "the control is too close to 0 for a lift with an interval"


class Comparison(Protocol):
    """A test of a variant against the control, with the intervals that it does not reject."""

    @property
    def method(self) -> str:
        """Returns the name of the test."""

    @property
    def p(self) -> float | None:
        """Returns the two-sided p-value of no effect; None if no test is valid."""

    def lift(self, level: float) -> Estimate:
        """Returns the relative difference with its interval, or a note that says why there is none."""

    def difference(self, level: float) -> Estimate:
        """Returns the absolute difference, in the unit of the metric, with its interval."""


def _critical(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


@dataclass(frozen=True)
class SplitComparison:
    """Compares by all splits of the users (``RandomSplits``): valid for skewed values and uneven groups.

    A lift of δ is rejected if the variant's values, divided by 1 + δ, differ from those of the control; an
    absolute difference likewise, by subtraction.
    """

    method: ClassVar[str] = "permutation"

    pair: PairValues
    _lifts: dict[float, Estimate] = field(default_factory=dict, repr=False, compare=False)
    """The lift by level, as it is asked for several times."""

    @cached_property
    def p(self) -> float:
        from scipy.special import ndtr

        return _in_any_order(2 * ndtr(-abs(self._deviate(self.pair.residuals(self.pair.numerator)))))

    def lift(self, level: float) -> Estimate:
        if level not in self._lifts:
            self._lifts[level] = self._lift(level)
        return self._lifts[level]

    def _lift(self, level: float) -> Estimate:
        control, variant = (np.where(side, self.pair.numerator, 0.0) for side in self._groups)
        of_control, of_variant = self.pair.residuals(control), self.pair.residuals(variant)
        # The variant's residuals of control + variant/(1 + δ) add up to 0 at the estimate.
        own, scaled = self._total(of_control), self._total(of_variant)
        base = self.pair.values()[0]
        if not base > 0 or not scaled > 0 or not -own / scaled > 0:
            return Estimate(None, p=self.p, note=TOO_WIDE)
        estimate = -math.log(-own / scaled)

        def deviate(log_ratio: float) -> float:
            return self._deviate(of_control + math.exp(-log_ratio) * of_variant)

        error = math.sqrt(sum(side.squared_error for side in self.pair.sides())) / base
        critical = _critical(level)
        low, high = _ends(deviate, estimate, error, critical, WIDEST)
        # No end where even a variant, or a control, of zeros would not be rejected.
        if self._deviate(of_variant) <= critical:
            low = -math.inf
        if high == math.inf or -self._deviate(of_control) <= critical:
            return Estimate(math.expm1(estimate), p=self.p, note=NO_UPPER_END)
        ends = _with_p(math.expm1(low), math.expm1(high), self.p, level)
        return Estimate(math.expm1(estimate), *ends, self.p)

    def difference(self, level: float) -> Estimate:
        of_values = self.pair.residuals(self.pair.numerator)
        of_shift = self.pair.residuals(np.where(self.pair.is_variant, self.pair.denominator, 0.0))
        estimate = self._total(of_values) / self._total(of_shift)
        error = math.sqrt(sum(side.squared_error for side in self.pair.sides()))

        def deviate(shift: float) -> float:
            return self._deviate(of_values - shift * of_shift)

        low, high = _ends(deviate, estimate, error, _critical(level), math.inf)
        return Estimate(estimate, *_with_p(low, high, self.p, level), self.p)

    @property
    def _groups(self) -> tuple[Mask, Mask]:
        return ~self.pair.is_variant, self.pair.is_variant

    def _total(self, residuals: Floats) -> float:
        return float(residuals[self.pair.is_variant].sum())

    def _deviate(self, residuals: Floats) -> float:
        return RandomSplits(residuals, self.pair.n_variant).deviate(self._total(residuals))


def _ends(
    deviate: Callable[[float], float], estimate: float, error: float, critical: float, most: float
) -> tuple[float, float]:
    """Returns the effects below and above ``estimate`` at which ``deviate`` is ± ``critical``.

    ``deviate`` falls as the effect rises, and is about 0 at the estimate. An end is infinite if it is
    farther than ``most`` from 0, or if no effect is rejected.
    """
    return (
        _end(lambda effect: deviate(effect) - critical, estimate, -error * critical, most),
        _end(lambda effect: -deviate(effect) - critical, estimate, error * critical, most),
    )


def _end(beyond: Callable[[float], float], estimate: float, step: float, most: float) -> float:
    from scipy.optimize import brentq

    infinite = math.copysign(math.inf, step)
    if not step:
        return estimate
    near, far = estimate, estimate + step
    for _ in range(60):
        if abs(far) > most:
            return infinite
        if beyond(far) > 0:
            return float(brentq(beyond, near, far, xtol=EXACT * abs(step), rtol=EXACT))
        near, far = far, far + 2 * (far - near)
    return infinite


@dataclass(frozen=True)
class WelchComparison:
    """Compares by Welch's t of the difference; the interval of the lift is Fieller's, of the same t.

    It is valid where the skewness of the mean is small in both variants (``is_normal``).
    """

    method: ClassVar[str] = "Welch's t"

    control: Side
    variant: Side

    @property
    def error(self) -> float:
        """Returns the standard error of the difference."""
        return math.sqrt(self.control.squared_error + self.variant.squared_error)

    @property
    def _df(self) -> float:
        parts = (side.squared_error**2 / (side.n - 1) for side in (self.control, self.variant))
        return self.error**4 / sum(parts)

    @cached_property
    def p(self) -> float:
        from scipy.special import stdtr

        t = abs(self.variant.value - self.control.value) / self.error
        return _in_any_order(2 * stdtr(self._df, -t))

    def lift(self, level: float) -> Estimate:
        control, variant = self.control, self.variant
        if not control.value > 0:
            return Estimate(None, p=self.p, note=TOO_WIDE)
        change = variant.value / control.value - 1
        # (variant − ratio · control)² = t² (variance + ratio² · variance of control), solved for the ratio
        t = self._critical(level)
        square = control.value**2 - t**2 * control.squared_error
        half = variant.value * control.value
        root = half**2 - square * (variant.value**2 - t**2 * variant.squared_error)
        if not square > 0 or not root >= 0 or change <= -1:
            return Estimate(change, p=self.p, note=TOO_WIDE)
        low, high = ((half + sign * math.sqrt(root)) / square - 1 for sign in (-1, 1))
        low, high = _with_p(low, high, self.p, level)
        return Estimate(change, max(low, -1.0), high, self.p)

    def difference(self, level: float) -> Estimate:
        distance, half = self.variant.value - self.control.value, self._critical(level) * self.error
        return Estimate(distance, *_with_p(distance - half, distance + half, self.p, level), self.p)

    def _critical(self, level: float) -> float:
        from scipy.special import stdtrit

        return float(stdtrit(self._df, (1 + level) / 2))


@dataclass(frozen=True)
class RateComparison:
    """Compares the shares of users with an outcome by the score test (Miettinen & Nurminen 1985).

    With few successes or failures (``is_exact``), p is Fisher's, twice the smaller tail; the score intervals
    are then extended to 0 where that p does not exclude it.
    """

    control: Count
    variant: Count
    is_exact: bool

    @property
    def method(self) -> str:
        return "Fisher's exact test" if self.is_exact else "score test"

    @cached_property
    def p(self) -> float:
        of_rates = counts.p_value if self.is_exact else counts.score_p_value
        return of_rates(self.control, self.variant)

    def lift(self, level: float) -> Estimate:
        if not self.control.successes:
            return Estimate(None, p=self.p, note=TOO_WIDE)
        low, high = counts.ratio_interval(self.control, self.variant, level)
        change, note = self.variant.rate / self.control.rate - 1, counts.METHOD if self.is_exact else ""
        return Estimate(change, *_with_p(low - 1, high - 1, self.p, level), self.p, note)

    def difference(self, level: float) -> Estimate:
        ends = counts.difference_interval(self.control, self.variant, level)
        return Estimate(self.variant.rate - self.control.rate, *_with_p(*ends, self.p, level), self.p)


@dataclass(frozen=True)
class NoComparison:
    """No test is valid; ``note`` says why."""

    method: ClassVar[str] = ""
    p: ClassVar[None] = None

    change: float | None
    distance: float | None
    note: str

    def lift(self, level: float) -> Estimate:  # noqa: ARG002 - as others
        return Estimate(self.change, note=self.note)

    def difference(self, level: float) -> Estimate:  # noqa: ARG002 - as others
        return Estimate(self.distance, note=self.note)


@dataclass(frozen=True)
class WithoutLift:
    """A comparison by the difference alone, as the lift is not defined or has no end; ``note`` says why."""

    comparison: Comparison
    change: float | None
    note: str

    @property
    def method(self) -> str:
        return self.comparison.method

    @property
    def p(self) -> float | None:
        return self.comparison.p

    def lift(self, level: float) -> Estimate:  # noqa: ARG002 - as others
        return Estimate(self.change, p=self.p, note=self.note)

    def difference(self, level: float) -> Estimate:
        return self.comparison.difference(level)


@dataclass(frozen=True)
class DeltaComparison:
    """Compares as tests stored before do: the interval by the delta method, p by Welch's t, no difference."""

    method: ClassVar[str] = ""

    metric: OnlineMetric
    control: Any
    variant: Any
    adjusted: bool = False

    @cached_property
    def p(self) -> float | None:
        return self.lift(lift.CONFIDENCE).p

    def lift(self, level: float) -> Estimate:
        return lift.lift(self.metric, self.control, self.variant, level, adjusted=self.adjusted)

    def difference(self, level: float) -> Estimate:  # noqa: ARG002 - as others
        return Estimate(None)


def _in_any_order(p: float) -> float:
    """Returns p without the last digits, which depend on the order of users.

    p-values that are equal for variants with equal users are corrected alike.
    """
    return min(float(f"{p:.10g}"), 1.0)


def _with_p(low: float, high: float, p: float, level: float) -> tuple[float, float]:
    """Returns the interval, which excludes 0 exactly if p does at ``level``, whatever rounding does."""
    low, high = (float(end) for end in validity.with_p(low, high, p, level))
    return low, high


def skewness(pair: PairValues) -> float:
    """Returns the skewness of the users' residuals in control and variant together; 0 if all are equal."""
    rest = pair.residuals(pair.numerator)
    # Skewness has no unit; without one, no power of a value is too large or too small for a float.
    rest = rest / (float(np.abs(rest).max(initial=0.0)) or 1.0)
    squares = rest * rest
    second = float(squares.mean())
    return float((squares * rest).mean()) / second**1.5 if second > 0 else 0.0


def users_for_normal(pair: PairValues) -> int:
    """Returns the number of users that each variant needs for a normal approximation, by Kohavi's rule."""
    return max(math.ceil(KOHAVI * skewness(pair) ** 2), LARGE)
