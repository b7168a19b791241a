"""Recognises columns of a table without a header line that would be read as ids by their position, and hold
times, numbers of the rows or positions in a list.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby, pairwise

from recdash.domain.kinds import TableKind
from recdash.errors import Problem
from recdash.ingest.columns import CHOOSE, ROLES, UNITS_OF_TIME, are_dates, are_recent, are_times

FEWEST_ROWS = 5
"""Smallest number of rows from which a column is taken for something else than ids."""
DISTINCT = 0.9
"""Share of distinct values from which numbers of the size of a time are times; ids are repeated."""
LONG_LIST = 6
"""Length of a list from which different numbers beside its positions are items; ratings would be repeated."""

Rows = Sequence[Mapping[str, str]]


def problem_of_ids(
    kind: TableKind,
    columns: Sequence[str],
    mapping: Mapping[str, str],
    stated: Collection[str],
    rows: Rows,
    *,
    are_lists: bool = False,
) -> Problem | None:
    """Returns the problem of a column of users or items that seems to hold something else; None without one.

    ``mapping`` is {role: column} by position, ``stated`` are the roles that the user mapped, ``rows`` are the
    first ones. ``are_lists``: each row is a list of items.
    """
    names = [mapping.get("user_id", ""), mapping.get("item_id", "")]
    if names != [*columns[:2]] or len(columns) < 3 or {"user_id", "item_id"} <= {*stated}:
        return None
    values = {column: [row[column].strip() for row in rows] for column in columns}
    users, items, others = (values[column] for column in columns[:3])
    has_times = any(are_times(values[column]) for column in columns[2:4])
    first = _first_position(users, items, others)
    start = "0, 1, 2" if first == 0 else "1, 2, 3"
    is_asked = (
        (1, _are_moments(items, has_times), "has times, not items"),
        (0, _are_moments(users, has_times), "has times, not users"),
        (0, _number_rows(users, items, others), "counts the rows, as an index does, and may be no user"),
        (1, first is not None, f"counts {start} … for each user, as positions do"),
    )
    for place, is_seen, finding in is_asked:
        if is_seen and ("user_id", "item_id")[place] not in stated:
            return _asked(kind, columns, place, finding, are_lists)
    return None


def _asked(
    kind: TableKind, columns: Sequence[str], place: int, finding: str, are_lists: bool = False
) -> Problem:
    """Returns the problem of the column at a place, with the columns that may be meant instead."""
    user, item, *_ = [column for column in columns if column != columns[place]]
    item += f"..{columns[-1]}" if are_lists and item != columns[-1] else ""
    role = "timestamp" if "times" in finding else "rank" if "positions" in finding else ""
    has_role = any(known.name == role for known in ROLES[kind])
    meant = f"user_id={user},item_id={item}" + (f",{role}={columns[place]}" if has_role else "")
    as_it_is = f"user_id={columns[0]},item_id={columns[1]}"
    fix = f"Name the columns that are meant, such as {meant}, or {as_it_is} if they are ids{CHOOSE}."
    return Problem("no-ids", f"column '{columns[place]}'", finding, fix)


def _are_moments(values: Sequence[str], has_other_times: bool) -> bool:
    """Returns True if all values are dates; or, unless another column has times, numbers that are seconds or
    milliseconds of this century and hardly repeated.
    """
    if are_dates(values):
        return True
    whole = [int(value) for value in values if value.isdecimal() and len(value) <= 13]
    if has_other_times or len(whole) < max(len(values), FEWEST_ROWS):
        return False
    return are_recent(whole, UNITS_OF_TIME[:2]) and len(set(whole)) >= DISTINCT * len(whole)


def _number_rows(users: Sequence[str], items: Sequence[str], others: Sequence[str]) -> bool:
    """Returns True if the first column counts the rows, and the next has the rows of users one below the
    other.
    """
    numbers = [int(value) for value in users if value.isdecimal() and len(value) < 19]
    if len(numbers) < max(len(users), FEWEST_ROWS) or numbers[0] not in (0, 1):
        return False
    if any(after != before + 1 for before, after in pairwise(numbers)):
        return False
    blocks = [value for value, _ in groupby(items)]
    if len(blocks) == 1:  # all first rows are of one user, whose items differ
        return len(set(others)) == len(others) and all(value.isdecimal() for value in others)
    return len(set(blocks)) == len(blocks) <= len(items) / 2


def _first_position(users: Sequence[str], items: Sequence[str], others: Sequence[str]) -> int | None:
    """Returns 0 or 1 if the second column counts from it in the rows of each user, and the next may have the
    items; else None.
    """
    lists = [[*rows] for _, rows in groupby(zip(users, items, others, strict=True), key=lambda row: row[0])]
    first = next(iter(items), "")
    if first not in ("0", "1") or len(lists) < 2 or len(items) < FEWEST_ROWS:
        return None
    counted = [[str(int(first) + place) for place in range(len(rows))] for rows in lists]
    if [[position for _, position, _ in rows] for rows in lists] != counted:
        return None
    is_long = max(map(len, lists)) >= LONG_LIST
    may_be_items = all(value.isdecimal() or not _is_number(value) for value in others)
    is_distinct = all(len({item for _, _, item in rows}) == len(rows) for rows in lists)
    are_numbers = all(map(_is_number, others))
    falls = are_numbers and all(
        float(before[2]) > float(after[2]) for rows in lists for before, after in pairwise(rows)
    )
    return int(first) if may_be_items and is_distinct and (is_long or not are_numbers) and not falls else None


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
