"""From how many users on an interval of a lift may be believed.

The delta method takes means for normally distributed. Whether they are depends on the users of the smaller
variant and on how much users differ; ``docs/calibration-online.md`` measures it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Bound(NamedTuple):
    """Each variant has ``users``, and its value has at most this relative standard error."""

    users: int
    relative_error: float


ONE_LOOK = Bound(users=10, relative_error=0.3)
"""For an interval that is looked at once."""
MANY_LOOKS = Bound(users=200, relative_error=0.1)
"""For an interval that is looked at again and again: the first looks are the ones with few users."""
MOST_USERS = 10**10
"""There are not more people."""
ROUNDING = 1e-9
"""How far a p may be from what it would be without the rounding of computers, as a share."""
NO_VARIANCE = 1e-9
"""Below this share of the squared value a variance is the rounding of a million added numbers."""
LOPSIDED = 2.0
"""With so many times the users in one variant, the other's spread is not left to its few users alone."""


def users_needed(bound: Bound, n: Any, value: Any, squared_error: Any, high: Any) -> Any:
    """The users of a variant from which its interval is valid; infinite for a value at the end of its range.

    ``n`` users there are, with the metric's ``value`` and its ``squared_error``; ``high``: the largest value
    that is possible, infinite where there is none. Numbers or arrays of one shape.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.minimum(value, high - value)
        needed = np.ceil(n * squared_error / (bound.relative_error * distance) ** 2)
    return np.where(distance > 0, np.maximum(needed, bound.users), np.inf)


def shared_variance(n: Any, variance: Any, other_n: Any, other_variance: Any) -> Any:
    """The variance of one user: at least the other variant's where that has twice the users and more.

    A few users often lack the rare large values, and would seem to be more alike than they are.
    """
    is_small = other_n >= LOPSIDED * n
    return np.where(is_small, np.maximum(variance, other_variance), variance)


def with_p(low: Any, high: Any, p: Any, level: float) -> tuple[Any, Any]:
    """The interval of a lift, made to reach 0 where ``p`` does not exclude that at ``level``.

    p may come from another test than the interval; this way both say the same. A p that equals 1 − level but
    for rounding excludes nothing. Numbers or arrays of one shape.
    """
    excludes = np.less(p, (1 - level) * (1 - ROUNDING))
    return np.where(excludes, low, np.minimum(low, 0.0)), np.where(excludes, high, np.maximum(high, 0.0))


def note(needed: float, n: float, side: str) -> str:
    """The reason why there is no valid interval, and the number of users from which there is one."""
    of_side = f" of the {side}" if side else ""
    if needed > MOST_USERS:
        return f"the variance{of_side} is too large for an interval"
    have = "1 user" if n == 1 else f"{n:,.0f} users"
    unit = 10 ** max(len(str(int(needed))) - 2, 0)  # rounded up to two digits
    return f"{have}{of_side}: a valid interval takes about {int(np.ceil(needed / unit) * unit):,} users"
