"""Counts how many ids of a run occur in the truth, the catalogue and the training data, and how many ids of
the truth occur in the run and the other tables. Also finds ids that would match in another spelling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.hits import Exposure, IdOverlap, KnownIds, Respelled
from recdash.domain.kinds import Ints, Mask
from recdash.engines.blocks import Block
from recdash.engines.id_spelling import LEAST_MEETING, distinguishable, likely_repair
from recdash.engines.ids import UNKNOWN, ColumnTexts, IdIndex, IdList
from recdash.engines.reference import Reference

SAMPLE = 5_000
"""Number of unknown ids, sampled evenly, that are tried in other spellings."""
WELL_KNOWN = 0.8
"""If a table contains more than this share of rows, it is assumed to spell ids alike."""
N_EXAMPLES = 3
_PAIRS_AT_ONCE = 1 << 18
"""Number of (item, rank) pairs whose positions are counted at a time."""
_PLAIN_NUMBER = r"^(0|-?[1-9]\d{0,17})$"
ANY = "any"
"""The key that stands for all tables together in place of one table's name."""


class IdTexts:
    """The ids by code; they are converted to an array only once."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids

    def __getitem__(self, code: int) -> str:
        return self._ids[code]

    def at(self, codes: Ints) -> pa.Array:
        """Returns the ids of some codes: int64 if all are plain numbers, else texts."""
        some = self._whole.take(pa.array(codes))
        is_number = pa.types.is_integer(some.type)
        if is_number or not pc.all(pc.match_substring_regex(some, _PLAIN_NUMBER)).as_py():
            return some
        return some.cast(pa.int64())

    @cached_property
    def _whole(self) -> pa.Array:
        if isinstance(self._ids, IdList | ColumnTexts):
            return self._ids.to_arrow()
        return pa.array(self._ids, pa.string())


@dataclass(frozen=True)
class IdCounts:
    """The ids of one side by their codes, and the tables in which they are looked up.

    ``rows`` [N] is how often each id occurs. ``has`` [n] marks which of the first n codes occur in at least
    one table, ``tables`` is {name: mask [n] of those in this table}. ``separately`` are the tables that are
    also compared one by one. If a table in ``telling`` has two spellings, they are two ids, not one; the same
    holds for two prefixes that occur among the ids themselves.
    """

    ids: IdTexts
    rows: Ints
    has: Mask
    tables: Mapping[str, Mask]
    separately: Sequence[str]
    telling: Mapping[str, Mask]

    def known(self) -> KnownIds:
        """Returns how many of the occurring ids are in the tables."""
        counted = self.rows[: len(self.has)]
        by_table = {name: int(counted[has].sum()) for name, has in self.tables.items()}
        masks = {ANY: self.has, **{name: self.tables[name] for name in self.separately}}
        unknown = {name: self._present[~_in(self._present, has)] for name, has in masks.items()}
        examples = {
            name: [self.ids[code] for code in codes[:N_EXAMPLES].tolist()] for name, codes in unknown.items()
        }
        return KnownIds(
            int(self.rows.sum()),
            int(counted[self.has].sum()),
            len(unknown[ANY]),
            int(np.count_nonzero(self.rows)),
            by_table,
            examples,
            self._respelled(by_table, unknown),
        )

    @cached_property
    def _present(self) -> Ints:
        """Returns the codes of the ids that occur."""
        return np.flatnonzero(self.rows)

    def _respelled(self, by_table: Mapping[str, int], unknown: Mapping[str, Ints]) -> dict[str, Respelled]:
        """Returns {table: ids that match in another spelling}, for tables that lack a notable share of the
        ids and, under ``ANY``, for all tables together. Tables without such a match are left out.
        """
        enough = WELL_KNOWN * self.rows.sum()
        tables = {name: self.tables[name] for name in self.separately if by_table[name] <= enough}
        if len(unknown[ANY]) and not any(np.array_equal(has, self.has) for has in tables.values()):
            tables[ANY] = self.has
        respelled = {
            name: self._in_another_spelling(unknown[name], has)
            for name, has in tables.items()
            if len(unknown[name])
        }
        return {name: pair for name, pair in respelled.items() if pair is not None}

    def _in_another_spelling(self, unknown: Ints, has: Mask) -> Respelled | None:
        sample, of_table = unknown, np.flatnonzero(has)
        if len(unknown) > SAMPLE:
            sample = unknown[np.linspace(0, len(unknown) - 1, SAMPLE).astype(np.int64)]
        texts = self.ids.at(sample).cast(pa.string()).to_pylist()
        repair = likely_repair(texts, self.ids.at(of_table))
        if repair is None:
            return None
        least = repair.least
        if least == LEAST_MEETING and len(unknown) == len(self._present):  # all ids are unknown: few suffice
            least = min(least, len(unknown))
        if int(repair.meets.sum()) < least:
            return None
        ours, theirs = sample[repair.meets], of_table[repair.known_at[repair.meets]]
        scale = self.rows[unknown].sum() / self.rows[sample].sum()
        own = [self.rows > 0] if repair.is_exchange else []
        # a table that has both spellings uses them for different ids
        telling = [*self.telling.values(), *own]
        apart = np.logical_or.reduce([_in(ours, has) & _in(theirs, has) for has in telling])
        written = {name: ours[_in(ours, has)] for name, has in self.tables.items()}
        # cause and fix for changing the table instead
        reverse = likely_repair([self.ids[code] for code in theirs.tolist()], self.ids.at(ours))

        def n_rows(codes: Ints) -> int:
            return round(float(self.rows[codes].sum() * scale))

        return Respelled(
            cause=repair.cause,
            fix=repair.fix,
            rows=n_rows(ours),
            apart=n_rows(ours[apart]),
            example=distinguishable(self.ids[int(ours[0])], self.ids[int(theirs[0])]),
            as_written={name: n_rows(codes) for name, codes in written.items() if len(codes)},
            other_way=("", "") if reverse is None else (reverse.cause, reverse.fix),
        )


def _in(codes: Ints, has: Mask) -> Mask:
    """Returns a mask of the codes that are in a table; ``has`` [n] marks which of the first n codes are."""
    inside: Mask = codes < len(has)
    inside[inside] = has[codes[inside]]
    return inside


# ── items ────────────────────────────────────────────────────────────────────────────────────


def item_overlap(places: Ints, ids: Sequence[str], reference: Reference, users: UsersMet | None) -> IdOverlap:
    """Returns the overlap of a run that recommends the item ``ids[code]`` at ``places[code]`` positions.
    ``users`` is None if the run's users are not known.
    """
    n_truth, n_known = len(reference.truth.items), len(reference.items)
    texts = IdTexts(ids)
    tables = {name: _mask(codes, n_known) for name, codes in _codes_by_table(reference).items()}
    places = np.pad(places, (0, max(n_known - len(places), 0)))
    of_run = IdCounts(texts, places, np.ones(n_known, dtype=bool), tables, list(tables), tables)
    in_truth = np.arange(len(places)) < n_truth
    n_new = len(places) - n_known
    others = {name: np.pad(has, (0, n_new)) for name, has in tables.items() if name != "truth"}
    others = {"run": places > 0, **others}
    met = np.logical_or.reduce(list(others.values()))
    of_truth = IdCounts(texts, in_truth.astype(np.int64), met, others, (), {"truth": in_truth})
    return IdOverlap(
        of_run.known(),
        users.known() if users else None,
        of_truth.known(),
        users.truth_known() if users else None,
    )


def stored_overlap(exposure: Exposure, reference: Reference) -> IdOverlap:
    """Returns the overlap of items of a stored run, whose users are not known."""
    return item_overlap(places_of(exposure), exposure.items, reference, None)


def places_by_table(exposure: Exposure, reference: Reference) -> tuple[int, dict[str, int]]:
    """Returns the number of recommended positions, and {table: number of positions with an item of this
    table}.
    """
    places = places_of(exposure)
    return int(places.sum()), {
        name: int(places[codes].sum()) for name, codes in _codes_by_table(reference).items()
    }


def places_of(exposure: Exposure) -> Ints:
    """Returns [N] the number of list positions at which each item is recommended."""
    shown, n_items = exposure.shown, len(exposure.items)
    places = np.zeros(n_items)
    for first in range(0, len(shown.item), _PAIRS_AT_ONCE):  # bincount copies both columns as 8 bytes a row
        pairs = slice(first, first + _PAIRS_AT_ONCE)
        places += np.bincount(shown.item[pairs], weights=shown.count[pairs], minlength=n_items)
    return places.astype(np.int64)


def _codes_by_table(reference: Reference) -> dict[str, Ints]:
    """Returns {table: item codes} of the tables that are given."""
    codes: dict[str, Ints] = {"truth": np.arange(len(reference.truth.items))}
    if reference.catalogue is not None:
        codes["catalogue"] = reference.catalogue
    if reference.train_users is not None:
        codes["train"] = np.flatnonzero(reference.train_users)
    return codes


def _mask(codes: Ints, size: int) -> Mask:
    mask = np.zeros(size, dtype=bool)
    mask[codes] = True
    return mask


class ItemWatch:
    """Counts the positions of each item while lists are streamed; used when exposure is not counted.

    ``users`` [U] is a mask of the users whose lists count. ``n_known`` is the number of items with a code
    before the first list.
    """

    def __init__(self, users: Mask, n_known: int) -> None:
        self.users = users
        self.places: Ints = np.zeros(n_known, dtype=np.int64)

    def add(self, places: Ints, item: Ints) -> None:
        """Adds the positions of other lists; ``item`` has the code here of each item code of theirs."""
        self._make_room(int(item.max(initial=UNKNOWN)) + 1)
        # places may have room for more items than there are
        np.add.at(self.places, item, np.pad(places, (0, max(len(item) - len(places), 0)))[: len(item)])

    def _make_room(self, size: int) -> None:
        if size > len(self.places):
            self.places = np.pad(self.places, (0, max(size, len(self.places) * 9 // 8) - len(self.places)))

    def see(self, block: Block) -> None:
        """Counts the items of a block, whose lists must already be cut at the depth."""
        of_counted = self.users[block.user]
        item = block.item if of_counted.all() else block.only_lists(of_counted).item
        self._make_room(int(item.max(initial=UNKNOWN)) + 1)
        np.add.at(self.places, item, 1)


# ── users ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class UsersMet:
    """The users of a run, the truth and the training data: ``ids`` [N], those of the truth first.

    ``had_list`` [N] marks users with a list in the run, ``in_train`` [N] users of the training data; None
    without such data. ``n_truth`` is the number of users of the truth.
    """

    ids: IdList
    had_list: Mask
    n_truth: int
    in_train: Mask | None = None

    def known(self) -> KnownIds:
        """Returns how many of the run's users are in the truth and the training data."""
        tables = {"truth": self._in_truth, **self._train}
        has = np.logical_or.reduce(list(tables.values()))
        rows = self.had_list.astype(np.int64)
        return IdCounts(self._texts, rows, has, tables, list(tables), tables).known()

    def truth_known(self) -> KnownIds:
        """Returns how many of the truth's users have a list or are in the training data."""
        others = {"run": self.had_list, **self._train}
        met = np.logical_or.reduce(list(others.values()))
        rows = self._in_truth.astype(np.int64)
        return IdCounts(self._texts, rows, met, others, (), {"truth": self._in_truth}).known()

    @cached_property
    def _texts(self) -> IdTexts:
        return IdTexts(self.ids)

    @property
    def _in_truth(self) -> Mask:
        return np.arange(len(self.had_list)) < self.n_truth

    @property
    def _train(self) -> dict[str, Mask]:
        return {} if self.in_train is None else {"train": self.in_train}


def users_met(users: IdIndex, had_list: Mask, reference: Reference) -> UsersMet:
    """Returns the users of all three sides. The codes in ``users`` are those of the truth, then those of the
    run; ``had_list`` [n] marks the users with a list.
    """
    ids, n_truth = users.ids(), reference.truth.n_users
    if reference.train_ids is None or reference.history is None:
        return UsersMet(ids, had_list[: len(ids)], n_truth)
    everyone = reference.train_ids.copy()
    in_train = np.ones(len(everyone), dtype=bool)
    in_train[:n_truth] = reference.history > 0
    unknown = np.flatnonzero(had_list[n_truth:]) + n_truth
    codes = everyone.codes(pa.array([ids[code] for code in unknown.tolist()], pa.string()))
    served = _mask(codes, len(everyone))
    served[:n_truth] |= had_list[:n_truth]
    in_train = np.pad(in_train, (0, len(everyone) - len(in_train)))
    return UsersMet(everyone.ids(), served, n_truth, in_train)


def written_ids(index: IdIndex) -> pa.Array:
    """Returns all ids of an index: int64 if all are plain numbers, else texts."""
    return index.ids().to_arrow()
