"""Turns the checked table of an interleaving test into credits per request.

The table has one row per served slot, with the team of its item (team draft) or its rank in both rankings
(balanced), and whether it was clicked; or one row per request, or per request and team, with given credits.

Letters in shapes: ``n`` rows, ``R`` requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.errors import InputError, Problem
from recdash.formatting import numbers
from recdash.ingest.columns import ROLES
from recdash.online.analysis.health import GUESSED_CONTROL, control_among
from recdash.online.interleaving.credits import RequestCredits, RequestLabels, balanced_credits
from recdash.online.times import DAY
from recdash.online.users import Segment

if TYPE_CHECKING:
    import pyarrow as pa

A, B = "A", "B"
"""The names of the two rankings in tables that do not name them."""
NO_TEAM = ("", "none", "both", "shared", "-", "0/0", "tie")
"""Teams, in lower case, of an item that both rankings show at the same place."""
UNRANKED = float("inf")
MICROSECONDS = 1_000_000
"""Microseconds per second."""
NEVER = np.iinfo(np.int64).max
"""The time of a row without one, later than any other."""


def requests_of(table: pa.Table, control: str | None = None) -> RequestCredits:
    """Returns the credits of each request of a checked table.

    ``control`` is the ranking that the other one is compared with, by default the one named like a control,
    else the first by name. Raises InputError, with all problems, for a table that is no test of two rankings.
    """
    names = set(table.column_names)
    if {"credit_a", "credit_b"} <= names:
        requests = _of_given_credits(table)
    elif {"team", "clicked"} <= names:
        requests = _of_teams(table)
    elif {"rank_a", "rank_b", "clicked"} <= names:
        requests = _of_both_rankings(table)
    else:
        requests = _of_team_credits(table)
    chosen, guessed = control_among([requests.a, requests.b], control, "ranking")
    requests = requests if chosen == requests.a else requests.reversed()
    message = f"none is named like a control, so '{chosen}', the first by name, is compared with"
    fix = "Choose the other one as control if this is wrong."
    notices = [Problem(GUESSED_CONTROL, "teams", message, fix) for _ in guessed]
    return replace(requests, notices=(*requests.notices, *notices))


def _one_user_each(table: pa.Table, notices: list[Problem]) -> pa.Table:
    """Returns the table without requests of several users, and appends what is left out to ``notices``.

    Raises InputError if nothing is left.
    """
    import pyarrow as pa

    request, n_requests = _codes(table["request_id"])
    user, _ = _codes(table["unit_id"])
    lowest = np.full(n_requests, np.iinfo(np.int64).max)
    highest = np.full(n_requests, -1)
    np.minimum.at(lowest, request, user)
    np.maximum.at(highest, request, user)
    bad = lowest != highest
    if not bad.any():
        return table
    count = int(bad.sum())
    example = _example(table, bad[request])
    notices.append(
        Problem(
            "several-users",
            "column 'request_id'",
            f"{numbers.counted(count, 'request')} of several users, such as '{example}'; left out",
            "Give each request an id of its own.",
            count,
        )
    )
    if bad.all():
        raise InputError(notices)
    return table.filter(pa.array(~bad[request]))


# ── rows per slot ────────────────────────────────────────────────────────────────────────────


class _Slots:
    """The rows of served slots, of which repeated and contradictory ones are left out.

    ``request`` [n] are indexes into the requests, ``user`` [R] the users, ``rank`` [n] the positions (NaN if
    unknown), ``clicked`` [n] 0 or 1.
    """

    def __init__(self, table: pa.Table) -> None:
        self.notices: list[Problem] = []
        complete = _one_user_each(table, self.notices)
        table = self._once(complete)
        self.table = table
        self.labels = _labels_of(complete, table)
        self.request, self.n_requests = _codes(table["request_id"])
        self.user = _first_by(self.request, _codes(table["unit_id"])[0], self.n_requests)
        self.rank = _numbers(table, "rank")
        self.clicked = _numbers(table, "clicked") > 0
        self._note_ranks()

    def _once(self, table: pa.Table) -> pa.Table:
        """Returns the table with one row per request and item, clicked if any of its rows is."""
        if "item_id" not in table.column_names:
            return table
        import pyarrow as pa

        request, _ = _codes(table["request_id"])
        item, n_items = _codes(table["item_id"])
        rank = np.nan_to_num(_numbers(table, "rank"), nan=np.inf)
        order = np.lexsort((rank, item, request))
        key = request[order] * (n_items + 1) + item[order]
        new = np.r_[True, key[1:] != key[:-1]]
        keep = new | (item[order] < 0)
        if keep.all():
            return table
        table = table.take(pa.array(order))
        group = np.cumsum(keep) - 1
        unclear = self._unclear(table, rank[order], np.flatnonzero(keep), group)
        if unclear.any():
            table = table.filter(pa.array(~unclear))
            if not table.num_rows:
                raise InputError(self.notices)
            return self._once(table)
        count = int((~keep).sum())
        clicked = _numbers(table, "clicked")
        any_click = np.zeros(int(group[-1]) + 1)
        np.maximum.at(any_click, group, clicked)
        example = _example(table, ~keep)
        self.notices.append(
            Problem(
                "duplicate-slots",
                "table",
                f"{numbers.counted(count, 'row')} repeat an item of a request, such as '{example}'; the one "
                "with the best rank counts, clicked if any of them is",
                "",
                count,
            )
        )
        kept = table.filter(pa.array(keep))
        place = kept.column_names.index("clicked")
        return kept.set_column(place, "clicked", pa.array(any_click))

    def _unclear(self, table: pa.Table, rank: Floats, start: Ints, group: Ints) -> Mask:
        """Returns [n] True for the rows of an item that has several teams, or ranks in a ranking, at its best
        rank in one request; they are noticed.

        ``rank`` and ``group`` [n] are the rank and the item of each row, ``start`` the first row of each
        item, which has its best rank.
        """
        first = start[group]
        differs = np.zeros(len(group), dtype=bool)
        for name in {"team", "rank_a", "rank_b"} & set(table.column_names):
            code, _ = _codes(table[name])
            differs |= (code != code[first]) & (rank == rank[first])
        unclear: Mask = np.isin(group, group[differs])
        if unclear.any():
            count, example = len(np.unique(group[differs])), _example(table, unclear)
            self.notices.append(
                Problem(
                    "contradictory-slots",
                    "table",
                    f"{numbers.counted(count, 'item')} with different teams or ranks in one request, such as "
                    f"in '{example}'; left out",
                    "Write each item once per request.",
                    count,
                )
            )
        return unclear

    def _note_ranks(self) -> None:
        known = ~np.isnan(self.rank)
        pairs = np.column_stack([self.request[known], self.rank[known]])
        _, first, counts = np.unique(pairs, axis=0, return_index=True, return_counts=True)
        count = int((counts > 1).sum())
        if count:
            row = np.flatnonzero(known)[first[counts > 1][0]]
            example = self.table["request_id"][int(row)].as_py()
            self.notices.append(
                Problem(
                    "shared-ranks",
                    "column 'rank'",
                    f"{numbers.counted(count, 'position')} of a request with several items, such as in "
                    f"'{example}'; all of them count, but do not say which team came first",
                    "",
                    count,
                )
            )

    def credit(self, of: Mask) -> Floats:
        """Returns [R] the number of clicked rows marked by ``of`` [n]."""
        return np.bincount(self.request[of & self.clicked], minlength=self.n_requests).astype(np.float64)

    def first(self, side: Ints) -> Ints:
        """Returns [R] the side of the best-ranked row that has a side (−1 or 1); 0 if none has, or if two
        share the rank.
        """
        use = (side != 0) & ~np.isnan(self.rank)
        request, rank, sides = self.request[use], self.rank[use], side[use]
        best = np.full(self.n_requests, np.inf)
        np.minimum.at(best, request, rank)
        at_best = rank == best[request]
        low = np.zeros(self.n_requests, dtype=np.int64)
        high = np.zeros(self.n_requests, dtype=np.int64)
        np.minimum.at(low, request[at_best], sides[at_best])
        np.maximum.at(high, request[at_best], sides[at_best])
        return low + high  # −1 and 1 at one rank cancel each other


def _of_teams(table: pa.Table) -> RequestCredits:
    """Returns the credits of team draft: the clicks on the items of either team."""
    teams = _team_names(table)
    slots = _Slots(table)
    side = _sides(slots.table["team"], teams)
    lost = (side == 0) & slots.clicked
    if lost.any():
        slots.notices.append(_without_team(slots.table, lost, "click"))
    difference = np.bincount(slots.request, side, slots.n_requests)
    return RequestCredits(
        teams[0],
        teams[1],
        "team draft",
        slots.user,
        slots.credit(side < 0),
        slots.credit(side > 0),
        first=slots.first(side) if "rank" in table.column_names else np.zeros(slots.n_requests, np.int64),
        surplus=np.sign(difference).astype(np.int64),
        notices=tuple(slots.notices),
        labels=slots.labels,
    )


def _without_team(table: pa.Table, lost: Mask, what: str) -> Problem:
    """Returns the notice that clicks or credits, the marked rows, are of no team."""
    count, example = int(lost.sum()), _example(table, lost)
    return Problem(
        "click-without-team",
        "column 'team'",
        f"{numbers.counted(count, what)} on items without a team, such as in request '{example}'; "
        "credited to neither",
        "Items at the same place of both rankings have no team.",
        count,
    )


def _of_both_rankings(table: pa.Table) -> RequestCredits:
    """Returns the credits of balanced interleaving; see ``balanced_credits``."""
    slots = _Slots(table)
    rank_a, rank_b = (
        np.nan_to_num(_numbers(slots.table, name), nan=UNRANKED) for name in ("rank_a", "rank_b")
    )
    best = np.minimum(rank_a, rank_b)
    lost = slots.clicked & np.isinf(best)
    if lost.any():
        count = int(lost.sum())
        example = _example(slots.table, lost)
        slots.notices.append(
            Problem(
                "click-outside-rankings",
                "table",
                f"{numbers.counted(count, 'click')} on items of neither ranking, such as in request "
                f"'{example}'; credited to neither",
                "",
                count,
            )
        )
    # a list without positions is taken to show the better ranks first
    place = np.where(np.isnan(slots.rank), best, slots.rank)
    credit_a, credit_b = balanced_credits(slots.request, place, rank_a, rank_b, slots.clicked)
    side = np.sign(np.where(np.isinf(rank_a), 1e9, rank_a) - np.where(np.isinf(rank_b), 1e9, rank_b))
    return RequestCredits(
        A,
        B,
        "balanced",
        slots.user,
        credit_a,
        credit_b,
        first=slots.first(side.astype(np.int64)),
        notices=tuple(slots.notices),
        labels=slots.labels,
    )


def _team_names(table: pa.Table) -> tuple[str, str]:
    """Returns the names of the two teams, sorted. Raises InputError if there are fewer or more."""
    written = table["team"].unique().to_pylist()
    names = sorted({_label(name) for name in written if _label(name).lower() not in NO_TEAM})
    if len(names) == 2:
        return names[0], names[1]
    shown = ", ".join(f"'{name}'" for name in names[:5]) or "none"
    fix = "Name the ranking that each item came from; items of both stay empty."
    if len(names) > 2:
        fix = "Compare two at a time: keep the rows of two teams, and leave the others' team empty."
    raise InputError(
        Problem("not-two-teams", "column 'team'", f"{numbers.counted(len(names), 'team')}: {shown}", fix)
    )


# ── rows with credits ────────────────────────────────────────────────────────────────────────


def _of_given_credits(table: pa.Table) -> RequestCredits:
    _refuse_empty(table, ("credit_a", "credit_b"))
    request, n_requests = _codes(table["request_id"])
    repeated = np.bincount(request, minlength=n_requests)[request] > 1
    _refuse_repeated(table, repeated, "one row per request")
    user, _ = _codes(table["unit_id"])
    a, b = (_numbers(table, name) for name in ("credit_a", "credit_b"))
    order, labels = np.argsort(request), _labels_of(table, table)
    return RequestCredits(A, B, "credits", user[order], a[order], b[order], labels=labels)


def _of_team_credits(table: pa.Table) -> RequestCredits:
    _refuse_empty(table, ("credit",))
    teams = _team_names(table)
    notices: list[Problem] = []
    table = _one_user_each(table, notices)
    request, n_requests = _codes(table["request_id"])
    side = _sides(table["team"], teams)
    key = request * 3 + side + 1
    repeated = (np.bincount(key, minlength=n_requests * 3)[key] > 1) & (side != 0)
    _refuse_repeated(table, repeated, "one row per request and team")
    credit = _numbers(table, "credit")
    lost = (side == 0) & (credit > 0)
    if lost.any():
        notices.append(_without_team(table, lost, "credit"))
    a, b = (np.bincount(request, credit * (side == of), n_requests).astype(np.float64) for of in (-1, 1))
    user = _first_by(request, _codes(table["unit_id"])[0], n_requests)
    labels = _labels_of(table, table)
    return RequestCredits(teams[0], teams[1], "credits", user, a, b, notices=tuple(notices), labels=labels)


def _refuse_empty(table: pa.Table, names: Sequence[str]) -> None:
    """Raises InputError for empty cells of credits, which may mean no credit or an unknown one."""
    problems = []
    for name in names:
        empty = np.isnan(_numbers(table, name))
        if empty.any():
            count = int(empty.sum())
            finding = f"empty in {numbers.counted(count, 'row')}, such as '{_example(table, empty)}'"
            fix = "Write 0 where a ranking earned no credit, and leave out requests without a log."
            problems.append(Problem("missing-credit", f"column '{name}'", finding, fix, count))
    if problems:
        raise InputError(problems)


def _refuse_repeated(table: pa.Table, repeated: Mask, expected: str) -> None:
    if repeated.any():
        count, example = int(repeated.sum()), _example(table, repeated)
        finding = f"{numbers.counted(count, 'row')} repeat a request, such as '{example}'"
        raise InputError(Problem("repeated-request", "column 'request_id'", finding, f"Give {expected}."))


# ── days and attributes ──────────────────────────────────────────────────────────────────────


def _labels_of(complete: pa.Table, table: pa.Table) -> RequestLabels:
    """Returns the labels of the requests of ``table``, from all their rows, which ``complete`` has.

    Rows that repeat a slot count, so that the labels do not depend on which of them is kept. A request is of
    the day of its earliest row.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    request, n_requests = _codes(complete["request_id"])
    day, segments, mixed = None, dict[str, Segment](), dict[str, int]()
    if "timestamp" in complete.column_names:
        seconds = complete["timestamp"].cast(pa.int64()).fill_null(NEVER).to_numpy() // MICROSECONDS
        earliest = np.full(n_requests, NEVER)
        np.minimum.at(earliest, request, seconds)
        day = np.where(earliest < NEVER // MICROSECONDS, earliest // DAY, -1)
    roles = {role.name for role in ROLES["interleaving"]}
    for name in sorted(set(complete.column_names) - roles):
        label, several = _one_label(request, _codes(complete[name])[0], n_requests)
        if several:
            mixed[name] = several
        else:
            segments[name] = Segment(tuple(sorted(complete[name].drop_null().unique().to_pylist())), label)
    labels = RequestLabels(day, segments, mixed)
    kept = pc.is_in(complete["request_id"].unique().sort(), value_set=table["request_id"].unique())
    return labels.part(kept.to_numpy(zero_copy_only=False))


def _one_label(request: Ints, code: Ints, n_requests: int) -> tuple[Ints, int]:
    """Returns [R] the label of each request, −1 if no row has one, and how many requests have several."""
    known = code >= 0
    lowest = np.full(n_requests, np.iinfo(np.int64).max)
    highest = np.full(n_requests, -1)
    np.minimum.at(lowest, request[known], code[known])
    np.maximum.at(highest, request[known], code[known])
    return highest, int(((highest >= 0) & (lowest < highest)).sum())


# ── columns ──────────────────────────────────────────────────────────────────────────────────


def _codes(column: Any) -> tuple[Ints, int]:
    """Returns [n] indexes into the sorted distinct values, −1 for an empty cell, and the number of values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.where(codes >= 0, np.append(rank, -1)[codes], -1), len(order)


def _label(value: Any) -> str:
    """Returns a name without surrounding blanks; an empty text for an empty cell."""
    return "" if value is None else str(value).strip()


def _sides(column: Any, teams: Sequence[str]) -> Ints:
    """Returns [n] −1 for the first team, 1 for the second, 0 for any other."""
    names = sorted({_label(name) for name in column.unique().to_pylist()})
    side = np.array([{teams[0]: -1, teams[1]: 1}.get(name, 0) for name in names], dtype=np.int64)
    codes = {name: code for code, name in enumerate(names)}
    encoded = column.cast("string").dictionary_encode().unify_dictionaries().combine_chunks()
    of_entry = np.array([codes[_label(name)] for name in encoded.dictionary.to_pylist()] + [codes.get("", 0)])
    indexes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    sides: Ints = side[of_entry[indexes]]
    return sides


def _numbers(table: pa.Table, name: str) -> Floats:
    """Returns [n] the numbers of a column; NaN in empty cells, and everywhere without the column."""
    if name not in table.column_names:
        return np.full(table.num_rows, np.nan)
    return np.asarray(table[name].cast("float64").to_numpy(), dtype=np.float64)


def _first_by(request: Ints, values: Ints, n_requests: int) -> Ints:
    """Returns [R] a value of each request, all of whose rows have the same."""
    of_request = np.zeros(n_requests, dtype=np.int64)
    of_request[request] = values
    return of_request


def _example(table: pa.Table, rows: Mask) -> str:
    """Returns the smallest id of a request among the marked rows."""
    import pyarrow as pa

    return str(min(table["request_id"].filter(pa.array(rows)).to_pylist(), key=str))
