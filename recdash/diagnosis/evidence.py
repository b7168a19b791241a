"""What the checks look at: plain numbers and arrays, gathered by whoever has the runs and the test.

Every difference is turned so that above 0 is better. Letters in shapes: ``T`` rows of the truth,
``R`` ranks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from recdash.domain.kinds import Floats, Ints


@dataclass(frozen=True)
class Missing:
    """Stands where evidence is not there; ``needs`` names the table or column that would bring it."""

    needs: str


@dataclass(frozen=True)
class About:
    """Whose result is explained: the run that a variant served, and the run of the control.

    ``metric`` as it is read (nDCG@10), ``k`` its cutoff, ``online`` the online metric's title;
    ``per``: what that one is divided by ("sessions"), None for users.
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
        """1 settled better, −1 settled worse, 0 not settled."""
        return sign_of(self.low, self.high)

    @property
    def share(self) -> float | None:
        """The gain as a share of the baseline's value; None where that is 0."""
        return self.mean / abs(self.base) if self.base else None


@dataclass(frozen=True)
class OnlineChange:
    """Online change as a share of the control's value, with its 95 % interval (None: there is none)."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def sign(self) -> int:
        return sign_of(self.low, self.high)


def sign_of(low: float | None, high: float | None) -> int:
    """1 where an interval lies above 0, −1 below; 0 where it holds 0 or is not there."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return 0
    return int(low > 0) - int(high < 0)


@dataclass(frozen=True)
class SplitEvidence:
    """How the users were divided. ``srm_p`` of the planned split; ``users`` by variant as they came.

    ``crossed`` users were seen in several variants, ``machines`` by variant taken for machines and left out;
    None where the test's table does not tell users apart.
    """

    srm_p: float
    users: Mapping[str, int]
    crossed: int | None
    machines: Mapping[str, int] | None


@dataclass(frozen=True)
class Popularity:
    """The hits of both by popularity of the item; the head: the most popular with half of the train rows.

    Relevant items found within k over all users, and Gini coefficients (0 even .. 1 all in one item) of the
    places within k over the items of train. Run minus baseline, over users: ``change`` in items found; and
    ``leaning``, (1 − b) · head − b · tail, b being the head's share of what the baseline finds: above 0 a
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
        """Popular items found more than by the baseline."""
        return self.run_head - self.base_head

    @property
    def tail(self) -> int:
        return self.run_tail - self.base_tail

    @property
    def usual_head(self) -> float:
        """The head's share of what the baseline finds; that of train where it finds nothing."""
        n_found = self.base_head + self.base_tail
        return self.base_head / n_found if n_found else 0.5


@dataclass(frozen=True)
class Times:
    """When the rows of the truth happened, ``truth`` [T] in seconds since 1970, and when 99 of 100 rows of
    train had happened.
    """

    truth: Floats
    train_end: float


@dataclass(frozen=True)
class AudienceEvidence:
    """Who was evaluated and who was served.

    ``n_online`` users of the test, of whom ``n_both`` count offline too; ``cold_offline`` and ``cold_online``
    are the shares of users without a row in train. ``warm`` and ``cold``: the offline gain among users with
    and without, None where there are too few of them. ``evaluated``: the lift of the online metric among the
    users who count offline too.
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
    """The share of a run's recommendations that users could have reacted to before.

    ``unseen_*``: share of places within k that hold an item which nobody met before the test: the control
    never showed it, and neither train nor truth has a row of it.
    ``judged_*``: share of places within k for which the truth has a row, relevant or not; None where
    all rows of the truth are relevant, since then only a hit is judged.
    """

    unseen_run: float
    unseen_base: float
    judged_run: float | None = None
    judged_base: float | None = None


@dataclass(frozen=True)
class Places:
    """Which places people really had: ``slots`` in a served list (its usual length), and by rank [R] how
    often it was ``shown`` and ``clicked`` (None where clicks have no place).

    ``gain`` is the offline gain within ``slots`` places.
    """

    slots: int
    gain: Gain
    shown: Ints
    clicked: Ints | None


@dataclass(frozen=True)
class ServedOverlap:
    """What the variant showed beside what was uploaded. ``overlap`` [users] share of a user's shown items
    that stand in the uploaded list, within as many places as the served list went down to.

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
    """The offline gain by the rule that counts online. ``rule`` in words ("a rating of 4 or more"),
    ``kept`` the share of relevant rows that it leaves; ``already``: it is the rule that is used anyway.
    """

    rule: str
    gain: Gain
    kept: float
    already: bool = False


@dataclass(frozen=True)
class SegmentEvidence:
    """One segment of the users; ``p`` corrected over all segments (Benjamini and Hochberg)."""

    by: str
    label: str
    n: int
    lift: OnlineChange
    p: float | None


@dataclass(frozen=True)
class SegmentsEvidence:
    """``mix_p``: by segmentation, how likely an even draw gives such different mixes in the two variants.

    ``reversed_by``: segmentations in which every segment goes against the whole (Simpson's paradox).
    """

    rows: tuple[SegmentEvidence, ...]
    mix_p: Mapping[str, float]
    reversed_by: tuple[str, ...]


@dataclass(frozen=True)
class Evidence:
    """All that there is to look at for one variant of one test; ``Missing`` where something is not there.

    ``lift`` of the online metric, ``detectable`` the smallest lift that this test finds with 80 % power,
    ``sessions`` the lift of sessions per user.
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
