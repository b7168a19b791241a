"""Similarity of two ranked lists: the share of common items, and rank-biased overlap.

Many pairs are compared at once: the n-th list of ``a`` and the n-th list of ``b`` belong to the same user.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Floats, Ints

PERSISTENCE = 0.9
"""The parameter p of rank-biased overlap: the probability of continuing to the next rank.

At 0.9 the first ten ranks have 86 % of the weight.
"""


@dataclass(frozen=True)
class ManyLists:
    """Many ranked lists: list n has the items ``item[start[n]:start[n + 1]]``, best first, each once."""

    start: Ints
    item: Ints

    @property
    def lengths(self) -> Ints:
        return np.diff(self.start)

    @property
    def owner(self) -> Ints:
        """Returns the index of each item's list."""
        return np.repeat(np.arange(len(self.start) - 1), self.lengths)

    @property
    def rank(self) -> Ints:
        """Returns the rank of each item in its list, from 1."""
        return np.arange(len(self.item)) - np.repeat(self.start[:-1], self.lengths) + 1


def in_common(a: ManyLists, b: ManyLists, depth: int) -> Ints:
    """Returns [lists, depth] the number of items that the first d positions of both lists share.

    d is 1..depth.
    """
    n_items = int(max(a.item.max(initial=0), b.item.max(initial=0))) + 1
    of_a, of_b = (lists.owner.astype(np.int64) * n_items + lists.item for lists in (a, b))
    both, in_a, in_b = np.intersect1d(of_a, of_b, assume_unique=True, return_indices=True)
    met = np.maximum(a.rank[in_a], b.rank[in_b])
    cell = (both // n_items) * (depth + 1) + np.minimum(met - 1, depth)
    n_lists = len(a.start) - 1
    met_at = np.bincount(cell, minlength=n_lists * (depth + 1)).reshape(n_lists, depth + 1)
    return met_at[:, :depth].cumsum(axis=1)


def overlap(a: ManyLists, b: ManyLists, depth: int) -> Floats:
    """Returns [lists, depth] the share of common items in the first k positions, from 0 to 1.

    k is 1..depth. The common items are divided by the number of items there in the longer list. The result is
    NaN if both lists are empty.
    """
    longest = np.maximum(a.lengths, b.lengths)[:, None]
    longer = np.minimum(longest, np.arange(1, depth + 1))
    common = in_common(a, b, depth)
    return np.divide(common, longer, out=np.full(common.shape, np.nan), where=longer > 0)


def rank_biased_overlap(a: ManyLists, b: ManyLists, p: float = PERSISTENCE) -> Floats:
    """Returns [lists] the extrapolated rank-biased overlap of two lists of any length, from 0 to 1.

    Beyond their ends, the lists are assumed to agree as much as they do at the end. The result is NaN if a
    list is empty. Webber, Moffat & Zobel, "A similarity measure for indefinite rankings", TOIS 28(4), 2010,
    equation 32.
    """
    short, long = np.minimum(a.lengths, b.lengths), np.maximum(a.lengths, b.lengths)
    depth = max(int(long.max(initial=0)), 1)
    common = in_common(a, b, depth).astype(np.float64)
    d = np.arange(1, depth + 1)
    lists = np.arange(len(short))
    at_short = common[lists, np.maximum(short, 1) - 1]
    at_long = common[lists, np.maximum(long, 1) - 1]
    s, all_of_it = np.maximum(short, 1).astype(np.float64), np.maximum(long, 1).astype(np.float64)
    seen = (common / d * (d <= long[:, None])) @ p**d
    beyond = d - s[:, None]
    guessed = at_short / s * ((beyond / d * ((d > short[:, None]) & (d <= long[:, None]))) @ p**d)
    tail = ((at_long - at_short) / all_of_it + at_short / s) * p**long
    overlap_: Floats = (1 - p) / p * (seen + guessed) + tail
    return np.where(short > 0, overlap_, np.nan)
