"""Slices: the same metrics for some of the users, or for some of the items.

=================  =========  ==================================================================
 by                needs      slices
=================  =========  ==================================================================
``user_warmth``    train      users with train rows (weak generalisation) and without (strong)
``item_warmth``    train      items with train rows (weak generalisation) and without (strong)
``history``        train      users by the number of their train items: 0, 1–4, 5–19, 20–99 …
``popularity``     train      ``head``: the fifth of the train items with the most train users, and
                              all items tied with the last of them; ``tail``: all other items
``user:COLUMN``    users      users by a column of the user attributes
``item:COLUMN``    catalogue  items by a column of the catalogue
=================  =========  ==================================================================

In a slice of users, only these users count. In a slice of items, only relevant rows of these items count, and
only users who have such a row. To add slices, add a row to ``SLICE_RULES``.

A text column makes one slice per value; a cell with several values (``Crime|Drama``) counts in each. A
numeric column makes one slice per number or, if there are more than twelve numbers, about five bands with
about equally many users (for items: relevant rows). No column makes more than twelve slices: rare values are
combined as ``other``, and ``(none)`` has the users or items without a value. Slices in which no user counts
are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.inputs import Truth
from recdash.domain.kinds import Ints, Mask, TableKind
from recdash.domain.results import Slice
from recdash.engines import Reference
from recdash.engines.attributes import Attribute, attribute_of, has_numbers
from recdash.errors import InputError, Problem, UnknownName
from recdash.evaluation.binning import equal_tops, range_labels
from recdash.metrics.catalogue import fewest_users_of_head

Side = Literal["users", "items"]

HISTORY_FROM = (0, 1, 5, 20, 100, 500)
"""The smallest number of train items in each band of history lengths."""
HEAD = Fraction(1, 5)
"""The share of the train items that forms the head."""
BANDS = 5
MOST_SLICES = 12
MOST_USER_RULES = 6
NONE, OTHER = "(none)", "other"
TABLE_WORDS = {
    "train": "training data",
    "users": "a table of user attributes",
    "catalogue": "a catalogue",
}


@dataclass(frozen=True)
class SliceMembers:
    """A group of users or of items of the truth: ``members`` is a mask [U] or [N]."""

    value: str
    title: str
    members: Mask


@dataclass(frozen=True)
class SliceRule:
    """A rule that groups users or items: its name (``by``), the table that it needs, and a function that
    makes the groups.
    """

    by: str
    title: str
    of: Side
    needs: TableKind
    groups: Callable[[Reference], list[SliceMembers]]


def slices_of(reference: Reference, by: str) -> list[Slice]:
    """Returns the slices of one rule that have at least one user who counts.

    Raises UnknownName for an unknown ``by``, and InputError if the table that it needs is missing.
    """
    rule = _rule(reference, by)
    counts = _weights(reference.truth)[rule.of] > 0
    groups = [group for group in rule.groups(reference) if (group.members & counts).any()]
    if rule.of == "users":
        return [Slice(by, group.value, group.title, users=group.members & counts) for group in groups]
    # Every row of these items, relevant or not: some metrics use judged negatives.
    item = reference.truth.item
    return [Slice(by, group.value, group.title, rows=group.members[item]) for group in groups]


def user_slices(reference: Reference, most_rules: int = MOST_USER_RULES) -> list[Slice]:
    """Returns all slices of users by the first ``most_rules`` rules whose table is given."""
    rules = [rule.by for rule in rules_of(reference) if rule.of == "users"]
    return [part for by in rules[:most_rules] for part in slices_of(reference, by)]


def known_slices(reference: Reference) -> list[str]:
    """Returns the rule names that ``slices_of`` accepts: those of rules whose table is given."""
    return [rule.by for rule in rules_of(reference)]


def rules_of(reference: Reference) -> list[SliceRule]:
    """Returns the rules whose table is given, including one for each column of the attribute tables."""
    rules = [rule for rule in SLICE_RULES if _has(reference, rule.needs)]
    return rules + [rule for family in FAMILIES for rule in _rules_of_columns(reference, family)]


def _rule(reference: Reference, by: str) -> SliceRule:
    rules = {rule.by: rule for rule in rules_of(reference)}
    if by in rules:
        return rules[by]
    tables = [rule.needs for rule in SLICE_RULES if rule.by == by]
    tables += [family.table for family in FAMILIES if by.startswith(family.prefix)]
    if tables and not _has(reference, tables[0]):
        text = f"needs {TABLE_WORDS[tables[0]]}, and none was given"
        fix = "Add that table, or choose another slice."
        raise InputError(Problem("slice-lacks-table", f"slice '{by}'", text, fix))
    raise UnknownName("slice", by, list(rules))


def _has(reference: Reference, kind: TableKind) -> bool:
    return reference.history is not None if kind == "train" else kind in reference.tables


def _weights(truth: Truth) -> dict[Side, Ints]:
    """Returns the number of relevant rows of each user [U] and of each item [N]."""
    relevant = truth.relevant()
    return {
        "users": truth.per_user(relevant),
        "items": np.bincount(truth.item[relevant], minlength=len(truth.items)),
    }


# ── from train ───────────────────────────────────────────────────────────────────────────────


def _user_warmth(reference: Reference) -> list[SliceMembers]:
    warm = _history(reference) > 0
    return [
        SliceMembers("warm", "Known users (with train rows)", warm),
        SliceMembers("cold", "Users new to the service (no train rows)", ~warm),
    ]


def _item_warmth(reference: Reference) -> list[SliceMembers]:
    warm = _popularity(reference) > 0
    return [
        SliceMembers("warm", "Known items (with train rows)", warm),
        SliceMembers("cold", "Items new to the service (no train rows)", ~warm),
    ]


def _history_bands(reference: Reference) -> list[SliceMembers]:
    history, bands = _history(reference), []
    for low, high in zip(HISTORY_FROM, [*HISTORY_FROM[1:], None], strict=True):
        label, members = f"{low}+", history >= low
        if high is not None:
            label = f"{low}" if high == low + 1 else f"{low}–{high - 1}"
            members &= history < high
        bands.append(SliceMembers(label, f"Users with {label} train items", members))
    return bands


def _head_and_tail(reference: Reference) -> list[SliceMembers]:
    least = fewest_users_of_head(_train_users(reference), HEAD)
    head = _popularity(reference) >= least
    return [
        SliceMembers("head", f"Most popular items ({least} or more train users)", head),
        SliceMembers("tail", f"All other items (fewer than {least} train users)", ~head),
    ]


def _history(reference: Reference) -> Ints:
    """Returns [U] the number of train items of each user; 0 without training data."""
    return np.zeros(reference.truth.n_users, np.int64) if reference.history is None else reference.history


def _train_users(reference: Reference) -> Ints:
    return np.zeros(0, np.int64) if reference.train_users is None else reference.train_users


def _popularity(reference: Reference) -> Ints:
    """Returns the number of train users of each item of the truth [N]; an empty array without training
    data.
    """
    return _train_users(reference)[: len(reference.truth.items)]


SLICE_RULES: tuple[SliceRule, ...] = (
    SliceRule("user_warmth", "Known and new users", "users", "train", _user_warmth),
    SliceRule("item_warmth", "Known and new items", "items", "train", _item_warmth),
    SliceRule("history", "Length of the user's history", "users", "train", _history_bands),
    SliceRule("popularity", "Popularity of the item", "items", "train", _head_and_tail),
)


# ── from attributes ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Family:
    """The rules for the columns of one attribute table; ``but`` are the columns that are not attributes."""

    prefix: str
    table: TableKind
    of: Side
    id: str
    but: tuple[str, ...]


FAMILIES = (
    Family("user:", "users", "users", "user_id", ("user_id",)),
    Family("item:", "catalogue", "items", "item_id", ("item_id", "title")),
)


def _rules_of_columns(reference: Reference, family: Family) -> Iterator[SliceRule]:
    if family.table not in reference.tables:
        return
    for column in reference.tables[family.table].table.column_names:
        if column not in family.but:
            title = f"{family.of.capitalize()} by {column}"
            cut = partial(_groups_of_column, family=family, column=column)
            yield SliceRule(family.prefix + column, title, family.of, family.table, cut)


def _groups_of_column(reference: Reference, family: Family, column: str) -> list[SliceMembers]:
    upload = reference.tables[family.table]
    index = reference.users if family.of == "users" else reference.items
    weight = _weights(reference.truth)[family.of]
    if family.of == "users":
        weight = np.minimum(weight, 1)
    owner = _owners(index.copy().codes(upload.table[family.id], grow=False), len(weight))
    if has_numbers(upload, column):
        labelled = _of_numbers(upload.table[column], owner, weight)
    else:
        labelled = _of_values(attribute_of(upload, column), owner, weight)
    return [SliceMembers(label, f"{column}: {label}", members) for label, members in labelled]


def _owners(codes: Ints, n: int) -> Ints:
    """Returns the index of the user or item that each row describes, −1 for ids beyond the ``n`` and for
    further rows of the same id.
    """
    owner = np.full(len(codes), -1, dtype=np.int64)
    distinct, first = np.unique(codes, return_index=True)
    inside = (distinct >= 0) & (distinct < n)
    owner[first[inside]] = distinct[inside]
    return owner


Labelled = list[tuple[str, Mask]]


def _of_values(attribute: Attribute, owner: Ints, weight: Ints) -> Labelled:
    """Returns one group per value, that with the most weight first. Rare values are combined as ``other``;
    ``(none)`` is last.
    """
    owners, codes, names = owner[attribute.row], attribute.value, attribute.values
    owners, codes = owners[owners >= 0], codes[owners >= 0]
    heft = np.bincount(codes, weight[owners], minlength=len(names))
    present = [code for code in np.flatnonzero(heft).tolist() if names[code] != NONE]
    ranked = sorted(present, key=lambda code: (names[code] == OTHER, -heft[code], names[code]))

    def members(of: Sequence[int]) -> Mask:
        inside = np.zeros(len(weight), dtype=bool)
        inside[owners[np.isin(codes, of)]] = True
        return inside

    none = ~members(ranked)
    room = MOST_SLICES - bool(weight[none].any())
    own, rest = (ranked, []) if len(ranked) <= room else (ranked[: room - 1], ranked[room - 1 :])
    pooled = [(OTHER, members(rest))] if rest else []
    return [*((names[code], members([code])) for code in own), *pooled, (NONE, none)]


def _of_numbers(cells: pa.ChunkedArray, owner: Ints, weight: Ints) -> Labelled:
    """Returns one group per number, or per band of about equal weight, in ascending order; ``(none)`` is
    last.
    """
    numbers = np.full(len(weight), np.nan)
    written = np.asarray(pc.fill_null(cells.cast(pa.float64(), safe=False), np.nan))
    numbers[owner[owner >= 0]] = written[owner >= 0]
    known = np.isfinite(numbers) & (weight > 0)
    distinct = np.unique(numbers[known])
    room = MOST_SLICES - bool(weight[~known].any())
    tops = distinct if len(distinct) <= room else equal_tops(numbers[known], weight[known], BANDS)
    bands = [known & (np.searchsorted(tops, numbers) == place) for place in range(len(tops))]
    labels = range_labels([(numbers[band].min(), numbers[band].max()) for band in bands])
    return [*zip(labels, bands, strict=True), (NONE, ~known)]
