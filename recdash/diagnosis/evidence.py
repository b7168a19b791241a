"""The evidence of the checks: plain numbers and arrays, which the caller gathers.

Every difference is signed such that above 0 is better. Letters in shapes: ``T`` rows of the truth, ``R``
ranks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

from recdash.domain.kinds import Floats, Ints


@dataclass(frozen=True)
class Missing:
    """Stands for evidence that is missing; ``needs`` names the table or column that would supply it."""

    needs: str


@dataclass(frozen=True)
class About:
    """The result that is to be explained: the run that a variant served, and the run of the control
    (``base``).

    ``metric`` is the offline metric as shown (nDCG@10), ``k`` its cutoff, ``online`` the online metric's
    title. ``per`` is the online metric's denominator ("sessions"); None for users.
    """

    run: str
    base: str
    variant: str
    control: str
    metric: str
    k: int
    online: str
    per: str | None


@dataclass(frozen=True)
class Gain:
    """The mean difference of run and baseline over the ``n`` users who count in both, with its 95 % interval.

    ``base`` is the baseline's mean. The ends are NaN if there is no interval.
    """

    mean: float
    low: float
    high: float
    base: float
    n: int

    @property
    def sign(self) -> int:
        """Returns 1 if the run is significantly better, −1 if significantly worse, 0 if the difference is
        inconclusive.
        """
        return sign_of(self.low, self.high)

    @property
    def share(self) -> float | None:
        """Returns the gain as a share of the baseline's value; None if that value is 0."""
        return self.mean / abs(self.base) if self.base else None


SMALLEST_SHARE = -0.999
"""A change by −100 % counts as this one, which has a logarithm."""


@dataclass(frozen=True)
class OnlineChange:
    """An online change as a share of control's value, with its 95 % interval and p; None if there is none.

    Above 0 is better: if less of the metric is better (``lower_is_better``), the change is negated.
    """

    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    lower_is_better: bool = False

    @property
    def sign(self) -> int:
        return sign_of(self.low, self.high)

    @property
    def share(self) -> float:
        """Returns the change of the metric itself, which is below 0 if it fell."""
        return -self.value if self.lower_is_better else self.value

    @property
    def log_ratio(self) -> float:
        """Returns the logarithm of the metric's value as a multiple of control's."""
        return math.log1p(max(self.share, SMALLEST_SHARE))

    @property
    def log_gain(self) -> float:
        """Returns the logarithm of the ratio, above 0 if it is better."""
        return -self.log_ratio if self.lower_is_better else self.log_ratio


def sign_of(low: float | None, high: float | None) -> int:
    """Returns 1 if the interval is above 0, −1 if it is below 0, 0 if it contains 0 or is missing."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return 0
    return int(low > 0) - int(high < 0)


@dataclass(frozen=True)
class SplitEvidence:
    """How users were assigned to variants.

    ``srm_p`` is the p of the SRM test against the planned split; ``users`` is {variant: users before
    exclusions}. ``crossed`` users had multiple exposures; ``machines`` is {variant: users excluded as bots}.
    The last two are None if the test's table has no users.
    """

    srm_p: float
    users: Mapping[str, int]
    crossed: int | None
    machines: Mapping[str, int] | None


@dataclass(frozen=True)
class Popularity:
    """The hits of run and baseline by popularity of the item. The head are the most popular items that
    together have half of the train rows.

    ``run_head`` … ``base_tail`` count the relevant items found within k over all users. Gini coefficients are
    those of the recommended positions within k over the train items (0: even, 1: all in one item). ``change``
    is the difference in items found. ``leaning`` is (1 − b) · head − b · tail, where b is the head's share of
    what the baseline finds: above 0, the head has a larger share of the gain than of the baseline's hits.
    """

    run_head: int
    run_tail: int
    base_head: int
    base_tail: int
    change: Gain
    leaning: Gain
    n_head: int
    n_items: int
    gini_run: float
    gini_base: float

    @property
    def head(self) -> int:
        """Returns how many more head items the run finds than the baseline."""
        return self.run_head - self.base_head

    @property
    def tail(self) -> int:
        return self.run_tail - self.base_tail

    @property
    def usual_head(self) -> float:
        """Returns the head's share of the baseline's hits; one half if it has none."""
        n_found = self.base_head + self.base_tail
        return self.base_head / n_found if n_found else 0.5


@dataclass(frozen=True)
class Times:
    """The times of the truth's rows, ``truth`` [T] in seconds since 1970, and the time before which 99 % of
    the training rows happened (``train_end``).
    """

    truth: Floats
    train_end: float


@dataclass(frozen=True)
class AudienceEvidence:
    """The users who were evaluated offline, compared with the users in the test.

    The test has ``n_online`` users, of which ``n_both`` also count offline. ``cold_offline`` and
    ``cold_online`` are the shares of users without a training row. ``warm`` and ``cold`` are the offline
    gains among users with and without such rows; None if there are too few of these users. ``evaluated`` is
    the lift of the online metric among the users who also count offline.
    """

    n_online: int
    n_both: int
    cold_offline: float
    cold_online: float
    warm: Gain | None
    cold: Gain | None
    evaluated: OnlineChange | None = None


@dataclass(frozen=True)
class ExposureEvidence:
    """The shares of a run's and the baseline's recommendations that users could have interacted with before
    the test.

    ``unseen_*`` are the shares of positions within k with an item that no user saw before: control never
    showed it, and neither training data nor truth have a row of it. ``judged_*`` are the shares of positions
    within k for which the truth has a row, relevant or not. They are None if all rows of the truth are
    relevant, because then only hits are judged.
    """

    unseen_run: float
    unseen_base: float
    judged_run: float | None = None
    judged_base: float | None = None


@dataclass(frozen=True)
class Places:
    """The positions that users saw.

    ``slots`` is the usual length of a served list, ``gain`` the offline gain within that many positions.
    ``shown`` and ``clicked`` [R] count by rank; ``clicked`` is None if clicks have no position.
    """

    slots: int
    gain: Gain
    shown: Ints
    clicked: Ints | None


@dataclass(frozen=True)
class ServedOverlap:
    """What the variant showed, compared with the uploaded lists.

    ``overlap`` [users] is the share of a user's shown items that are in the uploaded list, within as many
    positions as the served list has. ``n_units`` users of the variant have a served list; ``n_known`` of them
    have an uploaded list or count offline; ``n_without`` of these have no uploaded list.
    """

    overlap: Floats
    n_units: int
    n_known: int
    n_without: int


@dataclass(frozen=True)
class NoveltyEvidence:
    """The lift early and late after the first exposure of the same users.

    ``change`` is log(1 + late) − log(1 + early), and ``error`` its standard error.
    """

    early: float
    late: float
    change: float
    error: float

    def interval(self, confidence: float) -> tuple[float, float]:
        """Returns the interval of the change that contains the true one in this share of all tests."""
        half = self.error * NormalDist().inv_cdf((1 + confidence) / 2)
        return self.change - half, self.change + half


@dataclass(frozen=True)
class Stricter:
    """The offline gain if success is defined as online.

    ``rule`` is that definition in words ("a rating of 4 or more"), ``kept`` the share of relevant rows that
    it keeps. ``already``: offline uses this definition already. ``former_rule`` is the rule in older reports
    if its words differ. ``left_out`` names the rows that it does not keep ("grades below 4"), and
    ``threshold`` is the lowest grade that it keeps.
    """

    rule: str
    gain: Gain
    kept: float
    already: bool = False
    former_rule: str = ""
    left_out: str = ""
    threshold: float | None = None


@dataclass(frozen=True)
class SegmentEvidence:
    """The lift in one segment of the users; ``p`` is corrected over all segments (Benjamini–Hochberg)."""

    by: str
    label: str
    n: int
    lift: OnlineChange
    p: float | None


@dataclass(frozen=True)
class SegmentsEvidence:
    """The lifts in all segments, and whether segments are mixed as expected.

    ``mix_p`` is {segmentation: p of a test that both variants have the same mix of segments}. ``reversed_by``
    are the segmentations in which every segment contradicts the whole (Simpson's paradox).
    """

    rows: tuple[SegmentEvidence, ...]
    mix_p: Mapping[str, float]
    reversed_by: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """All evidence on one variant of one test; parts that are unavailable are ``Missing``.

    ``lift`` is that of the online metric, ``detectable`` the minimum detectable effect at 80 % power,
    ``sessions`` the lift of sessions per user. ``slope`` is the lift in % that 1 % offline has meant in other
    A/B tests; None if too few tell.
    """

    about: About
    gain: Gain | Missing
    lift: OnlineChange | Missing
    detectable: float | Missing
    split: SplitEvidence | Missing
    popularity: Popularity | Missing
    times: Times | Missing
    audience: AudienceEvidence | Missing
    seen: ExposureEvidence | Missing
    places: Places | Missing
    served: ServedOverlap | Missing
    novelty: NoveltyEvidence | Missing
    stricter: Stricter | Missing
    sessions: OnlineChange | Missing
    segments: SegmentsEvidence | Missing
    slope: float | None = None
