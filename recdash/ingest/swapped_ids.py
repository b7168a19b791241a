"""Finds files in which the names of the columns of users and items are exchanged, by comparing most files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from recdash.ingest.id_columns import CLEARLY, IdColumns, is_attributes
from recdash.ingest.looks import Look

FEWEST = 3.0
"""The counts of files that contradict the names must add up to more than this, for users and items together.

One file against another one gives 2; then the test set decides.
"""
Counts = Mapping[str, int]


def unswapped(looks: Sequence[Look], columns: Sequence[IdColumns]) -> list[IdColumns]:
    """Returns the columns of users and items, exchanged in files that most of the others contradict.

    A catalogue counts as much as all other files together, because its rows are certainly items.
    """
    columns = list(columns)
    pairs = [n for n, own in enumerate(columns) if own.user and own.item and looks[n].roles is None]
    for _ in pairs:
        users, items = (_counted(role, looks, columns) for role in ("user_id", "item_id"))
        evidence = {number: _swap_evidence(looks[number], columns[number], users, items) for number in pairs}
        worst = max(pairs, key=evidence.__getitem__)
        if evidence[worst] <= 0:
            break
        own = columns[worst]
        both = ("user_id", "item_id")
        columns[worst] = replace(own, user=own.item, item=own.user, by_values=both, by_place=())
    return columns


def _counted(role: str, looks: Sequence[Look], columns: Sequence[IdColumns]) -> Counter[str]:
    """Returns id → the number of files that have it in the column of this role, user_id or item_id."""
    counts: Counter[str] = Counter()
    for look, own in zip(looks, columns, strict=True):
        column = own.of(role)
        if column in look.by_name:
            weight = len(looks) if is_attributes(look, own) else 1
            counts.update(dict.fromkeys(look.by_name[column].distinct, weight))
    return counts


def _swap_evidence(look: Look, own: IdColumns, users: Counts, items: Counts) -> float:
    """Returns how many more files, per id, contradict the names of a file's columns than confirm them.

    Returns 0 if too few do.
    """
    own_users, own_items = look.by_name[str(own.user)].distinct, look.by_name[str(own.item)].distinct
    same = _mean(own_users, users, own_users) + _mean(own_items, items, own_items)
    swapped = _mean(own_users, items, own_items) + _mean(own_items, users, own_users)
    return swapped - same if swapped > max(FEWEST, CLEARLY * same) else 0.0


def _mean(ids: frozenset[str], counts: Counts, counted: frozenset[str]) -> float:
    """Returns the mean number of other files that have an id; ``counted`` are the ids of this file."""
    return sum(counts.get(key, 0) - (key in counted) for key in ids) / len(ids) if ids else 0.0
