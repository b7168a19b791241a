"""Computes evidence from stored numbers and arrays; reads no file.

Letters in shapes: ``N`` items, ``S`` rows of served lists.
"""

from __future__ import annotations

import numpy as np

from recdash.diagnosis.evidence import Gain, OnlineChange
from recdash.domain.kinds import Floats, Ints, Mask

GRADES = 12
"""Largest number of distinct relevance values that are grades; with more it is an amount."""
HIGH_GRADE = 0.8
"""Share of the best grade that counts as good: 4 of 5, or 8 of 10."""


def head_of(rows: Ints) -> Mask:
    """Returns [N] whether an item is in the head: the most popular items with half of all ``rows`` [N]."""
    order = np.argsort(-rows, kind="stable")
    before = np.cumsum(rows[order]) - rows[order]
    head = np.zeros(len(rows), dtype=bool)
    head[order[before < rows.sum() / 2]] = True
    return head


def strict_grade(gains: Floats) -> float:
    """Returns the relevance from which something counts as liked: 80 % of the best grade, or the median
    amount.
    """
    distinct = np.unique(gains)
    return float(HIGH_GRADE * distinct[-1] if len(distinct) <= GRADES else np.median(gains))


def in_common(request: Ints, rank: Ints, place: Ints) -> Floats:
    """Returns [requests] the share of a served list's items that are in the uploaded list within as many
    positions as the served list has.

    A later page of a list is compared with its own positions too. ``request`` [S] codes 0.., ``rank`` [S]
    from 1, ``place`` [S] of the item in the uploaded list from 0; −1 if it is not in it.
    """
    depth = deepest(request, rank)
    both = (place >= 0) & (place < depth[request])
    size = np.bincount(request)
    return np.bincount(request[both], minlength=len(size)) / np.maximum(size, 1)


def deepest(request: Ints, rank: Ints) -> Ints:
    """Returns [requests] the largest rank of each."""
    depth = np.zeros(int(request.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(depth, request, rank)
    return depth


def mean_by(group: Ints, values: Floats) -> Floats:
    """Returns the mean of each group that occurs, groups ascending; ``group`` [n]."""
    _, place = np.unique(group, return_inverse=True)
    return np.bincount(place, values) / np.maximum(np.bincount(place), 1)


def turned(lift: OnlineChange) -> OnlineChange:
    """Returns the change of a metric of which less is better, negated so that above 0 is better."""
    low = None if lift.high is None else -lift.high
    high = None if lift.low is None else -lift.low
    return OnlineChange(-lift.value, low, high)


def enough(gain: Gain | None, least: int) -> Gain | None:
    """Returns None for a gain of too few users."""
    return gain if gain is not None and gain.n >= least else None
