"""Times that one wrong clock wrote: a single one of 1970 would make a test of two weeks one of fifty years.

The rule is the same in every variant and looks at nothing but time: more than 90 days from all but the
outermost hundredth of the rows, or three of few. So little history from so long before a test would not help
CUPED either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Floats, Mask
from recdash.errors import Problem
from recdash.online import times
from recdash.online.logs.user_totals import SessionRows

if TYPE_CHECKING:
    import pyarrow as pa

FAR_DAYS, OUTERMOST, OF_ONE_CLOCK = 90, 0.01, 3
FEWEST = 20
"""Of fewer rows nobody can tell which are the usual ones."""
WHAT = f"have a time more than {FAR_DAYS} days from nearly all others"


@dataclass(frozen=True)
class Strays:
    """``far`` [rows] true for a stray time of ``at`` [rows], seconds since 1970."""

    far: Mask
    at: Floats

    @classmethod
    def among(cls, at: Floats) -> Strays:
        """None of fewer rows than ``FEWEST``; a time that is not known (NaN) is none."""
        known = at[~np.isnan(at)]
        if len(known) < FEWEST:
            return cls(np.zeros(len(at), dtype=np.bool_), at)
        outer = max(OF_ONE_CLOCK, int(OUTERMOST * len(known)))
        known = np.partition(known, (outer, len(known) - 1 - outer))
        slack = FAR_DAYS * times.DAY
        return cls((at < known[outer] - slack) | (at > known[-1 - outer] + slack), at)

    def notices(self, place: str, fix: str) -> list[Problem]:
        count = int(self.far.sum())
        if not count:
            return []
        example = times.date(int(self.at[self.far][0] // times.DAY)).date().isoformat()
        found = f"{count:,} of {len(self.at):,} rows {WHAT}, such as {example}"
        return [Problem("stray-times", place, found, f"{fix} Look at the clock that wrote them.", count)]


def without_strays(rows: SessionRows) -> tuple[SessionRows, Strays]:
    """Stray rows say only that their user was there: no session, nothing to add up, no time."""
    strays = Strays.among(rows.at)
    if not strays.far.any():
        return rows, strays
    nothing = {name: np.where(strays.far, 0.0, values) for name, values in rows.numbers.items()}
    at, end = (np.where(strays.far, np.nan, one) for one in (rows.at, rows.end))
    session = np.where(strays.far, -1, rows.session)
    return replace(rows, session=session, at=at, end=end, numbers=nothing), strays


def exposures_without(exposures: pa.Table) -> tuple[pa.Table, Strays]:
    """Without those of a stray time: nobody knows what came before and after them."""
    import pyarrow as pa

    strays = Strays.among(times.seconds(exposures["ts"]))
    return exposures.filter(pa.array(~strays.far)) if strays.far.any() else exposures, strays
