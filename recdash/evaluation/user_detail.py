"""Details of one user: test items, history, and the lists of several runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.inputs import Truth, Upload
from recdash.domain.kinds import Ints
from recdash.engines import Reference
from recdash.engines.attributes import SEPARATORS
from recdash.engines.user_lists import UserLists
from recdash.evaluation.attribute_shares import attributes_of
from recdash.sorting import order_of

MOST_ATTRIBUTES = 2
"""Number of attributes that are shown next to a title, at most."""


@dataclass(frozen=True)
class CatalogueItem:
    """An item for display; ``title`` is the item's id if the catalogue has no title."""

    id: str
    title: str
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeldOut:
    """A test row of the user: the item, its gain, and whether that makes it relevant."""

    item: CatalogueItem
    gain: float
    relevant: bool


@dataclass(frozen=True)
class ListPlace:
    """One position of a list. ``before`` is the item's rank in the baseline's whole list; None if it is not
    in it.
    """

    rank: int
    item: CatalogueItem
    hit: bool
    before: int | None


@dataclass(frozen=True)
class UserList:
    """The beginning of a run's list for the user; ``length`` is that of the whole list up to the depth (0: no
    list).

    ``places`` are the shown positions, k at most. ``hits`` counts the relevant items within k, ``shared`` the
    items within k that the baseline has within k too.
    """

    run_id: str
    places: tuple[ListPlace, ...]
    length: int
    hits: int
    shared: int


@dataclass(frozen=True)
class OneUser:
    """A user of the test set. ``counts`` is False for a user without a relevant row.

    ``history`` has some of the user's ``n_history`` train items: the newest ones, newest first, if ``dated``;
    else the order is that of the file.
    """

    user_id: str
    counts: bool
    graded: bool
    held_out: tuple[HeldOut, ...]
    history: tuple[CatalogueItem, ...]
    n_history: int
    dated: bool
    lists: tuple[UserList, ...]


# ── items ────────────────────────────────────────────────────────────────────────────────────


class ItemFacts:
    """Looks up titles and a few attributes of items by their codes, in the catalogue if there is one."""

    def __init__(self, reference: Reference) -> None:
        catalogue = reference.tables.get("catalogue")
        self.table: pa.Table | None = None if catalogue is None else catalogue.table
        self.attributes = tuple(attributes_of(reference)[:MOST_ATTRIBUTES])
        self._row = np.full(len(reference.items), -1, dtype=np.int64)
        if self.table is not None:
            self._row[reference.items.codes(self.table["item_id"], grow=False)] = np.arange(len(self.table))

    def of(self, codes: Ints, ids: Sequence[str]) -> list[CatalogueItem]:
        """Returns the items with these codes. ``ids`` are the ids of all codes, including codes of items that
        are in no table.
        """
        known = codes < len(self._row)
        row = np.where(known, self._row[np.where(known, codes, 0)], -1) if len(self._row) else codes * 0 - 1
        titles, *attributes = (self._texts(name, row) for name in ("title", *self.attributes))
        items = []
        for index, code in enumerate(codes.tolist()):
            texts = tuple(text for column in attributes if (text := column[index]))
            items.append(CatalogueItem(ids[code], titles[index] or ids[code], texts))
        return items

    def titles(self, codes: Ints) -> list[str]:
        """Returns the titles of the items with these codes; an empty text for an item without a title."""
        return self._texts("title", self._row[codes])

    def _texts(self, column: str, row: Ints) -> list[str]:
        """Returns the cells of a column in these rows of the catalogue, as text; an empty text for the row −1
        and for empty cells.
        """
        if self.table is None or column not in self.table.column_names:
            return [""] * len(row)
        cells = self.table[column].take(pa.array(np.maximum(row, 0))).to_pylist()
        return [
            "" if index < 0 or cell is None else _text(cell)
            for index, cell in zip(row.tolist(), cells, strict=True)
        ]


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, list):
        return ", ".join(map(str, cell))
    return ", ".join(part.strip() for part in re.split(SEPARATORS, str(cell)) if part.strip())


# ── history ──────────────────────────────────────────────────────────────────────────────────


class Histories:
    """The train items of each user of the test set: newest first if the training data has times, else in file
    order.
    """

    def __init__(self, train: Upload, reference: Reference) -> None:
        table = train.table
        self.dated = "timestamp" in table.column_names and table["timestamp"].null_count < len(table)
        user = reference.users.codes(table["user_id"], grow=False)
        item = reference.items.codes(table["item_id"], grow=False)
        rows: Ints = np.arange(len(table))
        if self.dated:  # newest first
            by_time = pc.sort_indices(table.select(["timestamp"]), [("timestamp", "descending")])
            rows = by_time.to_numpy().astype(np.int64)
        rows = rows[user[rows] >= 0]
        rows = rows[order_of(user[rows])]
        self._start = np.searchsorted(user[rows], np.arange(reference.truth.n_users + 1))
        self._item = item[rows]

    def of(self, user: int) -> Ints:
        """Returns the codes of the user's train items, without repeats."""
        item = self._item[self._start[user] : self._start[user + 1]]
        _, first = np.unique(item, return_index=True)
        return item[np.sort(first)]


# ── lists ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Beside:
    """Compares the lists of one user with the baseline's list; ``baseline`` is None while the baseline's own
    list is made.
    """

    truth: Truth
    user: int
    facts: ItemFacts
    baseline: UserLists | None
    k: int
    most: int

    @cached_property
    def _relevant(self) -> Ints:
        rows = slice(self.truth.start[self.user], self.truth.start[self.user + 1])
        return self.truth.item[rows][self.truth.relevant()[rows]]

    @cached_property
    def _before(self) -> Mapping[str, int]:
        """Returns {item id: its rank in the baseline's list}."""
        if self.baseline is None:
            return {}
        items = self.baseline.items
        return {items[code]: rank for rank, code in enumerate(self.baseline.of(self.user).tolist(), start=1)}

    def list_of(self, run_id: str, lists: UserLists) -> UserList:
        codes = lists.of(self.user)
        first_k = codes[: self.k]
        hit = np.isin(first_k, self._relevant)
        ranks = [self._before.get(lists.items[code]) for code in first_k.tolist()]
        items = self.facts.of(first_k[: self.most], lists.items)
        places = tuple(
            ListPlace(rank, item, bool(hit[rank - 1]), ranks[rank - 1])
            for rank, item in enumerate(items, start=1)
        )
        shared = sum(rank is not None and rank <= self.k for rank in ranks)
        return UserList(run_id, places, len(codes), int(hit.sum()), shared)


def held_out_of(truth: Truth, user: int, facts: ItemFacts) -> tuple[HeldOut, ...]:
    """Returns the user's test rows: relevant ones first, then by descending gain."""
    rows = np.arange(truth.start[user], truth.start[user + 1])
    relevant, gain = truth.relevant()[rows], truth.gain[rows].astype(np.float64)
    order = np.lexsort((-gain, ~relevant))
    items = facts.of(truth.item[rows][order], truth.items)
    return tuple(
        HeldOut(item, float(gain[index]), bool(relevant[index]))
        for item, index in zip(items, order, strict=True)
    )
