"""Matches parts of a run's lists apart from each other, and adds up what was found.

Each user's lists lie in one part. Everything that a pass collects adds up: hits, lengths, counts by rank and
item, and the sums of metrics over lists. So the sum over the parts is what a single pass finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from recdash.domain.hits import Hits
from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Ints, Mask
from recdash.engines.exposure import AudienceSums
from recdash.engines.list_metrics import ListMetrics
from recdash.engines.matcher import Pass, Plan, Watch, read_lists
from recdash.engines.notices import PassCounts
from recdash.engines.reference import Reference
from recdash.errors import InputError, Problem


@dataclass(frozen=True)
class MatchRequest:
    """With what the lists of every part are matched."""

    reference: Reference
    depth: int
    plan: Plan
    exposure: bool
    list_metrics: ListMetrics
    shown_to: Sequence[Mask]

    @property
    def watch(self) -> Watch:
        return Watch(self.exposure, self.list_metrics, self.shown_to)


@dataclass(frozen=True)
class MatchedPart:
    """What a pass over one part collected.

    Codes of users and items are those of the reference, followed by ``new_users`` and ``new_items``. ``hits``
    are the columns user, rank and truth row; ``ties`` those of ``TiedHits``. ``user`` and ``length`` are the
    users with a list and its length, which is 0 for users who are not in the test set. ``counts`` are those
    of users of the test set, ``other_counts`` those of all others.
    """

    new_users: pa.Array
    new_items: pa.Array
    hits: tuple[Ints, ...]
    user: Ints
    length: Ints
    counts: PassCounts
    other_counts: PassCounts
    audiences: tuple[AudienceSums, ...]
    unknown_lengths: Ints
    item_places: Ints | None
    ties: tuple[tuple[Ints, ...], ...]
    respelled_users: Mapping[str, str]
    respelled_items: Mapping[str, str]


def match_part(run: Recommendations, request: MatchRequest) -> MatchedPart:
    """Returns what is collected from the lists of one part. Raises InputError for invalid rows."""
    done = read_lists(run, request.reference, request.depth, request.plan, request.watch)
    n_users, n_items = done.truth.n_users, len(request.reference.items)
    user = np.flatnonzero(done.had_list[: len(done.users)]).astype(np.int32)
    length = np.zeros(len(user), dtype=np.int32)
    known = user < n_users
    length[known] = done.list_length[user[known]]
    return MatchedPart(
        pa.array(done.users.ids()[n_users:], pa.string()),
        pa.array(done.items.ids()[n_items:], pa.string()),
        tuple(column.whole() for column in done.hit_columns),
        user,
        length,
        done.counts,
        done.other_counts,
        tuple(audience.sums() for audience in done.all_audiences),
        done.unknown_lengths.whole(),
        None if done.item_watch is None else done.item_watch.places,
        () if done.ties is None else tuple(done.ties.parts),
        done.users.spellings_met,
        done.items.spellings_met,
    )


def add_parts(
    parts: Iterable[MatchedPart], run: Recommendations, request: MatchRequest, *, keeps_order: bool
) -> tuple[Hits, list[Problem]]:
    """Returns the hits and notices of all parts, as ``match`` returns them of the whole run.

    Without ``keeps_order`` the rows of a user have no order of their own, and lists that depend on it are
    refused. Raises InputError for these, if a user is in two parts, and if no user is in the truth.
    """
    total = Pass(run, request.reference, request.depth, request.plan, request.watch)
    for part in parts:
        _add(total, part)
    if not keeps_order:
        _refuse_row_order(run, total, request.plan)
    return total.outcome()


def _add(total: Pass, part: MatchedPart) -> None:
    n_users = total.truth.n_users
    new = total.users.codes(part.new_users)
    total.make_room(len(total.users))
    known = part.user < n_users
    user = np.concatenate((part.user[known], new[part.user[~known] - n_users]))
    _refuse_user_in_two_parts(total, user)
    total.had_list[user] = True
    total.list_length[part.user[known]] = part.length[known]
    for column, values in zip(total.hit_columns, part.hits, strict=True):
        column.add(values)
    n_items = len(total.reference.items)
    item = np.concatenate((np.arange(n_items), total.items.codes(part.new_items)))
    for audience, sums in zip(total.all_audiences, part.audiences, strict=True):
        audience.add(sums, item, len(total.items))
    if total.item_watch is not None and part.item_places is not None:
        total.item_watch.add(part.item_places, item)
    if total.ties is not None:
        total.ties.parts.extend(part.ties)  # type: ignore[arg-type]
    total.unknown_lengths.add(part.unknown_lengths)
    total.counts.add(part.counts)
    total.other_counts.add(part.other_counts)
    total.users.spellings_met.update(part.respelled_users)
    total.items.spellings_met.update(part.respelled_items)


def _refuse_user_in_two_parts(total: Pass, user: Ints) -> None:
    """Raises InputError if a user's lists are in this part and another, or twice in this one."""
    again = total.had_list[user]
    if not again.any() and len(np.unique(user)) == len(user):
        return
    example = f" such as '{total.users.ids()[int(user[again.argmax()])]}'" if again.any() else ""
    finding = f"users{example} are written in two ways, which count as one id, so that their lists are apart"
    fix = "Write each user id in one way, or let the local engine read the table."
    raise InputError(Problem("user-in-two-parts", f"run '{total.run.name}', column 'user_id'", finding, fix))


def _refuse_row_order(run: Recommendations, total: Pass, plan: Plan) -> None:
    """Raises InputError if the order of rows, of which none is known, decides the lists of some users."""
    counts = PassCounts()
    counts.add(total.counts)
    counts.add(total.other_counts)
    tied = counts.tied_users if plan.ties == "file" else 0
    users = counts.equal_rank_users or tied
    if not users:
        return
    what = "equal ranks" if counts.equal_rank_users else "tied scores"
    finding = f"{what} in the lists of {users:,} users, which the order of the rows decides"
    also = "" if counts.equal_rank_users else ", or break ties by item: ties=item_desc"
    fix = f"The rows of this table have no order. Give each list distinct ranks{also}."
    raise InputError(Problem("no-row-order", f"run '{run.name}'", finding, fix, users))
