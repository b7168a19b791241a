"""Which held-out items runs find, from their hits alone: by whom, by nobody else, and by all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recdash.domain.hits import Exposure, Hits
from recdash.domain.inputs import Truth
from recdash.domain.kinds import Ints, Mask, Users


def found_rows(hits: Hits, k: int, relevant: Mask) -> Mask:
    """[T] True where a ``relevant`` row of the truth stands within the first k places of its user's list."""
    found = np.zeros(len(hits.truth.item), dtype=bool)
    found[hits.row[hits.rank <= k]] = True
    return found & relevant


@dataclass(frozen=True)
class HitCounts:
    """Of one run within k: relevant items found (over all users), those that no other of the runs finds, and
    against the baseline those that are found in addition and those that are lost.
    """

    hits: int
    unique: int
    won: int
    lost: int


def hit_counts(found: Sequence[Mask], baseline: Mask | None) -> list[HitCounts]:
    """One for each run of ``found`` [T]; without a baseline nothing is won or lost."""
    finders = np.sum(found, axis=0, dtype=np.int16)
    return [
        HitCounts(
            int(one.sum()),
            int((one & (finders == 1)).sum()),
            0 if baseline is None else int((one & ~baseline).sum()),
            0 if baseline is None else int((baseline & ~one).sum()),
        )
        for one in found
    ]


@dataclass(frozen=True)
class Headroom:
    """What all runs' lists together reach, against the best of them: shares of ``n_users``, 0..1.

    ``hit_rate`` is the share of users with a hit within k, ``recall`` the mean share of a user's relevant
    items found within k. ``best_hit_rate`` and ``best_recall`` are places among the runs.
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


def headroom(truth: Truth, relevant: Mask, found: Sequence[Mask], listed: Mask) -> Headroom | None:
    """Over the users with a ``relevant`` row [T] among those marked in ``listed`` [U]; None without any."""
    per_user = truth.per_user(relevant)
    counted = (per_user > 0) & listed
    if not counted.any() or not found:
        return None
    union = np.logical_or.reduce(found)
    shares = [truth.per_user(one)[counted] / per_user[counted] for one in (union, *found)]
    hit_rates = [float((share > 0).mean()) for share in shares]
    recalls = [float(share.mean()) for share in shares]
    return Headroom(int(counted.sum()), hit_rates[0], recalls[0], hit_rates[1:], recalls[1:])


def users_of_all(hits: Sequence[Hits], users: Users) -> Mask:
    """[U] who may count for every one of the runs, so that they are compared over the same users."""
    if users in ("truth", "judged"):
        return np.ones(hits[0].truth.n_users, dtype=bool)
    return np.logical_and.reduce([one.list_length > 0 for one in hits])


@dataclass(frozen=True)
class ItemsFound:
    """Of each held-out relevant item: ``item`` [n] its code in the truth, ``users`` [n] who hold it out,
    ``found`` [runs, n] in how many of their lists it stands within k, ``shown`` [runs, n] in how many lists
    of anybody who counts.
    """

    item: Ints
    users: Ints
    found: Ints
    shown: Ints


def items_found(truth: Truth, found: Sequence[Mask], exposures: Sequence[Exposure], k: int) -> ItemsFound:
    n = len(truth.items)
    users = np.bincount(truth.item[truth.relevant()], minlength=n)
    item = np.flatnonzero(users)
    finds = [np.bincount(truth.item[one], minlength=n)[item] for one in found]
    shows = [_shown(one, k, n)[item] for one in exposures]
    return ItemsFound(item, users[item], _together(finds, item), _together(shows, item))


def _together(of_runs: Sequence[Ints], item: Ints) -> Ints:
    return np.array(of_runs, dtype=np.int64).reshape(len(of_runs), len(item))


def _shown(exposure: Exposure, k: int, n: int) -> Ints:
    """[n] in how many lists each of the first n items stands within k."""
    end = int(exposure.shown.start[k])
    item, count = exposure.shown.item[:end], exposure.shown.count[:end]
    known = item < n
    total: Ints = np.bincount(item[known], weights=count[known], minlength=n).astype(np.int64)
    return total
