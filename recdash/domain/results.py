"""Results computed from hits: curves, values per user, and why a number is missing.

Letters in shapes: ``K`` cutoffs 1..depth, ``n`` users who count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask


@dataclass(frozen=True)
class Curve:
    """One metric of one run at every requested cutoff.

    ``metric`` is the canonical spec without @k; ``k`` [K] cutoffs, or empty for a metric without one (then
    ``value`` and ``std_error`` have one entry). ``std_error`` is NaN if undefined. ``n_users`` are those
    behind the values; if not every list has one, those whose list does at the largest k.
    """

    metric: str
    k: Ints
    value: Floats
    std_error: Floats
    n_users: int


@dataclass(frozen=True)
class Unavailable:
    """A metric that a run lacks, and the reason as a text."""

    metric: str
    reason: str


@dataclass(frozen=True)
class Scope:
    """A part of an experiment, and the relevance threshold in it.

    ``slice`` names some of the users or items as ``by=value`` (``user_warmth=cold``), empty for all;
    ``threshold`` replaces that of the experiment.
    """

    slice: str = ""
    threshold: float | None = None


WHOLE = Scope()


@dataclass(frozen=True)
class Slice:
    """One slice: ``users`` [U] of the truth or ``rows`` [T] of the truth, the other being None."""

    by: str
    value: str
    title: str
    users: Mask | None = None
    rows: Mask | None = None


@dataclass(frozen=True)
class OnlineLift:
    """An A/B test's result for a run, by a metric of which more is better.

    Lift and interval are shares of control's value; the interval is the one by which the test judges it,
    corrected if the test corrects; a metric of which less is better is turned round. ``margin``: the loss
    that a guardrail may have, None for a goal. ``more_users``: how many more would probably make it
    significant; None if unknown. ``is_complete``: the test has the users that were planned for it.
    """

    test: str
    title: str
    lift: float
    low: float
    high: float
    margin: float | None = None
    more_users: int | None = None
    lower_is_better: bool = False
    is_complete: bool = False

    @property
    def change(self) -> float:
        """Returns the lift as it was measured, below 0 where the metric fell."""
        return -self.lift if self.lower_is_better else self.lift

    @property
    def interval(self) -> tuple[float, float]:
        """Returns the interval of ``change``."""
        return (-self.high, -self.low) if self.lower_is_better else (self.low, self.high)

    @property
    def is_goal(self) -> bool:
        return self.margin is None

    @property
    def is_won(self) -> bool:
        """Returns whether a goal gained significantly; a guardrail is not there to be won."""
        return self.is_goal and self.low > 0

    @property
    def is_lost(self) -> bool:
        """Returns whether a goal lost significantly, or a guardrail significantly more than its margin."""
        return self.high < -(self.margin or 0.0)

    @property
    def is_open(self) -> bool:
        """Returns whether a guardrail is neither broken nor for certain within its margin."""
        return self.margin is not None and self.low <= -self.margin <= self.high


@dataclass(frozen=True)
class Ratio:
    """The parts of a ratio over all users: ``a`` and ``b`` [n] of each user, NaN for one who does not count.

    ``pulls``: (a, b) [m] → [m] values whose mean is the ratio over just these users.
    """

    a: Floats
    b: Floats
    pulls: Callable[[Floats, Floats], Floats]

    def of(self, places: Any) -> Ratio:
        return Ratio(self.a[places], self.b[places], self.pulls)

    def values(self) -> Floats:
        """Returns [n] each user's pull on the ratio over those here; NaN for one who does not count."""
        counts = ~np.isnan(self.a)
        pulls = np.full(len(counts), np.nan)
        if counts.any():
            pulls[counts] = self.pulls(self.a[counts], self.b[counts])
        return pulls


@dataclass(frozen=True)
class RatedRows:
    """Predicted ratings of one run: ``key`` [r] of the (user, item) pairs, ascending, each once; ``user``,
    ``rating`` and ``prediction`` [r].

    Keys and users are codes that all compared runs share.
    """

    key: Ints
    user: Ints
    rating: Floats
    prediction: Floats

    def of(self, places: Any) -> RatedRows:
        """Returns some of the rows: by index, or by a mask [r]."""
        return RatedRows(self.key[places], self.user[places], self.rating[places], self.prediction[places])


@dataclass(frozen=True)
class UserValues:
    """A metric of one run per user: ``users`` [n] indexes into the truth, ascending, of those who count.

    ``values`` [n]; ``own`` [n] each user's own value, which is the same except for pooled ratios. ``pooled``:
    the parts of such a ratio, once for each upload of which it is the mean. ``bound``: the values are between
    0 and it; None if unbounded. ``rated``: for a metric of predicted ratings the rows, and a function from
    some of them to values; two runs are compared over the rows of both.
    """

    users: Ints
    values: Floats
    own: Floats
    pooled: tuple[Ratio, ...] = ()
    bound: float | None = None
    rated: tuple[RatedRows, Callable[[RatedRows], UserValues]] | None = None

    def of(self, places: Any) -> UserValues:
        """Returns some of the users: by index into ``users``, or by a mask [n]; a pooled ratio is then theirs
        alone.
        """
        users, own = self.users[places], self.own[places]
        if not self.pooled:
            same = self.own is self.values
            return UserValues(users, own if same else self.values[places], own, bound=self.bound)
        pooled = tuple(ratio.of(places) for ratio in self.pooled)
        return UserValues(users, pulled(pooled), own, pooled)


def common_bound(several: Sequence[UserValues]) -> float | None:
    """Returns the upper bound of all values; None if one of them has no bound."""
    bounds = [values.bound for values in several if values.bound is not None]
    return max(bounds) if bounds and len(bounds) == len(several) else None


def pulled(pooled: Sequence[Ratio]) -> Floats:
    """Returns [n] each user's mean over the ratios in which the user counts."""
    values: Floats = np.nanmean([ratio.values() for ratio in pooled], axis=0)
    return values
