"""Three ways to write a list down: one row per place, one list per row, one column per place."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from recdash import compute as pc
from recdash.errors import Problem, UploadError
from recdash.ingest.columns import Columns, plain
from recdash.ingest.formats import RawTable, is_list
from recdash.ingest.validate import Findings, is_missing, is_text
from recdash.ingest.validate import plain as decoded

Layout = Literal["rows", "lists", "wide"]

LISTS_AT_ONCE = 1 << 13

# a column called like this may hold "1 2 3"; otherwise only brackets make a list
PLURALS = {
    *("items", "itemids", "recommendations", "recs", "recommended", "recommendeditems", "predicted"),
    *("predictionlist", "rankeditems", "movies", "docs", "itemlist", "recitems"),
}
LISTED = ("item_id", "rank", "score", "relevance", "rating")
SEVERAL = re.compile(r"\s*\S+([ ,|;]+\S+)+\s*")
NUMPY_SCALAR = re.compile(r"np\.\w+\(([^()]*)\)")
QUOTED = re.compile(r"""'([^']*)'|"([^"]*)"|([^\s,'"]+)""")


@dataclass(frozen=True)
class Block:
    """Columns by role, one row per (user, item); ``where`` gives the place of a row in the file."""

    columns: Mapping[str, pa.Array]
    where: Callable[[int], str]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def layout_of(raw: RawTable, columns: Columns) -> Layout:
    if columns.wide:
        return "wide"
    column = columns.mapping.get("item_id", "")
    if column in raw.lists or columns.listed:
        return "lists"
    rows = raw.sample()
    values = [row[column].strip() for row in rows if column]
    if values and all(value[:1] + value[-1:] in ("[]", "()") for value in values):
        return "lists"
    return "lists" if plain(column) in PLURALS and _one_list_each(rows, columns.mapping, values) else "rows"


def _one_list_each(rows: Sequence[Mapping[str, str]], mapping: Mapping[str, str], values: list[str]) -> bool:
    """Whether values like '1 2 3' are lists rather than names with blanks: then every user has one row."""
    users = [row[mapping["user_id"]] for row in rows if "user_id" in mapping]
    return len(set(users)) == len(users) > 0 and any(SEVERAL.fullmatch(value) for value in values)


def notices_of(layout: Layout, columns: Columns, is_run: bool) -> list[Problem]:
    """What to say about the layout, and about an order that only the file gives."""
    if layout == "lists":
        found = f"list column '{columns.mapping['item_id']}': each row holds one user's list, best item first"
        return [Problem("list-column", "columns", found, "")]
    if layout == "rows" and is_run and not {"rank", "score"} & set(columns.mapping):
        found = "neither a rank nor a score: file order is taken as the ranking"
        return [Problem("file-order", "columns", found, "Add a rank or score column to be sure.")]
    return []


def blocks_of(
    raw: RawTable,
    columns: Columns,
    layout: Layout,
    roles: Sequence[str],
    ids: Collection[str],
    findings: Findings,
) -> Iterator[Block]:
    """The table as rows of (user, item, …), whatever its layout."""
    mapping = {role: columns.mapping[role] for role in roles if role in columns.mapping}
    wanted = list(dict.fromkeys([*mapping.values(), *columns.wide]))
    coded = {column for role, column in mapping.items() if role in ids} | set(columns.wide)
    spread = {"rows": _rows, "lists": _lists, "wide": _spread}[layout]
    first = 0
    whole = raw.blocks(wanted, coded)
    for batch in whole if layout == "rows" else _sliced(whole):
        arrays = {role: batch.column(column) for role, column in mapping.items()}
        where = _placed(raw, first)
        yield spread(arrays, [batch.column(c) for c in columns.wide], where, columns, findings)
        first += batch.num_rows


def _sliced(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Few rows at a time where each holds a whole list, so that a block stays about as big as others."""
    for batch in batches:
        for start in range(0, batch.num_rows, LISTS_AT_ONCE):
            yield batch.slice(start, LISTS_AT_ONCE)


def _placed(raw: RawTable, first: int) -> Callable[[int], str]:
    return lambda row: raw.where(first + row)


def _rows(arrays: dict[str, pa.Array], _wide: Any, where: Callable[[int], str], *_: Any) -> Block:
    return Block(arrays, where)


def _spread(
    arrays: dict[str, pa.Array],
    wide: list[pa.Array],
    where: Callable[[int], str],
    *_: Any,
) -> Block:
    """Cells left empty at the end of a short list are no rows."""
    n_rows, n_places = len(wide[0]), len(wide)
    order = np.arange(n_rows * n_places).reshape(n_places, n_rows).T.ravel()
    stacked = pa.concat_arrays([_as_text(cell) for cell in wide]).take(pa.array(order))
    filled = pc.invert(pc.fill_null(is_missing(pc.utf8_trim_whitespace(stacked)), True))
    row = pa.array(np.repeat(np.arange(n_rows), n_places)).filter(filled)
    spread = {role: array.take(row) for role, array in arrays.items()}
    return Block({**spread, "item_id": stacked.filter(filled)}, lambda i: where(row[i].as_py()))


def _as_text(array: pa.Array) -> pa.Array:
    return decoded(array).cast(pa.string())


def _lists(
    arrays: dict[str, pa.Array], _wide: Any, where: Callable[[int], str], columns: Columns, findings: Findings
) -> Block:
    listed = {
        role: _as_list(array, columns.mapping[role], where, findings, holds_list=role in LISTED)
        for role, array in arrays.items()
    }
    items = listed["item_id"]
    _refuse_other(items, columns.mapping["item_id"])
    _refuse_uneven(items, listed, where, columns, findings)
    row = pc.list_parent_indices(items)
    spread = {
        role: pc.list_flatten(array) if is_list(array.type) else array.take(row)
        for role, array in listed.items()
    }
    return Block(spread, lambda i: where(row[i].as_py()))


def _as_list(
    array: pa.Array, column: str, where: Callable[[int], str], findings: Findings, holds_list: bool
) -> pa.Array:
    """A list column from text that writes lists; other columns stay as they are."""
    if is_list(array.type):
        return array
    text = decoded(array)
    if not holds_list or not is_text(text.type):
        return array
    split = [list_in(value or "") for value in text.to_pylist()]
    shortened = [i for i, values in enumerate(split) if values and ("..." in values or "…" in values)]
    if shortened:
        found = "a list shortened with '...': the items between are lost"
        fix = "Write whole lists, as JSON or with numpy's tolist()."
        findings.problem("shortened-list", column, lambda: where(shortened[0]), found, fix, len(shortened))
    return pa.array(split, pa.list_(pa.string()))


def list_in(value: str) -> list[str]:
    """The members of a list written as text: JSON, Python, numpy, or just separated.

    >>> list_in("['0012', '34']"), list_in("[ 1  2 3]"), list_in("7|8|9")
    (['0012', '34'], ['1', '2', '3'], ['7', '8', '9'])
    """
    inner = NUMPY_SCALAR.sub(r"\1", value).strip().strip("[]()").strip()
    if "'" in inner or '"' in inner:
        return [a or b or c for a, b, c in QUOTED.findall(inner)]
    separator = next((s for s in ",|;" if s in inner), None)
    return [part.strip() for part in inner.split(separator) if part.strip()]


def _refuse_other(items: pa.Array, column: str) -> None:
    """Maps look like lists when they are shown as text, but hold pairs without an order."""
    if not is_list(items.type):
        found = f"{items.type} values, where a list of items is expected"
        fix = "Write a list of items, best first, with a list of scores beside it."
        raise UploadError(Problem("bad-type", f"column '{column}'", found, fix))


def _refuse_uneven(
    items: pa.Array,
    listed: Mapping[str, pa.Array],
    where: Callable[[int], str],
    columns: Columns,
    findings: Findings,
) -> None:
    """A list of scores or ranks must be as long as the list of items beside it."""
    lengths = pc.fill_null(pc.list_value_length(items), 0)
    for role, array in listed.items():
        if is_list(array.type):
            own = pc.fill_null(pc.list_value_length(array), 0)
            _note_uneven(own, lengths, where, columns.mapping[role], findings)
    if findings.problems:
        raise UploadError(findings.problems)


def _note_uneven(
    own: pa.Array, lengths: pa.Array, where: Callable[[int], str], column: str, findings: Findings
) -> None:
    rows = pc.indices_nonzero(pc.not_equal(own, lengths))
    if len(rows):
        row = rows[0].as_py()
        found = f"{own[row]} in this list, but {lengths[row]} items"
        findings.problem("uneven-lists", column, lambda: where(row), found, "Give one per item.", len(rows))
