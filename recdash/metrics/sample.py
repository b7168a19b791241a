"""The users who count and their hits: the part of ``Hits`` that every accuracy metric is computed from.

Letters in shapes: ``n`` users who count, ``H`` their relevant hits, ``J`` their judged hits, ``C`` groups of
users; ``U`` users and ``T`` rows of the truth, ``N`` items, ``S`` users who are not in the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from recdash.domain.hits import Hits, PopulationCounts
from recdash.domain.inputs import Truth
from recdash.domain.kinds import Floats, Ints, Mask, Numbers, Users
from recdash.errors import InputError, Problem
from recdash.sorting import distinct

_ROWS_OF_A_BLOCK = 1 << 16
_ROWS_OF_A_PART = 1 << 19
"""Number of relevant rows in a group of users.

With so few, the group's arrays stay in the processor's cache.
"""
_IDEALS_KEPT = 4
_CREDITS_KEPT = 8

Number = Callable[["RelevantHits"], Ints]
"""A function that returns one whole number per user, [n]."""


def relevant_items(sample: RelevantHits) -> Ints:
    """Returns [n] the number of relevant items of each user, m in the formulas."""
    return sample.n_relevant


@dataclass(frozen=True)
class UserGroups:
    """Groups of users who share one whole number, such as m.

    A norm depends on a user only through this number, so that it is computed once per group. ``number`` [C]
    has the distinct numbers, ``size`` [C] the number of users with each. ``cell`` [H] is the index of each
    hit in a flattened table [depth, C] of rank and group.
    """

    number: Ints
    size: Ints
    cell: Ints


@dataclass(frozen=True)
class JudgedHits:
    """The hits of counted users on all judged items, relevant or not.

    ``user`` [J] is 0..n-1, ascending; ``rank`` [J] ascends within a user; ``relevant`` [J] marks relevant
    items. ``n_not_relevant`` [n] is the number of each user's truth rows that were judged not relevant.
    """

    user: Ints
    rank: Ints
    relevant: Mask
    n_not_relevant: Ints

    def up_to(self, k: int) -> JudgedHits:
        """Returns the hits with rank ≤ k.

        ``n_not_relevant`` stays the same, because it does not depend on the lists.
        """
        within = self.rank <= k
        return replace(self, user=self.user[within], rank=self.rank[within], relevant=self.relevant[within])

    def of_users(self, first: int, last: int) -> JudgedHits:
        """Returns the hits of the users first..last - 1, renumbered from 0."""
        rows = slice(*np.searchsorted(self.user, [first, last]).tolist())
        return JudgedHits(
            self.user[rows] - first, self.rank[rows], self.relevant[rows], self.n_not_relevant[first:last]
        )


@dataclass(frozen=True)
class ItemExpectedness:
    """How expected each item of the truth is, judged by its popularity in the training data.

    ``expected`` [items] is (n + 1 − rank) / n, where rank is the item's popularity rank among n items.
    ``why_unavailable`` says why the popularity is unknown, and is empty if it is known.
    """

    expected: Floats
    n_items: int
    why_unavailable: str = ""
    users_with: Ints | None = None
    """[items] the number of training users of each item; None if only the popularity ranks are known."""


def item_expectedness(users_with: Ints, n_items: int, n_truth_items: int) -> ItemExpectedness:
    """Returns how expected the items of the truth are.

    ``users_with`` [N] is the number of training users of each item; the items of the truth come first.
    Equally popular items share a rank. An item without training users gets 0.
    """
    levels = np.unique(users_with)
    here = users_with[:n_truth_items]
    place = len(levels) - np.searchsorted(levels, here)
    expected = np.where(here > 0, (n_items + 1.0 - place) / n_items, 0.0)
    return ItemExpectedness(expected, n_items, users_with=here)


class Ideals:
    """A cache of the users' ideal gains at some cutoffs, which all runs with the same truth share.

    It keeps the arrays [n] that were stored last. Several threads may use it at once.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, Floats] = {}

    def get(self, key: Hashable, compute: Callable[[], Floats]) -> Floats:
        """Returns the cached array for the key, or computes and stores it."""
        ideal = self._known.get(key)
        if ideal is None:
            ideal = self._known[key] = compute()
            drop_oldest(self._known, _IDEALS_KEPT)
        return ideal


def drop_oldest(known: dict[Any, Any], kept: int) -> None:
    """Removes all but the ``kept`` entries that were stored last; other threads may do so at once."""
    for oldest in list(known)[:-kept]:
        known.pop(oldest, None)


def _unknown_size(users: Users) -> None:
    """Returns None: the size of the population is unknown if the sample was not made from hits."""


@dataclass(frozen=True)
class RelevantHits:
    """The relevant hits of the n users who count, in the order of the truth.

    ``user`` [H] is 0..n-1, ascending; ``rank`` [H] starts at 1 and ascends within a user; ``gain`` [H] is the
    gain of each hit. Per user, [n]: ``n_relevant`` (m in the formulas; 0 for a user who counts without a
    relevant item), ``list_length`` (0 = no list) and ``truth_user``, the user's index in the truth,
    ascending. Users who are not in the truth come last and have the indexes after its last one.
    ``ideal_gain`` has each user's relevant gains in descending order; those of user u start at
    ``ideal_start[u]``, [n + 1].
    """

    depth: int
    user: Ints
    rank: Ints
    gain: Floats
    n_relevant: Ints
    list_length: Ints
    truth_user: Ints
    relevant_gain: Numbers
    """[Σm] gains of the relevant truth rows, one user after the other, in the narrow type of the truth."""
    item: Ints
    """[H] index of the truth item that was hit."""
    top_gain: float = 1.0
    """The largest gain in the truth, also of users who do not count."""
    cut_lists: int = 0
    """Number of the run's lists that were longer than the depth."""
    may_repeat: bool = False
    """True if a list may repeat an item and every occurrence counts (duplicates=keep)."""
    judged: JudgedHits | None = None
    """None if no item was judged not relevant."""
    expectedness: ItemExpectedness | None = None
    """None without training data."""
    relevant_item: Ints | None = None
    """[Σm] index of the truth item of each relevant row; None if the sample was not made from hits."""
    n_unknown: int = 0
    """Number of users who are not in the truth. They are the last ones."""
    with_every_grade: Callable[[], RelevantHits] | None = field(default=None, repr=False, compare=False)
    """Returns the same users with hits on every row with relevance above 0.

    None if the threshold excludes no such row. Few metrics ask, and collecting them takes as long as the
    sample itself.
    """
    population: Callable[[Users], int | None] = field(default=_unknown_size, repr=False, compare=False)
    """Returns how many users of the whole run count under a population rule; None if that is unknown."""
    ideals: Ideals = field(default_factory=Ideals, repr=False, compare=False)
    """Shared by the samples of several runs with the same users and truth."""

    @property
    def n_users(self) -> int:
        return len(self.n_relevant)

    @cached_property
    def positives(self) -> RelevantHits | None:
        """Returns the same users with hits on every row with relevance above 0; None if the threshold
        excludes no such row.
        """
        return self.with_every_grade and self.with_every_grade()

    def best_users(self, k: int) -> Iterator[RelevantHits]:
        """Yields one-user samples that reach the highest possible value at k.

        The first user has as many relevant items as any user here, at most k, all with the largest gain and
        ranked first. If lists may repeat items, two more users follow: both have an item of the largest gain
        at all k ranks, and the second one also has a relevant item of the smallest gain that is not in the
        list.
        """
        top = min(int(self.n_relevant.max(initial=0)), k)
        yield self._shown(np.arange(top), np.full(top, self.top_gain), k)
        if self.may_repeat:
            least = (self.positives or self).relevant_gain.min(initial=self.top_gain)
            yield self._shown(np.zeros(k, dtype=np.int64), np.array([self.top_gain]), k)
            yield self._shown(np.zeros(k, dtype=np.int64), np.array([self.top_gain, least]), k)

    def _shown(self, items: Ints, relevant_gain: Floats, k: int) -> RelevantHits:
        """Returns a one-user sample whose list of k items begins with the given relevant items."""
        return RelevantHits(
            depth=k,
            user=np.zeros_like(items),
            rank=np.arange(len(items)) + 1,
            gain=relevant_gain[items],
            n_relevant=np.array([len(relevant_gain)]),
            list_length=np.array([k]),
            truth_user=np.zeros(1, dtype=np.int64),
            relevant_gain=relevant_gain,
            item=items,
            top_gain=self.top_gain,
            population=lambda _: 1,
        )

    @cached_property
    def ordinal(self) -> Ints:
        """Returns [H] the ordinal of each hit among its user's hits, from 1."""
        return positions(self.user) + 1

    @cached_property
    def first_hit(self) -> Ints:
        """Returns [H] for each hit the index of its user's first hit."""
        return np.arange(len(self.user)) - self.ordinal + 1

    def user_groups(self, number: Number) -> UserGroups:
        """Returns the users grouped by the number that the function gives them; cached."""
        if number not in self._user_groups:
            of_user = number(self)
            often = np.bincount(of_user)
            present = np.flatnonzero(often)
            kind = np.zeros(len(often), dtype=np.int64)
            kind[present] = np.arange(len(present))
            cell = self.rank.astype(np.int64) - 1
            cell *= len(present)
            cell += kind[of_user][self.user]
            self._user_groups[number] = UserGroups(present, often[present], cell)
        return self._user_groups[number]

    @cached_property
    def _user_groups(self) -> dict[Number, UserGroups]:
        return {}

    @cached_property
    def credited(
        self,
    ) -> MutableMapping[Callable[[RelevantHits], Floats], dict[Number, tuple[Floats, Floats]]]:
        """Returns the cache of tables that were computed from credits.

        Its keys are the credit function and the function that groups users. Formulas with the same credit
        share the tables. An entry disappears when its credit function does.
        """
        return WeakKeyDictionary()

    @cached_property
    def m(self) -> Ints:
        """Returns [H] the number of relevant items of each hit's user."""
        return self.n_relevant[self.user]

    @cached_property
    def binary(self) -> bool:
        """Returns True if all relevant rows have the same gain, so that the gain cancels in a ratio."""
        return bool((self.relevant_gain == self.relevant_gain[:1]).all())

    @cached_property
    def ideal_start(self) -> Ints:
        return np.concatenate(([0], np.cumsum(self.n_relevant)))

    @cached_property
    def ideal_gain(self) -> Floats:
        best = np.empty(len(self.relevant_gain))
        for users, rows in self.user_blocks():
            m = self.n_relevant[users]
            best[rows] = sort_within(self.relevant_gain[rows], np.repeat(np.arange(len(m)), m))
        return best

    def user_blocks(self) -> Iterator[tuple[slice, slice]]:
        """Yields ranges of users and of their relevant rows, so few that arrays of a block stay in the
        processor's cache.

        Arrays of all rows at once are new memory each time: an ideal of 1.6 million rows took 90 ms in an
        open dashboard, and takes 20 block by block.
        """
        for first, last in self._user_ranges(_ROWS_OF_A_BLOCK):
            yield slice(first, last), slice(int(self.ideal_start[first]), int(self.ideal_start[last]))

    def up_to(self, k: int) -> RelevantHits:
        """Returns the same users with only their hits of rank ≤ k; the result for the latest k is cached."""
        cut = self._up_to.get(k)  # another thread may replace the cached k
        if cut is None:
            within = np.flatnonzero(self.rank <= k)
            hits = {name: getattr(self, name)[within] for name in ("user", "rank", "gain", "item")}
            cut = replace(self, **hits, judged=self.judged and self.judged.up_to(k))
            self._up_to.clear()
            self._up_to[k] = cut
        return cut

    def credit_up_to(self, credit: Callable[[RelevantHits], Floats], k: int) -> Floats:
        """Returns [n] the sum of each user's credits for hits of rank ≤ k.

        A hit's credit must not depend on hits below it. The hits are in the order of their ranks, so that
        another k takes no pass over those beyond it and no copy of the others; within a user the order is
        the same, and so is the sum.
        """
        user, order, edges = self._by_rank
        worth = self._credit_by_rank.get(credit)
        if worth is None:
            worth = self._credit_by_rank[credit] = credit(self)[order]
            drop_oldest(self._credit_by_rank, _CREDITS_KEPT)
        within = slice(int(edges[min(k, self.depth)]))
        total = np.bincount(user[within], weights=worth[within], minlength=self.n_users)
        return total.astype(np.float64, copy=False)  # without a hit they are integers

    @cached_property
    def _by_rank(self) -> tuple[Ints, Ints, Ints]:
        """Returns [H] users and [H] indexes of the hits in the order of their ranks, and the number of hits
        up to each rank 0..depth.
        """
        order = order_by_counting(self.rank)
        edges = np.cumsum(np.bincount(self.rank, minlength=self.depth + 1))
        return self.user[order].astype(np.int64), order.astype(np.int32), edges

    @cached_property
    def _credit_by_rank(self) -> dict[Callable[[RelevantHits], Floats], Floats]:
        """Returns the cache of the latest credits [H] in the order of ranks."""
        return {}

    @cached_property
    def _up_to(self) -> dict[int, RelevantHits]:
        return {}

    def parts(self) -> Iterator[RelevantHits]:
        """Yields the same hits in several samples, each for a range of users."""
        ranges = list(self._user_ranges(_ROWS_OF_A_PART))
        if len(ranges) < 2:
            yield self
            return
        yield from (self.of_users(first, last) for first, last in ranges)

    def of_users(self, first: int, last: int) -> RelevantHits:
        """Returns the sample of the users first..last - 1, renumbered from 0, with their hits."""
        users, rows = slice(first, last), slice(self.ideal_start[first], self.ideal_start[last])
        hits = slice(*np.searchsorted(self.user, [first, last]).tolist())
        return replace(
            self,
            user=self.user[hits].astype(np.int64) - first,
            rank=self.rank[hits],
            gain=self.gain[hits],
            item=self.item[hits],
            n_relevant=self.n_relevant[users],
            list_length=self.list_length[users],
            truth_user=self.truth_user[users],
            relevant_gain=self.relevant_gain[rows],
            relevant_item=None if self.relevant_item is None else self.relevant_item[rows],
            judged=self.judged and self.judged.of_users(first, last),
            with_every_grade=self.with_every_grade and (lambda: self.of_every_grade.of_users(first, last)),
            n_unknown=max(last - max(first, self.n_users - self.n_unknown), 0),
            ideals=Ideals(),
        )

    def in_truth(self) -> RelevantHits:
        """Returns the sample without the users who are not in the truth."""
        return self.of_users(0, self.n_users - self.n_unknown) if self.n_unknown else self

    @property
    def of_every_grade(self) -> RelevantHits:
        """Returns the same users with a hit on every item of relevance above 0, whatever the threshold."""
        return self if self.positives is None else self.positives

    def _user_ranges(self, n_rows: int) -> Iterator[tuple[int, int]]:
        """Yields ranges of users with about ``n_rows`` relevant rows each, as (first user, last user + 1)."""
        edges = np.searchsorted(self.ideal_start, np.arange(0, len(self.relevant_gain), n_rows))
        return pairwise(distinct(np.append(edges, self.n_users)).tolist())

    @cached_property
    def place_in_truth(self) -> Ints:
        """Returns [H] 1 + the number of the user's relevant items that have a higher grade than the hit."""
        grades = np.unique(self.ideal_gain)
        owner = np.repeat(np.arange(self.n_users), self.n_relevant)
        best_first, of_hit = (
            (user + 1) * len(grades) - np.searchsorted(grades, gain)
            for user, gain in ((owner, self.ideal_gain), (self.user.astype(np.int64), self.gain))
        )
        return np.searchsorted(best_first, of_hit) - self.ideal_start[self.user] + 1

    @cached_property
    def of_best_in_truth(self) -> RelevantHits:
        """Returns the same users, with the rank of each hit raised to the first k at which it counts.

        A hit counts at k if it is among the first k positions and among the user's k most relevant items.
        Items of the same grade share the better rank.
        """
        rank = np.maximum(self.rank, self.place_in_truth)
        within = np.flatnonzero(rank <= self.depth)
        order = within[np.lexsort((rank[within], self.user[within]))]
        hits = {name: getattr(self, name)[order] for name in ("user", "gain", "item")}
        return replace(self, **hits, rank=rank[order], judged=None)

    def of_judged(self) -> RelevantHits:
        """Returns the same users with a hit on every judged item, relevant or not.

        Returns the sample itself if no item was judged not relevant.
        """
        if self.judged is None:
            return self
        user, rank = self.judged.user, self.judged.rank
        none = np.zeros(len(user))
        return replace(self, user=user, rank=rank, gain=none, item=none.astype(np.int32))


def order_by_counting(values: Ints) -> Ints:
    """Returns the stable argsort of non-negative integers.

    Values below 65,536 are cast to 16 bits, which numpy sorts by counting, 5 times faster.
    """
    small = len(values) and values.max() < 1 << 16
    return np.argsort(values.astype(np.uint16) if small else values, kind="stable")


def positions(group: Ints) -> Ints:
    """Returns [H] 0, 1, 2 … within each run of equal consecutive values."""
    if len(group) == 0:
        return np.zeros(0, dtype=np.int64)
    begins = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
    return np.arange(len(group)) - np.repeat(begins, np.diff(np.append(begins, len(group))))


def sort_within(values: Numbers, owner: Ints) -> Floats:
    """Returns the values sorted in descending order within each owner; ``owner`` is ascending.

    Small whole numbers such as grades are counted per owner, which is 8 times faster than sorting. If there
    are too many distinct ones, each is packed with its owner into one integer and sorted, which is 4 times
    faster.
    """
    top = values.max(initial=0)
    small = len(values) and top < 1 << 20 and values.min() >= 0  # other values may be too large to cast
    if not small or ((whole := values.astype(np.int64)) != values).any():
        return values[np.lexsort((-values, owner))].astype(np.float64)
    downwards = np.arange(float(top), -1, -1.0)
    packed = owner * len(downwards) + (int(top) - whole)
    if packed[-1] < 2 * len(values):
        levels = np.tile(downwards, int(owner[-1]) + 1)
        return np.repeat(levels, np.bincount(packed, minlength=len(levels)))
    packed.sort()
    return downwards[packed % len(downwards)]


# ── the part of a sample that does not depend on the lists ───────────────────────────────────
# Runs in which the same users count share it: with 20 runs over 162,000 users, it is most of the time that a
# new relevance threshold takes.


@dataclass(frozen=True)
class CountedRows:
    """Rows of the truth, marked by ``marked`` [T], of the users who count, marked by ``counted`` [U].

    ``per_user`` [U] is the number of marked rows of each user of the truth.
    """

    truth: Truth
    marked: Mask
    counted: Mask
    per_user: Ints

    @cached_property
    def place(self) -> Ints | None:
        """Returns [U] the index of each user among those who count; None if all do."""
        return None if self.counted.all() else (np.cumsum(self.counted) - 1).astype(np.int32)

    @cached_property
    def users(self) -> Ints:
        """Returns [n] the users who count, as indexes into the truth."""
        return np.flatnonzero(self.counted)

    @cached_property
    def n_marked(self) -> Ints:
        """Returns [n] the number of marked rows of each user who counts."""
        return self.per_user[self.counted]

    @cached_property
    def of_counted(self) -> Mask:
        """Returns [T] the marked rows of users who count."""
        if self.place is None:
            return self.marked
        return self.marked & np.repeat(self.counted, np.diff(self.truth.start))

    @cached_property
    def _rows(self) -> Mask | slice:
        """Returns the marked rows of users who count; a slice if these are all, which copies nothing."""
        return slice(None) if self.of_counted.all() else self.of_counted

    @cached_property
    def top_gain(self) -> float:
        """Returns the largest gain in the truth, also of users who do not count."""
        return float(self.truth.gain.max(initial=0.0))

    @cached_property
    def gain(self) -> Numbers:
        """Returns [Σm] the gains of the marked rows of users who count."""
        return self.truth.gain[self._rows]

    @cached_property
    def item(self) -> Ints:
        """Returns [Σm] the items of the marked rows of users who count."""
        return self.truth.item[self._rows]


@dataclass(frozen=True)
class CountedTruth:
    """The rows of the truth by their use, of the users who count.

    ``n_relevant`` [U] is the number of relevant rows of each user of the truth. ``positive`` are the rows
    with relevance above 0; None if all of them are relevant. ``judged`` are the rows that were judged,
    relevant or not; None if none was judged not relevant. ``ideals`` are those of the relevant rows.
    """

    relevant: CountedRows
    positive: CountedRows | None
    judged: CountedRows | None
    ideals: Ideals = field(default_factory=Ideals, repr=False, compare=False)

    @property
    def n_relevant(self) -> Ints:
        return self.relevant.per_user

    def of_users(self, counted: Mask) -> CountedTruth:
        """Returns the rows with other users who count, [U]."""
        relevant, positive, judged = (
            rows and replace(rows, counted=counted) for rows in (self.relevant, self.positive, self.judged)
        )
        return CountedTruth(relevant or self.relevant, positive, judged)


def counted_truth(truth: Truth, only: Mask | None = None, rows: Mask | None = None) -> CountedTruth:
    """Returns the rows of the users with a relevant item, restricted by ``only`` and ``rows`` as in
    ``sample_of``.

    A row with a relevance of 0 or more was judged, a row with a negative relevance was not.
    """
    relevant = truth.relevant() if rows is None else truth.relevant() & rows
    n_relevant = truth.per_user(relevant)
    counted = n_relevant > 0 if only is None else (n_relevant > 0) & only

    def others_too(marked: Mask) -> CountedRows | None:
        """Returns these rows; None if they are the relevant ones."""
        if np.array_equal(marked, relevant):
            return None
        return CountedRows(truth, marked, counted, truth.per_user(marked))

    above_zero, from_zero = (
        mark if rows is None else mark & rows for mark in (truth.gain > 0, truth.gain >= 0)
    )
    has_positive = truth.threshold is not None and bool((above_zero & ~relevant).any())
    positive = others_too(above_zero) if has_positive else None
    judged = others_too(relevant | from_zero)
    return CountedTruth(CountedRows(truth, relevant, counted, n_relevant), positive, judged)


def sample_of(
    hits: Hits,
    users: Users = "truth",
    only: Mask | None = None,
    rows: Mask | None = None,
    expectedness: ItemExpectedness | None = None,
    shared: CountedTruth | None = None,
) -> RelevantHits:
    """Returns the users of ``hits`` who count, with their relevant hits.

    ``users`` is the population rule (see ``domain.kinds.Users``). ``only`` [U] restricts to some users of the
    truth. ``rows`` [T] restricts to some rows of the truth; a user then counts only with a relevant row among
    them. ``shared`` is the ``counted_truth`` of the same truth, users and rows, if it is known from another
    run; it is that of users=truth.

    Raises InputError for users=run if the lists of users who are not in the truth were not counted.
    """
    truth = hits.truth
    rows_by_use = shared or counted_truth(truth, only, rows)
    if shared is None and users != "truth":
        counted = users_who_count(hits, rows_by_use.n_relevant, users, of_rows=rows is not None)
        rows_by_use = rows_by_use.of_users(counted if only is None else counted & only)
    sample = replace(
        _sample_of_rows(hits, rows_by_use.relevant, rows_by_use.ideals),
        judged=_judged(hits, rows_by_use),
        expectedness=expectedness,
        population=partial(_population, hits, rows_by_use.n_relevant, only, rows is not None),
    )
    if rows_by_use.positive is not None:
        every_grade = partial(_sample_of_rows, hits, rows_by_use.positive, Ideals())
        sample = replace(sample, with_every_grade=every_grade)
    if users == "run" and only is None and rows is None:
        return _with_unknown_users(sample, hits)
    return sample


def _population(hits: Hits, n_relevant: Ints, only: Mask | None, of_rows: bool, users: Users) -> int | None:
    """Returns the number of users who count under a rule within a slice.

    Returns None if lists of unknown users were not counted.
    """
    counted = users_who_count(hits, n_relevant, users, of_rows=of_rows)
    if users != "run" or only is not None or of_rows:
        return int((counted if only is None else counted & only).sum())
    return None if hits.unknown_lengths is None else int(counted.sum()) + len(hits.unknown_lengths)


def _sample_of_rows(hits: Hits, rows: CountedRows, ideals: Ideals) -> RelevantHits:
    """Returns the users who count and their hits on these rows."""
    truth = hits.truth
    marked = rows.of_counted[hits.row]
    is_hit = slice(None) if marked.all() else marked  # a slice copies nothing
    row = hits.row[is_hit]
    return RelevantHits(
        depth=hits.depth,
        user=hits.user[is_hit] if rows.place is None else rows.place[hits.user[is_hit]],
        rank=hits.rank[is_hit],
        gain=truth.gains(row),
        n_relevant=rows.n_marked,
        list_length=hits.list_length if rows.place is None else hits.list_length[rows.counted],
        truth_user=rows.users,
        relevant_gain=rows.gain,
        relevant_item=rows.item,
        item=truth.item[row],
        top_gain=rows.top_gain,
        cut_lists=hits.ledger.cut_lists,
        may_repeat=hits.duplicates == "keep",
        ideals=ideals,
    )


def users_who_count(hits: Hits, n_relevant: Ints, users: Users, *, of_rows: bool = False) -> Mask:
    """Returns [U] a mask of the truth's users who count under a population rule.

    ``n_relevant`` [U] is the number of each user's relevant rows. With ``of_rows`` it covers only some rows
    of the truth, and only users with a relevant one among them count.
    """
    listed = hits.list_length > 0
    in_truth = n_relevant > 0 if of_rows else np.diff(hits.truth.start) > 0
    rules: Mapping[Users, Callable[[], Mask]] = {
        "truth": lambda: n_relevant > 0,
        "both": lambda: (n_relevant > 0) & listed,
        "judged": lambda: in_truth,
        "judged_both": lambda: in_truth & listed,
        "run": lambda: in_truth & listed,
    }
    return rules[users]()


def population_counts(hits: Hits, users: Users) -> PopulationCounts:
    """Returns the run's counts of users and rows under a population rule."""
    if users == "truth":
        return hits.ledger
    relevant = hits.truth.per_user(hits.truth.relevant())
    counted = int(users_who_count(hits, relevant, users).sum())
    unknown = hits.ledger.without_truth if users == "run" else 0
    return replace(hits.ledger, counted=counted + unknown)


def _with_unknown_users(sample: RelevantHits, hits: Hits) -> RelevantHits:
    """Returns the sample extended by the users who are not in the truth.

    They have a list and no relevant item. Raises InputError if their lists were not counted.
    """
    if hits.unknown_lengths is None:
        text = "lists of users outside the test set were not counted when the run was scored"
        fix = "Upload the run again, or use users=truth."
        raise InputError(Problem("other-lists-unknown", "users=run", text, fix))
    return _lengthened(sample, hits.truth.n_users, hits.unknown_lengths)


def _lengthened(sample: RelevantHits, n_truth_users: int, lengths: Ints) -> RelevantHits:
    """Returns the sample with users appended who have lists of these ``lengths`` [S] and no relevant item."""
    none = np.zeros(len(lengths), dtype=sample.n_relevant.dtype)
    judged = sample.judged and replace(
        sample.judged, n_not_relevant=np.concatenate((sample.judged.n_not_relevant, none))
    )
    return replace(
        sample,
        n_relevant=np.concatenate((sample.n_relevant, none)),
        list_length=np.concatenate((sample.list_length, lengths)),
        truth_user=np.concatenate((sample.truth_user, n_truth_users + np.arange(len(lengths)))),
        judged=judged,
        n_unknown=len(lengths),
        with_every_grade=sample.with_every_grade
        and (lambda: _lengthened(sample.of_every_grade, n_truth_users, lengths)),
    )


def _judged(hits: Hits, rows: CountedTruth) -> JudgedHits | None:
    """Returns the hits on judged items; None if no row was judged not relevant."""
    if rows.judged is None:
        return None
    relevant, judged = rows.relevant, rows.judged
    is_judged = judged.of_counted[hits.row]
    user = hits.user[is_judged]
    return JudgedHits(
        user if relevant.place is None else relevant.place[user],
        hits.rank[is_judged],
        relevant.marked[hits.row[is_judged]],
        judged.n_marked - relevant.n_marked,
    )
