"""A log of slots filled by a random policy, and a target policy that would fill them differently.

Letters in shapes: ``n`` rows of the log, ``e`` entries of the policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.errors import InputError, Problem
from recdash.ingest.attributes import without_row_numbers

if TYPE_CHECKING:
    import pyarrow as pa

ROUNDING = 1e-3
"""Tolerance of the sum of a case's probabilities around 1, since files are written with few digits."""
OWN = ("item_id", "probability")
USER_NAMES = (
    "user_id", "unit_id", "user", "uid", "visitor_id", "customer_id", "client_id", "member_id", "account_id",
)  # fmt: skip
"""Names by which the column of users is recognised, likeliest first."""

MOST_WEIGHT = 1e75
"""Sums of the third powers of such weights are still finite numbers."""


@dataclass(frozen=True)
class LoggedRows:
    """The n rows of a log, one for each item shown.

    ``item`` [n] are indexes into ``items`` (ids as text), ``position`` [n] is 0..``n_positions`` − 1 (0 if
    the log has none), ``reward`` [n] is the outcome, ``propensity`` [n] the probability of showing the item
    there. ``user`` [n] are codes of users, from 0; None if the log has no users. ``without_user`` is the
    number of rows that name no user; each has a code of its own, after those of all users.
    """

    item: Ints
    items: Sequence[str]
    position: Ints
    n_positions: int
    reward: Floats
    propensity: Floats
    user: Ints | None = None
    without_user: int = 0

    def __len__(self) -> int:
        return len(self.item)


@dataclass(frozen=True)
class Target:
    """What a policy shows in each case that it distinguishes; ``name`` describes the policy.

    ``probability`` [n] is the policy's probability of showing the item of each row of the log, ``case`` [n]
    the case of that row. Everything the policy may show has one of e entries: ``entry_probability`` [e] is
    the probability of ``entry_item`` [e] in the case ``entry_case`` [e]. The item is an index into the log's
    items, −1 if the log never shows it. The probabilities of each of the ``n_cases`` cases add up to 1.
    """

    name: str
    probability: Floats
    case: Ints
    n_cases: int
    entry_item: Ints
    entry_case: Ints
    entry_probability: Floats

    @property
    def unseen(self) -> float:
        """Returns the share of what the policy shows that the log never shows, from 0 to 1.

        It is the mean over the rows of the log.
        """
        strange = self.entry_item < 0
        shares = np.bincount(self.entry_case[strange], self.entry_probability[strange], self.n_cases)
        return float(shares[self.case].mean())


def weights(log: LoggedRows, target: Target) -> Floats:
    """Returns [n] the weight of each row: the target's probability of its item, divided by the propensity.

    Raises InputError for a weight whose powers are beyond all numbers.
    """
    with np.errstate(over="ignore"):
        weight = target.probability / log.propensity
    if not weight.max(initial=0.0) <= MOST_WEIGHT:
        least = float(log.propensity.min())
        message = f"{least:g} is so small that a row's weight is beyond {MOST_WEIGHT:g}"
        fix = "Give the probability with which the item was shown there, or remove the row."
        raise InputError(Problem("tiny-propensity", "column 'propensity_score'", message, fix))
    return weight


def logged(rows: pa.Table, user_column: str | None = None) -> LoggedRows:
    """Returns the log from checked rows with item_id, click, propensity_score and optionally position.

    ``user_column`` names the column of users, by default the first with a usual name. Raises InputError for a
    propensity that is not above 0 and at most 1, and if the log does not have ``user_column``.
    """
    propensity = _numbers(rows["propensity_score"])
    wrong = ~((propensity > 0) & (propensity <= 1))
    if wrong.any():
        n_wrong = int(wrong.sum())
        rows_in_words = f"{n_wrong:,} row{'s' if n_wrong > 1 else ''}"
        message = f"it is {propensity[wrong][0]:g} in {rows_in_words}, which is not a probability above 0"
        fix = "Give the probability, above 0 and at most 1, with which the item was shown there."
        raise InputError(Problem("no-propensity", "column 'propensity_score'", message, fix, n_wrong))
    item, items = codes_of(rows["item_id"])
    has_places = "position" in rows.column_names
    place, places = codes_of(rows["position"]) if has_places else (np.zeros(len(item), dtype=np.int64), ["1"])
    user, without = _users(rows, user_column)
    return LoggedRows(item, items, place, len(places), _numbers(rows["click"]), propensity, user, without)


def _users(rows: pa.Table, column: str | None) -> tuple[Ints | None, int]:
    """Returns [n] codes of users, and the number of rows without a user, each of which has its own code.

    The codes are None if the log has no users. Raises InputError as ``user_column_of`` does.
    """
    name = user_column_of(rows, column)
    if name is None:
        return None, 0
    code, ids = codes_of(rows[name])
    nameless = _nameless(code, ids)
    without = int(nameless.sum())
    code[nameless] = len(ids) + np.arange(without)
    return np.unique(code, return_inverse=True)[1], without


def user_column_of(rows: pa.Table, column: str | None = None) -> str | None:
    """Returns the column of users: ``column``, by default the first with a usual name; None if there is none
    that names any user.

    Raises InputError if the log does not have ``column``.
    """
    names = rows.column_names
    by_name = {name.strip().casefold(): name for name in reversed(names)}
    candidates = [by_name[name] for name in USER_NAMES if name in by_name] if column is None else [column]
    if column is not None and column not in names:
        message = f"the log has no column '{column}'; its columns: {', '.join(names)}"
        raise InputError(Problem("column-not-in-log", "user column", message, "Name one of them."))
    return next((name for name in candidates if not _nameless(*codes_of(rows[name])).all()), None)


def _nameless(code: Ints, ids: Sequence[str]) -> Mask:
    """Returns [n] whether a row names no user."""
    return np.isin(code, [place for place, user in enumerate(ids) if not user.strip()])


def uniform(log: LoggedRows, n_items: int | None = None) -> Target:
    """Returns the policy for which all items are equally likely in every slot.

    ``n_items`` is the number of items, by default those that the log shows. Raises InputError if the log
    shows more.
    """
    n_logged = len(log.items)
    n_choices = n_logged if n_items is None else n_items
    if n_choices < n_logged:
        message = f"{n_choices:,} items to choose from, but the log shows {n_logged:,}"
        raise InputError(Problem("too-few-items", "items", message, "Count every item that can be shown."))
    others = [(n_choices - n_logged) / n_choices] if n_choices > n_logged else []
    return Target(
        name=f"uniform over {n_choices:,} items",
        probability=np.full(len(log), 1 / n_choices),
        case=np.zeros(len(log), dtype=np.int64),
        n_cases=1,
        entry_item=np.array([*range(n_logged), *(-1 for _ in others)], dtype=np.int64),
        entry_case=np.zeros(n_logged + len(others), dtype=np.int64),
        entry_probability=np.array([*[1 / n_choices] * n_logged, *others]),
    )


def of_table(log: LoggedRows, rows: pa.Table, table: pa.Table, name: str) -> Target:
    """Returns the policy in ``table``, which has item_id, probability and the columns it depends on.

    These are columns of the log's ``rows``. Raises InputError for a column that the log lacks, a probability
    below 0, an item that occurs twice in a case, probabilities that do not add up to 1, and rows of the log
    whose case is not in the table.
    """
    table = without_row_numbers(table)
    depends_on = [column for column in table.column_names if column not in OWN]
    unknown = [column for column in depends_on if column not in rows.column_names]
    if unknown:
        message = f"the log has no column '{unknown[0]}'; its columns: {', '.join(rows.column_names)}"
        fix = "A target has item_id, probability, and columns of the log that it depends on."
        raise InputError(Problem("column-not-in-log", "target", message, fix, len(unknown)))
    case, cases = _keys(table, depends_on)
    chances = _numbers(table["probability"])
    item, items = codes_of(table["item_id"])
    _check_probabilities(chances, case, cases, item, items)
    places = {item_id: place for place, item_id in enumerate(log.items)}
    entry_item = np.array([places.get(item_id, -1) for item_id in items], dtype=np.int64)[item]
    of_row = _cases_of(rows, depends_on, cases)
    return Target(
        name=name,
        probability=looked_up(of_row, log, case, entry_item, chances),
        case=of_row,
        n_cases=len(cases),
        entry_item=entry_item,
        entry_case=case,
        entry_probability=chances,
    )


def looked_up(of_row: Ints, log: LoggedRows, case: Ints, item: Ints, chances: Floats) -> Floats:
    """Returns [n] the probability with which the policy shows the item of each logged row.

    ``case``, ``item`` and ``chances`` are the columns of the policy's table: in this case (such as a context)
    it shows this item with this probability. An item below 0 is not in the log. ``of_row`` [n] is the case of
    each logged row. The probability is 0 if the table has no row for that case and item.
    """
    in_log = item >= 0
    keys = case[in_log] * len(log.items) + item[in_log]
    order = np.argsort(keys)
    keys, listed = np.append(keys[order], -1), np.append(chances[in_log][order], 0.0)
    logged_keys = of_row * len(log.items) + log.item
    index = np.searchsorted(keys[:-1], logged_keys)
    return np.where(keys[index] == logged_keys, listed[index], 0.0)


def _cases_of(rows: pa.Table, depends_on: Sequence[str], cases: Sequence[str]) -> Ints:
    """Returns [n] the index in ``cases`` of each row of the log.

    Raises InputError for a case that is not there.
    """
    of_row, labels = _keys(rows, depends_on)
    places = {label: place for place, label in enumerate(cases)}
    missing = [label for label in labels if label not in places]
    if missing:
        others = f", nor {len(missing) - 1:,} more" if len(missing) > 1 else ""
        message = f"the log has {missing[0]}, which the target does not cover{others}"
        fix = "Add its items with their probabilities."
        raise InputError(Problem("case-not-in-target", "target", message, fix, len(missing)))
    return np.array([places[label] for label in labels], dtype=np.int64)[of_row]


def _check_probabilities(
    chances: Floats, case: Ints, cases: Sequence[str], item: Ints, items: Sequence[str]
) -> None:
    """Raises InputError for a probability below 0, an item twice in a case, and sums other than 1."""
    in_case = [f" for {label}" if label else "" for label in cases]
    negative = np.flatnonzero(~(chances >= 0))
    if len(negative):
        message = f"the probability of '{items[item[negative[0]]]}' is {chances[negative[0]]:g}"
        raise InputError(Problem("no-probability", "target", message, "Give one from 0 to 1.", len(negative)))
    pairs, times = np.unique(case * len(items) + item, return_counts=True)
    twice = pairs[times > 1]
    if len(twice):
        of_case, of_item = divmod(int(twice[0]), len(items))
        message = f"'{items[of_item]}' occurs twice{in_case[of_case]}"
        raise InputError(Problem("item-twice", "target", message, "Keep one row per item.", len(twice)))
    sums = np.bincount(case, chances, len(cases))
    off = np.flatnonzero(np.abs(sums - 1) > ROUNDING)
    if len(off):
        others = f", and not to 1 in {len(off) - 1:,} more cases" if len(off) > 1 else ""
        message = f"the probabilities add up to {sums[off[0]]:.4g}{in_case[off[0]]}{others}"
        fix = "They must add up to 1: the target shows some item in every slot."
        raise InputError(Problem("not-one", "target", message, fix, len(off)))


def _keys(table: pa.Table, columns: Sequence[str]) -> tuple[Ints, list[str]]:
    """Returns [n] a code for each row's values in the columns, and the label of each code.

    A label is text such as ``position 2, device tv``; it is empty without columns.
    """
    code, labels = np.zeros(table.num_rows, dtype=np.int64), [""]
    for column in columns:
        own, values = codes_of(table[column])
        both, code = np.unique(code * len(values) + own, return_inverse=True)
        pairs = [divmod(pair, len(values)) for pair in both.tolist()]
        labels = [", ".join(filter(None, [labels[a], f"{column} {values[b]}"])) for a, b in pairs]
    return code, labels


def codes_of(column: Any) -> tuple[Ints, list[str]]:
    """Returns [n] indexes into the distinct values, and these values as text, in their order as text.

    Empty cells, including NaN, share one value, the empty text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    values = column.cast("string").fill_null("").dictionary_encode().unify_dictionaries()
    encoded = values.combine_chunks()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[codes], [str(value) for value in encoded.dictionary.take(order).to_pylist()]


def _numbers(column: Any) -> Floats:
    return column.cast("float64").to_numpy()
