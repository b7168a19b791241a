"""The tables from which reference candidates are computed, with common codes of users and items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from recdash.domain.inputs import Truth, Upload
from recdash.domain.kinds import Ints, TableKind
from recdash.engines import Reference
from recdash.sorting import distinct


@dataclass(frozen=True)
class RankerInputs:
    """The tables of an evaluation, with common codes: ``U`` users of the truth, ``N`` items of all tables."""

    reference: Reference
    tables: Mapping[TableKind, Upload] = field(default_factory=dict)
    depth: int = 100

    @property
    def truth(self) -> Truth:
        return self.reference.truth

    @property
    def n_items(self) -> int:
        return len(self.reference.items)

    def item_codes(self, kind: TableKind) -> Ints:
        """Returns the code of each row's item in a table; −1 for an item without a code.

        It works on a copy of the index of items, so that the index does not change.
        """
        return self.reference.items.copy().codes(self.tables[kind].table["item_id"], grow=False)

    @cached_property
    def id_order(self) -> Ints:
        """Returns [N] the position of each item's id among all ids sorted as text, which breaks ties."""
        place = np.empty(self.n_items, dtype=np.int64)
        ids = list(self.reference.items.ids())
        place[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
        return place

    @cached_property
    def users_by_id(self) -> list[int]:
        """Returns [U] the users sorted by id as text.

        Random lists then do not depend on the order of rows.
        """
        ids = list(self.truth.users)
        return sorted(range(len(ids)), key=ids.__getitem__)

    @cached_property
    def history(self) -> tuple[Ints, Ints]:
        """Returns ``start`` [U + 1] and ``item``: what each user of the truth has in the training data.

        User u has the items ``item[start[u]:start[u + 1]]``, ascending and each once.
        """
        if "train" not in self.tables:
            return np.zeros(self.truth.n_users + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
        user = self.reference.users.copy().codes(self.tables["train"].table["user_id"], grow=False)
        in_truth = user >= 0
        pairs = distinct(user[in_truth].astype(np.int64) * self.n_items + self.item_codes("train")[in_truth])
        start = np.searchsorted(pairs, np.arange(self.truth.n_users + 1) * self.n_items)
        return start, pairs % self.n_items

    def seen(self, user: int) -> Ints:
        """Returns the items that a user has in the training data, ascending."""
        start, item = self.history
        return item[start[user] : start[user + 1]]

    @cached_property
    def ids(self) -> tuple[pa.Array, pa.Array]:
        """Returns the ids of the users and the ids of the items, in the order of their codes."""
        return self.reference.users.ids().to_arrow(), self.reference.items.ids().to_arrow()
