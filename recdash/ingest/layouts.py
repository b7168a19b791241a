"""Reads the three layouts of lists: one row per item, one list per row, one column per position."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.kinds import Ints
from recdash.errors import Problem, UploadError
from recdash.ingest.columns import Columns, plain
from recdash.ingest.formats.raw_table import RawTable, is_list
from recdash.ingest.values import Findings, is_missing, is_text
from recdash.ingest.values import plain as decoded

Layout = Literal["rows", "lists", "wide"]

LISTS_AT_ONCE = 1 << 13

# a column with such a name may hold "1 2 3"; otherwise only brackets make a list
PLURALS = {
    *("items", "itemids", "recommendations", "recs", "recommended", "recommendeditems", "predicted"),
    *("predictionlist", "rankeditems", "movies", "docs", "itemlist", "recitems"),
}
LISTED = ("item_id", "rank", "score", "relevance", "rating")
BETWEEN_ITEMS = " ,|;\t\r\n"
LINE_BREAK = re.compile(r"[\r\n]+")
NUMPY_SCALAR = re.compile(r"np\.\w+\(([^()]*)\)")
GUID = re.compile(r"\{[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}")
"""An id as Microsoft's products write it, in braces."""
QUOTED = re.compile(r"""'([^']*)'|"([^"]*)"|([^\s,'"]+)""")


@dataclass(frozen=True)
class ColumnBlock:
    """Some rows of a table as one column per role, with one row per user and item.

    ``where`` returns the place of a row in the file.
    """

    columns: Mapping[str, pa.Array]
    where: Callable[[int], str]
    numbers: Callable[[], Ints]
    """Gives the number in the file [rows] of each row, from 1 and without the header line."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def layout_of(raw: RawTable, columns: Columns) -> Layout:
    """Returns the layout of the table: rows, lists or wide."""
    if columns.wide:
        return "wide"
    column = columns.mapping.get("item_id", "")
    if column in raw.lists or columns.listed:
        return "lists"
    rows = raw.sample()
    values = [row[column].strip() for row in rows if column]
    if columns.single:
        return "rows"
    if values and all(map(is_bracketed, values)):
        return "lists"
    # values like '1 2 3' are lists rather than names with blanks if every user has one row
    users = [row[columns.mapping["user_id"]] for row in rows if "user_id" in columns.mapping]
    one_each = len(set(users)) == len(users) > 0
    several = any(mark in value[1:-1] for value in values for mark in BETWEEN_ITEMS)
    return "lists" if plain(column) in PLURALS and one_each and several else "rows"


def notices_of(layout: Layout, columns: Columns, is_run: bool) -> list[Problem]:
    """Returns notices about lists in cells, and about lists that are in file order."""
    if layout == "lists":
        finding = (
            f"list column '{columns.mapping['item_id']}': each row holds one user's list, best item first"
        )
        return [Problem("list-column", "columns", finding, "")]
    if layout == "rows" and is_run and not {"rank", "score"} & set(columns.mapping):
        finding = "neither a rank nor a score: file order is used as the ranking"
        return [Problem("file-order", "columns", finding, "Add a rank or score column to be sure.")]
    return []


def blocks_of(
    raw: RawTable,
    columns: Columns,
    layout: Layout,
    roles: Sequence[str],
    ids: Collection[str],
    findings: Findings,
) -> Iterator[ColumnBlock]:
    """Yields the table as rows of (user, item, …), whatever its layout.

    ``roles`` are the roles to read, ``ids`` those that are dictionary-encoded if they are text. Raises
    ``UploadError`` for lists that cannot be read.
    """
    mapping = {role: columns.mapping[role] for role in roles if role in columns.mapping}
    wanted = list(dict.fromkeys([*mapping.values(), *columns.wide]))
    coded = {column for role, column in mapping.items() if role in ids} | set(columns.wide)
    batches, first = raw.blocks(wanted, coded), 0
    for batch in batches if layout == "rows" else _sliced(batches):
        arrays = {role: batch.column(column) for role, column in mapping.items()}

        def where(row: int, first: int = first) -> str:
            return raw.where(first + row)

        whole = ColumnBlock(arrays, where, partial(np.arange, first + 1, first + batch.num_rows + 1))
        if layout == "rows":
            yield whole
        elif layout == "lists":
            yield _lists(whole, columns, findings)
        else:
            yield _wide(whole, [batch.column(column) for column in columns.wide])
        first += batch.num_rows


def _sliced(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields slices of the batches with few rows each, for tables with a whole list in each row.

    Their blocks then have about as many rows as those of other layouts.
    """
    for batch in batches:
        for start in range(0, batch.num_rows, LISTS_AT_ONCE):
            yield batch.slice(start, LISTS_AT_ONCE)


def _wide(block: ColumnBlock, wide: list[pa.Array]) -> ColumnBlock:
    """Returns the rows of a wide table; empty cells at the end of a short list give no rows."""
    n_rows, n_places = len(wide[0]), len(wide)
    order = np.arange(n_rows * n_places).reshape(n_places, n_rows).T.ravel()
    stacked = pa.concat_arrays([decoded(cell).cast(pa.string()) for cell in wide]).take(pa.array(order))
    filled = pc.invert(pc.fill_null(is_missing(pc.utf8_trim_whitespace(stacked)), True))
    row = pa.array(np.repeat(np.arange(n_rows), n_places)).filter(filled)
    spread = {role: array.take(row) for role, array in block.columns.items()}
    return _spread({**spread, "item_id": stacked.filter(filled)}, row, block)


def _spread(arrays: Mapping[str, pa.Array], row: pa.Array, block: ColumnBlock) -> ColumnBlock:
    """Returns the columns of several rows that each row of a block gave; ``row`` is the row of each."""
    return ColumnBlock(arrays, lambda i: block.where(row[i].as_py()), lambda: block.numbers()[row.to_numpy()])


def _in_words(kind: pa.DataType) -> str:
    """Returns what values of a type are; of objects, with the names of their first fields."""
    if not pa.types.is_struct(kind):
        return f"{kind} values"
    names = [field.name for field in kind]
    return f"objects with the fields {', '.join(names[:3])}{' …' if len(names) > 3 else ''}"


def _lists(block: ColumnBlock, columns: Columns, findings: Findings) -> ColumnBlock:
    where = block.where
    listed = {role: _as_list(array, role, where, columns, findings) for role, array in block.columns.items()}
    items = listed["item_id"]
    if not is_list(items.type):  # maps look like lists when shown as text, but have no order
        finding = f"{_in_words(items.type)}, where a list of items is expected"
        fix = "Write a list of items, best first, with a list of scores beside it."
        raise UploadError(Problem("bad-type", f"column '{columns.mapping['item_id']}'", finding, fix))
    lengths = pc.fill_null(pc.list_value_length(items), 0)
    for role, array in listed.items():  # a list of scores or ranks must be as long as its item list
        if is_list(array.type):
            own = pc.fill_null(pc.list_value_length(array), 0)
            rows = pc.indices_nonzero(pc.not_equal(own, lengths)).to_pylist()
            if rows:
                finding = f"{own[rows[0]]} in this list, but {lengths[rows[0]]} items"
                place = partial(where, rows[0])
                column, fix = columns.mapping[role], "Give one per item."
                findings.problem("uneven-lists", column, place, finding, fix, len(rows))
    if findings.problems:
        raise UploadError(findings.problems)
    row = pc.list_parent_indices(items)
    spread = {
        role: pc.list_flatten(array) if is_list(array.type) else array.take(row)
        for role, array in listed.items()
    }
    return _spread(spread, row, block)


def _as_list(
    array: pa.Array, role: str, where: Callable[[int], str], columns: Columns, findings: Findings
) -> pa.Array:
    """Returns a text column that contains lists as a list column; other columns unchanged."""
    if is_list(array.type):
        return array
    text = decoded(array)
    if role not in LISTED or not is_text(text.type):
        return array
    column, separator = columns.mapping[role], columns.separator if role == "item_id" else None
    values = text.to_pylist()
    _refuse_pairs(values, column, where, findings)
    split = [list_in(value or "", separator) for value in values]
    shortened = [i for i, values in enumerate(split) if values and ("..." in values or "…" in values)]
    if shortened:
        finding = "a list shortened with '...', which loses the items between"
        fix = "Write whole lists, as JSON or with numpy's tolist()."
        findings.problem("shortened-list", column, lambda: where(shortened[0]), finding, fix, len(shortened))
    return pa.array(split, pa.list_(pa.string()))


def _refuse_pairs(
    values: Sequence[str | None], column: str, where: Callable[[int], str], findings: Findings
) -> None:
    """Adds a problem for pairs, records or sets in a column that contains lists in other rows."""
    sets = {row for row, value in enumerate(values) if value and is_set(value)}
    mixed = any(value and is_bracketed(value) and row not in sets for row, value in enumerate(values))
    nested = [row for row, value in enumerate(values) if value and is_nested(value)]
    nested = nested if mixed else [row for row in nested if row not in sets]
    if nested:
        finding = "pairs, records or a set where the first rows hold lists of items"
        fix = "Write each cell in one form: [a, b], or pairs of item and score."
        findings.problem("mixed-lists", column, lambda: where(nested[0]), finding, fix, len(nested))


def is_nested(text: str) -> bool:
    """Returns True if a cell contains pairs, records or a set, and not a list of items."""
    inner = unwrapped(text.strip())
    if inner.startswith("{"):
        return GUID.fullmatch(inner) is None
    first = inner[1:].lstrip()
    if GUID.match(first):
        return False
    if inner[:1] not in ("[", "(") or not first:
        return False
    word, opened, _ = first.partition("(")
    is_record = bool(opened) and word.replace("_", "").isalnum() and "=" in first
    return first[0] in "[({" or (is_record and is_bracketed(inner)) or _is_scored_list(inner)


SCORED = re.compile(
    r"([^\s:'\"(){}\[\]]{1,500})\s?:\s?"  # item:
    r"([+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?)"  # score
)


def _is_scored_list(cell: str) -> bool:
    return cell[-1:] == "]" and ":" in cell and "." in cell and are_scored(cell[1:-1].split(","))


def are_scored(members: Sequence[str]) -> bool:
    """Returns True for items with their scores, ``12:0.5`` and ``7:0.25``, as MyMediaLite writes them.

    Ids may have a colon and a number, too, such as movie:12; scores differ from these by a decimal point, and
    each item occurs once.
    """
    scored = [pair for pair in map(SCORED.fullmatch, map(str.strip, members)) if pair is not None]
    items = {pair[1] for pair in scored}
    return len(items) == len(members) and any("." in pair[2] for pair in scored)


def is_set(text: str) -> bool:
    """Returns True if a cell contains a set of items, such as ``{'a', 'b'}``."""
    inner = text.strip()
    is_filled = inner.startswith("{") and inner.strip("{} ") != "" and GUID.fullmatch(inner) is None
    return is_filled and not any(mark in inner for mark in ":=[(")


def unwrapped(value: str) -> str:
    """Returns the list inside numpy's ``array([…], dtype=int64)`` and similar; other texts unchanged."""
    name, _, rest = value.partition("(")
    is_call = name.replace(".", "").replace("_", "").isalnum() and rest.startswith("[")
    return rest[: rest.rfind("]") + 1] if is_call and value.endswith(")") else value


def is_bracketed(value: str) -> bool:
    """Returns True if a cell is enclosed in brackets, as a list, pairs or a set are."""
    value = unwrapped(value)
    return value[:1] + value[-1:] in ("[]", "()", "{}") and not GUID.match(value)


def separator_of(values: Sequence[str]) -> str | None:
    """Returns the separator of list members in a column; None if they are separated by blanks."""
    return next((separator for separator in ",|;" if any(separator in value for value in values)), None)


def list_in(value: str, separator: str | None = None) -> list[str]:
    """Returns the members of a list that is written as text, with or without brackets.

    It may be written as JSON, Python or numpy write it, or with separators only. ``separator`` is that of the
    column, if known: the only member of a cell may have blanks.

    >>> list_in("['0012', '34']"), list_in("[ 1  2 3]"), list_in("7|8|9")
    (['0012', '34'], ['1', '2', '3'], ['7', '8', '9'])
    """
    inner = NUMPY_SCALAR.sub(r"\1", unwrapped(value.strip())).strip()
    while is_bracketed(inner):
        inner = inner[1:-1].strip()
    if "'" in inner or '"' in inner:
        return [a or b or c for a, b, c in QUOTED.findall(inner)]
    separator = separator or separator_of([inner])
    whole = LINE_BREAK.sub(separator or " ", inner)  # a line break separates items too
    return [part.strip() for part in whole.split(separator) if part.strip()]
