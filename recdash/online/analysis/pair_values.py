"""The users of control and one variant, as a comparison of the two needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.online.metrics import OnlineMetric

ROUNDED = 1e-9
"""Values that differ by a smaller share differ only by rounding errors."""


class Side(NamedTuple):
    """The ``value`` of a metric in one variant of ``n`` users, with its squared standard error."""

    n: int
    value: float
    squared_error: float


@dataclass(frozen=True)
class PairValues:
    """The values of the users [N] of control and of one variant; ``is_variant`` marks those of the variant.

    The metric is Σ ``numerator`` / Σ ``denominator``; of a mean per user, each denominator is 1.
    ``covariate`` is what a user's pre-test value is above the pre-test metric of all users: it sums to 0;
    None without pre-test values.
    """

    numerator: Floats
    denominator: Floats
    is_variant: Mask
    covariate: Floats | None = None

    @property
    def n_variant(self) -> int:
        return int(self.is_variant.sum())

    @property
    def sizes(self) -> tuple[int, int]:
        """Returns the number of users of control and of the variant."""
        return len(self.numerator) - self.n_variant, self.n_variant

    def values(self) -> tuple[float, float]:
        """Returns the metric in control and in the variant; NaN for a denominator of 0."""
        values = []
        for side in (~self.is_variant, self.is_variant):
            below = float(self.denominator[side].sum())
            values.append(float(self.numerator[side].sum()) / below if below else float("nan"))
        return values[0], values[1]

    @property
    def plain(self) -> PairValues:
        """Returns the same users without pre-test values."""
        return replace(self, covariate=None)

    def residuals(self, values: Floats) -> Floats:
        """Returns [N] what ``values`` are above their ratio to the denominators of all users.

        What the covariate explains of it, in control and variant together, is removed (CUPED). The result
        depends linearly on ``values``, and sums to 0.
        """
        rate = float(values.sum()) / float(self.denominator.sum())
        above = values - rate * self.denominator
        if self.covariate is None:
            return above
        return above - float(above @ self.covariate) / float(self.covariate @ self.covariate) * self.covariate

    def explained(self) -> float:
        """Returns the share of the variance that the pre-test values explain, from 0 to 1; 0 without them."""
        above = self.plain.residuals(self.numerator)
        squares = float(above @ above)
        if self.covariate is None or not squares > 0:
            return 0.0
        rest = self.residuals(self.numerator)
        return float(np.clip(1 - float(rest @ rest) / squares, 0.0, 1.0))

    def sides(self) -> tuple[Side, Side]:
        """Returns control and variant with their standard errors by the delta method, each from its own
        users; values are adjusted for the covariate.
        """
        numerator = self.numerator
        if self.covariate is not None:
            numerator = numerator - (self.plain.residuals(numerator) - self.residuals(numerator))
        control, variant = (
            _side(numerator[side], self.denominator[side]) for side in (~self.is_variant, self.is_variant)
        )
        return control, variant


def _side(numerator: Floats, denominator: Floats) -> Side:
    n, below = len(numerator), float(denominator.sum())
    value = float(numerator.sum()) / below
    rest = numerator - value * denominator
    return Side(n, value, float(rest @ rest) * n / max(n - 1, 1) / below**2)


def pair_values(
    metric: OnlineMetric,
    totals: Mapping[str, Floats],
    before: Mapping[str, Floats],
    variant: Ints,
    control: int,
    code: int,
) -> PairValues:
    """Returns the users of the variants with the index ``control`` and ``code``.

    ``totals`` and ``before`` map each total to the users' values in the test and before it, ``variant`` is
    each user's variant.
    """
    chosen = (variant == control) | (variant == code)
    is_variant = variant[chosen] == code
    numerator = totals[metric.numerator][chosen]
    denominator = totals[metric.denominator][chosen] if metric.denominator else np.ones(len(numerator))
    has_before = metric.numerator in before and (not metric.denominator or metric.denominator in before)
    if not has_before:
        return PairValues(numerator, denominator, is_variant)
    earlier = before[metric.denominator][chosen] if metric.denominator else denominator
    covariate = _covariate(before[metric.numerator][chosen], earlier)
    return PairValues(numerator, denominator, is_variant, covariate)


def _covariate(numerator: Floats, denominator: Floats) -> Floats | None:
    """Returns [N] the residuals of the pre-test metric; None if they do not vary."""
    below = float(denominator.sum())
    if not below > 0:
        return None
    residuals: Floats = numerator - float(numerator.sum()) / below * denominator
    largest = float(np.abs(numerator).max(initial=0.0))
    return residuals if float(residuals.std()) > ROUNDED * largest else None
