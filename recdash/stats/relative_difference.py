"""The interval of a relative difference of two runs over the same users.

The baseline's mean is uncertain too, so that the interval of a difference divided by that mean is too narrow.
The relative difference is therefore tested as a paired difference: it is above ρ exactly if the candidate's
values are on average above 1 + ρ times the baseline's (as Fieller's 1954 interval of a ratio, with the method
that is valid for the users: ``recdash.stats.sparse``). The interval holds each ρ that is not rejected.

Letters in shapes: ``n`` users.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite

from recdash.domain.kinds import Floats
from recdash.stats.paired import Paired, paired_difference

TOTAL_LOSS = -1.0
MOST = 1e4
"""A relative difference above this is unbounded."""
_PRECISE = 1e-9


def difference_from_share(
    candidate: Floats, baseline: Floats, share: float, level: float, bound: float | None = None
) -> Paired:
    """Returns the paired difference of the candidate's values [n] from ``share`` times the baseline's [n].

    ``bound`` is the largest possible value; None if there is none.
    """
    largest = None if bound is None else max(1.0, share) * bound
    return paired_difference(candidate, share * baseline, level, bound=largest)


def relative_interval(
    candidate: Floats, baseline: Floats, level: float, bound: float | None = None
) -> tuple[float, float]:
    """Returns the low and high end of the interval of the relative difference, as shares of the baseline's
    mean, which must be above 0; NaN if no method is valid.

    The low end is at least −1 if values have a ``bound``, as they begin at 0; the high end is infinite where
    the baseline may be 0.
    """
    value, base = float(candidate.mean()), float(baseline.mean())
    estimate = value / base - 1
    paired = difference_from_share(candidate, baseline, 1.0, level, bound)
    step = max((paired.high - paired.low) / 2 / base, _PRECISE)
    if not isfinite(step):
        return float("nan"), float("nan")
    least = -inf if bound is None else TOTAL_LOSS

    def above(change: float) -> float:
        return _known(difference_from_share(candidate, baseline, 1 + change, level, bound).low)

    def below(change: float) -> float:
        return _known(-difference_from_share(candidate, baseline, 1 + change, level, bound).high)

    return _end(above, estimate, -step, least), _end(below, estimate, step, MOST)


def _known(distance: float) -> float:
    """Returns the distance; a negative one where no method is valid, so that the change is not rejected."""
    return distance if isfinite(distance) else -1.0


def _end(beyond: Callable[[float], float], estimate: float, step: float, limit: float) -> float:
    """Returns the change at which ``beyond``, negative at the estimate, becomes positive in the direction of
    ``step``; ``limit`` if it does not before, and infinity instead of ``MOST``.
    """
    from scipy.optimize import brentq

    near = far = estimate
    while far != limit and abs(far) <= MOST:
        far = max(far + step, limit) if step < 0 else min(far + step, limit)
        if beyond(far) > 0:
            return float(brentq(beyond, near, far, xtol=_PRECISE * abs(step), rtol=_PRECISE))
        near, step = far, 2 * step
    return inf if step > 0 else limit
