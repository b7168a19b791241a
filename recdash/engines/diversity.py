"""Computes diversity (1 − the mean similarity of two items of a list) at every k while lists are streamed.

For each further item of a list, only its similarities with earlier items are added. With cosine similarity
this is a product with the sum of the earlier vectors, so that the work is linear in the length of the list
instead of quadratic.

Items without data (without an attribute or vector, with a zero vector, in no pair of the similarity table)
are left out. A list has no value at a k at which it has fewer than two items with data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from recdash.domain.hits import ListMean
from recdash.domain.inputs import Upload
from recdash.domain.kinds import Floats, Ints, Mask, TableKind
from recdash.engines.attributes import Attribute, attribute_names, attribute_of, has_numbers
from recdash.engines.blocks import Block
from recdash.engines.list_means import Begin, Moments
from recdash.engines.reference import Reference
from recdash.metrics.catalogue import EVERY_CATEGORY
from recdash.sorting import distinct

_CELLS = 1 << 21
"""The most numbers that are kept in memory at a time (16 MiB); limits how many lists are processed
together.
"""
_SQUARE = 1 << 24
"""Up to this many (item, item) cells, similarities are kept as a square matrix (128 MiB); above, as sorted
pairs.
"""


class Alike(Protocol):
    """Adds up the similarities (or distances) of the items of lists, item by item.

    ``known`` [N] marks the items with data. ``memory`` is the state of n lists, with ``width`` numbers for
    each.
    """

    @property
    def known(self) -> Mask: ...

    @property
    def width(self) -> int: ...

    def memory(self, n_lists: int) -> Any: ...

    def add(self, memory: Any, lists: Ints, item: Ints, place: int, /) -> Floats:
        """Adds one item with data to each of the lists. Returns the sum of its similarities with the earlier
        items of the list.
        """


def unlike(similarity: Floats) -> Floats:
    """Returns 1 − similarity, clipped to 0..2 because of rounding errors."""
    return np.clip(1.0 - similarity, 0.0, 2.0)


def as_it_is(distance: Floats) -> Floats:
    return distance


class Diversity:
    """The mean diversity of streamed lists at every k.

    ``alike`` adds up similarities, ``value`` turns the mean over pairs into the diversity. A list that is
    shorter than k has the value of the whole list there.
    """

    def __init__(self, alike: Alike, depth: int, value: Callable[[Floats], Floats] = unlike) -> None:
        self.alike, self.depth, self.moments, self.value = alike, depth, Moments(depth), value

    def see(self, block: Block) -> None:
        if (
            not self.alike.known.any()
        ):  # a catalogue of ids alone: without this check the loop took a third of the pass
            return
        for _, place, _, value in self._walks(block):
            self.moments.add(place + 1, value)

    def of_lists(self, block: Block) -> Floats:
        """Returns the diversity of each whole list of a block; NaN if the list has fewer than two items with
        data.
        """
        values = np.full(block.n_lists, np.nan)
        for begin, _, lists, value in self._walks(block):
            values[begin + lists] = value
        return values

    def _walks(self, block: Block) -> Iterator[tuple[int, int, Ints, Floats]]:
        """Yields (index of a group's first list, position, lists, values) for groups of lists that are
        processed together; the last three are those of ``_walk``.
        """
        at_once = max(_CELLS // max(self.alike.width, 1), 1)
        for begin in range(0, block.n_lists, at_once):
            for place, lists, value in self._walk(block.start[begin : begin + at_once + 1], block.item):
                yield begin, place, lists, value

    def _walk(self, start: Ints, item: Ints) -> Iterator[tuple[int, Ints, Floats]]:
        """Yields for each position: the position, the lists that have a value there, and the values."""
        begin, lengths = start[:-1], np.diff(start)
        memory = self.alike.memory(len(begin))
        n_known, alike = np.zeros(len(begin), dtype=np.int64), np.zeros(len(begin))
        for place in range(self.depth):
            lists = np.flatnonzero(lengths > place)
            item_here = item[begin[lists] + place]
            known = item_here < len(self.alike.known)
            known[known] = self.alike.known[item_here[known]]
            lists = lists[known]
            alike[lists] += self.alike.add(memory, lists, item_here[known], place)
            n_known[lists] += 1
            some = n_known > 1
            n = n_known[some]
            yield place, np.flatnonzero(some), self.value(alike[some] / (n * (n - 1) / 2))

    def mean(self) -> ListMean:
        return self.moments.mean()


# ── attributes ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class SharedValues:
    """Cosine similarity of items as sets of attribute values, |A ∩ B| / √(|A|·|B|).

    Item i has the values ``value[start[i]:start[i + 1]]``; each is a number below ``width``.
    """

    start: Ints
    value: Ints
    width: int

    @cached_property
    def known(self) -> Mask:
        return np.diff(self.start) > 0

    def memory(self, n_lists: int) -> Floats:
        return np.zeros(n_lists * self.width)

    def _cells(self, item: Ints, offset: Ints) -> tuple[Ints, Ints, Ints]:
        """Returns the memory cell of each value of the items, shifted by ``offset`` (one number per item's
        list), the index at which each item's cells begin, and the number of values of each item.
        """
        first, count = self.start[item], self.start[item + 1] - self.start[item]
        begin = np.cumsum(count) - count
        cell = self.value[np.repeat(first - begin, count) + np.arange(count.sum())]
        cell += np.repeat(offset, count)
        return cell, begin, count

    def add(self, memory: Floats, lists: Ints, item: Ints, _place: int) -> Floats:
        if not len(item):
            return np.zeros(0)
        cell, begin, count = self._cells(item, lists * self.width)
        weight = 1.0 / np.sqrt(count)
        alike = np.add.reduceat(memory[cell], begin) * weight
        memory[cell] += np.repeat(weight, count)
        return alike


@dataclass(frozen=True)
class DifferentValues(SharedValues):
    """Hamming distance of items as sets of attribute values, |A ∪ B| − |A ∩ B|: the number of values that
    only one of the two has.
    """

    def memory(self, n_lists: int) -> Floats:
        """Returns the state [n · (width + 2)] of n lists: for each value the number of earlier items with it,
        then the number of earlier items, and the number of their values.
        """
        return np.zeros(n_lists * (self.width + 2))

    def add(self, memory: Floats, lists: Ints, item: Ints, _place: int) -> Floats:
        if not len(item):
            return np.zeros(0)
        of_list = lists * (self.width + 2)
        cell, begin, count = self._cells(item, of_list)
        items, values = of_list + self.width, of_list + self.width + 1
        different = memory[items] * count + memory[values] - 2 * np.add.reduceat(memory[cell], begin)
        memory[cell] += 1
        memory[items] += 1
        memory[values] += count
        return different


def shared_values(reference: Reference, catalogue: Upload, column: str) -> SharedValues:
    """Returns the items' values in one column of the catalogue, or in all columns that group items. The
    values of all columns are numbered consecutively.
    """
    names = [name for name in attribute_names(catalogue) if name == column]
    chosen = (
        categories(catalogue) if column == EVERY_CATEGORY else [attribute_of(catalogue, n) for n in names]
    )
    code = reference.items.codes(catalogue.table["item_id"], grow=False).astype(np.int64)
    offset = np.cumsum([0, *(len(attribute.values) for attribute in chosen)])
    width = max(int(offset[-1]), 1)
    parts = [
        code[attribute.row] * width + first + attribute.value
        for attribute, first in zip(chosen, offset, strict=False)
    ]
    pairs = distinct(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))
    start = np.searchsorted(pairs, np.arange(len(reference.items) + 1) * width)
    return SharedValues(start, pairs % width, width)


def different_values(reference: Reference, catalogue: Upload, column: str) -> DifferentValues:
    shared = shared_values(reference, catalogue, column)
    return DifferentValues(shared.start, shared.value, shared.width)


def categories(catalogue: Upload) -> list[Attribute]:
    """Returns the text columns that group items: at least half of the items with a value share one with
    another item.

    Leaves out titles, and thereby also descriptions and further ids, which items do not share. Numeric
    columns are compared only on request.
    """
    names = attribute_names(catalogue)
    texts = [name for name in names if name != "title" and not has_numbers(catalogue, name)]
    attributes = []
    for name in texts:
        attribute = attribute_of(catalogue, name)
        n_rows_of = np.bincount(attribute.value, minlength=len(attribute.values))
        rows = np.unique(attribute.row)
        sharing = np.unique(attribute.row[n_rows_of[attribute.value] > 1])
        if len(rows) > 0 and 2 * len(sharing) >= len(rows):
            attributes.append(attribute)
    return attributes


# ── vectors ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class UnitVectors:
    """Cosine similarity of item vectors: ``unit`` [V, d] are vectors of length 1, ``row`` [N] is the index of
    each item's vector (−1: it has none).
    """

    unit: Floats
    row: Ints

    @property
    def width(self) -> int:
        return self.unit.shape[1]

    @cached_property
    def known(self) -> Mask:
        return self.row >= 0

    def memory(self, n_lists: int) -> Floats:
        return np.zeros((n_lists, self.width))

    def add(self, memory: Floats, lists: Ints, item: Ints, _place: int) -> Floats:
        vector = self.unit[self.row[item]]
        before = memory[lists]
        memory[lists] = before + vector
        return np.einsum("ij,ij->i", before, vector)


def unit_vectors(reference: Reference, vectors: Upload) -> UnitVectors:
    code = reference.items.codes(vectors.table["item_id"], grow=False)
    column = vectors.table["vector"].combine_chunks()
    vector = column.flatten().to_numpy(zero_copy_only=False).astype(np.float64).reshape(len(column), -1)
    largest = np.maximum(vector.max(axis=1, initial=0.0), -vector.min(axis=1, initial=0.0))
    usable = np.flatnonzero(largest > 0)
    vector = vector[usable] / largest[usable, None]  # keeps squares within the range of floats
    vector /= np.sqrt(np.einsum("ij,ij->i", vector, vector))[:, None]
    row = np.full(len(reference.items), -1, dtype=np.int64)
    row[code[usable]] = np.arange(len(usable))
    return UnitVectors(vector, row)


# ── a table of similarities ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PairTable:
    """Similarities from an uploaded table; a pair that is missing in it has 0.

    ``row`` [N] is the number of each item in the table (−1: not in it), ``between`` looks up pairs of these
    numbers. ``no_item`` is a number beyond the last, for an empty position.
    """

    between: Lookup
    row: Ints
    no_item: int
    width: int

    @cached_property
    def known(self) -> Mask:
        return self.row >= 0

    def memory(self, n_lists: int) -> Ints:
        return np.full((n_lists, self.width), self.no_item, dtype=np.int64)

    def add(self, memory: Ints, lists: Ints, item: Ints, place: int) -> Floats:
        row = self.row[item]
        memory[lists, place] = row
        return self.between(row[:, None], memory[lists, :place]).sum(axis=1)


class Lookup(Protocol):
    def __call__(self, a: Ints, b: Ints) -> Floats: ...


@dataclass(frozen=True)
class Square:
    """All similarities as a flattened square matrix: ``cell`` [span · span]."""

    cell: Floats
    span: int

    def __call__(self, a: Ints, b: Ints) -> Floats:
        return self.cell.take(a * self.span + b)


@dataclass(frozen=True)
class SortedPairs:
    """Similarities of pairs with the keys ``key`` = smaller number · span + larger number, which ascend.

    Most pairs are missing in a sparse table. ``taken`` has a bit for the last digits of each key; it excludes
    most missing pairs before the search.
    """

    key: Ints
    similarity: Floats
    span: int
    taken: Mask

    def __call__(self, a: Ints, b: Ints) -> Floats:
        key = np.minimum(a, b) * self.span + np.maximum(a, b)
        similarities = np.zeros(key.shape)
        hashed = np.nonzero(self.taken[key & (len(self.taken) - 1)])
        place = np.minimum(np.searchsorted(self.key, key[hashed]), len(self.key) - 1)
        similarities[hashed] = np.where(self.key[place] == key[hashed], self.similarity[place], 0.0)
        return similarities


def pair_table(reference: Reference, similarity: Upload, depth: int) -> PairTable:
    sides = [reference.items.codes(similarity.table[name], grow=False) for name in ("item_a", "item_b")]
    codes, row = np.unique(np.concatenate(sides), return_inverse=True)
    a, b = np.split(row.astype(np.int64), 2)
    values = similarity.table["similarity"].to_numpy().astype(np.float64)
    of_item = np.full(len(reference.items), -1, dtype=np.int64)
    of_item[codes] = np.arange(len(codes))
    span = len(codes) + 1
    between: Lookup
    if span * span <= _SQUARE:
        cell = np.zeros(span * span)
        cell[a * span + b] = cell[b * span + a] = values
        between = Square(cell, span)
    else:
        key = np.minimum(a, b) * span + np.maximum(a, b)
        order = np.argsort(key)
        taken = np.zeros(1 << (16 * len(key)).bit_length(), dtype=bool)
        taken[key & (len(taken) - 1)] = True
        between = SortedPairs(key[order], values[order], span, taken)
    return PairTable(between, of_item, len(codes), depth)


# ── which of them ────────────────────────────────────────────────────────────────────────────

_TABLES: Mapping[str, TableKind] = {
    "attributes": "catalogue", "vectors": "vectors", "similarity": "similarity", "hamming": "catalogue",
}  # fmt: skip


def diversity(reference: Reference, parameters: Mapping[str, str], depth: int) -> Begin | None:
    """Returns a function that starts a ``Diversity`` for one pass over the lists; None if the table that it
    needs is missing.
    """
    by, attribute = parameters["by"], parameters["attribute"]
    table = reference.tables.get(_TABLES[by])
    if table is None:
        return None
    make: Mapping[str, Callable[[], Alike]] = {
        "attributes": lambda: shared_values(reference, table, attribute),
        "vectors": lambda: unit_vectors(reference, table),
        "similarity": lambda: pair_table(reference, table, depth),
        "hamming": lambda: different_values(reference, table, attribute),
    }
    return partial(Diversity, make[by](), depth, as_it_is if by == "hamming" else unlike)
