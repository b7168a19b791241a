"""Finds, in the rows of a run as they are written, one example of each fault of its lists, and the rows that
are dropped from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from recdash.domain.kinds import Floats, Ints, Mask, TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest.formats.raw_table import RawTable
from recdash.ingest.rejects import Rejects

MOST_ROWS = 2_000_000
"""Rows of a run in which examples are looked for."""
LISTED = 10
FILLED = 0.5
"""Share of the lists with an item that repeat it at their ends, from which it looks like padding."""
WHY = {
    "run": "the item is in this list already, at a better position",
    "truth": "the user has the item already, with the same or a higher relevance",
}


@dataclass(frozen=True)
class ListRows:
    """The first rows of a run, list by list and best first; ``of_list`` and ``item`` are codes [rows]."""

    table: pa.Table
    order: Ints
    of_list: Ints
    item: Ints
    value: Floats | None
    """What orders the lists: ranks, or scores; None for the order of the file."""

    @property
    def starts(self) -> Mask:
        """Returns True [rows] where a list begins."""
        return np.append(True, self.of_list[1:] != self.of_list[:-1])

    def text(self, column: str, row: int) -> str:
        return f"'{self.table[column][int(self.order[row])].as_py()}'"

    def user(self, row: int) -> str:
        return f"user {self.text('user_id', row)}"


def list_examples(
    table: pa.Table, kind: TableKind, rejects: Rejects, item_column: str = "item_id"
) -> dict[str, str]:
    """Returns {code: example} of the faults in the lists of ``table``, the first rows of a run or a test set.

    Its columns are ``user_id``, ``item_id``, and, if the run has them, ``rank``, ``score``, ``run`` and
    ``replicate``. Rows that repeat an item of their list are added to ``rejects``.
    """
    if not table.num_rows:
        return {}
    rows = _ordered(table)
    again = _repeated(rows.of_list, rows.item)
    if again.any():
        places = np.sort(rows.order[again])
        rejects.add_kept(places, item_column, table["item_id"], WHY[kind])
    if kind == "truth":
        example = _duplicate_pairs(rows)
        return {"duplicate-truth": example} if example else {}
    examples = {code: find(rows) for code, find in EXAMPLES.items()}
    return {code: example for code, example in examples.items() if example}


def first_rows(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Returns the first rows as a table of at least ``MOST_ROWS``, or all of them."""
    held, n_rows = [], 0
    for batch in batches:
        held.append(batch)
        n_rows += batch.num_rows
        if n_rows >= MOST_ROWS:
            break
    table = pa.Table.from_batches(held) if held else pa.table({})
    coded = any(pa.types.is_dictionary(column.type) for column in table.schema)
    return table.unify_dictionaries() if coded else table


def padding(table: pa.Table) -> list[Problem]:
    """Returns the notice of an item that fills up the ends of lists, where it is repeated.

    Only the first rows of a run are looked at.
    """
    if not table.num_rows:
        return []
    rows = _ordered(table)
    again = _repeated(rows.of_list, rows.item)
    ends = np.append(rows.of_list[1:] != rows.of_list[:-1], True)
    filled = again & ends
    if not filled.any():
        return []
    items, counts = np.unique(rows.item[filled], return_counts=True)
    item = int(items[counts.argmax()])
    is_item = rows.item == item
    n_lists = int(counts.max())
    if n_lists < max(2, FILLED * len(np.unique(rows.of_list[is_item]))):
        return []
    row = int(np.argmax(filled & is_item))
    name, count = rows.text("item_id", row), int(is_item.sum())
    finding = f"item {name} fills the ends of {n_lists} lists, {count} rows: it looks like padding"
    fix = "It is read as an item that is no hit. Remove these rows, or leave their item empty."
    return [
        Problem("padded-items", "column 'item_id'", finding, fix, count, f"{rows.user(row)}, item {name}")
    ]


def _ordered(table: pa.Table) -> ListRows:
    of_list = np.zeros(table.num_rows, dtype=np.int64)
    for name in ("run", "replicate", "user_id"):
        if name in table.column_names:
            codes = _codes(table[name])
            of_list = of_list * (int(codes.max(initial=0)) + 1) + codes
    by = next((name for name in ("rank", "score", "relevance") if name in table.column_names), None)
    value = None if by is None else table[by].to_numpy().astype(np.float64)
    keys = np.arange(len(of_list)) if value is None else value if by == "rank" else -value
    order = np.lexsort((keys, of_list))
    return ListRows(
        table, order, of_list[order], _codes(table["item_id"])[order], None if value is None else value[order]
    )


def _codes(column: pa.ChunkedArray) -> Ints:
    values = column.combine_chunks()
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    codes: Ints = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def repeated_pairs(table: pa.Table) -> Mask:
    """Returns True [rows] where the pair of user and item occurred before."""
    return _repeated(_codes(table["user_id"]), _codes(table["item_id"]))


def _repeated(a: Ints, b: Ints) -> Mask:
    """Returns True [rows] where a pair of values occurred before."""
    _, first = np.unique(a * (int(b.max(initial=0)) + 1) + b, return_index=True)
    again = np.ones(len(a), dtype=bool)
    again[first] = False
    return again


def _first(marked: Mask) -> int | None:
    return int(np.argmax(marked)) if marked.any() else None


def _duplicate_pairs(rows: ListRows) -> str:
    row = _first(_repeated(rows.of_list, rows.item))
    return "" if row is None else f"{rows.user(row)}, item {rows.text('item_id', row)}"


def _is_equal(rows: ListRows) -> int | None:
    """Returns the first row with the rank or score of the row before it in the same list."""
    if rows.value is None:
        return None
    equal = np.append(False, rows.value[1:] == rows.value[:-1])
    return _first(equal & ~rows.starts)


def _duplicate_ranks(rows: ListRows) -> str:
    row = _is_equal(rows) if "rank" in rows.table.column_names else None
    return "" if row is None else f"{rows.user(row)}, rank {rows.text('rank', row)}"


def _ties(rows: ListRows) -> str:
    row = None if "rank" in rows.table.column_names else _is_equal(rows)
    return "" if row is None else f"{rows.user(row)}, score {rows.text('score', row)}"


def _rank_gaps(rows: ListRows) -> str:
    if "rank" not in rows.table.column_names or rows.value is None:
        return ""
    before = np.append(0.0, rows.value[:-1])
    before[rows.starts] = 0.0
    row = _first(rows.value - before > 1)
    if row is None:
        return ""
    same = np.flatnonzero(rows.of_list == rows.of_list[row])[:LISTED]
    ranks = ", ".join(f"{rank:g}" for rank in rows.value[same])
    return f"{rows.user(row)}: ranks {ranks}{' …' if len(same) == LISTED else ''}"


def _short_lists(rows: ListRows) -> str:
    starts = np.flatnonzero(rows.starts)
    counted = ~_repeated(rows.of_list, rows.item)  # an item counts once in its list
    lengths = np.add.reduceat(counted.astype(np.int64), starts)
    shortest = int(np.argmin(lengths))
    n_items = int(lengths[shortest])
    return f"{rows.user(int(starts[shortest]))}: {n_items} item{'' if n_items == 1 else 's'}"


EXAMPLES: Mapping[str, Callable[[ListRows], str]] = {
    "duplicate-pairs": _duplicate_pairs,
    "duplicate-ranks": _duplicate_ranks,
    "rank-gaps": _rank_gaps,
    "ties": _ties,
    "short-lists": _short_lists,
}


def rank_conflicts(raw: RawTable) -> list[Problem]:
    """Returns the notice of a TREC run whose rank column, which is ignored, contradicts its scores.

    Only the first block of rows is looked at.
    """
    try:
        first = next(raw.blocks(["query_id", "rank", "score"], ()), None)
    except UploadError:  # which reading the rows raises again
        return []
    if first is None or not first.num_rows:
        return []
    table = pa.Table.from_batches([first])
    rank, score = (np.array(table[name].to_pylist(), dtype=object) for name in ("rank", "score"))
    try:
        by_rank, by_score = rank.astype(np.float64), score.astype(np.float64)
    except ValueError:  # values that the reader refuses, or a rank that is no number
        return []
    of_list = _codes(table["query_id"])
    order = np.lexsort((by_rank, of_list))
    same = np.append(False, of_list[order][1:] == of_list[order][:-1])
    rank_step, score_step = (np.append(0.0, np.diff(values[order])) for values in (by_rank, by_score))
    wrong = same & ((score_step > 0) | ((rank_step == 0) & (score_step != 0)))
    if not wrong.any():
        return []
    row = int(order[int(np.argmax(wrong))])
    users = len(np.unique(of_list[order][wrong]))
    finding = (
        f"the rank contradicts the score in the lists of {users} user{'' if users == 1 else 's'}: score used"
    )
    fix = "If the rank is right, choose it as the column of the rank: rank=rank."
    example = f"user '{table['query_id'][row].as_py()}', rank '{rank[row]}', score '{score[row]}'"
    return [Problem("trec-rank-conflict", "column 'rank'", finding, fix, users, example)]
