"""Several differences judged together: the one place that decides what is significant.

Who looks at twenty differences finds one "significant" by chance. A correction makes that rare for the whole
family that is on screen: Holm's keeps the chance of a single false finding at 5 %, that of Benjamini and
Hochberg the share of false ones among the findings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recdash.domain.kinds import Floats, Mask
from recdash.stats.paired import LEVEL, Paired
from recdash.stats.sample_size import users_to_settle

Correction = Literal["holm", "bh", "off"]
CORRECTIONS: tuple[Correction, ...] = ("holm", "bh", "off")
Finding = Literal["better", "worse", "tie", "not settled"]
SIGNS: dict[Finding, str] = {"better": "▲", "worse": "▼", "tie": "=", "not settled": "="}


@dataclass(frozen=True)
class JudgedDifference:
    """A difference within its family.

    ``corrected`` is ``paired`` with the interval at the level at which the correction tests it: that excludes
    0 exactly where the corrected ``p`` is at most 1 − level. ``margin`` ≥ 0: what is too small to matter, in
    units of the metric; ``margin_is_known`` is False where these units are too uncertain to call a tie.
    ``lower_is_better``: of two errors the lower one is better.
    """

    paired: Paired
    corrected: Paired
    p: float
    margin: float = 0.0
    lower_is_better: bool = False
    margin_is_known: bool = True

    @property
    def word(self) -> Finding:
        """*tie* when the whole interval lies inside the margin, *better* or *worse* when it excludes zero."""
        low, high = self.corrected.low, self.corrected.high
        if self.margin_is_known and -self.margin < low and high < self.margin:
            return "tie"
        if not self.corrected.settled:
            return "not settled"
        return "better" if (low > 0) != self.lower_is_better else "worse"

    @property
    def sign(self) -> str:
        return SIGNS[self.word]

    @property
    def more_users(self) -> int | None:
        """How many more users would most likely be enough; 0 where these are, None where unknown."""
        if self.word != "not settled":
            return 0
        needed = users_to_settle(self.paired, self.margin, self.corrected.level)
        # A normal approximation may say that fewer users than these are enough, where the test needs more.
        return needed - self.paired.n if needed and needed > self.paired.n else None


def judge(
    family: Sequence[Paired],
    correction: Correction = "holm",
    *,
    margins: Sequence[float] | None = None,
    level: float = LEVEL,
) -> list[JudgedDifference]:
    """Every difference of a family with its corrected p, interval and word, in the order given.

    A difference without a p takes no part in the correction and is not settled.
    """
    p = np.array([paired.p for paired in family], dtype=float)
    of_family = levels(p, correction, level).tolist(), corrected(p, correction).tolist()
    rows = zip(family, *of_family, margins or [0.0] * len(p), strict=True)
    return [JudgedDifference(paired, paired.at(own), p, margin) for paired, own, p, margin in rows]


def significant(p: Floats, correction: Correction = "holm", level: float = LEVEL) -> Mask:
    """[m] which of a family's p-values are findings; none that is NaN."""
    return corrected(p, correction) <= 1 - level


def corrected(p: Floats, correction: Correction = "holm") -> Floats:
    """[m] p-values corrected as one family; NaN stays, and takes no part."""
    adjusted, known = p.copy(), ~np.isnan(p)
    adjusted[known] = _RULES[correction](p[known])
    return adjusted


def levels(p: Floats, correction: Correction = "holm", level: float = LEVEL) -> Floats:
    """[m] the level of each difference's interval that excludes 0 exactly where p is significant."""
    of_each, known = np.full(len(p), level), np.flatnonzero(~np.isnan(p))
    if len(known) and correction != "off":
        findings = int(np.count_nonzero(significant(p[known], correction, level)))
        of_each[known] = 1 - (1 - level) * _SHARES[correction](p[known], findings)
    return of_each


def holm(p: Floats) -> Floats:
    """[m] p-values corrected by Holm (1979), so that at most one family in twenty holds a false finding."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return _back(np.minimum(stepped, 1.0), order)


def benjamini_hochberg(p: Floats) -> Floats:
    """[m] p-values corrected by Benjamini & Hochberg (1995): at most 5 % of the findings are false."""
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    return _back(np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0), order)


def _back(in_order: Floats, order: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    placed = np.empty_like(in_order)
    placed[order] = in_order
    return placed


def _share_by_holm(p: Floats, findings: int) -> Floats:
    """The j-th smallest p is held against (1 − level)/(m − j + 1), until the first that fails; it and all
    after it stay at that bound.
    """
    place = np.empty(len(p))
    place[np.argsort(p, kind="stable")] = np.minimum(np.arange(len(p)), findings)
    return 1 / (len(p) - place)


def _share_by_bh(p: Floats, findings: int) -> Floats:
    """With R findings among m each interval is at 1 − R(1 − level)/m (Benjamini & Yekutieli 2005)."""
    return np.full(len(p), max(findings, 1) / len(p))


_RULES: dict[Correction, Callable[[Floats], Floats]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "off": np.copy,
}
_SHARES: dict[Correction, Callable[[Floats, int], Floats]] = {"holm": _share_by_holm, "bh": _share_by_bh}
