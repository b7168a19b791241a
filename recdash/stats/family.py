"""Judges several differences together; only this module decides what is significant.

Among twenty true differences of 0, one is "significant" by chance. A correction controls this for all
differences shown together, the family: Holm's keeps the probability of any false finding at 5 %, Benjamini
and Hochberg's the expected share of false ones among the findings.

Letters in shapes: ``m`` differences of the family.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recdash.domain.kinds import CORRECTIONS, Correction, Floats, Mask
from recdash.errors import UnknownName
from recdash.stats.paired import LEVEL, Paired
from recdash.stats.sample_size import required_users

Finding = Literal["better", "worse", "tie", "not settled"]


@dataclass(frozen=True)
class JudgedDifference:
    """A paired difference, judged together with the other differences of its family.

    ``corrected`` is ``paired`` with an interval at the level at which the correction tests it: it excludes 0
    exactly if the corrected ``p`` is at most 1 − level. ``margin`` ≥ 0 is the largest difference that is too
    small to matter, in units of the metric. ``margin_is_known`` is False if the margin is too uncertain to
    call a difference a tie. ``lower_is_better`` is True for error metrics.
    """

    paired: Paired
    corrected: Paired
    p: float
    margin: float = 0.0
    lower_is_better: bool = False
    margin_is_known: bool = True

    @property
    def word(self) -> Finding:
        """Returns the finding: *tie*, *better*, *worse* or inconclusive.

        It is *tie* if the whole interval is inside the margin, and *better* or *worse* if the interval
        excludes 0.
        """
        low, high = self.corrected.low, self.corrected.high
        if self.margin_is_known and -self.margin < low and high < self.margin:
            return "tie"
        if not self.corrected.excludes_zero:
            return "not settled"
        return "better" if (low > 0) != self.lower_is_better else "worse"

    @property
    def more_users(self) -> int | None:
        """Returns how many more users would most likely make the difference conclusive.

        Returns 0 if it is conclusive, None if the number is unknown.
        """
        if self.word != "not settled":
            return 0
        needed = required_users(self.paired, self.margin, self.corrected.level)
        # A normal approximation may say that fewer users suffice than there are, while the test needs more.
        return needed - self.paired.n if needed and needed > self.paired.n else None


def judge(
    family: Sequence[Paired],
    correction: Correction = "holm",
    *,
    margins: Sequence[float] | None = None,
    level: float = LEVEL,
) -> list[JudgedDifference]:
    """Returns every difference of a family with its corrected p, interval and finding, in the given order.

    ``margins`` has each difference's margin, 0 by default. A difference without a p is inconclusive and is
    not counted by the correction.
    """
    p = np.array([paired.p for paired in family], dtype=float)
    of_family = levels(p, correction, level).tolist(), corrected(p, correction).tolist()
    rows = zip(family, *of_family, margins or [0.0] * len(p), strict=True)
    return [JudgedDifference(paired, paired.at(own), p, margin) for paired, own, p, margin in rows]


def significant(p: Floats, correction: Correction = "holm", level: float = LEVEL) -> Mask:
    """Returns [m] a mask of the significant p-values of a family; NaN is not significant."""
    return corrected(p, correction) <= 1 - level


def corrected(p: Floats, correction: Correction = "holm") -> Floats:
    """Returns [m] p-values corrected as one family; NaN stays NaN and is not counted.

    Raises UnknownName for an unknown correction.
    """
    if correction not in tuple(_RULES):
        raise UnknownName("correction", correction, CORRECTIONS)
    adjusted, known = p.copy(), ~np.isnan(p)
    adjusted[known] = _RULES[correction](p[known])
    return adjusted


def levels(p: Floats, correction: Correction = "holm", level: float = LEVEL) -> Floats:
    """Returns [m] the confidence level at which each interval excludes 0 exactly if its p is significant."""
    of_each, known = np.full(len(p), level), np.flatnonzero(~np.isnan(p))
    if len(known) and correction != "off":
        findings = int(np.count_nonzero(significant(p[known], correction, level)))
        of_each[known] = 1 - (1 - level) * _SHARES[correction](p[known], findings)
    return of_each


def holm(p: Floats) -> Floats:
    """Returns [m] p-values corrected by Holm (1979): at most one family in twenty has a false finding."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _back(np.minimum(stepped, 1.0), order)


def benjamini_hochberg(p: Floats) -> Floats:
    """Returns [m] p-values corrected by Benjamini & Hochberg (1995).

    On average at most 5 % of the findings are false.
    """
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    return _back(np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0), order)


def _back(in_order: Floats, order: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    placed = np.empty_like(in_order)
    placed[order] = in_order
    return placed


def _share_by_holm(p: Floats, findings: int) -> Floats:
    """Returns [m] each p's share of 1 − level, with which Holm's procedure compares it.

    The j-th smallest p is compared with (1 − level)/(m − j + 1), up to the first that is not significant; the
    later ones keep that last bound. Equal p-values share the bound of the first of them: no order of theirs
    is better than another, and with the later bounds the intervals would contain all true differences less
    often than the level says.
    """
    place = np.searchsorted(np.sort(p), p, side="left")
    return 1 / (len(p) - np.minimum(place, findings))


def _share_by_holm_in_order(p: Floats, findings: int) -> Floats:
    """Returns [m] the shares by Holm's procedure; of equal p-values, the first in the family has the
    least.
    """
    place = np.empty(len(p))
    place[np.argsort(p, kind="stable")] = np.minimum(np.arange(len(p)), findings)
    return 1 / (len(p) - place)


def _share_by_bh(p: Floats, findings: int) -> Floats:
    """Returns [m] the same share of 1 − level for each p: with R findings among m, R/m.

    Each interval then has the level 1 − R(1 − level)/m (Benjamini & Yekutieli 2005).
    """
    return np.full(len(p), max(findings, 1) / len(p))


_RULES: dict[Correction, Callable[[Floats], Floats]] = {
    "holm": holm,
    "holm in order": holm,
    "bh": benjamini_hochberg,
    "off": np.copy,
}
_SHARES: dict[Correction, Callable[[Floats, int], Floats]] = {
    "holm": _share_by_holm,
    "holm in order": _share_by_holm_in_order,
    "bh": _share_by_bh,
}
