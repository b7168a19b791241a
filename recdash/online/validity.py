"""Determines the number of users from which an interval of a lift is valid.

The delta method assumes normally distributed means. Whether they are depends on the number of users in the
smaller variant and on their variance; ``docs/calibration-online.md`` measures it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Bound(NamedTuple):
    """What a valid interval requires of each variant.

    It needs at least ``users`` users, and a relative standard error of its value of at most
    ``relative_error``.
    """

    users: int
    relative_error: float


ONE_LOOK = Bound(users=10, relative_error=0.3)
"""The requirement for an interval of a single look."""
MANY_LOOKS = Bound(users=200, relative_error=0.1)
"""The requirement for an always-valid interval, whose first looks have few users."""
MOST_USERS = 10**10
"""The world's population."""
ROUNDING = 1e-9
"""Tolerance of p for floating-point rounding, as a share of p."""
NO_VARIANCE = 1e-9
"""A variance below this share of the squared value is a rounding error of a million summed numbers."""
UNEQUAL_SIZES = 2.0
"""If the other variant has this many times the users, the smaller one's variance is at least the other's."""


def users_needed(bound: Bound, n: Any, value: Any, squared_error: Any, high: Any) -> Any:
    """Returns the number of users from which a variant's interval meets ``bound``.

    ``n`` users are present, with the metric's ``value`` and its ``squared_error``; ``high`` is the largest
    possible value, infinite without one. The result is infinite for a value at the end of its range. The
    arguments are numbers, or arrays of one shape.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.minimum(value, high - value)
        needed = np.ceil(n * squared_error / (bound.relative_error * distance) ** 2)
    return np.where(distance > 0, np.maximum(needed, bound.users), np.inf)


def shared_variance(n: Any, variance: Any, other_n: Any, other_variance: Any) -> Any:
    """Returns a variant's variance, but at least the other variant's if that has twice the users or more.

    A few users often lack the rare large values, so that their variance would be too small.
    """
    is_small = other_n >= UNEQUAL_SIZES * n
    return np.where(is_small, np.maximum(variance, other_variance), variance)


def with_p(low: Any, high: Any, p: Any, level: Any) -> tuple[Any, Any]:
    """Returns the interval of a lift, extended to 0 if ``p`` does not exclude 0 at ``level``.

    p may come from another test than the interval; this keeps both consistent. A p that equals 1 − level up
    to rounding does not exclude 0. The arguments are numbers, or arrays of one shape.
    """
    excludes = np.less(p, (1 - level) * (1 - ROUNDING))
    return np.where(excludes, low, np.minimum(low, 0.0)), np.where(excludes, high, np.maximum(high, 0.0))


def note(needed: float, n: float, side: str) -> str:
    """Returns text that says why there is no valid interval, and how many users it needs."""
    of_side = f" of the {side}" if side else ""
    if needed > MOST_USERS:
        return f"the variance{of_side} is too large for an interval"
    have = "1 user" if n == 1 else f"{n:,.0f} users"
    unit = 10 ** max(len(str(int(needed))) - 2, 0)  # rounded up to two digits
    return f"{have}{of_side}: a valid interval needs about {int(np.ceil(needed / unit) * unit):,} users"
