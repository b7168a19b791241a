"""Reads the data for similarities of items: a vector per item, or a similarity per pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.kinds import Ints
from recdash.errors import Problem, UploadError
from recdash.ingest.formats.raw_table import is_list
from recdash.ingest.values import ColumnCheck, Findings, is_missing, is_text, plain, read_floats, refuse_gaps

VECTOR_FIX = "Write each vector in full, such as [0.1, 0.2, 0.3] or 0.1|0.2|0.3."
COMMAS_AND_OTHERS = r"\d,\d[^,\s|;]*[\s|;]+[^\s,|;]"
VECTORS = pa.list_(pa.float64())
ROUNDING = 1e-6
"""Tolerance for rounding errors of similarities beyond −1 or 1, and between the two orders of a pair."""


# ── vectors ──────────────────────────────────────────────────────────────────────────────────


def read_vectors(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns lists of finite float64, all of the same length; null for an empty list. Refuses others."""
    lists = _as_lists(plain(array), check)
    row = pc.list_parent_indices(lists).to_numpy()
    numbers = pc.list_flatten(lists)
    inner = replace(check, where=lambda index: check.where(int(row[index])), needed=None, zone=None)
    values = read_floats(numbers, inner, "a number", VECTOR_FIX)
    refuse_gaps(values, numbers, inner, "a number")
    length = np.bincount(row, minlength=len(lists))
    filled = length[length > 0]
    if len(filled):
        first = check.findings.lengths.setdefault(check.column, int(filled[0]))
        other = (length > 0) & (length != first)
        template = f"{{value}} numbers, where the first vector has {first}"
        fix = "Give every item a vector of the same length."
        check.refuse(pa.array(other), pa.array(length), "uneven-vectors", template, fix)
    return pa.ListArray.from_arrays(_offsets(length, empty_is_null=True), values)


def _offsets(length: Ints, empty_is_null: bool = False) -> pa.Array:
    """Returns the positions at which lists of these lengths begin and end."""
    bounds = np.concatenate(([0], np.cumsum(length))).astype(np.int32)
    return pa.array(bounds, mask=np.append(length == 0, False) if empty_is_null else None)


def _as_lists(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns a list column; text is split at blanks, ``,``, ``|`` and ``;``."""
    if is_list(array.type):
        # A null list of a fixed length still spans values; this way it spans none.
        length = np.asarray(pc.fill_null(pc.list_value_length(array), 0))
        return pa.ListArray.from_arrays(_offsets(length), pc.list_flatten(array))
    if not is_text(array.type):
        check.refuse(
            pc.is_valid(array), array, "bad-vector", "'{value}' is not a list of numbers", VECTOR_FIX
        )
        return pa.nulls(len(array), VECTORS)
    text = pc.replace_substring_regex(array, r"np\.\w+\(([^()]*)\)", r"\1")
    text = pc.utf8_trim(text, characters="[]() \t")
    text = pc.if_else(is_missing(text), None, text)
    if check.decimal == ",":
        return pc.split_pattern_regex(text, r"[\s|;]+")
    finding = "'{value}' has commas that may be decimal commas or separators"
    doubtful = pc.fill_null(pc.match_substring_regex(text, COMMAS_AND_OTHERS), False)
    check.refuse(doubtful, array, "doubtful-commas", finding, "Write decimals with a point: 0.5 0.25.")
    return pc.split_pattern_regex(text, r"[\s,|;]+")


def checked_vectors(table: pa.Table, findings: Findings) -> pa.Table:
    """Returns ``item_id`` and ``vector``, one row per item, with a notice about vectors of zeros."""
    table = one_row_each(_gathered(table), findings)
    vectors = table["vector"].combine_chunks()
    numbers = vectors.flatten().to_numpy(zero_copy_only=False).reshape(len(vectors), -1)
    if zeros := int((~numbers.any(axis=1)).sum()):
        fix = "They have no direction: such items count as items without a vector."
        item = table["item_id"][int(np.argmin(numbers.any(axis=1)))].as_py()
        example = f"item '{item}'"
        findings.notice(
            "zero-vectors", "column 'vector'", "only zeros in {rows}", fix, zeros, lambda: example
        )
    return table


def _gathered(table: pa.Table) -> pa.Table:
    """Returns a table with one column of vectors, made from the columns of numbers in their order.

    A table that has such a column is returned unchanged.
    """
    if "vector" in table.column_names:
        return table
    columns = [np.asarray(table[name]) for name in table.column_names if name != "item_id"]
    width = len(columns)
    offsets = np.arange(table.num_rows + 1, dtype=np.int32) * width
    vectors = pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.column_stack(columns).ravel()))
    return pa.table({"item_id": table["item_id"], "vector": vectors})


def one_row_each(table: pa.Table, findings: Findings) -> pa.Table:
    """Returns the first row of each id, with a notice about the others."""
    name = next(name for name in ("item_id", "user_id") if name in table.column_names)
    codes = _codes(table[name])
    _, first = np.unique(codes, return_index=True)
    if twice := table.num_rows - len(first):
        code = f"duplicate-{name.removesuffix('_id')}s"
        fix = "The first row of each counts."
        again = int(np.delete(np.arange(len(codes)), first)[0])

        def example() -> str:
            return f"'{table[name][again].as_py()}'"

        findings.notice(code, f"column '{name}'", f"{twice} duplicate {name}", fix, twice, example)
        findings.drop(np.delete(np.arange(len(codes)), first), name, table[name], f"duplicate {name}")
        table = table.take(pa.array(np.sort(first)))
    return table


# ── similarities ─────────────────────────────────────────────────────────────────────────────


def read_similarities(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns float64 from −1 to 1. Refuses other numbers."""
    fix = "A similarity is a number from -1 to 1; turn distances into similarities first."
    values = read_floats(array, check, "a similarity", fix)
    refuse_gaps(values, array, check, "a similarity")
    numbers = np.asarray(pc.fill_null(values, np.nan))
    beyond = np.isfinite(numbers) & (np.abs(numbers) > 1 + ROUNDING)
    check.refuse(pa.array(beyond), plain(array), "bad-similarity", "'{value}' is not a similarity", fix)
    return pa.array(np.clip(numbers, -1.0, 1.0))


def checked_pairs(table: pa.Table, findings: Findings) -> pa.Table:
    """Returns each pair once, whatever its order; pairs of an item with itself are dropped.

    Raises ``UploadError`` if the same pair has two similarities, or if no pair is left.
    """
    a, b = _codes_of_both(table)
    values = table["similarity"].to_numpy()
    if alone := int((a == b).sum()):
        finding, own = "an item paired with itself in {rows}", int(np.argmax(a == b))
        fix = "These rows are ignored."
        findings.notice("self-pairs", "table", finding, fix, alone, lambda: _pair(table, own))
    key = np.minimum(a, b) * (max(a.max(), b.max()) + 1) + np.maximum(a, b)
    order = np.flatnonzero(a != b)
    order = order[np.argsort(key[order], kind="stable")]
    is_first = np.diff(key[order], prepend=-1) != 0
    first = order[is_first][np.cumsum(is_first) - 1] if len(order) else order
    differs = np.flatnonzero(np.abs(values[order] - values[first]) > ROUNDING)
    if len(differs):
        raise UploadError(_contradiction(table, first[differs[0]], order[differs[0]], len(differs)))
    repeated = (a[order] == a[first]) & ~is_first
    if same_way := int(repeated.sum()):
        finding, again = "a repeated pair in {rows}", int(order[np.argmax(repeated)])
        fix = "Each pair counts once."
        findings.notice("duplicate-pairs", "table", finding, fix, same_way, lambda: _pair(table, again))
    if not len(order):
        finding = "no pair of two different items"
        raise UploadError(Problem("no-rows", "table", finding, "Write item_a, item_b and similarity."))
    return table.take(pa.array(np.sort(order[is_first])))


def _pair(table: pa.Table, row: int) -> str:
    return f"'{table['item_a'][row].as_py()}' and '{table['item_b'][row].as_py()}'"


def _contradiction(table: pa.Table, row: int, other_row: int, count: int) -> Problem:
    first, second = (table.slice(int(index), 1).to_pylist()[0] for index in (row, other_row))
    more = f" (and {count - 1} more like it)" if count > 1 else ""
    pair = f"'{first['item_a']}' and '{first['item_b']}'"
    finding = (
        f"{pair} have similarity {first['similarity']:g} in one row and {second['similarity']:g} in "
        f"another{more}"
    )
    fix = "Give each pair one similarity, the same in both orders."
    return Problem("two-similarities", "column 'similarity'", finding, fix, count)


def _codes_of_both(table: pa.Table) -> tuple[Ints, Ints]:
    """Returns the codes of both items of each pair, with common codes for both columns."""
    sides = [_plain_ids(table[name]) for name in ("item_a", "item_b")]
    if sides[0].type != sides[1].type:
        sides = [side.cast(pa.string()) for side in sides]
    both = _codes(pa.chunked_array([*sides[0].chunks, *sides[1].chunks]))
    dense = np.unique(both, return_inverse=True)[1].astype(np.int64)
    return dense[: table.num_rows], dense[table.num_rows :]


def _codes(ids: pa.ChunkedArray) -> Ints:
    """Returns codes that are equal where the ids are equal."""
    ids = _plain_ids(ids).combine_chunks()
    return np.asarray(ids if pa.types.is_integer(ids.type) else ids.dictionary_encode().indices)


def _plain_ids(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    return ids.cast(ids.type.value_type) if pa.types.is_dictionary(ids.type) else ids
