"""The hits of a run's recommendation lists in the test set, with their array shapes.

Letters in shapes: ``U`` users of the truth, ``H`` hits, ``K`` cutoffs 1..depth, ``N`` items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recdash.domain.inputs import Truth
from recdash.domain.kinds import Duplicates, Floats, Ints, Order


@dataclass(frozen=True)
class PopulationCounts:
    """Counts of users and rows of one run against one test set.

    ``truth_users``: users of the test set; ``counted``: those who count for accuracy. ``without_list`` and
    ``without_relevant``: users of the test set without recommendations, and without a relevant item.
    ``without_truth``: users of the run who are not in the test set. ``short_lists`` and ``cut_lists``: lists
    shorter than the depth, and lists cut at it. ``duplicates`` and ``duplicate_users``: repeated items, and
    users whose list has some. ``tied_rows`` and ``tied_users``: the same for tied scores; None if lists are
    not ordered by a score. ``rows``: rows of the run.
    """

    truth_users: int
    counted: int
    without_list: int
    without_relevant: int
    without_truth: int
    short_lists: int
    cut_lists: int
    duplicates: int
    duplicate_users: int
    tied_rows: int | None
    tied_users: int | None
    rows: int

    def as_dict(self) -> dict[str, int | None]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Respelled:
    """Ids that another table has too, but in another spelling.

    ``cause`` ends a sentence that begins with "they differ by". ``fix`` says how to change {column}, the
    column of these ids, or {other}, that of the table; ``other_way`` is (cause, fix) for changing the table
    instead. ``rows`` is how many more rows would match, ``apart`` how many of these have ids of which one
    table uses both spellings. ``as_written``: {table: rows whose id matches unchanged}. ``example``: an id
    and how the table spells it.
    """

    cause: str
    fix: str
    rows: int
    apart: int
    example: tuple[str, str]
    as_written: Mapping[str, int] = field(default_factory=dict)
    other_way: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class KnownIds:
    """How many item or user ids of a run, or of the test set, occur in the other tables of the evaluation.

    ``rows`` are recommended positions (items of a run), lists (users of a run) or ids (of the test set);
    ``known`` of them have an id that occurs in at least one table. ``ids`` counts distinct ids (None: not
    counted), ``unknown_ids`` those that occur in no table. ``by_table``: {table: rows whose id occurs in it}.

    ``unknown``: {table: some of the ids that it lacks}. ``respelled``: {table: ids that it has in another
    spelling}; the key "any" stands for all tables together.
    """

    rows: int
    known: int
    unknown_ids: int
    ids: int | None
    by_table: Mapping[str, int]
    unknown: Mapping[str, Sequence[str]] = field(default_factory=dict)
    respelled: Mapping[str, Respelled] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Returns the share of rows with a known id, from 0 to 1; 1 if there are no rows."""
        return self.known / self.rows if self.rows else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Returns the counts as JSON-ready values."""
        counts = {"rows": self.rows, "known": self.known, "share": self.share}
        return {**counts, "ids": self.ids, "unknown_ids": self.unknown_ids, "by_table": dict(self.by_table)}

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> KnownIds:
        """Returns the counts from the values that ``as_dict`` wrote."""
        return cls(**{name: value for name, value in facts.items() if name != "share"})


@dataclass(frozen=True)
class IdOverlap:
    """How many of a run's item and user ids occur in the test set, the catalogue and the training data.

    ``users`` is None if they were not counted. ``truth_items`` and ``truth_users`` count which ids of the
    test set occur in the run and the other tables; None if not counted.
    """

    items: KnownIds
    users: KnownIds | None
    truth_items: KnownIds | None = None
    truth_users: KnownIds | None = None

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values."""
        sides = {"items": self.items, "users": self.users}
        of_truth = {"truth_items": self.truth_items, "truth_users": self.truth_users}
        return {
            **{name: side.as_dict() if side else None for name, side in sides.items()},
            **{name: side.as_dict() for name, side in of_truth.items() if side},
        }

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> IdOverlap:
        """Returns the counts from the values that ``as_dict`` wrote."""
        names = ("items", "users", "truth_items", "truth_users")
        return cls(*(KnownIds.of(side) if (side := facts.get(name)) else None for name in names))  # type: ignore[arg-type]


@dataclass(frozen=True)
class RankCounts:
    """Counts by rank and item: at rank k the items are ``item[start[k-1]:start[k]]``, with the counts
    ``count`` of the same indexes.

    ``start`` has the shape [depth + 1]. Items ascend within a rank, and all counts are positive.
    """

    start: Ints
    item: Ints
    count: Ints

    @property
    def rank(self) -> Ints:
        """Returns the rank (from 1) of each entry of ``item``."""
        return np.repeat(np.arange(1, len(self.start), dtype=np.int32), np.diff(self.start))


@dataclass(frozen=True)
class ListMean:
    """The mean over lists of a value per list, at every k: ``mean``, ``std_error`` and ``n_lists``, each
    [depth].

    Mean and error are NaN at a k at which no list has a value.
    """

    mean: Floats
    std_error: Floats
    n_lists: Ints


@dataclass(frozen=True)
class Exposure:
    """Which items a run recommends, and in how many lists.

    ``shown`` counts the lists that have an item at a rank. ``ended`` counts lists that are shorter than
    ``depth``: how many lists of length L have the item, with L in place of the rank. ``items`` [N] are ids as
    text. ``list_means`` has the metrics that cannot be computed from these counts, as {canonical spec without
    its population: mean}.
    """

    items: Sequence[str]
    shown: RankCounts
    ended: RankCounts
    n_lists: int
    list_means: Mapping[str, ListMean] = field(default_factory=dict)


@dataclass(frozen=True)
class TiedHits:
    """Hits among items with tied scores, whose order within the list is arbitrary.

    ``user`` [J] ascends; ``row`` [J] is the truth row that was hit; ``first`` and ``last`` [J] are the ranks
    (from 1) at which the tie begins and ends. Ties that begin beyond the depth are left out; ``last`` may be
    beyond it.
    """

    user: Ints
    row: Ints
    first: Ints
    last: Ints


@dataclass(frozen=True)
class Hits:
    """The hits of one run's lists in the test set: all that any accuracy metric needs.

    ``user`` [H] ascends; ``rank`` [H] is 1..depth and ascends within a user; ``row`` [H] is the truth row
    that was hit, relevant or not, because thresholds are applied later. ``list_length`` [U] is the number of
    items in the list of each truth user, at most ``depth``; 0 without a list.

    ``exposure`` counts the recommended items in lists of users with a relevant item, ``other_exposure`` those
    in all other lists of the run; None if they were not counted. ``shown_to`` has the exposure of each
    requested group of users. ``unknown_lengths`` [S] are the lengths of the lists of users outside the test
    set; None if not counted. ``ties`` is None if lists are not ordered by a score. ``overlap`` counts known
    ids; None if the hits come from the store.
    """

    truth: Truth
    depth: int
    user: Ints
    rank: Ints
    row: Ints
    list_length: Ints
    exposure: Exposure | None
    ledger: PopulationCounts
    order: Order
    ties: TiedHits | None = None
    shown_to: Sequence[Exposure] = ()
    other_exposure: Exposure | None = None
    unknown_lengths: Ints | None = None
    duplicates: Duplicates = "first"
    overlap: IdOverlap | None = None
