"""Estimates the preference between two interleaved rankings by segment of requests, and by day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recdash.domain.kinds import Mask
from recdash.errors import InputError, NotFound, Problem, UnknownName
from recdash.formatting import numbers
from recdash.online import times
from recdash.online.analysis import judgement
from recdash.online.interleaving.credits import RequestCredits
from recdash.online.interleaving.preference import Preference, preference, user_sums

TimeScale = Literal["cumulative", "daily"]
TIME_SCALES: tuple[TimeScale, ...] = ("cumulative", "daily")


@dataclass(frozen=True)
class SegmentPreference:
    """The preference for b in the requests of one segment of ``attribute``.

    ``segment`` is None for requests without a known one. ``n_users`` and ``n_requests`` are those with
    credit. ``p_bh`` and ``corrected_*`` are corrected over all segments of the attribute
    (Benjamini–Hochberg). Unavailable numbers are None, and ``note`` says why.
    """

    attribute: str
    segment: str | None
    n_users: int
    n_requests: int
    preference: float | None
    low: float | None
    high: float | None
    p: float | None
    corrected_low: float | None
    corrected_high: float | None
    p_bh: float | None
    note: str = ""


@dataclass(frozen=True)
class DayPreference:
    """The preference for b on one day, or up to it; ``date`` is the day (UTC), the rest as in a segment."""

    date: str
    n_users: int
    n_requests: int
    preference: float | None
    low: float | None
    high: float | None
    p: float | None
    note: str = ""


def by_segment(requests: RequestCredits, attribute: str | None = None) -> list[SegmentPreference]:
    """Returns the preference in each segment of an attribute, by default of all; requests without a known
    segment come last.

    Raises UnknownName for an unknown attribute, InputError for one of which a request has several values.
    """
    labels = requests.labels
    if attribute is not None and attribute in labels.mixed:
        count = labels.mixed[attribute]
        finding = f"several values in {numbers.counted(count, 'request')}"
        fix = "A segment needs one value in all rows of a request."
        raise InputError(Problem("mixed-segment", f"column '{attribute}'", finding, fix, count))
    if attribute is not None and attribute not in labels.segments:
        raise UnknownName("segment", attribute, sorted(labels.segments))
    names = sorted(labels.segments) if attribute is None else [attribute]
    return [row for name in names for row in _of_attribute(requests, name)]


def _of_attribute(requests: RequestCredits, name: str) -> Iterator[SegmentPreference]:
    segment = requests.labels.segments[name]
    codes = [code for code in (*range(len(segment.labels)), -1) if (segment.label == code).any()]
    parts = [requests.part(segment.label == code) for code in codes]
    rows = [preference(user_sums(part)) for part in parts]
    family = judgement.family([row.p for row in rows], "bh")
    for code, part, row, (p_bh, level) in zip(codes, parts, rows, family, strict=True):
        corrected = preference(user_sums(part), level=level)
        yield SegmentPreference(
            attribute=name,
            segment=None if code < 0 else segment.labels[code],
            **_numbers_of(part, row),
            corrected_low=corrected.low,
            corrected_high=corrected.high,
            p_bh=None if corrected.p is None else p_bh,
            note=row.note or corrected.note,
        )


def by_day(requests: RequestCredits, scale: TimeScale) -> list[DayPreference]:
    """Returns the preference on each day with a request (*daily*), or up to each (*cumulative*).

    A request is of the day of its earliest row; requests without a time are left out. Raises NotFound for a
    table without times, UnknownName for another scale.
    """
    if scale not in TIME_SCALES:
        raise UnknownName("time scale", scale, TIME_SCALES)
    day = requests.labels.day
    if day is None:
        raise NotFound("The table has no column of times, such as timestamp, which days need.")

    def chosen(last: int) -> Mask:
        return day == last if scale == "daily" else (day >= 0) & (day <= last)

    days = np.unique(day[day >= 0]).tolist()
    return [_of_day(times.date(last).strftime("%Y-%m-%d"), requests.part(chosen(last))) for last in days]


def _of_day(date: str, part: RequestCredits) -> DayPreference:
    row = preference(user_sums(part))
    return DayPreference(date=date, **_numbers_of(part, row), note=row.note)


def _numbers_of(part: RequestCredits, row: Preference) -> dict[str, Any]:
    """Returns the fields that rows of segments and of days share."""
    return {
        "n_users": row.n_users,
        "n_requests": int(part.is_credited.sum()),
        "preference": row.share,
        "low": row.low,
        "high": row.high,
        "p": row.p,
    }
