"""Ranks items for each reference candidate, one user at a time.

Except for the oracle, users do not get items that they have in the training data. Ties are ordered by id as
text, so that the same tables always give the same lists.

Letters in shapes: ``N`` items of all tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from recdash.domain.kinds import Floats, Ints
from recdash.errors import InputError, Problem
from recdash.references.context import RankerInputs

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Lists = Iterator[tuple[int, Ints]]

SEED = 0
VOTES_QUANTILE = 0.9
"""Quantile over the items' numbers of ratings; an item with that many keeps half of its own mean rating."""
_USERS_PER_PRODUCT = 256
_DECIMALS = 12
_ROUNDING = 10.0**-_DECIMALS


# ── one order for all users ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class CommonList:
    """Items in one order for all users, of which each user skips some.

    ``place`` [N] is the index of each item in ``items``, −1 if it is not among them.
    """

    items: Ints
    place: Ints

    @classmethod
    def of(cls, items: Ints, n_items: int) -> CommonList:
        place = np.full(n_items, -1, dtype=np.int64)
        place[items] = np.arange(len(items))
        return cls(items, place)

    def without(self, seen: Ints) -> Remaining:
        """Returns the list without the items in ``seen``."""
        gone = np.sort(self.place[seen])
        return Remaining(self, gone[gone >= 0])


@dataclass(frozen=True)
class Remaining:
    """A common list without the items at the indexes ``gone``, which are ascending."""

    common: CommonList
    gone: Ints

    def __len__(self) -> int:
        return len(self.common.items) - len(self.gone)

    def at(self, places: Ints) -> Ints:
        """Returns the items at these indexes of the remaining list."""
        left_before = self.gone - np.arange(len(self.gone))
        return self.common.items[places + np.searchsorted(left_before, places, side="right")]


def _first(inputs: RankerInputs, items: Ints) -> Lists:
    """Yields for each user the first ``depth`` of the items that the user does not have yet.

    Users have the items of their rows in the training data.
    """
    common = CommonList.of(items, inputs.n_items)
    for user in range(inputs.truth.n_users):
        left = common.without(inputs.seen(user))
        yield user, left.at(np.arange(min(inputs.depth, len(left))))


def _best_first(value: Floats, place: Ints) -> Ints:
    """Returns the indexes that sort by value, best first, and then by ``place``.

    Values are rounded, so that equal values remain equal if they were summed in another order.
    """
    return np.lexsort((place, -value.round(_DECIMALS)))


def popular(inputs: RankerInputs) -> Lists:
    """Yields for each user the items with the most training users."""
    users = _train_users(inputs)
    best_first = np.lexsort((inputs.id_order, -users))
    return _first(inputs, best_first[: np.count_nonzero(users)])


def weighted_rating(inputs: RankerInputs) -> Lists:
    """Yields for each user the items with the best mean ratings, shrunk towards the overall mean."""
    votes, mean = _ratings(inputs)
    rated = np.flatnonzero(votes)
    overall = float((votes * mean).sum() / votes.sum())
    value = shrunk(mean[rated], votes[rated], float(np.quantile(votes[rated], VOTES_QUANTILE)), overall)
    return _first(inputs, rated[_best_first(value, inputs.id_order[rated])])


def shrunk(mean: Floats, votes: Floats, m: float, overall: float) -> Floats:
    """Returns (v / (v + m)) R + (m / (v + m)) C.

    R is the mean of an item's v ratings (``votes``), C the overall mean. An item with few ratings stays near
    C.
    """
    return (votes * mean + m * overall) / (votes + m)


def random(inputs: RankerInputs) -> Lists:
    """Yields for each user random items, the same in every call."""
    common = CommonList.of(_pool(inputs), inputs.n_items)
    chance = np.random.default_rng(SEED)
    for user in inputs.users_by_id:
        left = common.without(inputs.seen(user))
        yield user, left.at(chance.choice(len(left), min(inputs.depth, len(left)), replace=False))


def _pool(inputs: RankerInputs) -> Ints:
    """Returns the items of the catalogue, or of the training data if there is none, sorted by id.

    Random lists therefore do not depend on the order of rows.
    """
    catalogue = inputs.reference.catalogue
    items = np.flatnonzero(_train_users(inputs)) if catalogue is None else catalogue
    return items[np.argsort(inputs.id_order[items])]


def _train_users(inputs: RankerInputs) -> Ints:
    """Returns [N] the number of training users of each item."""
    users, known = np.zeros(inputs.n_items, dtype=np.int64), inputs.reference.train_users
    if known is not None:  # it lacks items that only later tables have
        users[: len(known)] = known
    return users


def _ratings(inputs: RankerInputs) -> tuple[Floats, Floats]:
    """Returns [N] the number of ratings of each item in the training data, and [N] their mean.

    The mean is 0 for an item without ratings.
    """
    rating = inputs.tables["train"].table["rating"].to_numpy().astype(np.float64)
    is_rated = ~np.isnan(rating)
    item = inputs.item_codes("train")[is_rated]
    votes = np.bincount(item, minlength=inputs.n_items).astype(np.float64)
    total = np.bincount(item, rating[is_rated], minlength=inputs.n_items)
    return votes, np.divide(total, votes, out=np.zeros_like(total), where=votes > 0)


# ── one order for each user ──────────────────────────────────────────────────────────────────


def oracle(inputs: RankerInputs) -> Lists:
    """Yields for each user the relevant items, largest gain first."""
    truth = inputs.truth
    rows = np.flatnonzero(truth.relevant())
    owner = np.repeat(np.arange(truth.n_users), np.diff(truth.start))[rows]
    item = truth.item[rows]
    best_first = np.lexsort((inputs.id_order[item], -truth.gains(rows), owner))
    start = np.searchsorted(owner, np.arange(truth.n_users + 1))
    for user in range(truth.n_users):
        yield user, item[best_first[start[user] : start[user + 1]][: inputs.depth]]


def content(inputs: RankerInputs) -> Lists:
    """Yields for each user the items whose catalogue text is most similar to that of the user's items."""
    from scipy.sparse import csr_matrix

    vectors = _vectors(inputs)
    by_term = vectors.T.tocsr()
    start, item = inputs.history
    has = csr_matrix((np.ones(len(item)), item, start), shape=(inputs.truth.n_users, inputs.n_items))
    for begin in range(0, inputs.truth.n_users, _USERS_PER_PRODUCT):
        likeness = (has[begin : begin + _USERS_PER_PRODUCT] @ vectors @ by_term).tocsr()
        for row in range(likeness.shape[0]):
            own = slice(likeness.indptr[row], likeness.indptr[row + 1])
            yield begin + row, _most_alike(inputs, begin + row, likeness.indices[own], likeness.data[own])


def _most_alike(inputs: RankerInputs, user: int, items: Ints, likeness: Floats) -> Ints:
    new = ~np.isin(items, inputs.seen(user)) & (likeness > 0)
    items, likeness = items[new], likeness[new]
    if len(items) > inputs.depth:  # sorting only possible top items saves most of the time
        enough = likeness >= np.partition(likeness, -inputs.depth)[-inputs.depth] - _ROUNDING
        items, likeness = items[enough], likeness[enough]
    return items[_best_first(likeness, inputs.id_order[items])[: inputs.depth]]


def _vectors(inputs: RankerInputs) -> csr_matrix:
    """Returns [N, terms] the TF-IDF vector of each item, of length 1; 0 for items without a description.

    Raises InputError if no item has a word in any column.
    """
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = descriptions(inputs.tables["catalogue"].table)
    code, first = np.unique(inputs.item_codes("catalogue"), return_index=True)
    try:
        described = TfidfVectorizer().fit_transform([texts[row] for row in first])
    except ValueError as no_word:
        text = "no words in any column except the id"
        fix = "Add titles or attributes, or remove the content-based reference."
        raise InputError(Problem("nothing-described", "catalogue", text, fix)) from no_word
    rows = (np.ones(len(code)), (code, np.arange(len(code))))
    return csr_matrix(rows, shape=(inputs.n_items, len(code))) @ described


def descriptions(catalogue: pa.Table) -> list[str]:
    """Returns one text per row of the catalogue: the words in its columns of text, and one word per number.

    The word of a number has the column's name, such as ``year_1994``.
    """
    columns = [_words(name, catalogue[name]) for name in catalogue.column_names if name != "item_id"]
    return [" ".join(words) for words in zip(*columns, strict=True)]


def _words(name: str, column: pa.ChunkedArray) -> list[str]:
    values: list[Any] = column.to_pylist()
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return ["" if value is None else re.sub(r"\W", "_", f"{name}_{value:g}") for value in values]
    return ["" if value is None else str(value) for value in values]
