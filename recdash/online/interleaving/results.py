"""The results of an interleaving test: preference, interval, p, the checks of its teams, and a finding."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.display import Display
from recdash.formatting.result_table import ResultTable, of_values
from recdash.formatting.wording import shown
from recdash.online.interleaving import power
from recdash.online.interleaving.credits import Method, RequestCredits
from recdash.online.interleaving.grouped_preferences import (
    DayPreference,
    SegmentPreference,
    TimeScale,
    by_day,
    by_segment,
)
from recdash.online.interleaving.preference import Measure, Preference, preference, user_sums
from recdash.online.interleaving.team_split import TeamSplit, split_warnings, team_split

if TYPE_CHECKING:
    import pandas as pd

Finding = Literal["better", "worse", "not settled", "not judged"]
MEASURES: Mapping[Measure, str] = {
    "requests": "Share of credited requests won",
    "credits": "Share of credits",
}
"""Measure → its title; the first decides."""
SIGNIFICANCE_LEVEL = 0.05
SEGMENT_NOTE = (
    "Preferences are shares (0.05 = 5 %); p_bh and corrected_* are corrected over all segments of one "
    "attribute (Benjamini–Hochberg)."
)
DAY_NOTE = (
    "Preferences are shares (0.05 = 5 %). Intervals are for one look: who stops the test on the first day "
    "whose interval excludes 50 % is wrong more often."
)
UNEVEN_NOTE = " The teams are uneven: no preference is judged."


@dataclass(frozen=True, repr=False)
class InterleavingResults:
    """The results of an interleaving test between the control ``a`` and the candidate ``b``.

    ``rows`` has a preference for b per measure, the deciding one first. ``wins`` are requests by outcome: a,
    b, tie, none (without credit). ``spread`` is that of the deciding measure (``UserSums``), None without it.
    ``requests`` are those of which the results are. ``warnings`` say what makes the results doubtful.
    """

    a: str
    b: str
    method: Method
    rows: tuple[Preference, ...]
    n_users: int
    n_requests: int
    wins: Mapping[str, int]
    split: TeamSplit
    spread: float | None
    requests: RequestCredits = field(repr=False, compare=False)
    warnings: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = field(default=())

    @property
    def preference(self) -> Preference:
        """Returns the preference that decides, by credited requests."""
        return self.rows[0]

    def with_warnings_noticed(self) -> InterleavingResults:
        """Returns the results with their warnings among the notices."""
        return replace(self, notices=tuple(self.noticed()))

    @property
    def variants(self) -> tuple[str, str]:
        """Returns the two rankings, the control first."""
        return self.a, self.b

    @property
    def control(self) -> str:
        return self.a

    def noticed(self) -> list[Problem]:
        """Returns the notices and the warnings."""
        return [*self.notices, *self.warnings]

    @property
    def n_credited(self) -> int:
        """Returns the number of requests in which a ranking has earned credit."""
        return self.n_requests - self.wins["none"]

    @property
    def finding(self) -> Finding:
        """Returns whether users prefer b (better) or a (worse); *not judged* if the teams are uneven."""
        return self.finding_of(self.preference.p, self.preference.share)

    def finding_of(self, p: float | None, share: float | None) -> Finding:
        """Returns the same for the p and preference of a part of the requests, such as a segment."""
        if self.split.blocked:
            return "not judged"
        if p is None or share is None or p >= SIGNIFICANCE_LEVEL:
            return "not settled"
        return "better" if share > 0.5 else "worse"

    @property
    def reason(self) -> str:
        """Returns why there is no verdict; empty if there is one, or if the interval is inconclusive."""
        if self.split.blocked:
            return "the teams are uneven"
        return self.preference.note

    @property
    def detectable(self) -> float | None:
        """Returns the smallest preference above 0.5 that this test finds with a power of 80 %."""
        return None if self.spread is None else power.detectable(self.spread, self.preference.n_users)

    def users_for(self, share: float) -> int | None:
        """Returns how many users with a credited request find a preference of ``share`` with a power of 80 %;
        None if no number does.
        """
        return None if self.spread is None else power.users_for(self.spread, share)

    def sensitivity(self, ab_z: float, n_ab_users: int) -> power.Sensitivity | None:
        """Returns how many users this test and an A/B test of ``n_ab_users`` need, whose estimate is ``ab_z``
        standard errors from 0; None without a preference.
        """
        share, n_users = self.preference.share, self.preference.n_users
        if not self.spread or share is None:
            return None
        z = math.sqrt(n_users) * (2 * share - 1) / self.spread
        return power.sensitivity(z, n_users, ab_z, n_ab_users)

    @property
    def sentence(self) -> str:
        """Returns the finding as text."""
        row = self.preference
        if self.reason:
            return f"No verdict on {self.b} against {self.a}: {self.reason}."
        better, worse = (self.b, self.a) if self.finding == "better" else (self.a, self.b)
        heading = f"Users prefer {better} to {worse}"
        if self.finding == "not settled":
            heading = f"No significant preference between {self.a} and {self.b}"
        share, interval = in_percent(row)
        return (
            f"{heading}: {self.b} won {share} of {self.n_credited:,} credited requests "
            f"(95 % CI {interval}, {numbers.p_equals(row.p or 0.0)}, {numbers.users(row.n_users)})."
        )

    def __repr__(self) -> str:
        return f"{self.sentence}\nAll numbers: .table()"

    def _repr_html_(self) -> str:
        """Returns the verdict and the table as HTML, for notebooks."""
        frame = self.table().drop(columns=["note"])
        cells = [
            [numbers.three(cell) if isinstance(cell, float) else str(cell) for cell in row]
            for row in frame.itertuples(index=False)
        ]
        warnings = [str(notice) for notice in self.noticed()]
        return Display(self.sentence, [list(frame.columns), *cells], (), warnings, texts=3).html()

    def table(self) -> pd.DataFrame:
        """Returns a data frame with one row per measure, the deciding one first.

        ``preference`` is the share of b, with ``low`` and ``high`` (95 %) and ``p``.
        """
        import pandas as pd

        rows = [
            {
                "measure": row.measure,
                "a": self.a,
                "b": self.b,
                "preference": row.share,
                "low": row.low,
                "high": row.high,
                "p": row.p,
                "finding": shown(self.finding) if place == 0 else "",
                "n_users": row.n_users,
                "note": row.note,
            }
            for place, row in enumerate(self.rows)
        ]
        return pd.DataFrame(rows)

    def segments(self, attribute: str | None = None) -> ResultTable:
        """Returns the preference for b in each segment of requests, such as those of a country; by default by
        all attributes.

        An attribute is a column of text without a role that has one value in each request, and at most 50
        values. Raises UnknownName for an unknown one, InputError for one that differs within a request.
        """
        rows = by_segment(self.requests, attribute)
        return of_values(
            f"Preference for {self.b} by segment", SegmentPreference, rows, self._noted(SEGMENT_NOTE)
        )

    def days(self, scale: TimeScale = "cumulative") -> ResultTable:
        """Returns the preference for b by day (UTC): *cumulative* up to each day, or *daily* on each day.

        Raises NotFound for a table without times.
        """
        rows = by_day(self.requests, scale)
        title = f"Preference for {self.b} by day ({scale})"
        return of_values(title, DayPreference, rows, self._noted(DAY_NOTE))

    def _noted(self, note: str) -> str:
        return note + UNEVEN_NOTE if self.split.blocked else note

    def as_dict(self) -> dict[str, Any]:
        """Returns the results as JSON-ready values."""
        return {
            "control": self.a,
            "candidate": self.b,
            "method": self.method,
            "finding": self.finding,
            "sentence": self.sentence,
            "reason": self.reason,
            "users": self.n_users,
            "requests": self.n_requests,
            "credited_requests": self.n_credited,
            "won_by_control": self.wins["a"],
            "won_by_candidate": self.wins["b"],
            "ties": self.wins["tie"],
            "results": [
                {
                    "measure": row.measure,
                    "preference": row.share,
                    "low": row.low,
                    "high": row.high,
                    "p": row.p,
                    "users": row.n_users,
                    "effective_users": row.effective_users,
                    "note": row.note,
                }
                for row in self.rows
            ],
            "teams": {**asdict(self.split), "blocked": self.split.blocked},
            "power": {
                "detectable": self.detectable,
                "users_for": {f"{share:g}": self.users_for(share) for share in power.PREFERENCES},
            },
            "warnings": [{"code": warning.code, "text": str(warning)} for warning in self.warnings],
            "notices": [{"code": notice.code, "text": str(notice)} for notice in self.notices],
        }

    def records(self) -> list[dict[str, Any]]:
        """Returns a row per measure and ranking, control first, for the store."""
        rows = []
        for row in self.rows:
            facts = asdict(row)
            facts.pop("measure")
            same = {"metric": row.measure, "title": MEASURES[row.measure]}
            mirrored = {
                "share": _mirrored(row.share), "low": _mirrored(row.high), "high": _mirrored(row.low),
            }  # fmt: skip
            rows.append({**same, "variant": self.a, "is_control": True, **facts, **mirrored})
            rows.append({**same, "variant": self.b, "is_control": False, **facts})
        return rows


def in_percent(row: Preference) -> tuple[str, str]:
    """Returns the preference and its interval in percent as text."""
    scaled = [None if value is None else 100 * value for value in (row.share, row.low, row.high)]
    digits = numbers.places(scaled)
    share, low, high = (numbers.fixed(value, digits) for value in scaled)
    return f"{share} %", numbers.NONE if row.low is None else f"{low} to {high} %"


def _mirrored(share: float | None) -> float | None:
    return None if share is None else 1 - share


def results_of(requests: RequestCredits) -> InterleavingResults:
    """Returns the results of an interleaving test."""
    split = team_split(requests)
    sums = user_sums(requests)
    rows = tuple(preference(user_sums(requests, measure), measure) for measure in MEASURES)
    return InterleavingResults(
        a=requests.a,
        b=requests.b,
        method=requests.method,
        rows=rows,
        n_users=requests.n_users,
        n_requests=len(requests),
        wins=requests.wins(),
        split=split,
        spread=None if rows[0].p is None else sums.spread,
        requests=requests,
        warnings=split_warnings(split, requests.a, requests.b),
        notices=requests.notices,
    )
