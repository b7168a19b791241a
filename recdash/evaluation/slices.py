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
``…:COLUMN (bands)``          the same column in bands, where each of its numbers makes a slice
=================  =========  ==================================================================

In a slice of users, only these users count. In a slice of items, only relevant rows of these items count, and
only users who have such a row. To add slices, add a row to ``SLICE_RULES``.

A text column makes one slice per value; a cell with several values (``Crime|Drama``) counts in each. A
numeric column makes one slice per number or, if there are more than twelve numbers, about five bands with
about equally many users (for items: relevant rows). No column makes more than twelve slices: rare values are
combined as ``other``, and ``(none)`` has the users or items without a value. Slices in which no user counts
are left out.

``COLUMN (bands)`` makes about five bands of a column of prices and the like: of six to twelve numbers that
are not consecutive, and of amounts written as text (``$12.50``, ``12,50``). The column's own slices stay as
they are, so that links and reports with them keep their numbers.
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
from recdash.domain.inputs import Truth, Upload
from recdash.domain.kinds import MISSING, Floats, Ints, Mask, TableKind
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
BANDED = " (bands)"
"""The end of the name of a rule that makes bands of a column whose own rule makes a slice per value."""
CURRENCY = (
    r"(?:[$€£¥]|AED|ARS|AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JPY|KRW|MXN"
    r"|MYR|NOK|NZD|PEN|PHP|PLN|RON|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR)"
)
"""Signs and ISO 4217 codes of the currencies that are traded most; other three letters, as in SKU12, are a
code.
"""
AMOUNT = rf"^(?:{CURRENCY} ?\d+(?:[.,]\d{{1,2}})?|\d+(?:[.,]\d{{1,2}})? ?{CURRENCY}|\d+[.,]\d{{1,2}})$"
"""Pattern of an amount written as text: with a currency, or with a decimal point or comma."""
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
    """Returns all slices of users by the first ``most_rules`` rules whose table is given, without bands."""
    rules = [rule.by for rule in _rules_without_bands(reference) if rule.of == "users"]
    return [part for by in rules[:most_rules] for part in slices_of(reference, by)]


def known_slices(reference: Reference) -> list[str]:
    """Returns the rule names that ``slices_of`` accepts: those of rules whose table is given."""
    return [rule.by for rule in rules_of(reference)]


def rules_of(reference: Reference) -> Iterator[SliceRule]:
    """Yields the rules whose table is given; those of bands, which take longest to find, come last."""
    yield from _rules_without_bands(reference)
    for family in FAMILIES:
        yield from _rules_of_bands(reference, family)


def _rules_without_bands(reference: Reference) -> Iterator[SliceRule]:
    yield from (rule for rule in SLICE_RULES if _has(reference, rule.needs))
    for family in FAMILIES:
        yield from _rules_of_columns(reference, family)


def _rule(reference: Reference, by: str) -> SliceRule:
    rule = next((rule for rule in rules_of(reference) if rule.by == by), None)
    if rule is not None:
        return rule
    tables = [rule.needs for rule in SLICE_RULES if rule.by == by]
    tables += [family.table for family in FAMILIES if by.startswith(family.prefix)]
    if tables and not _has(reference, tables[0]):
        text = f"needs {TABLE_WORDS[tables[0]]}, and none was given"
        fix = "Add that table, or choose another slice."
        raise InputError(Problem("slice-lacks-table", f"slice '{by}'", text, fix))
    raise UnknownName("slice", by, known_slices(reference))


def tables_with_slices() -> frozenset[TableKind]:
    """Returns the tables of which an experiment needs one at least: without, ``known_slices`` is empty."""
    return frozenset([*(rule.needs for rule in SLICE_RULES), *(family.table for family in FAMILIES)])


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
    for column in _columns(reference, family):
        title = f"{family.of.capitalize()} by {column}"
        cut = partial(_groups_of_column, family=family, column=column)
        yield SliceRule(family.prefix + column, title, family.of, family.table, cut)


def _rules_of_bands(reference: Reference, family: Family) -> Iterator[SliceRule]:
    columns = _columns(reference, family)
    numbers_of = {column: _numbers_of(reference.tables[family.table], column) for column in columns}
    if all(numbers is None for numbers in numbers_of.values()):
        return
    owner, weight = _described(reference, family)
    for column, numbers in numbers_of.items():
        if numbers is None or column + BANDED in columns:  # the table's own column of that name counts
            continue
        of_owner = _by_owner(numbers, owner, len(weight))
        distinct = np.unique(of_owner[np.isfinite(of_owner) & (weight > 0)])
        if _needs_bands(distinct, is_text=not has_numbers(reference.tables[family.table], column)):
            by, title = family.prefix + column + BANDED, f"{family.of.capitalize()} by {column}, in bands"
            cut = partial(_bands_of_column, family=family, column=column, numbers=numbers)
            yield SliceRule(by, title, family.of, family.table, cut)


def _columns(reference: Reference, family: Family) -> list[str]:
    if family.table not in reference.tables:
        return []
    return [name for name in reference.tables[family.table].table.column_names if name not in family.but]


def _needs_bands(distinct: Floats, *, is_text: bool) -> bool:
    """Returns whether the column's own rule makes a slice per number although bands say more.

    Few numbers, and consecutive whole ones such as grades and years, are readable one by one.
    """
    if len(distinct) <= BANDS or (not is_text and len(distinct) > MOST_SLICES):
        return False
    return is_text or not np.array_equal(np.diff(distinct), np.ones(len(distinct) - 1))


def _numbers_of(upload: Upload, column: str) -> pa.ChunkedArray | None:
    """Returns the column's numbers; None if it has neither numbers nor amounts written as text alone."""
    cells = upload.table[column]
    if has_numbers(upload, column):
        return cells
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if not pa.types.is_string(cells.type) and not pa.types.is_large_string(cells.type):
        return None
    texts = pc.utf8_trim_whitespace(cells)
    texts = pc.if_else(pc.is_in(texts, pa.array([*MISSING], texts.type)), None, texts)
    first = texts.drop_null().slice(0, 1)  # the first value usually decides
    if not len(first) or not all(
        pc.all(pc.match_substring_regex(part, AMOUNT)).as_py() for part in (first, texts)
    ):
        return None
    plain = pc.replace_substring_regex(texts, f" ?{CURRENCY} ?", "")
    return pc.replace_substring(plain, ",", ".").cast(pa.float64())


def _described(reference: Reference, family: Family) -> tuple[Ints, Ints]:
    """Returns the user or item that each row of the family's table describes, as ``_owners`` does, and the
    weight of each user or item.
    """
    index = reference.users if family.of == "users" else reference.items
    weight = _weights(reference.truth)[family.of]
    if family.of == "users":
        weight = np.minimum(weight, 1)
    ids = reference.tables[family.table].table[family.id]
    return _owners(index.copy().codes(ids, grow=False), len(weight)), weight


def _groups_of_column(reference: Reference, family: Family, column: str) -> list[SliceMembers]:
    upload = reference.tables[family.table]
    owner, weight = _described(reference, family)
    if has_numbers(upload, column):
        labelled = _of_numbers(upload.table[column], owner, weight)
    else:
        labelled = _of_values(attribute_of(upload, column), owner, weight)
    return [SliceMembers(label, f"{column}: {label}", members) for label, members in labelled]


def _bands_of_column(
    reference: Reference, family: Family, column: str, numbers: pa.ChunkedArray
) -> list[SliceMembers]:
    labelled = _of_numbers(numbers, *_described(reference, family), each=BANDS)
    return [SliceMembers(label, f"{column} band: {label}", members) for label, members in labelled]


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


def _of_numbers(cells: pa.ChunkedArray, owner: Ints, weight: Ints, each: int = MOST_SLICES) -> Labelled:
    """Returns one group per number if there are at most ``each``, otherwise per band of about equal weight,
    in ascending order; ``(none)`` is last.
    """
    numbers = _by_owner(cells, owner, len(weight))
    known = np.isfinite(numbers) & (weight > 0)
    distinct = np.unique(numbers[known])
    room = each - bool(weight[~known].any())
    tops = distinct if len(distinct) <= room else equal_tops(numbers[known], weight[known], BANDS)
    bands = [known & (np.searchsorted(tops, numbers) == place) for place in range(len(tops))]
    labels = range_labels([(numbers[band].min(), numbers[band].max()) for band in bands])
    return [*zip(labels, bands, strict=True), (NONE, ~known)]


def _by_owner(cells: pa.ChunkedArray, owner: Ints, n: int) -> Floats:
    """Returns the number of each of the ``n`` users or items; NaN for those without one."""
    numbers = np.full(n, np.nan)
    written = np.asarray(pc.fill_null(cells.cast(pa.float64(), safe=False), np.nan))
    numbers[owner[owner >= 0]] = written[owner >= 0]
    return numbers
