"""Finds the columns of users and of items in each file.

Names decide first, then ids that files share, then the form of the rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.ingest.columns import (
    CLICK,
    EVENT,
    ITEM,
    MEAN,
    METRIC,
    PREDICTION,
    RANK,
    RATING,
    RELEVANCE,
    RUN,
    SCORE,
    TIME,
    TITLE,
    UNIT,
    USER,
    USERS,
    VARIANCE,
    VARIANT,
    names_of,
    plain,
)  # fmt: skip
from recdash.ingest.looks import ColumnLook, Look

SHARED = 0.2
"""Smallest share of a column's ids that must occur among known users (or items) to recognise it as such."""
CLEARLY = 2.0
"""How many times more ids must be known as users than as items, or the other way round."""
ONE_EACH = 0.9
"""Smallest share of distinct ids among the rows for which each row is one item (or user)."""
GROUPED = 1.5
"""How many times longer the groups of rows of a user must be than those of an item to tell them by it."""
MOSTLY_ONE_EACH = 0.5
"""The same if each row has a title too, since some ids may be repeated by mistake."""
MANY_VALUES = 0.1
"""Share of distinct values among the rows above which a column may hold users, whatever their variants."""
MOST_VARIANTS = 10
FEWEST_REPEATED = 30
"""Smallest number of repeated values that tell ids from values that share a variant by chance."""
FEWEST_STEPS = 10
"""Smallest number of rows, besides the first of each list, from which positions are concluded."""
CLEAR = 0.9
"""Smallest share of lists whose rows a column must number."""
NEVER_IDS = {
    name
    for role in (RANK, RELEVANCE, TIME, SCORE, RATING, PREDICTION, VARIANT, RUN, CLICK, EVENT)
    for name in names_of(role)
} | {name for role in (METRIC, MEAN, VARIANCE, USERS) for name in names_of(role)}
"""Names of columns that contain something else than ids."""
USER_NAMES = tuple(dict.fromkeys((*names_of(USER), *names_of(UNIT))))
ITEM_NAMES = names_of(ITEM)


@dataclass(frozen=True)
class IdColumns:
    """The columns of users and of items in a file; None if there is none.

    ``by_values`` are roles whose column was recognised by its ids and not by its name, ``by_place`` those
    that only the column's position suggests, ``by_names`` those of a column that is named as in other files.
    """

    user: str | None = None
    item: str | None = None
    by_values: tuple[str, ...] = ()
    by_place: tuple[str, ...] = ()
    by_names: tuple[str, ...] = ()

    def of(self, role: str) -> str | None:
        return self.user if role == "user_id" else self.item

    def with_column(self, role: str, column: str, *, by_place: bool = False) -> IdColumns:
        own = replace(self, user=column) if role == "user_id" else replace(self, item=column)
        if by_place:
            return replace(own, by_place=(*self.by_place, role))
        return replace(own, by_values=(*self.by_values, role))

    @property
    def mapping(self) -> dict[str, str]:
        """Returns {role: column} of the columns that were not recognised by their names."""
        roles = (*self.by_values, *self.by_place, *self.by_names)
        return {role: str(self.of(role)) for role in ("user_id", "item_id") if role in roles}


def id_columns(looks: Sequence[Look], stored: Mapping[str, frozenset[str]]) -> list[IdColumns]:
    """Returns the columns of users and items of each file; the files are compared with each other, and with
    the ids that are ``stored``, by role.
    """
    columns = _compared(looks, [_by_names(look) for look in looks], stored)
    pairs = zip(looks, columns, strict=True)
    columns = [_by_title(look, own) if own.user is not None else own for look, own in pairs]
    for least in (GROUPED, 0.0):  # a file in random order must not mislead those that are compared with it
        by_rows = [_by_rows(look, own, least) for look, own in zip(looks, columns, strict=True)]
        columns = _compared(looks, by_rows, stored)
    return [_by_title(look, own) for look, own in zip(looks, columns, strict=True)]


def _compared(
    looks: Sequence[Look], columns: list[IdColumns], stored: Mapping[str, frozenset[str]]
) -> list[IdColumns]:
    """Returns the columns, completed by comparing the ids of files until no other column is recognised."""
    while True:
        known = {role: _known_ids(role, looks, columns) | stored[role] for role in ("user_id", "item_id")}
        more = [_by_shared_ids(look, own, known) for look, own in zip(looks, columns, strict=True)]
        if more == columns:
            names = {role: _names(role, looks, columns) for role in ("user_id", "item_id")}
            more = [_by_shared_name(look, own, names) for look, own in zip(looks, columns, strict=True)]
        if more == columns:
            return columns
        columns = more


def _names(role: str, looks: Sequence[Look], columns: Sequence[IdColumns]) -> frozenset[str]:
    """Returns the names of the columns of this role, user_id or item_id, in the files with a header."""
    named = [own.of(role) for look, own in zip(looks, columns, strict=True) if look.has_header]
    return frozenset(plain(column) for column in named if column is not None)


def _by_shared_name(look: Look, own: IdColumns, names: Mapping[str, frozenset[str]]) -> IdColumns:
    """Returns ``own`` with the users in the column that is named like those of other files, though its ids
    are others, as in an A/B test of other users.
    """
    only_users = names["user_id"] - names["item_id"]
    if own.user is not None or not look.has_header or look.roles is not None or is_attributes(look, own):
        return own
    same = [column for column in free_ids(look, own) if plain(column) in only_users]
    return replace(own, user=same[0], by_names=("user_id",)) if len(same) == 1 else own


def _known_ids(role: str, looks: Sequence[Look], columns: Sequence[IdColumns]) -> frozenset[str]:
    """Returns the ids in the columns of this role, user_id or item_id, in all files."""
    known = [(look, own.of(role)) for look, own in zip(looks, columns, strict=True)]
    ids = [look.by_name[column].distinct for look, column in known if column in look.by_name]
    return frozenset().union(*ids)


def _by_names(look: Look) -> IdColumns:
    if look.roles is not None:
        return IdColumns(look.roles.get("user_id"), look.roles.get("item_id"))
    if not look.has_header:
        return IdColumns(*_first_two(look))
    user = look.first_of(USER_NAMES)
    return IdColumns(user, look.first_of(ITEM_NAMES, (user, *_titles(look))))


def _titles(look: Look) -> list[str]:
    """Returns the columns named like titles; they contain the items only if no other column does."""
    return [column for column in look.columns if plain(column) in names_of(TITLE)]


def _first_two(look: Look) -> tuple[str | None, str | None]:
    first, second, *_ = (*look.columns, None, None)
    return first, second


def _by_shared_ids(look: Look, own: IdColumns, known: Mapping[str, frozenset[str]]) -> IdColumns:
    """Returns ``own`` completed by columns whose ids are users or items in other files."""
    if not look.has_header or look.roles is not None:
        return own
    for role, other in (("user_id", "item_id"), ("item_id", "user_id")):
        if own.of(role) is not None or is_attributes(look, own):  # a row per user holds no single item
            continue
        free = [look.by_name[column] for column in free_ids(look, own)]
        shares = {
            column.name: (share_of(column, known[role]), share_of(column, known[other])) for column in free
        }
        clear = {name: share for name, (share, of_other) in shares.items() if share > CLEARLY * of_other}
        best = max(clear, key=clear.__getitem__, default=None)
        if best is not None and clear[best] >= SHARED:
            own = own.with_column(role, best)
    return own


def share_of(column: ColumnLook, known: frozenset[str]) -> float:
    """Returns the share of a column's distinct ids that are known, from 0 to 1."""
    return len(column.distinct & known) / len(column.distinct) if column.distinct else 0.0


def free_ids(look: Look, own: IdColumns) -> list[str]:
    """Returns the columns that may contain ids and have no role yet."""
    return [
        column
        for column in look.columns
        if column not in (own.user, own.item)
        and column not in look.lists
        and look.by_name[column].may_be_ids
        and plain(column) not in NEVER_IDS
    ]


def _free(look: Look, own: IdColumns) -> list[str]:
    """Returns the columns of a file with a header that may contain ids and have no role yet; those named like
    titles only if there is no other.
    """
    free = free_ids(look, own) if look.has_header and look.roles is None else []
    return [column for column in free if column not in _titles(look)] or free


def _by_title(look: Look, own: IdColumns) -> IdColumns:
    """Returns ``own`` with the items in a column named like a title, if no other column has them."""
    if own.item is not None or not look.has_header or look.roles is not None:
        return own
    return replace(own, item=look.first_of(ITEM_NAMES, (own.user,)))


def _by_rows(look: Look, own: IdColumns, least: float) -> IdColumns:
    """Returns ``own`` completed by the form of the rows: with the only column that fits, or with two columns.

    In files of lists and of interactions, the rows of one user are next to each other more often than those
    of one item, at least ``least`` times as often. A column that numbers the rows of another one holds
    positions in the lists of users.
    """
    free = _free(look, own)
    if (clear := _clear_column(look, own, free)) is not None:
        return own.with_column(*clear, by_place=True)
    if is_attributes(look, own):
        return own
    numbered = None if not free or _is_key(look, free[0]) else _numbered(look, own, free)
    if numbered is not None:
        return _with_numbered(own, *numbered, free)
    if own.item is not None and own.user is None and free:
        return own.with_column("user_id", free[0], by_place=True)
    if own.user is None and own.item is None and len(free) >= 2 and not _is_key(look, free[0]):
        return _by_groups(look, own, free[:2], least)
    return own


def _clear_column(look: Look, own: IdColumns, free: Sequence[str]) -> tuple[str, str] | None:
    """Returns (role, column) if only one column is left for the items, or one has a unit per row."""
    if own.item is not None or not free:
        return None
    if own.user is not None:
        return ("item_id", free[0]) if len(free) == 1 else None
    units = columns_of_units(look, own)
    return ("user_id", units[0]) if len(units) == 1 else None


def columns_of_units(look: Look, own: IdColumns) -> list[str]:
    """Returns the columns that may hold the units of an A/B test whose first free column has an id per row:
    this one, and those whose ids repeat and may be the users. Returns none for another table.

    The table must have variants, and the first ids must not count the rows.
    """
    free = [look.by_name[column] for column in _free(look, own)]
    variants = {
        name: column
        for name, column in look.by_name.items()
        if name not in look.lists
        and (plain(name) in names_of(VARIANT) or column.has_sure_variants)
        and 1 < len(column.distinct) <= MOST_VARIANTS
    }
    if not free or not variants or not free[0].is_unique:
        return []
    if free[0].is_whole and bool((np.diff(free[0].numbers) == 1).all()):
        return []
    others = [
        look.by_name[name] for name in look.columns if name not in (free[0].name, *variants, *look.lists)
    ]
    with_many = {column.name for column in free if len(column.distinct) > MANY_VALUES * len(column.values)}
    may_be_users = [
        column.name
        for column in others
        if column.name in with_many or _has_ids_of_one_variant_each(column, variants.values())
    ]
    return [free[0].name, *may_be_users]


def _has_ids_of_one_variant_each(column: ColumnLook, variants: Iterable[ColumnLook]) -> bool:
    """Returns whether the values may be ids, however many are missing, and each has one variant."""
    may_be_ids = (column.is_whole or not column.is_number) and not column.is_date
    return (
        may_be_ids
        and plain(column.name) not in NEVER_IDS
        and any(_has_one_variant_each(column, variant) for variant in variants)
    )


def _has_one_variant_each(column: ColumnLook, variant: ColumnLook) -> bool:
    """Returns whether rows of the same value have mostly the same variant, as rows of a user have, and more
    often than chance gives.

    Each value counts alike, so that one for all unknown users does not hide the others.
    """
    if len(column.distinct) <= len(variant.distinct):  # other names of the variants
        return False
    is_filled = [bool(value and group) for value, group in zip(column.ids, variant.ids, strict=True)]
    values, groups = column.codes[is_filled], variant.codes[is_filled]
    rows = np.zeros((len(column.values), MOST_VARIANTS + 1))
    np.add.at(rows, (values, groups), 1)
    rows = rows[rows.sum(axis=1) > 1]
    if len(rows) < FEWEST_REPEATED:
        return False
    n_rows = rows.sum(axis=1)
    same = (rows * (rows - 1)).sum(axis=1) / (n_rows * (n_rows - 1))
    by_chance = ((rows.sum(axis=0) / rows.sum()) ** 2).sum()
    return bool(same.mean() >= (1 + by_chance) / 2)


def _by_groups(look: Look, own: IdColumns, pair: Sequence[str], least: float) -> IdColumns:
    """Returns ``own`` with the column of longer groups of rows as users and the other as items."""
    user, item = sorted(pair, key=lambda column: -_run_length(look.by_name[column]))
    if _run_length(look.by_name[user]) < least * _run_length(look.by_name[item]):
        return own
    return own.with_column("user_id", user, by_place=True).with_column("item_id", item, by_place=True)


def _with_numbered(own: IdColumns, user: str, position: str, free: Sequence[str]) -> IdColumns:
    """Returns ``own`` with the column of users that ``position`` numbers, and with the items beside it.

    Beside users of a known name, only the single column that is left has the items.
    """
    free = [column for column in free if column not in (user, position)]
    if own.item is None and free and (own.user is None or len(free) == 1):
        own = own.with_column("item_id", free[0], by_place=True)
    return own if own.user is not None else own.with_column("user_id", user, by_place=True)


def _numbered(look: Look, own: IdColumns, free: Sequence[str]) -> tuple[str, str] | None:
    """Returns the column of users and that of the positions in their lists; None if no column numbers rows.

    A third column must have the items.
    """
    ids = [own.user] if own.user is not None else free
    pairs = []
    for column in look.columns if look.has_header and look.roles is None else ():
        position = look.by_name[column]
        if column in (own.user, own.item) or column in look.lists or not position.is_whole:
            continue
        numbers = position.numbers
        first = np.nanmin(numbers)
        if first not in (0, 1):
            continue
        n_lists = np.count_nonzero(numbers == first)
        for user in ids:
            has_items = own.item is not None or any(other not in (user, column) for other in free)
            values = look.by_name[user]
            # as many users as first positions; a quick look that spares the comparison of all rows
            if user == column or not has_items or not CLEAR <= len(values.distinct) / n_lists <= 1 / CLEAR:
                continue
            if are_positions(values.codes, numbers):
                pairs.append((user, column))
    return max(pairs, key=lambda pair: _run_length(look.by_name[pair[0]]), default=None)


def are_positions(codes: Ints, numbers: Floats) -> bool:
    """Returns True if the numbers of nearly every list are 1 to n, or 0 to n - 1, in any order.

    ``codes`` [rows] are the lists. Lists of one row show nothing.
    """
    order = np.lexsort((numbers, codes))
    codes, numbers = codes[order], numbers[order]
    begins = np.flatnonzero(np.diff(codes, prepend=-1))
    lengths = np.diff(begins, append=len(codes))
    if np.isnan(numbers).any() or len(codes) - len(begins) < FEWEST_STEPS:
        return False
    place = np.arange(len(codes)) - np.repeat(begins, lengths)
    is_wrong = numbers - numbers.min() != place
    is_good = ~np.logical_or.reduceat(is_wrong, begins)
    return numbers.min() in (0, 1) and bool(is_good[lengths > 1].mean() >= CLEAR)


def is_attributes(look: Look, own: IdColumns) -> bool:
    """Returns True if each row is one item, or one user, so that no other column has ids."""
    ids = [column for column in (own.user, own.item) if column is not None]
    has_title = look.first_of(names_of(TITLE), ids) is not None
    return len(ids) == 1 and _is_key(look, ids[0], ONE_EACH if not has_title else MOSTLY_ONE_EACH)


def _is_key(look: Look, column: str, least: float = ONE_EACH) -> bool:
    """Returns True if at least the share ``least`` of the rows have different ids."""
    values = look.by_name[column]
    return len(values.distinct) >= least * len(values.filled) > 0


def _run_length(column: ColumnLook) -> float:
    """Returns the mean number of consecutive rows with the same id; 0 without rows."""
    groups = sum(1 for _ in itertools.groupby(column.ids))
    return len(column.ids) / groups if groups else 0.0
