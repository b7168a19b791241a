"""How many of a run's items and users the truth, the catalogue and the training data know."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from recdash.domain import Exposure, Ints, KnownIds, Mask
from recdash.engines.blocks import Block
from recdash.engines.ids import UNKNOWN, IdIndex, IdList
from recdash.engines.reference import Reference

SAMPLE = 5_000
"""So many unknown ids are kept, spread over all of them, to look for another spelling."""


def known_items(exposure: Exposure, reference: Reference) -> KnownIds:
    """The places of the lists by what is known of their items."""
    n_known = len(reference.items)
    weights = np.bincount(exposure.shown.item, weights=exposure.shown.count, minlength=n_known)
    places: Ints = weights.astype(np.int64)
    unknown = np.flatnonzero(places[n_known:]) + n_known
    return KnownIds(
        rows=int(places.sum()),
        known=int(places[:n_known].sum()),
        unknown_ids=len(unknown),
        ids=int(np.count_nonzero(places)),
        by_table={name: int(places[codes].sum()) for name, codes in _codes_by_table(reference).items()},
        sample=_sample(unknown, places[unknown], exposure.items),
    )


def _codes_by_table(reference: Reference) -> dict[str, Ints]:
    """The item codes of each table that there is."""
    codes: dict[str, Ints] = {"truth": np.arange(len(reference.truth.items))}
    if reference.catalogue is not None:
        codes["catalogue"] = reference.catalogue
    if reference.train_users is not None:
        codes["train"] = np.flatnonzero(reference.train_users)
    return codes


def _sample(codes: Ints, rows: Ints, ids: object) -> dict[str, int]:
    """{id: its rows} of some of the codes."""
    if len(codes) > SAMPLE:
        spread = np.linspace(0, len(codes) - 1, SAMPLE).astype(np.int64)
        codes, rows = codes[spread], rows[spread]
    return {ids[code]: count for code, count in zip(codes.tolist(), rows.tolist(), strict=True)}  # type: ignore[index]


class ItemWatch:
    """Counts known places as the lists pass, where nothing else counts what is shown.

    ``users`` [U]: whose lists count. Only the rows of unknown items are looked at one by one.
    """

    def __init__(self, users: Mask, reference: Reference) -> None:
        self.users, self.n_known = users, len(reference.items)
        self.n_truth = len(reference.truth.items)
        self.rows = self.in_truth = 0
        self.unknown = np.zeros(0, dtype=np.int64)

    def see(self, block: Block) -> None:
        """Lists are cut at the depth already."""
        of_counted = self.users[block.user]
        item = block.item if of_counted.all() else block.only_lists(of_counted).item
        self.rows += len(item)
        most = int(item.max(initial=UNKNOWN))
        self.in_truth += len(item) if most < self.n_truth else int(np.count_nonzero(item < self.n_truth))
        if most >= self.n_known:
            counts = np.bincount(item[item >= self.n_known] - self.n_known, minlength=len(self.unknown))
            counts[: len(self.unknown)] += self.unknown
            self.unknown = counts

    def known_items(self, items: IdIndex) -> KnownIds:
        """Of all that was seen; the number of different ids is not counted."""
        unknown = np.flatnonzero(self.unknown)
        rows = self.unknown[unknown]
        sample = _sample(unknown + self.n_known, rows, items.ids())
        known = self.rows - int(rows.sum())
        return KnownIds(self.rows, known, len(unknown), None, {"truth": self.in_truth}, sample)


def known_users(n_served: int, unknown: Ints, users: IdIndex, reference: Reference) -> KnownIds:
    """The run's users: ``n_served`` of the truth have a list; ``unknown`` are the codes of the others."""
    ids, codes = users.ids(), unknown
    by_table: Mapping[str, int] = {"truth": n_served}
    if reference.train_ids is not None:
        in_train = reference.train_ids.codes(_as_arrow(ids, codes), grow=False) != UNKNOWN
        codes = codes[~in_train]
    n_users = n_served + len(unknown)
    sample = _sample(codes, np.ones(len(codes), dtype=np.int64), ids)
    return KnownIds(n_users, n_users - len(codes), len(codes), n_users, by_table, sample)


def _as_arrow(ids: IdList, codes: Ints) -> pa.Array:
    return pa.array([ids[code] for code in codes.tolist()], pa.string())


def written_ids(index: IdIndex) -> pa.Array:
    """Each id that an index knows: int64 where all are plain numbers, else text."""
    return index.ids().to_arrow()
