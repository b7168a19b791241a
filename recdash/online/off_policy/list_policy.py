"""The policy that shows users what is on the lists of a run, at the top or by their scores.

Letters in shapes: ``n`` rows of the log, ``e`` entries of the lists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.errors import InputError, Problem
from recdash.formatting import numbers
from recdash.online.off_policy.target import LoggedRows, Target, codes_of, looked_up, user_column_of

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_K = 10


@dataclass(frozen=True)
class ListPolicy:
    """The policy that shows users the first ``k`` items of a run's lists; ``name`` is the run's.

    Without a ``temperature`` it is deterministic: position p of a slate has the item at rank p, and a log
    without positions has the first item in each slot. With a temperature each slot has an item of its own,
    drawn from the first k with probabilities in proportion to exp(score ÷ temperature).

    ``lists`` returns the lists of the users with these ids, best item first: a table with user_id, item_id
    and, if the run has scores, score.
    """

    name: str
    lists: Callable[[pa.Array], pa.Table]
    k: int = DEFAULT_K
    temperature: float | None = None

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(Problem("bad-k", "k", f"{self.k:,}", "Give the number of items, from 1."))
        if self.temperature is not None and not 0 < self.temperature < np.inf:
            given = f"{self.temperature:g}"
            raise InputError(Problem("bad-temperature", "temperature", given, "Give a number above 0."))

    @property
    def title(self) -> str:
        """Returns the policy in words."""
        if self.temperature is None:
            return f"the top of {self.name}"
        return f"softmax over the top {self.k} of {self.name} (temperature {self.temperature:g})"

    def applied(
        self, log: LoggedRows, rows: pa.Table, user_column: str | None = None
    ) -> tuple[LoggedRows, Target, list[Problem]]:
        """Returns the rows of the log for which the policy has an item, the policy in these rows, and a
        notice if rows are left out.

        Raises InputError for a log without users, a run without scores if there is a temperature, and if the
        lists have no item for any row.
        """
        import pyarrow as pa

        name = user_column_of(rows, user_column)
        if name is None:
            fix = "Add a column user_id: the lists of a run are by user."
            raise InputError(Problem("no-user-column", "columns", "no column names the user", fix))
        of_row, ids = codes_of(rows[name])
        lists = self._entries(self.lists(pa.array(ids, pa.string())), ids, log)
        entry = self._shown(lists, of_row, rows)
        keep = entry >= 0
        if not keep.any():
            message = f"{self.name} has no list for a user of the log"
            fix = "Use the user ids of the experiment."
            raise InputError(Problem("no-lists", f"column '{name}'", message, fix))
        kept = _only(log, keep)
        case = entry if self.temperature is None else of_row
        return kept, self._target(lists, case[keep], kept), _left_out(keep)

    def _entries(self, table: pa.Table, ids: list[str], log: LoggedRows) -> _Entries:
        """Returns what the policy may show to each user."""
        code, users = codes_of(table["user_id"])
        of_user = {user: place for place, user in enumerate(ids)}
        user = np.array([of_user[name] for name in users], dtype=np.int64)[code]
        item, items = codes_of(table["item_id"])
        first = np.sort(np.unique(user * len(items) + item, return_index=True)[1])
        order = first[np.argsort(user[first], kind="stable")]
        user, item = user[order], item[order]
        start = np.searchsorted(user, np.arange(len(ids) + 1))
        rank = np.arange(len(user)) - start[user]
        top = rank < self.k
        of_log = {item_id: place for place, item_id in enumerate(log.items)}
        in_log = np.array([of_log.get(item_id, -1) for item_id in items], dtype=np.int64)
        return _Entries(
            user[top],
            in_log[item[top]],
            np.minimum(np.diff(start), self.k),
            self._chances(table, order[top], user[top], len(ids)),
        )

    def _chances(self, table: pa.Table, order: Ints, user: Ints, n_users: int) -> Floats:
        """Returns [e] the probability of each entry within its case."""
        if self.temperature is None:
            return np.ones(len(order))
        if "score" not in table.column_names:
            fix = "Use the deterministic policy, or a run with scores."
            raise InputError(Problem("no-scores", f"run '{self.name}'", "it has no scores", fix))
        score = table["score"].cast("float64").to_numpy()[order] / self.temperature
        if not np.isfinite(score).all():
            fix = "Use the deterministic policy, or scores that are numbers."
            raise InputError(Problem("no-scores", f"run '{self.name}'", "some scores are not finite", fix))
        best = np.full(n_users, -np.inf)
        np.maximum.at(best, user, score)
        parts = np.exp(score - best[user])
        chances: Floats = parts / np.bincount(user, parts, n_users)[user]
        return chances

    def _shown(self, lists: _Entries, of_row: Ints, rows: pa.Table) -> Ints:
        """Returns [n] the first entry of what the policy shows in each row's slot; −1 if there is none."""
        slot = np.zeros(len(of_row), dtype=np.int64)
        if self.temperature is None and "position" in rows.column_names:
            position = rows["position"].to_numpy().astype(np.int64)
            slot = position - min(1, int(position.min()))  # positions begin at 0 or 1
        start = np.cumsum(lists.length) - lists.length
        shown: Ints = np.where(slot < lists.length[of_row], start[of_row] + slot, -1)
        return shown

    def _target(self, lists: _Entries, case: Ints, log: LoggedRows) -> Target:
        """Returns the policy whose cases are users with a temperature, else single entries."""
        of_entry = np.arange(len(lists.item)) if self.temperature is None else lists.user
        known, of_row = np.unique(case, return_inverse=True)
        used = np.isin(of_entry, known)
        entry_case = np.searchsorted(known, of_entry[used])
        item, chances = lists.item[used], lists.chance[used]
        return Target(
            name=self.title,
            probability=looked_up(of_row, log, entry_case, item, chances),
            case=of_row,
            n_cases=len(known),
            entry_item=item,
            entry_case=entry_case,
            entry_probability=chances,
        )


@dataclass(frozen=True)
class _Entries:
    """The first items of users' lists, in the order of users and ranks: ``user`` [e], ``item`` [e] (−1 if the
    log never shows it) and ``chance`` [e]; ``length`` is the number of entries of each user.
    """

    user: Ints
    item: Ints
    length: Ints
    chance: Floats


def _only(log: LoggedRows, keep: Mask) -> LoggedRows:
    """Returns the log with these rows only."""
    user = None if log.user is None else np.unique(log.user[keep], return_inverse=True)[1]
    return replace(
        log,
        item=log.item[keep],
        position=log.position[keep],
        reward=log.reward[keep],
        propensity=log.propensity[keep],
        user=user,
        without_user=0,
    )


def _left_out(keep: Mask) -> list[Problem]:
    n_left = int((~keep).sum())
    if not n_left:
        return []
    message = (
        f"{numbers.share(n_left, len(keep))} of the rows are left out: the user's list has no item there"
    )
    fix = "The estimate is about users with a list, and positions that their lists reach."
    return [Problem("rows-without-list", "target", message, fix, n_left)]
