"""The overlap of runs' hits: which test items each run finds, which only one run finds, and which all find
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recdash.domain.hits import Exposure, Hits
from recdash.domain.inputs import Truth
from recdash.domain.kinds import Ints, Mask, Users


def hit_rows(hits: Hits, k: int, relevant: Mask) -> Mask:
    """Returns a mask [T] of the relevant truth rows whose item is in the top k of the user's list."""
    is_hit = np.zeros(len(hits.truth.item), dtype=bool)
    is_hit[hits.row[hits.rank <= k]] = True
    return is_hit & relevant


@dataclass(frozen=True)
class HitCounts:
    """The number of relevant items in one run's lists within k, over all users.

    ``unique``: those that no other of the runs finds. ``won``: those that the baseline does not find.
    ``lost``: those that only the baseline finds, compared with this run.
    """

    hits: int
    unique: int
    won: int
    lost: int


def hit_counts(hit_masks: Sequence[Mask], baseline: Mask | None) -> list[HitCounts]:
    """Returns the counts of each run, from one mask [T] of hits per run. Without a baseline, ``won`` and
    ``lost`` are 0.
    """
    finders = np.sum(hit_masks, axis=0, dtype=np.int16)
    return [
        HitCounts(
            int(is_hit.sum()),
            int((is_hit & (finders == 1)).sum()),
            0 if baseline is None else int((is_hit & ~baseline).sum()),
            0 if baseline is None else int((baseline & ~is_hit).sum()),
        )
        for is_hit in hit_masks
    ]


@dataclass(frozen=True)
class Headroom:
    """The hit rate and recall of all runs' lists combined, next to those of each single run.

    ``hit_rate`` is the share of the ``n_users`` with a hit within k, ``recall`` the mean share of a user's
    relevant items found within k; both from 0 to 1. ``hit_rates`` and ``recalls`` have one value per run;
    ``best_hit_rate`` and ``best_recall`` are the indexes of the best run.
    """

    n_users: int
    hit_rate: float
    recall: float
    hit_rates: Sequence[float]
    recalls: Sequence[float]

    @property
    def best_hit_rate(self) -> int:
        return int(np.argmax(self.hit_rates))

    @property
    def best_recall(self) -> int:
        return int(np.argmax(self.recalls))


def headroom(truth: Truth, relevant: Mask, hit_masks: Sequence[Mask], listed: Mask) -> Headroom | None:
    """Returns the headroom over the users in ``listed`` [U] who have a ``relevant`` row [T]; None without
    such users or without runs.
    """
    per_user = truth.per_user(relevant)
    counted = (per_user > 0) & listed
    if not counted.any() or not hit_masks:
        return None
    union = np.logical_or.reduce(hit_masks)
    shares = [truth.per_user(is_hit)[counted] / per_user[counted] for is_hit in (union, *hit_masks)]
    hit_rates = [float((share > 0).mean()) for share in shares]
    recalls = [float(share.mean()) for share in shares]
    return Headroom(int(counted.sum()), hit_rates[0], recalls[0], hit_rates[1:], recalls[1:])


def users_of_all(hits: Sequence[Hits], users: Users) -> Mask:
    """Returns a mask [U] of the users that count in a comparison of all runs: every user, or those with a
    list in every run if ``users`` leaves out users without a list.
    """
    if users in ("truth", "judged"):
        return np.ones(hits[0].truth.n_users, dtype=bool)
    return np.logical_and.reduce([own.list_length > 0 for own in hits])


@dataclass(frozen=True)
class ItemsFound:
    """Counts for each relevant test item: ``item`` [n] is its code in the truth, ``users`` [n] the number of
    users with it as a relevant test item.

    ``found`` [runs, n] is the number of these users whose list has it within k. ``shown`` [runs, n] is the
    number of lists that have it within k, among the lists that the exposure counts.
    """

    item: Ints
    users: Ints
    found: Ints
    shown: Ints


def items_found(truth: Truth, hit_masks: Sequence[Mask], exposures: Sequence[Exposure], k: int) -> ItemsFound:
    n = len(truth.items)
    users = np.bincount(truth.item[truth.relevant()], minlength=n)
    item = np.flatnonzero(users)
    hits = [np.bincount(truth.item[is_hit], minlength=n)[item] for is_hit in hit_masks]
    shown = [_times_shown(exposure, k, n)[item] for exposure in exposures]
    found_by_run, shown_by_run = (
        np.array(counts, dtype=np.int64).reshape(len(counts), len(item)) for counts in (hits, shown)
    )
    return ItemsFound(item, users[item], found_by_run, shown_by_run)


def _times_shown(exposure: Exposure, k: int, n: int) -> Ints:
    """Returns [n] the number of lists that have each of the first n items within k."""
    end = int(exposure.shown.start[k])
    item, count = exposure.shown.item[:end], exposure.shown.count[:end]
    in_truth = item < n
    total: Ints = np.bincount(item[in_truth], weights=count[in_truth], minlength=n).astype(np.int64)
    return total
