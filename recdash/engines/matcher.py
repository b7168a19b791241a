"""Matches a run with the truth in one streaming pass on one machine: Recommendations → Hits.

The pass assumes that each user's rows are contiguous, and reads only the columns that the order needs. If the
rows turn out otherwise, it starts again with what it has learned (:class:`_Replan`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from recdash.domain.hits import Exposure, Hits, IdOverlap, PopulationCounts
from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Duplicates, Ints, Mask, Order, Ties
from recdash.engines.allocator import release_freed_memory
from recdash.engines.blocks import Block, grouped_blocks
from recdash.engines.buffers import GrowingColumn
from recdash.engines.exposure import Audience
from recdash.engines.id_spelling import distinguishable, likely_repair
from recdash.engines.ids import IdIndex
from recdash.engines.known_ids import ItemWatch, item_overlap, places_of, users_met, written_ids
from recdash.engines.list_metrics import ListMetrics
from recdash.engines.lookup import TruthLookup
from recdash.engines.notices import PassCounts, notices
from recdash.engines.reference import Reference
from recdash.engines.ties import TieWatch
from recdash.engines.ungrouped import NotInPlace, placed_blocks, sorted_blocks
from recdash.errors import InputError, Problem

_NAMED = 2_000
"""Number of user ids that are tried in other spellings if no user of the run is known."""


@dataclass(frozen=True)
class Plan:
    """The assumptions under which a pass reads the rows of a run: their order, and how whole lists are
    formed.
    """

    order: Order
    ties: Ties
    duplicates: Duplicates
    columns: tuple[str, ...]
    rows: Literal["grouped", "placed", "sorted"] = "grouped"
    """How lists are formed from rows: *grouped*: each user's rows are contiguous; *placed*: rows are put at
    their rank; *sorted*: all rows are sorted.
    """


@dataclass(frozen=True)
class Watch:
    """What a pass observes in the lists besides hits: exposure, metrics over lists, and both for groups of
    users.
    """

    exposure: bool
    list_metrics: ListMetrics
    shown_to: Sequence[Mask] = ()
    finds_hits: bool = True
    """False: neither hits nor exposure are needed, which saves half of the time; only ``list_metrics`` see
    the lists.
    """


class _Replan(Exception):
    """Raised if the rows are not as the plan assumed; ``plan`` is the one with which to read them again."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan


def match(
    run: Recommendations,
    reference: Reference,
    *,
    depth: int = 100,
    order: Order | None = None,
    ties: Ties = "file",
    duplicates: Duplicates = "first",
    exposure: bool = True,
    list_metrics: ListMetrics | None = None,
    shown_to: Sequence[Mask] = (),
) -> tuple[Hits, list[Problem]]:
    """Returns the run's hits in the truth, and notices on its lists, after reading the run once.

    ``exposure=False`` saves counting the recommended items (a sixth of the time) and all work on lists of
    users who are not in the truth. ``list_metrics`` are computed during the pass. Both are also computed for
    each group of truth users in ``shown_to`` (masks [U]). Notices report duplicates, ties, gaps in the ranks
    and unknown users. Raises InputError if no user of the run is in the truth, or if the run lacks the column
    to order by.
    """
    if run.matched_elsewhere is not None:
        how = {"depth": depth, "order": order, "ties": ties, "duplicates": duplicates, "exposure": exposure}
        return run.matched_elsewhere(run, reference, list_metrics=list_metrics, shown_to=shown_to, **how)
    plan, watch = first_plan(run, order, ties, duplicates), Watch(exposure, list_metrics or {}, shown_to)
    done = read_lists(run, reference, depth, plan, watch)
    outcome = done.outcome()
    release_freed_memory()
    return outcome


def read_lists(run: Recommendations, reference: Reference, depth: int, plan: Plan, watch: Watch) -> Pass:
    """Returns the pass that has read the run's lists, under the first plan that fits its rows."""
    while True:
        try:
            done = Pass(run, reference, depth, plan, watch)
            done.read()
        except _Replan as other:
            plan = other.plan
        except NotInPlace:
            plan = replace(plan, rows="sorted")
        else:
            return done


def first_plan(run: Recommendations, order: Order | None, ties: Ties, duplicates: Duplicates) -> Plan:
    if order is None:
        order = "rank" if run.has_rank else "score" if run.has_score else "file"
    has = {"rank": run.has_rank, "score": run.has_score, "file": True}
    if not has[order]:
        other = "rank" if run.has_rank else "score" if run.has_score else "file"
        finding = f"no {order} column to order the lists by"
        fix = f"Add a {order} column, name it in the mapping, or order by {other}."
        raise InputError(Problem("no-order-column", f"run '{run.name}'", finding, fix))
    by = () if order == "file" else (order,)
    return Plan(order, ties, duplicates, ("user_id", "item_id", *by))


class Pass:
    """One pass over a run's lists, which collects hits, exposure and counts under a plan."""

    def __init__(
        self, run: Recommendations, reference: Reference, depth: int, plan: Plan, watch: Watch
    ) -> None:
        self.run = run
        self.reference = reference
        self.truth = reference.truth
        self.depth = depth
        self.plan = plan
        self.users = reference.users.copy()
        self.items = reference.items.copy()
        self.finds_hits = watch.finds_hits
        self.counts = PassCounts()
        self.hit_columns = GrowingColumn(np.int32), GrowingColumn(np.int32), GrowingColumn(np.int32)
        self.list_length = np.zeros(self.truth.n_users, dtype=np.int32)
        self.had_list = np.zeros(self.truth.n_users, dtype=bool)
        """[users seen so far] those of the truth first; likewise ``list_in_block``."""
        self.counted_users = self.truth.users_who_count()
        self.list_in_block = np.zeros(self.truth.n_users, dtype=np.int32)
        self.audiences: list[Audience] = []
        """All users who count, then each group of them."""
        self.others: Audience | None = None
        """All other users with a list: users without a relevant item, or not in the truth at all."""
        if watch.exposure:
            groups = [self.counted_users, *(self.counted_users & users for users in watch.shown_to)]
            *self.audiences, self.others = [
                Audience(users, depth, watch.list_metrics, len(groups) + 1, counts=watch.finds_hits)
                for users in (*groups, ~self.counted_users)
            ]
        self.other_counts = PassCounts()
        self.unknown_lengths = GrowingColumn(np.int32)
        self.item_watch = (
            None if watch.exposure or run.reference else ItemWatch(self.counted_users, len(reference.items))
        )
        self.ties = TieWatch(depth) if plan.order == "score" and watch.finds_hits else None
        self.trained = None if run.reference else reference.trained

    @cached_property
    def lookup(self) -> TruthLookup:
        return TruthLookup(self.truth)

    @property
    def all_audiences(self) -> list[Audience]:
        return self.audiences if self.others is None else [*self.audiences, self.others]

    # ── the pass ─────────────────────────────────────────────────────────────────────────────

    def read(self) -> None:
        for block in self._blocks():
            self._see(block)
        release_freed_memory()

    def outcome(self) -> tuple[Hits, list[Problem]]:
        """Returns the hits and notices of all lists that were read or added."""
        if not self.had_list[: self.truth.n_users].any():
            raise InputError(_no_common_user(self.run, self.reference, self.users))
        user, rank, row = (column.whole() for column in self.hit_columns)
        if (user[1:] < user[:-1]).any():
            by_user = np.argsort(user, kind="stable")
            user, rank, row = user[by_user], rank[by_user], row[by_user]
        unknown = self.had_list[self.truth.n_users :]
        self.counts.unknown_users = int(unknown.sum())
        if self.counts.unknown_users:
            self.counts.unknown_user = self.users.ids()[self.truth.n_users + int(unknown.argmax())]
        ledger = self._ledger()
        # a repeated item has several positions, so that its ties are not a single range of ranks
        repeats_items = self.plan.duplicates == "keep" and self.counts.duplicates > 0
        ties = None if self.ties is None or repeats_items else self.ties.ties()
        order, items = self.plan.order, self.items.ids()
        exposures = [audience.exposure(items) for audience in self.audiences]
        to_all = exposures[0] if exposures else None
        hits = Hits(self.truth, self.depth, user, rank, row, self.list_length, to_all, ledger, order, ties)
        met = {"user_id": self.users.spellings_met, "item_id": self.items.spellings_met}
        problems = notices(self.run, self.counts, order, self.plan.ties, met, self.plan.duplicates)
        overlap = None if self.run.reference else self._overlap(to_all)
        hits = replace(hits, shown_to=exposures[1:], overlap=overlap, duplicates=self.plan.duplicates)
        if self.others is not None:
            other_exposure = self.others.exposure(self.items.ids())
            unknown_lengths = self.unknown_lengths.whole()
            hits = replace(hits, other_exposure=other_exposure, unknown_lengths=unknown_lengths)
        return hits, problems

    def _overlap(self, exposure: Exposure | None) -> IdOverlap:
        users = users_met(self.users, self.had_list, self.reference)
        if self.item_watch is not None:
            return item_overlap(self.item_watch.places, self.items.ids(), self.reference, users)
        if exposure is None:
            raise ValueError("neither the exposure nor an item watch saw the lists")
        return item_overlap(places_of(exposure), exposure.items, self.reference, users)

    def _blocks(self) -> Iterator[Block]:
        batches = self.run.batches(columns=self.plan.columns)
        if self.plan.rows == "grouped":
            return grouped_blocks(batches, self.users, self.items)
        if self.plan.rows == "placed":
            n_known = self.truth.n_users if self.others is None else None
            return placed_blocks(batches, self.users, self.items, n_known, self.run.n_rows)
        return sorted_blocks(batches, self.users, self.items)

    def _see(self, block: Block) -> None:
        self.counts.rows += len(block.item)
        known = block.user < self.truth.n_users
        if known.all():
            self._see_known(block)
            return
        self.make_room(int(block.user.max()) + 1)
        self._see_unknown(block.only_lists(~known))
        if known.any():
            self._see_known(block.only_lists(known))

    def make_room(self, n_users: int) -> None:
        """Makes room for the marks of this number of users."""
        if n_users > len(self.had_list):
            size = max(n_users, len(self.had_list) * 9 // 8)
            self.had_list.resize(size, refcheck=False)
            self.list_in_block.resize(size, refcheck=False)

    def _see_known(self, block: Block) -> None:
        """Matches and counts lists of users who are in the truth."""
        if not block.n_lists:
            return
        self._check_grouped(block)
        block = self._in_order(block, self.counts)
        block = self._without_duplicates(block, self.counts)
        if self.ties is not None:
            self.ties.see(block, self.lookup.rows)
        self.counts.cut_lists += int((block.lengths > self.depth)[self.counted_users[block.user]].sum())
        block = block.cut(self.depth)
        self.list_length[block.user] = block.lengths
        if self.finds_hits:
            self._find_hits(block)
        for audience in self.all_audiences:
            audience.see(block, len(self.items))

    def _find_hits(self, block: Block) -> None:
        row, truth_row = self.lookup.rows(block)
        owner = block.list_of(row)
        rank = row - block.start[owner] + 1
        for column, values in zip(self.hit_columns, (block.user[owner], rank, truth_row), strict=True):
            column.add(values.astype(np.int32))
        if self.item_watch is not None:
            self.item_watch.see(block)
        if self.trained is not None:
            pairs, looked_at = self.trained.found_in(block)
            self.counts.add_trained(len(pairs), looked_at)
            if len(pairs) and not self.counts.trained_pair:
                user, item = divmod(int(pairs[0]), self.trained.n_items)
                self.counts.trained_pair = f"user '{self.users.ids()[user]}', item '{self.items.ids()[item]}'"

    def _see_unknown(self, block: Block) -> None:
        """Counts lists of users who are not in the truth: they add to exposure and cannot have hits.

        They are ordered like all other lists, but do not count for the notices, which concern users of the
        truth only.
        """
        if self.others is None:
            self.had_list[block.user] = True
            return
        self._check_grouped(block)
        block = self._without_duplicates(self._in_order(block, self.other_counts), self.other_counts)
        block = block.cut(self.depth)
        self.unknown_lengths.add(block.lengths.astype(np.int32))
        self.others.see_all(block, len(self.items))

    def _check_grouped(self, block: Block) -> None:
        self.list_in_block[block.user] = lists = np.arange(block.n_lists)
        if self.had_list[block.user].any() or (self.list_in_block[block.user] != lists).any():
            rows: Any = "placed" if self.plan.order == "rank" else "sorted"
            raise _Replan(replace(self.plan, rows=rows))
        self.had_list[block.user] = True

    # ── order ────────────────────────────────────────────────────────────────────────────────

    def _in_order(self, block: Block, seen: PassCounts) -> Block:
        if self.plan.order == "rank":
            return self._by_rank(block, seen)
        return self._by_score(block, seen) if self.plan.order == "score" else block

    def _by_rank(self, block: Block, seen: PassCounts) -> Block:
        if block.counted_ranks:
            return block
        rank, position = block.column("rank"), block.positions
        step = block.steps(rank)
        if (step <= 0).any():
            block = self._sort_by_rank(block, rank)
            rank = block.column("rank")
            step = block.steps(rank)
        seen.equal_rank_users += block.lists_with(step == 0)
        seen.gap_users += block.lists_with((step > 1) | ((position == 0) & (rank > 1)))
        return block

    def _sort_by_rank(self, block: Block, rank: Ints) -> Block:
        """Returns the block sorted by rank. Rows with equal ranks are ordered by score if the run has scores,
        else by file order. Raises _Replan if scores are needed and were not read.
        """
        if self.run.has_score and block.score is None:
            equal = block.sorted_by(rank)
            if (equal.steps(equal.column("rank")) == 0).any():
                raise _Replan(replace(self.plan, columns=(*self.plan.columns, "score")))
            return equal
        return block.sorted_by(rank) if block.score is None else block.sorted_by(-block.score, rank)

    def _by_score(self, block: Block, seen: PassCounts) -> Block:
        if self.plan.ties == "item_desc":
            block = block.sorted_by(-_text_order(block.item, self.items), -block.column("score"))
        elif (block.steps(block.column("score")) > 0).any():
            block = block.sorted_by(-block.column("score"))
        tied = block.ties(block.column("score"))
        seen.tied_rows += int(tied.sum())
        seen.tied_users += block.lists_with(tied)
        return block

    # ── duplicates and hits ──────────────────────────────────────────────────────────────────

    def _without_duplicates(self, block: Block, seen: PassCounts) -> Block:
        """Returns the block with each item once per list, unless the plan keeps repeated items; counts them
        in ``seen`` either way.
        """
        repeated = block.repeated_items()
        if repeated is None:
            return block
        seen.duplicates += int(repeated.sum())
        seen.duplicate_users += block.lists_with(repeated)
        return block if self.plan.duplicates == "keep" else block.only_rows(~repeated)

    # ── counts ───────────────────────────────────────────────────────────────────────────────

    def _ledger(self) -> PopulationCounts:
        relevant, with_list = self.counted_users, self.list_length > 0
        scored = self.plan.order == "score"
        return PopulationCounts(
            truth_users=self.truth.n_users,
            counted=int(relevant.sum()),
            without_list=int((relevant & ~with_list).sum()),
            without_relevant=int((~relevant).sum()),
            without_truth=self.counts.unknown_users,
            short_lists=int((relevant & with_list & (self.list_length < self.depth)).sum()),
            cut_lists=self.counts.cut_lists,
            duplicates=self.counts.duplicates,
            duplicate_users=self.counts.duplicate_users,
            tied_rows=self.counts.tied_rows if scored else None,
            tied_users=self.counts.tied_users if scored else None,
            rows=self.counts.rows,
        )


def _text_order(item: Ints, items: IdIndex) -> Ints:
    """Returns [n] the position of each row's item id among the block's ids, sorted as texts."""
    present, back = np.unique(item, return_inverse=True)
    names = items.ids()
    order = sorted(range(len(present)), key=lambda index: names[int(present[index])])
    place = np.empty(len(present), dtype=np.int64)
    place[order] = np.arange(len(present))
    return place[back]


def _no_common_user(run: Recommendations, reference: Reference, users: IdIndex) -> Problem:
    n_known = len(reference.users)
    ids = users.ids()
    run_users, known = ids[n_known : n_known + _NAMED], reference.users.ids()
    repair = likely_repair(run_users, written_ids(reference.users))
    example = ", ".join(f"'{user}'" for user in reference.truth.users[:3])
    finding, fix = f"no user of this run is in the truth (which knows {example}, …)", ""
    if repair is not None:
        index = int(repair.meets.argmax())
        ours, theirs = distinguishable(run_users[index], known[int(repair.known_at[index])])
        finding += f"; they differ by {repair.cause}: '{ours}' in the run, '{theirs}' in the truth"
        fix = f"{repair.fix.replace('{column}', 'user_id').replace('{other}', 'user_id of the truth')} "
    fix += "Use the same user ids in both files, and check the column mapping."
    return Problem("no-common-user", f"run '{run.name}', column 'user_id'", finding, fix)
