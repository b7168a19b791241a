"""Users in groups: what resampling works on where there are many of them.

Of more than 16,384 users not each is drawn, but a group of them: every 16,384th user stands in the same one.
That widens or narrows an interval by half a percent, less than the drawing itself does, makes a thousand
draws of 162,000 users ten times cheaper, and keeps two hundred runs in 26 MB. Swapping the labels of whole
groups leaves the permutation test valid.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recdash.domain.kinds import Floats

MOST_GROUPS = 1 << 14


@dataclass(frozen=True)
class HitBits:
    """Of a column whose values are 0 or ``value``: a bit for each user, 1 for the value."""

    bits: npt.NDArray[np.uint8]
    value: float

    def beyond(self, other: HitBits) -> int:
        """How many users have a hit here and none there."""
        return int(np.unpackbits(self.bits & ~other.bits).sum())


@dataclass(frozen=True)
class Groups:
    """``sums`` [g, c] of c columns of values of ``n`` users, and ``sizes`` [g] of the groups.

    ``hits`` [c]: where groups hold several users, who has a hit in a column of yes or no; None in others.
    """

    sums: Floats
    sizes: Floats
    n: int
    hits: tuple[HitBits | None, ...] = ()

    @property
    def means(self) -> Floats:
        """[c] over all users."""
        means: Floats = self.sums.sum(axis=0) / self.n
        return means

    @property
    def off(self) -> Floats:
        """[g, c] the sums less what users like all others would add up to."""
        off: Floats = self.sums - self.sizes[:, None] * self.means
        return off

    def merged(self, most: int) -> Groups:
        """The same users in fewer groups, for what needs less precision."""
        if len(self.sizes) <= most:
            return self
        return Groups(_folded(self.sums, most), _folded(self.sizes, most), self.n)

    def covariance_of_means(self) -> Floats:
        """[c, c]; for groups of one user that of the values divided by n."""
        off, g = self.off, len(self.sizes)
        covariance: Floats = off.T @ off * (g / (g - 1) / self.n**2)
        return covariance


def grouped(columns: Iterable[Floats]) -> Groups:
    """Of columns [n] of the values of the same users, in the same order; one at a time is in memory."""
    sums, hits, n = [], [], 0
    for column in columns:
        n = len(column)
        sums.append(_folded(column, MOST_GROUPS))
        hits.append(_hits(column) if n > MOST_GROUPS else None)
    sizes = _folded(np.ones(n), MOST_GROUPS)
    return Groups(np.column_stack(sums) if sums else np.zeros((0, 0)), sizes, n, tuple(hits))


def _hits(column: Floats) -> HitBits | None:
    """None for a column that holds other values than 0 and its largest one."""
    value = float(column.max())
    hit = column == value
    return HitBits(np.packbits(hit), value) if value > 0 and bool((hit | (column == 0)).all()) else None


def _folded(rows: Floats, groups: int) -> Floats:
    """Sums of every so-many-th row."""
    n, groups = len(rows), max(min(len(rows), groups), 1)
    whole = n // groups * groups
    sums: Floats = rows[:whole].reshape(-1, groups, *rows.shape[1:]).sum(axis=0)
    sums[: n - whole] += rows[whole:]
    return sums
