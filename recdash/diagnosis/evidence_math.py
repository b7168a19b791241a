"""From stored numbers and arrays to evidence; nothing here reads a file.

Letters in shapes: ``N`` items, ``S`` rows of served lists.
"""

from __future__ import annotations

import numpy as np

from recdash.diagnosis.evidence import Gain, OnlineChange
from recdash.domain.kinds import Floats, Ints, Mask

GRADES = 12
"""Relevance with so many different values is a grade; with more it is an amount."""
HIGH_GRADE = 0.8
"""A grade of 4 of 5, or 8 of 10: what people call good."""


def head_of(rows: Ints) -> Mask:
    """[N] the items with the most train rows that together have half of them; ``rows`` [N] of each item."""
    order = np.argsort(-rows, kind="stable")
    before = np.cumsum(rows[order]) - rows[order]
    head = np.zeros(len(rows), dtype=bool)
    head[order[before < rows.sum() / 2]] = True
    return head


def strict_grade(gains: Floats) -> float:
    """From which relevance on something counts as liked: 80 % of the best grade, or the median amount."""
    distinct = np.unique(gains)
    return float(HIGH_GRADE * distinct[-1] if len(distinct) <= GRADES else np.median(gains))


def in_common(request: Ints, rank: Ints, place: Ints) -> Floats:
    """[requests] share of a served list's items that stand in the uploaded list within as many places as the
    served list goes down to (a later page of it is compared with its own places too).

    ``request`` [S] codes 0.., ``rank`` [S] from 1, ``place`` [S] of the item in the uploaded list from 0; −1
    where it is not there.
    """
    depth = deepest(request, rank)
    both = (place >= 0) & (place < depth[request])
    size = np.bincount(request)
    return np.bincount(request[both], minlength=len(size)) / np.maximum(size, 1)


def deepest(request: Ints, rank: Ints) -> Ints:
    """[requests] the largest rank of each."""
    depth = np.zeros(int(request.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(depth, request, rank)
    return depth


def mean_by(group: Ints, values: Floats) -> Floats:
    """[groups that are there] the mean of each, groups ascending; ``group`` [n]."""
    _, place = np.unique(group, return_inverse=True)
    return np.bincount(place, values) / np.maximum(np.bincount(place), 1)


def turned(lift: OnlineChange) -> OnlineChange:
    """The change of a metric of which less is better, turned so that above 0 is better."""
    low = None if lift.high is None else -lift.high
    high = None if lift.low is None else -lift.low
    return OnlineChange(-lift.value, low, high)


def enough(gain: Gain | None, least: int) -> Gain | None:
    """None for a gain of too few users to say anything."""
    return gain if gain is not None and gain.n >= least else None
