"""Hits of a run's lists in the truth, with shapes.

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
    """Population counts of one run against one truth."""

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
    """Ids of one side that a table would know in another spelling.

    ``cause`` ends a sentence that begins with "they differ by"; ``fix`` is what to do about {column}, the
    column of these ids, or {other}, that of the table; ``other_way`` is cause and fix if the table is to be
    changed. ``rows`` more would be known, ``apart`` of them with ids of which one table has both spellings;
    ``as_written`` {table: the rows whose ids it has unchanged}. ``example``: such an id, and the table's.
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
    """How many of the ids of one kind, items or users, the tables of the evaluation know.

    Of a run ``rows`` are positions of lists (items) or lists (users), of the truth its ids; ``known`` of them
    have an id that one of the tables knows. ``ids`` counts different ids (None: not counted), ``unknown_ids``
    those that no table knows; ``by_table``: the rows whose id the truth, catalogue, train (or the run) knows.
    ``unknown`` holds a few ids that a table does not know, ``respelled`` what it would know in another
    spelling; under "any", of all tables together.
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
        """Returns the share of known rows, from 0 to 1; 1 without any rows."""
        return self.known / self.rows if self.rows else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Returns the counts as JSON-ready values."""
        counts = {"rows": self.rows, "known": self.known, "share": self.share}
        return {**counts, "ids": self.ids, "unknown_ids": self.unknown_ids, "by_table": dict(self.by_table)}

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> KnownIds:
        """Returns the value that ``as_dict`` wrote."""
        return cls(**{name: value for name, value in facts.items() if name != "share"})


@dataclass(frozen=True)
class IdOverlap:
    """What the tables of the evaluation know of a run's ids; ``users`` is None if not counted.

    ``truth_items`` and ``truth_users``: what the run and the other tables know of the truth's; None if not
    counted.
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
        """Returns the value that ``as_dict`` wrote."""
        names = ("items", "users", "truth_items", "truth_users")
        return cls(*(KnownIds.of(side) if (side := facts.get(name)) else None for name in names))  # type: ignore[arg-type]


@dataclass(frozen=True)
class RankCounts:
    """Counts by rank and item: at rank k are the items ``item[start[k-1]:start[k]]``, ``count`` times.

    ``start`` [depth + 1]; items ascend within a rank and counts are positive.
    """

    start: Ints
    item: Ints
    count: Ints

    @property
    def rank(self) -> Ints:
        """Returns the rank of each entry, from 1."""
        return np.repeat(np.arange(1, len(self.start)), np.diff(self.start))


@dataclass(frozen=True)
class ListMean:
    """A per-list value at every k: its mean [depth], standard error [depth] and lists [depth].

    NaN if no list has the value at that k.
    """

    mean: Floats
    std_error: Floats
    n_lists: Ints


@dataclass(frozen=True)
class Exposure:
    """Which items were shown, and in how many lists.

    ``shown``: in how many lists an item is at a rank. ``ended``: of the lists that stop before ``depth``, how
    many of length L have the item (rank standing for L). ``items`` [N] ids as text. ``list_means`` are those
    metrics that the counts cannot give, by canonical spec without its population.
    """

    items: Sequence[str]
    shown: RankCounts
    ended: RankCounts
    n_lists: int
    list_means: Mapping[str, ListMean] = field(default_factory=dict)


@dataclass(frozen=True)
class TiedHits:
    """Truth rows in a tie: among tied scores of one list their order is arbitrary.

    ``user`` [J] ascending, ``row`` [J] the truth row, ``first`` and ``last`` [J] the ranks (from 1) at which
    the tie begins and ends. Ties that begin beyond the depth are not kept; ``last`` may be beyond it.
    """

    user: Ints
    row: Ints
    first: Ints
    last: Ints


@dataclass(frozen=True)
class Hits:
    """The hits of one run's lists in the truth: all that any accuracy metric needs.

    ``user`` [H] ascending, ``rank`` [H] 1..depth ascending within a user, ``row`` [H] the truth row that was
    hit (relevant or not: thresholds are applied later); ``list_length`` [U] items kept per truth user (0 = no
    list), at most ``depth``. ``exposure`` is None if it was not requested, ``ties`` if the lists were not
    ordered by a score; ``shown_to`` has the exposure of each requested group of users. ``overlap`` counts
    known ids; None for stored hits.

    ``exposure`` is of the lists of users with a relevant item, ``other_exposure`` of all other lists of the
    run; ``unknown_lengths`` [S] are the lengths of the lists of users who are not in the truth. Both are None
    if such lists were not counted.
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
