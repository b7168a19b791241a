"""Results computed from hits: curves, values per user, and reasons why a metric is missing.

Letters in shapes: ``K`` cutoffs, ``n`` users who count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask


@dataclass(frozen=True)
class Curve:
    """One metric of one run at every requested cutoff.

    ``metric`` is the canonical spec without @k. ``k`` [K] are the cutoffs, empty for a metric without one;
    ``value`` and ``std_error`` then have one entry. ``std_error`` is NaN if undefined. ``n_users`` is the
    number of users behind the values; if only some lists have a value, it is that at the largest k.
    """

    metric: str
    k: Ints
    value: Floats
    std_error: Floats
    n_users: int


@dataclass(frozen=True)
class Unavailable:
    """A metric that a run lacks, and the reason as text."""

    metric: str
    reason: str


@dataclass(frozen=True)
class Scope:
    """A part of an experiment, optionally with another relevance threshold.

    ``slice`` selects users or items as ``by=value`` (``user_warmth=cold``), empty for all. ``threshold``
    replaces that of the experiment unless it is None.
    """

    slice: str = ""
    threshold: float | None = None


WHOLE = Scope()


@dataclass(frozen=True)
class Slice:
    """A slice of users or of truth rows: either ``users`` [U] or ``rows`` [T] is a mask of the truth, the
    other is None.
    """

    by: str
    value: str
    title: str
    users: Mask | None = None
    rows: Mask | None = None


@dataclass(frozen=True)
class AbTestElsewhere:
    """An A/B test in which a run took part, and in which control served another run than the baseline.

    ``control`` is the name of the run that control served, ``control_run`` its id; empty if unknown.
    ``is_control``: control served the run itself. ``is_valid``: the test has no sample ratio mismatch.
    """

    test: str
    control: str = ""
    control_run: str = ""
    is_control: bool = False
    is_valid: bool = True


@dataclass(frozen=True)
class OnlineLift:
    """The result of an A/B test for a run in one metric, with the sign that makes a lift above 0 an
    improvement.

    ``lift``, ``low`` and ``high`` are shares of control's value. The interval is the one that decides
    significance, corrected if the test corrects. If less of the metric is better (``lower_is_better``), all
    signs are reversed. ``margin`` is the loss that a guardrail accepts; None for a goal. ``more_users`` is
    how many more users a significant result probably needs; None if unknown. ``is_complete``: all users that
    were planned for the test were exposed. ``metric`` is the metric's key in the test's results.
    ``is_corrected``: the interval is Holm-corrected together with those of other goals or variants.
    ``control`` is the name of the run that control served, ``control_run`` its id; empty if unknown.
    ``is_reversed``: control served the run itself, and ``control`` is the run that the variant served.
    ``plain`` is the change without CUPED, below 0 if the metric fell; None if the lift is not adjusted.
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
    metric: str = field(default="", compare=False)
    is_corrected: bool = field(default=False, compare=False)
    control: str = field(default="", compare=False)
    control_run: str = field(default="", compare=False)
    is_reversed: bool = field(default=False, compare=False)
    plain: float | None = field(default=None, compare=False)

    @property
    def change(self) -> float:
        """Returns the measured change as a share of control's value, below 0 if the metric fell."""
        return -self.lift if self.lower_is_better else self.lift

    @property
    def interval(self) -> tuple[float, float]:
        """Returns the ends of the interval of ``change``, the lower one first."""
        return (-self.high, -self.low) if self.lower_is_better else (self.low, self.high)

    def reversed(self, run: str, name: str) -> OnlineLift | None:
        """Returns the same result as a lift of control's run against the run of the variant, with that run's
        id and name; None if control's value over the variant's is unbounded.
        """
        sign = -1 if self.lower_is_better else 1
        if min(1 + end for end in self.interval) <= 0:
            return None
        lift, low, high = (-end / (1 + sign * end) for end in (self.lift, self.high, self.low))
        plain = None if self.plain is None or self.plain <= -1 else -self.plain / (1 + self.plain)
        return replace(
            self, lift=lift, low=low, high=high, control=name, control_run=run, is_reversed=True, plain=plain
        )

    @property
    def is_goal(self) -> bool:
        return self.margin is None

    @property
    def is_won(self) -> bool:
        """Returns whether this is a goal that improved significantly; False for guardrails."""
        return self.is_goal and self.low > 0

    @property
    def is_lost(self) -> bool:
        """Returns whether a goal fell significantly, or a guardrail fell significantly by more than its
        margin.
        """
        return self.high < -(self.margin or 0.0)

    @property
    def is_open(self) -> bool:
        """Returns whether this is a guardrail whose interval includes losses within its margin and beyond
        it.
        """
        return self.margin is not None and self.low <= -self.margin <= self.high


@dataclass(frozen=True)
class Ratio:
    """The parts of a ratio of sums over users: ``a`` and ``b`` [n] of each user, NaN for users who do not
    count.

    ``pulls`` maps (a, b) of m users to [m] values whose mean is the ratio over these users.
    """

    a: Floats
    b: Floats
    pulls: Callable[[Floats, Floats], Floats]

    def of(self, places: Any) -> Ratio:
        return Ratio(self.a[places], self.b[places], self.pulls)

    def values(self) -> Floats:
        """Returns [n] each user's contribution to the ratio; their mean is the ratio. NaN for users who do
        not count.
        """
        counts = ~np.isnan(self.a)
        pulls = np.full(len(counts), np.nan)
        if counts.any():
            pulls[counts] = self.pulls(self.a[counts], self.b[counts])
        return pulls


@dataclass(frozen=True)
class RatedRows:
    """Predicted ratings of one run: ``user``, ``rating`` and ``prediction`` [r].

    ``key`` [r] identifies the (user, item) pairs; keys ascend and are distinct. Keys and users are codes that
    all compared runs share.
    """

    key: Ints
    user: Ints
    rating: Floats
    prediction: Floats

    def of(self, places: Any) -> RatedRows:
        """Returns some of the rows: ``places`` are indexes, or a mask [r]."""
        return RatedRows(self.key[places], self.user[places], self.rating[places], self.prediction[places])


@dataclass(frozen=True)
class UserValues:
    """The values of one metric for the users of one run.

    ``users`` [n] are indexes into the truth's users, ascending, of those who count. ``values`` [n] have the
    run's value as their mean. ``own`` [n] are the values of each user alone, which differ from ``values`` for
    pooled ratios only. ``pooled``: the ratio's parts, one for each upload of which the candidate is the mean.
    ``bound``: the upper end of the values' range, which begins at 0; None if unbounded. ``rated``, for
    metrics of predicted ratings: the rows, and a function from rows to values, because two runs are compared
    over the rows that both predict.
    """

    users: Ints
    values: Floats
    own: Floats
    pooled: tuple[Ratio, ...] = ()
    bound: float | None = None
    rated: tuple[RatedRows, Callable[[RatedRows], UserValues]] | None = None

    def of(self, places: Any) -> UserValues:
        """Returns the values of some users: ``places`` are indexes into ``users``, or a mask [n]. A pooled
        ratio is computed again over these users.
        """
        users, own = self.users[places], self.own[places]
        if not self.pooled:
            same = self.own is self.values
            return UserValues(users, own if same else self.values[places], own, bound=self.bound)
        pooled = tuple(ratio.of(places) for ratio in self.pooled)
        return UserValues(users, pulled(pooled), own, pooled)


def common_bound(several: Sequence[UserValues]) -> float | None:
    """Returns the largest upper bound of several sets of values; None if one of them is unbounded."""
    bounds = [values.bound for values in several if values.bound is not None]
    return max(bounds) if bounds and len(bounds) == len(several) else None


def pulled(pooled: Sequence[Ratio]) -> Floats:
    """Returns [n] each user's mean contribution over the ratios in which the user counts."""
    values: Floats = np.nanmean([ratio.values() for ratio in pooled], axis=0)
    return values
