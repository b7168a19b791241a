"""Columns without a role: what a table says beyond what it must, as numbers or as labels."""

from __future__ import annotations

import pyarrow as pa

from recdash import compute as pc
from recdash.domain import TableKind
from recdash.ingest.columns import ROLES
from recdash.ingest.validate import Findings, is_missing, is_text

MOST_LABELS = 50
"""A text column with more different values tells users apart rather than groups of them."""


COUNTED = {"sessions", "engaged_sessions", "watch_min"}
"""Numbers of each user that are added up from the rows of sessions: no column can be called like them."""


def numbers_if_all(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text that is numbers throughout as numbers; text with leading zeros is a code, not a number."""
    if not is_text(column.type):
        return column
    filled = pc.if_else(is_missing(pc.utf8_trim_whitespace(column)), None, column)
    first = filled.drop_null().slice(0, 1)  # mostly it tells: trying a whole column is dear
    if not len(first) or not _are(pa.float64(), first):
        return column
    if pc.any(pc.match_substring_regex(column, r"^[+-]?0\d")).as_py():
        return column
    return next((filled.cast(kind) for kind in (pa.int64(), pa.float64()) if _are(kind, filled)), column)


def _are(kind: pa.DataType, words: pa.ChunkedArray) -> bool:
    try:
        words.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def further_columns(
    table: pa.Table,
    kind: TableKind,
    findings: Findings,
    *,
    numbers: bool = True,
    most: int | None = MOST_LABELS,
) -> pa.Table:
    """Columns without a role as numbers, where all their values are, or as dictionary-encoded labels.

    Left out, and said so: text of more than ``most`` different values, and numbers unless ``numbers``.
    """
    roles = {role.name for role in ROLES[kind]}
    for name in [name for name in table.column_names if name not in roles]:
        column = numbers_if_all(table[name])
        column = _labels(column) if is_text(column.type) else column
        at, fault = table.column_names.index(name), _of_no_use(column, numbers, most)
        if kind == "sessions" and (name in COUNTED or name.startswith("before_")):
            fault = "numbers of this name are counted here; call it something else to add it up"
        if fault:
            findings.notice("column-left-out", f"column '{name}'", f"left out: {fault}", "", 1)
        table = table.remove_column(at) if fault else table.set_column(at, name, column)
    return table


def _labels(column: pa.ChunkedArray) -> pa.ChunkedArray:
    trimmed = pc.utf8_trim_whitespace(column)
    words = pc.if_else(is_missing(trimmed), None, trimmed).combine_chunks()
    return pa.chunked_array([words.dictionary_encode()])


def _of_no_use(column: pa.ChunkedArray, numbers: bool, most: int | None) -> str:
    """Why a column tells nothing; empty where it does."""
    if not pa.types.is_dictionary(column.type):
        return "" if numbers else "numbers tell no segments apart"
    n_labels = len(column.chunk(0).dictionary)
    too_many = most is not None and n_labels > most
    return f"{n_labels:,} different texts tell no segments apart" if too_many else ""
