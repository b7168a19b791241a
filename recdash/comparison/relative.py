"""Writes changes relative to the baseline: in %, from a doubling on as a factor, near zero in units of the
metric.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite

from recdash.comparison.guardrails import GuardrailResult
from recdash.comparison.pairs import Pair
from recdash.formatting import numbers
from recdash.metrics import define
from recdash.stats.sparse import Unknown

DOUBLED = 1.0
"""The change from which a factor is written: ``×2.24``, not ``+124 %``."""
FROM_ZERO = 99.0
"""The change from which the baseline's value is nearly 0, so that no factor tells anything."""
MOST_DECIMALS_OF_PERCENT = 2
LARGEST_LOSS = -1.0
"""The largest possible loss in a metric that is never below 0, as a share of the baseline's value.

The interval of a difference does not know this, so that it may end below; what is shown in % ends here.
"""


def largest_loss(metric: str) -> float:
    """Returns the largest possible loss in a metric, as a share of the baseline's value; minus infinity for
    a metric that may be below 0.
    """
    return -inf if define(metric).may_be_negative else LARGEST_LOSS


def percent_interval(pair: Pair, metric: str) -> tuple[float, float]:
    """Returns the ends of the corrected interval in % of the baseline's value: not below the largest possible
    loss, which is −100 % whatever the true value of the baseline is.
    """
    low, high = map(pair.percent, pair.interval)
    return (max(low, 100 * largest_loss(metric)) if pair.base_value > 0 else low), high


def share(change: float) -> str:
    """Returns a change such as 0.6 as ``+60.0 %``, and 1.24 as ``×2.24``."""
    return f"×{numbers.three(1 + change)}" if change >= DOUBLED else numbers.change(100 * change, " %")


def share_bounds(low: float, high: float, change: float, least: float = LARGEST_LOSS) -> str:
    """Returns the ends of the interval of a change, in the form in which the change is written.

    ``least`` is the largest possible loss, below which no end is shown.
    """
    low = max(low, least)
    if change >= DOUBLED:
        places = numbers.places([1 + low, 1 + high])
        return f"×{numbers.fixed(1 + low, places)} to ×{numbers.fixed(1 + high, places)}"
    return numbers.interval(100 * low, 100 * high, numbers.places([100 * low, 100 * high]), " %")


def is_from_zero(pair: Pair) -> bool:
    """Returns whether the baseline's value is 0, below 0 (as R² may be), or less than a hundredth of the
    candidate's: no share of it tells anything.
    """
    return pair.base_value <= 0 or not _change(pair) < FROM_ZERO


def change(pair: Pair) -> str:
    """Returns the difference such as ``+60.0 %``, ``×2.24`` or, from nearly 0, ``+0.134``."""
    return numbers.change(pair.paired.mean) if is_from_zero(pair) else share(_change(pair))


def bounds(pair: Pair, metric: str, *, former: bool = False) -> str:
    """Returns the ends of the corrected interval of a difference in ``metric`` in the form of ``change``, or
    why there is no interval.

    ``former`` writes them in % of any value but 0, however large they are, as reports of the first format do.
    """
    low, high = pair.judged.corrected.low, pair.judged.corrected.high
    if not isfinite(low):
        return f"unknown: {why_unknown(pair)}"
    if former and pair.base_value:
        low, high = pair.percent(low), pair.percent(high)
        return numbers.interval(low, high, numbers.places([low, high]), " %")
    if is_from_zero(pair):
        return numbers.interval(low, high, numbers.places([low, high]))
    return share_bounds(
        pair.percent(low) / 100, pair.percent(high) / 100, _change(pair), largest_loss(metric)
    )


def why_unknown(pair: Pair) -> str:
    """Returns why no test is valid for the difference."""
    method = pair.paired.method
    return method.reason if isinstance(method, Unknown) else "no method is valid"


def relation_to(
    pair: Pair, base: str, digits: Callable[[float], str] = numbers.three, *, former: bool = False
) -> str:
    """Returns the difference in words, in the form of ``change``: ``14.9 % above Popular``, ``2.24 times that
    of Popular``, from nearly 0 ``0.134 above Popular``; ``equal to Popular`` for 0.

    ``digits`` writes a percentage or a factor; ``former``: see ``bounds``.
    """
    mean = pair.paired.mean
    if mean == 0:
        return f"equal to {base}"
    side = "above" if mean > 0 else "below"
    if is_in_percent(pair) or (former and pair.base_value):
        return f"{digits(pair.percent(abs(mean)))} % {side} {base}"
    if is_from_zero(pair):
        return f"{numbers.three(abs(mean))} {side} {base}"
    return f"{digits(1 + _change(pair))} times that of {base}"


def is_in_percent(pair: Pair) -> bool:
    """Returns whether the difference is written in % of the baseline's value."""
    return not is_from_zero(pair) and _change(pair) < DOUBLED


def rail_change(rail: GuardrailResult) -> str:
    """Returns a guardrail's change such as ``−21.6 %``, ``+0.29 %``, ``×13.3`` or, from nearly 0, ``+0.520``.

    A guardrail is a share of several percent, so a hundredth of a percent is precise enough.
    """
    if rail.change >= FROM_ZERO:
        return numbers.change(rail.value - rail.base_value)
    if rail.change >= DOUBLED or not isfinite(rail.change):
        return share(rail.change)
    percent = 100 * rail.change
    return f"{numbers.signed(percent, min(MOST_DECIMALS_OF_PERCENT, numbers.places([percent])))} %"


def _change(pair: Pair) -> float:
    return pair.percent(pair.paired.mean) / 100
