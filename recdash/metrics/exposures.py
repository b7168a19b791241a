"""Combines the exposures of two disjoint groups of users."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from recdash.domain.hits import Exposure, ListMean, RankCounts


def joined_exposures(first: Exposure, second: Exposure) -> Exposure:
    """Returns the exposure of all lists of two exposures, which have the same item codes and no common user.

    Counts are added and means are pooled. A mean that only one of the two has is dropped.
    """
    both = first.list_means.keys() & second.list_means.keys()
    return replace(
        first,
        shown=_added(first.shown, second.shown),
        ended=_added(first.ended, second.ended),
        n_lists=first.n_lists + second.n_lists,
        list_means={spec: pooled_mean(first.list_means[spec], second.list_means[spec]) for spec in both},
    )


def _added(first: RankCounts, second: RankCounts) -> RankCounts:
    """Returns the counts of both. It goes rank by rank, as sorting all of them at once takes eight times the
    memory. Usually every list is of a user who counts, and there is nothing to add.
    """
    if not len(second.item):
        return first
    start, items, counts = [0], [], []
    for low, high in pairwise(range(len(first.start))):
        at = [slice(part.start[low], part.start[high]) for part in (first, second)]
        item, place = np.unique(np.concatenate((first.item[at[0]], second.item[at[1]])), return_inverse=True)
        count = np.zeros(len(item), dtype=np.result_type(first.count, second.count))
        np.add.at(count, place, np.concatenate((first.count[at[0]], second.count[at[1]])))
        start.append(start[-1] + len(item))
        items.append(item)
        counts.append(count)
    return RankCounts(np.array(start), np.concatenate(items), np.concatenate(counts))


def pooled_mean(first: ListMean, second: ListMean) -> ListMean:
    """Returns the mean, standard error and number of lists of both groups together, at every k."""
    n = first.n_lists + second.n_lists
    shares = [np.divide(part.n_lists, n, out=np.zeros(len(n)), where=n > 0) for part in (first, second)]
    known = [np.where(part.n_lists > 0, part.mean, 0.0) for part in (first, second)]
    mean = np.where(n > 0, shares[0] * known[0] + shares[1] * known[1], np.nan)
    spread = np.zeros(len(n))
    for part, value in zip((first, second), known, strict=True):
        own = part.n_lists.astype(np.float64)
        squares = np.where(own > 1, np.nan_to_num(part.std_error) ** 2 * own * (own - 1), 0.0)
        spread += squares + part.n_lists * (value - mean) ** 2
    error = np.full(len(n), np.nan)
    several = n > 1
    error[several] = np.sqrt(spread[several] / (n[several] - 1) / n[several])
    return ListMean(mean, error, n)
