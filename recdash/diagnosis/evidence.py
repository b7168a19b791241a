"""The evidence of the checks: plain numbers and arrays, gathered by the caller.

Every difference is signed so that above 0 is better. Letters in shapes: ``T`` rows of the truth, ``R`` ranks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from recdash.domain.kinds import Floats, Ints


@dataclass(frozen=True)
class Missing:
    """Stands for missing evidence; ``needs`` names the table or column that would supply it."""

    needs: str


@dataclass(frozen=True)
class About:
    """The result to explain: the run that a variant served, and the run of the control.

    ``metric`` as displayed (nDCG@10), ``k`` its cutoff, ``online`` the online metric's title; ``per``: its
    denominator ("sessions"), None for users.
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
    """Run minus baseline, mean over the ``n`` users who count in both, with its 95 % interval.

    ``base`` is the baseline's mean. NaN ends: no interval.
    """

    mean: float
    low: float
    high: float
    base: float
    n: int

    @property
    def sign(self) -> int:
        """Returns 1 for significantly better, −1 for significantly worse, 0 for inconclusive."""
        return sign_of(self.low, self.high)

    @property
    def share(self) -> float | None:
        """Returns the gain as a share of the baseline's value; None if that is 0."""
        return self.mean / abs(self.base) if self.base else None


@dataclass(frozen=True)
class OnlineChange:
    """Online change as a share of control's value, with its 95 % interval (None without one)."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def sign(self) -> int:
        return sign_of(self.low, self.high)


def sign_of(low: float | None, high: float | None) -> int:
    """Returns 1 if an interval is above 0, −1 below; 0 if it contains 0 or is missing."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return 0
    return int(low > 0) - int(high < 0)


@dataclass(frozen=True)
class SplitEvidence:
    """How users were assigned. ``srm_p`` of the planned split; ``users`` by variant before exclusions.

    ``crossed`` users had multiple exposures, ``machines`` by variant were excluded as bots; None if the
    test's table has no users.
    """

    srm_p: float
    users: Mapping[str, int]
    crossed: int | None
    machines: Mapping[str, int] | None


@dataclass(frozen=True)
class Popularity:
    """The hits of both by popularity of the item; the head: the most popular with half of the train rows.

    Relevant items found within k over all users, and Gini coefficients (0 even .. 1 all in one item) of the
    positions within k over the items of train. Run minus baseline, over users: ``change`` in items found; and
    ``leaning``, (1 − b) · head − b · tail, b being the head's share of what the baseline finds: above 0 the
    gain is more in the head than that.
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
        """Returns how many more popular items are found than by the baseline."""
        return self.run_head - self.base_head

    @property
    def tail(self) -> int:
        return self.run_tail - self.base_tail

    @property
    def usual_head(self) -> float:
        """Returns the share of popular items in the baseline's hits; one half if it has none."""
        n_found = self.base_head + self.base_tail
        return self.base_head / n_found if n_found else 0.5


@dataclass(frozen=True)
class Times:
    """Times of the rows of the truth, ``truth`` [T] in seconds since 1970, and when 99 of 100 rows of train
    had happened.
    """

    truth: Floats
    train_end: float


@dataclass(frozen=True)
class AudienceEvidence:
    """The users who were evaluated and the users in the test.

    ``n_online`` users of the test, ``n_both`` of which count offline too; ``cold_offline`` and
    ``cold_online`` are the shares of users without a row in train. ``warm`` and ``cold``: the offline gain
    among users with and without, None if there are too few of them. ``evaluated``: the lift of the online
    metric among the users who count offline too.
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
    """The share of a run's recommendations that users could have interacted with before.

    ``unseen_*``: share of positions within k with an item that no user saw before the test: control never
    showed it, and neither train nor truth has a row of it. ``judged_*``: share of positions within k for
    which the truth has a row, relevant or not; None if all rows of the truth are relevant, since then only a
    hit is judged.
    """

    unseen_run: float
    unseen_base: float
    judged_run: float | None = None
    judged_base: float | None = None


@dataclass(frozen=True)
class Places:
    """The positions that users saw: ``slots`` in a served list (its usual length), and by rank [R] how often
    it was ``shown`` and ``clicked`` (None if clicks have no position).

    ``gain`` is the offline gain within ``slots`` positions.
    """

    slots: int
    gain: Gain
    shown: Ints
    clicked: Ints | None


@dataclass(frozen=True)
class ServedOverlap:
    """What the variant showed compared with the upload. ``overlap`` [users] share of a user's shown items
    that are in the uploaded list, within as many positions as the served list has.

    ``n_units`` users of the variant with a served list, ``n_known`` of them with an uploaded list or counted
    offline, ``n_without`` of these without an uploaded list.
    """

    overlap: Floats
    n_units: int
    n_known: int
    n_without: int


@dataclass(frozen=True)
class NoveltyEvidence:
    """The same users early and late after their first exposure. ``change`` is log(1 + late) − log(1 + early)
    with its 95 % interval.
    """

    early: float
    late: float
    change: float
    low: float
    high: float


@dataclass(frozen=True)
class Stricter:
    """The offline gain by the online definition of success. ``rule`` in words ("a rating of 4 or more"),
    ``kept`` the share of relevant rows it keeps; ``already``: the offline rule is the same.
    """

    rule: str
    gain: Gain
    kept: float
    already: bool = False


@dataclass(frozen=True)
class SegmentEvidence:
    """One segment of the users; ``p`` corrected over all segments (Benjamini–Hochberg)."""

    by: str
    label: str
    n: int
    lift: OnlineChange
    p: float | None


@dataclass(frozen=True)
class SegmentsEvidence:
    """``mix_p``: by segmentation, the probability of such different mixes in the two variants under an even
    split.

    ``reversed_by``: segmentations in which every segment contradicts the whole (Simpson's paradox).
    """

    rows: tuple[SegmentEvidence, ...]
    mix_p: Mapping[str, float]
    reversed_by: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """All evidence for one variant of one test; ``Missing`` if some is unavailable.

    ``lift`` of the online metric, ``detectable`` the minimum detectable effect at 80 % power, ``sessions``
    the lift of sessions per user.
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
    fading: NoveltyEvidence | Missing
    stricter: Stricter | Missing
    sessions: OnlineChange | Missing
    segments: SegmentsEvidence | Missing
