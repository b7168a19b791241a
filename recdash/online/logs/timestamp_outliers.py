"""Finds times written by a wrong clock; one time from 1970 would make a two-week test last fifty years.

A time is an outlier if it is more than 90 days away from the others, without counting the outermost hundredth
of the rows at each end (at least three rows). The rule uses only the time and is the same in every variant.
It may remove early history of a few rows, which would not help CUPED either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Floats, Mask
from recdash.errors import Problem
from recdash.online import times

FAR_DAYS, OUTERMOST, OF_ONE_CLOCK = 90, 0.01, 3
FEWEST = 20
"""With fewer rows no time is an outlier, since they do not show which times are usual."""
WHAT = f"have a time more than {FAR_DAYS} days from nearly all others"


@dataclass(frozen=True)
class TimestampOutliers:
    """The outliers among the times ``at`` [rows], in seconds since 1970; ``far`` [rows] marks them."""

    far: Mask
    at: Floats

    @classmethod
    def among(cls, at: Floats) -> TimestampOutliers:
        """Returns the outliers among the times; an unknown time (NaN) is not one.

        There are none below ``FEWEST`` times.
        """
        moments = at[~np.isnan(at)]
        if len(moments) < FEWEST:
            return cls(np.zeros(len(at), dtype=np.bool_), at)
        outer = max(OF_ONE_CLOCK, int(OUTERMOST * len(moments)))
        moments = np.partition(moments, (outer, len(moments) - 1 - outer))
        slack = FAR_DAYS * times.DAY
        return cls((at < moments[outer] - slack) | (at > moments[-1 - outer] + slack), at)

    def notices(self, place: str, fix: str) -> list[Problem]:
        count = int(self.far.sum())
        if not count:
            return []
        example = times.date(int(self.at[self.far][0] // times.DAY)).date().isoformat()
        message = f"{count:,} of {len(self.at):,} rows {WHAT}, such as {example}"
        return [Problem("stray-times", place, message, f"{fix} Check the clock that wrote them.", count)]
