"""Columns without a role: what a table says beyond what it must, as numbers or as labels."""

from __future__ import annotations

import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest.columns import ROLES
from recdash.ingest.values import Findings, in_rows, is_missing, is_text

MOST_LABELS = 50
"""A text column with more different values tells users apart rather than groups of them."""

MOST = 1e12
"""No user's clicks, seconds or cents are as many; sums of larger numbers would lose the small ones."""
TOO_LARGE = "Is it a code for nothing, or an error of the log? Correct it, or leave the cell empty."

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
    Raises ``UploadError`` for numbers of sessions that cannot be added up: endless, or beyond ``MOST``.
    """
    problems: list[Problem] = []
    roles = {role.name for role in ROLES[kind]}
    for name in [name for name in table.column_names if name not in roles]:
        column = numbers_if_all(table[name])
        column = _labels(column) if is_text(column.type) else column
        index, fault = table.column_names.index(name), _why_useless(column, numbers, most)
        if kind == "sessions" and (name in COUNTED or name.startswith("before_")):
            fault = "numbers of this name are counted here; call it something else to add it up"
        if kind == "sessions" and not fault and not pa.types.is_dictionary(column.type):
            column, fault = _amounts(column)
            size = pc.abs(column.cast(pa.float64(), safe=False))
            bad = column.filter(pc.fill_null(pc.greater(size, MOST), False))
            if len(bad) and not fault:
                finding = f"'{bad[0].as_py():g}' is no amount to add up, in {in_rows(len(bad))}"
                problems.append(Problem("too-large", f"column '{name}'", finding, TOO_LARGE, len(bad)))
        if fault:
            findings.notice("column-left-out", f"column '{name}'", f"left out: {fault}", "", 1)
        table = table.remove_column(index) if fault else table.set_column(index, name, column)
    if problems:
        raise UploadError(problems)
    return table


def _amounts(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, str]:
    """The numbers, null for NaN; and what is wrong where they are mostly codes or moments, not amounts."""
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    size = pc.abs(column.cast(pa.float64(), safe=False))
    typical = pc.quantile(pc.if_else(pc.is_finite(size), size, None), 0.5)[0].as_py()
    if typical is not None and typical > MOST:
        return column, "most of its numbers are beyond a million million: codes or moments, not amounts"
    return column, ""


def _labels(column: pa.ChunkedArray) -> pa.ChunkedArray:
    trimmed = pc.utf8_trim_whitespace(column)
    words = pc.if_else(is_missing(trimmed), None, trimmed).combine_chunks()
    return pa.chunked_array([words.dictionary_encode()])


def _why_useless(column: pa.ChunkedArray, numbers: bool, most: int | None) -> str:
    """Why a column tells nothing; empty where it does."""
    if not pa.types.is_dictionary(column.type):
        return "" if numbers else "numbers tell no segments apart"
    n_labels = len(column.chunk(0).dictionary)
    too_many = most is not None and n_labels > most
    return f"{n_labels:,} different texts tell no segments apart" if too_many else ""
