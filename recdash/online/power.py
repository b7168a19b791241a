"""How many users a lift needs to be found, and how small a lift users are enough for."""

from __future__ import annotations

import math
from typing import Any

from recdash.online.compare import before, value
from recdash.online.measures import OnlineMetric

POWER, ALPHA = 0.8, 0.05
# Nobody has more users than this; tea-tasting's search ends in an error somewhere beyond.
MOST_USERS = 10**11


def more_users(
    metric: OnlineMetric, control: Any, variant: Any, effect: float, *, adjusted: bool = False
) -> int | None:
    """Users still missing, in control and variant together, to find a lift of ``effect`` (a share, .03 = +3
    %) in four of five tests (two-sided, 5 %); 0 when there are enough.

    Their split stays, and their variance is that of the control. ``adjusted``: with CUPED. None for an effect
    of 0, for a control that is 0 or does not vary, or where all people on earth were too few.
    """
    if not effect or not _spreads(metric, control) or not variant.count():
        return None
    solved = _metric(metric, adjusted, ratio=variant.count() / control.count(), rel_effect_size=effect)
    needed = _solved(solved, control, "n_obs", "n_obs")
    if needed is None or needed > MOST_USERS:
        return None
    return max(math.ceil(needed) - control.count() - variant.count(), 0)


def detectable(
    metric: OnlineMetric, control: Any, n: int, ratio: float = 1.0, *, adjusted: bool = False
) -> float | None:
    """The smallest lift (a share) that ``n`` users, control and variant together, find in four of five tests.

    ``ratio``: users of the variant per user of the control. None as in ``more_users``, or below 4 users.
    """
    if n < 4 or not _spreads(metric, control):
        return None
    return _solved(
        _metric(metric, adjusted, ratio=ratio, n_obs=n), control, "rel_effect_size", "rel_effect_size"
    )


def _spreads(metric: OnlineMetric, control: Any) -> bool:
    """Whether the control has a value above 0 and an interval around it."""
    found = value(metric, control)
    return found.low is not None and found.value is not None and found.value > 0


def _metric(metric: OnlineMetric, adjusted: bool, **asked: Any) -> Any:
    from tea_tasting.metrics import RatioOfMeans

    earlier = before(metric) if adjusted else None
    return RatioOfMeans(
        metric.numerator,
        metric.denominator,
        earlier.numerator if earlier else None,
        earlier.denominator if earlier else None,
        alpha=ALPHA,
        power=POWER,
        # Welch's t asks for the noncentral t, which is NaN from some 10,000 users on.
        use_t=False,
        **asked,
    )


def _solved(metric: Any, control: Any, parameter: str, field: str) -> Any:
    """None where the search finds no bounds."""
    try:
        return getattr(metric.solve_power_from_aggregates(control, parameter)[0], field)
    except (RuntimeError, OverflowError, ValueError):
        return None
