"""Computes evidence from stored numbers and arrays; reads no file.

Letters in shapes: ``N`` items, ``S`` rows of served lists.
"""

from __future__ import annotations

import numpy as np

from recdash.diagnosis.evidence import Gain, OnlineChange
from recdash.domain.kinds import Floats, Ints, Mask

GRADES = 12
"""Up to this many distinct relevance values, they count as grades; with more, they are amounts."""
HIGH_GRADE = 0.8
"""Share of the best grade from which a grade counts as liked: 4 of 5, or 8 of 10."""


def head_of(rows: Ints) -> Mask:
    """Returns a mask [N] of the head: the most popular items that together have half of all rows. ``rows``
    [N] counts the rows of each item.
    """
    order = np.argsort(-rows, kind="stable")
    before = np.cumsum(rows[order]) - rows[order]
    head = np.zeros(len(rows), dtype=bool)
    head[order[before < rows.sum() / 2]] = True
    return head


def strict_grade(gains: Floats) -> float:
    """Returns the relevance from which an item counts as liked: 80 % of the best grade, or the median if
    values are amounts.
    """
    distinct = np.unique(gains)
    return float(HIGH_GRADE * distinct[-1] if len(distinct) <= GRADES else np.median(gains))


def in_common(request: Ints, rank: Ints, place: Ints) -> Floats:
    """Returns [requests] the share of each served list's items that are in the uploaded list, at positions up
    to the largest rank of the served list.

    For a later page of a list, these are thus all positions up to the end of that page. ``request`` [S] are
    codes from 0, ``rank`` [S] begins at 1, ``place`` [S] is the item's position in the uploaded list from 0,
    −1 if it is not in it.
    """
    depth = deepest(request, rank)
    both = (place >= 0) & (place < depth[request])
    size = np.bincount(request)
    return np.bincount(request[both], minlength=len(size)) / np.maximum(size, 1)


def deepest(request: Ints, rank: Ints) -> Ints:
    """Returns [requests] the largest rank of each request; 0 for codes that do not occur."""
    depth = np.zeros(int(request.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(depth, request, rank)
    return depth


def mean_by(group: Ints, values: Floats) -> Floats:
    """Returns the mean of the values of each group that occurs, in ascending order of groups; ``group`` [n]
    has one per value.
    """
    _, place = np.unique(group, return_inverse=True)
    return np.bincount(place, values) / np.maximum(np.bincount(place), 1)


def negated(lift: OnlineChange) -> OnlineChange:
    """Returns the change negated, for a metric of which less is better."""
    low = None if lift.high is None else -lift.high
    high = None if lift.low is None else -lift.low
    return OnlineChange(-lift.value, low, high, lift.p, lower_is_better=True)


def enough(gain: Gain | None, least: int) -> Gain | None:
    """Returns the gain, or None if it is over fewer than ``least`` users."""
    return gain if gain is not None and gain.n >= least else None
