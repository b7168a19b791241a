"""Reads columns without a role as attributes: numbers or labels."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest.columns import ROLES
from recdash.ingest.values import (
    A_NUMBER,
    DATE,
    MAYBE_THOUSANDS,
    SURELY_THOUSANDS,
    YES_NO,
    Findings,
    in_rows,
    is_missing,
    is_text,
)

MOST_LABELS = 50
"""A text column with more distinct values identifies single users instead of grouping them."""

TIMES = "times cannot define segments"
"""Why a column of texts that are dates or times cannot be an attribute."""
MAYBE_START = "If it is when each user entered the test, choose it as start_ts or rename it exposed_at."
LOOKED_AT = 1_000
"""How many distinct texts of a column are looked at to tell whether it holds times."""

ROW_NUMBERS = re.compile(r"__index_level_\d+__|unnamed:? ?\d*")
"""Names of columns of row numbers, as pandas writes them."""
NO_NAME = re.compile(r"column \d+")
"""Names of columns without one."""

MOST_SHOWN = 40
"""Characters of a value in a notice."""

MOST = 1e12
"""Larger than any user's number of clicks, seconds or cents; sums of larger numbers lose precision."""
TOO_LARGE = "If it is a placeholder or an error in the log, correct it or leave the cell empty."

COUNTED = {"sessions", "engaged_sessions", "watch_min"}
"""Totals that recdash computes per user from sessions, so that no column of sessions may have these names."""
PER_USER = "_per_user"
"""What a column of such a name is called besides in a table with a row per user, which has no sessions."""


def without_counts_before_test(columns: Sequence[str]) -> list[str]:
    """Returns the columns without those that count before the test what another counts in it: without
    ``pre_orders`` beside ``orders``.
    """
    return [column for column in columns if not (column[:4] == "pre_" and column[4:] in columns)]


def numbers_if_all(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns a text column as numbers if all values are numeric, else unchanged.

    Text with leading zeros is a code, not a number.
    """
    if not is_text(column.type):
        return column
    filled = pc.if_else(is_missing(pc.utf8_trim_whitespace(column)), None, column)
    first = filled.drop_null().slice(0, 1)  # a sample usually decides: trying a whole column is slow
    if not len(first) or not _are(pa.float64(), first):
        return column
    if pc.any(pc.match_substring_regex(column, r"^[+-]?0\d")).as_py():
        return column
    return next((filled.cast(kind) for kind in (pa.int64(), pa.float64()) if _are(kind, filled)), column)


def with_decimal_commas_read(table: pa.Table, kind: TableKind) -> pa.Table:
    """Returns the table of a file with decimal commas, its columns of such numbers without a role as numbers.

    A column whose commas may separate thousands, as its other values show, stays text.
    """
    roles = {role.name for role in ROLES[kind]}
    for index, name in enumerate(table.column_names):
        column = table[name]
        if name in roles or not is_text(column.type) or _has_thousands(column):
            continue
        numbers = numbers_if_all(pc.replace_substring(column, ",", "."))
        if not is_text(numbers.type):
            table = table.set_column(index, name, numbers)
    return table


def _has_thousands(column: pa.ChunkedArray) -> bool:
    words = pc.utf8_trim_whitespace(column)
    maybe = pc.match_substring_regex(words, MAYBE_THOUSANDS)
    decimal = pc.and_not(pc.match_substring(words, ","), maybe)
    surely = pc.match_substring_regex(words, SURELY_THOUSANDS)
    return all(pc.any(mask).as_py() for mask in (maybe, surely)) and not pc.any(decimal).as_py()


def note_texts_among_numbers(column: pa.ChunkedArray, name: str, findings: Findings) -> None:
    """Adds a notice of a column of text that has numbers in most rows, which is then no column of numbers."""
    if not is_text(column.type):
        return
    words = pc.utf8_trim_whitespace(column)
    words = pc.if_else(is_missing(words), None, words)
    is_number = pc.fill_null(pc.match_substring_regex(words, A_NUMBER), False)
    is_word = pc.and_not(pc.is_valid(words), is_number)
    n_numbers, n_words = (int(pc.sum(mask, min_count=0).as_py()) for mask in (is_number, is_word))
    if not n_words or n_words >= n_numbers:
        return
    word = str(words.filter(is_word)[0])[:MOST_SHOWN]
    finding = f"the column has numbers in {in_rows(n_numbers)} and text in {{rows}}: all are read as text"
    fix = "To read numbers, leave the other cells empty."
    findings.notice("text-among-numbers", f"column '{name}'", finding, fix, n_words, lambda: f"'{word}'")


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
    """Returns the table with its columns without a role as numbers, if all values are numeric, or as labels.

    Labels are dictionary-encoded. A column with more than ``most`` distinct labels is removed with a notice,
    and so is a column of numbers unless ``numbers`` is True. Raises ``UploadError`` for numbers in sessions
    that cannot be added up: infinite, or beyond ``MOST``. In a table with a row per user, columns named as a
    total of ``COUNTED`` get the ending ``PER_USER``.
    """
    problems: list[Problem] = []
    is_per_user = kind == "sessions" and "session_id" not in table.column_names
    if is_per_user:
        table = table.rename_columns([_per_user(name, table.column_names) for name in table.column_names])
    roles = {role.name for role in ROLES[kind]}
    table = without_row_numbers(table)
    for name in [name for name in table.column_names if name not in roles]:
        column = numbers_if_all(table[name])
        note_texts_among_numbers(column, name, findings)
        if is_per_user:
            column = _yes_as_one(column, name, findings)
        column = _labels(column) if is_text(column.type) else column
        index, fault = table.column_names.index(name), _why_useless(column, numbers, most)
        fault = _why_reserved(name, kind, is_per_user=is_per_user) or fault
        if kind == "sessions" and not fault and not pa.types.is_dictionary(column.type):
            column, fault = _amounts(column)
            size = pc.abs(column.cast(pa.float64(), safe=False))
            bad = column.filter(pc.fill_null(pc.greater(size, MOST), False))
            if len(bad) and not fault:
                finding = (
                    f"'{bad[0].as_py():g}' is not an amount that can be added up, in {in_rows(len(bad))}"
                )
                problems.append(Problem("too-large", f"column '{name}'", finding, TOO_LARGE, len(bad)))
        if kind in ("sessions", "interleaving") and len(column) and column.null_count == len(column):
            fault = fault or "all its cells are empty"
        if fault:
            may_be_start = is_per_user and fault == TIMES and "start_ts" not in table.column_names
            findings.notice(
                "column-left-out",
                f"column '{name}'",
                f"ignored: {fault}",
                MAYBE_START if may_be_start else "",
                1,
            )
        table = table.remove_column(index) if fault else table.set_column(index, name, column)
    if problems:
        raise UploadError(problems)
    return table


def without_row_numbers(table: pa.Table) -> pa.Table:
    """Returns the table without columns that number its rows, as an index of pandas does, in any order: they
    have no name of their own, and another whole number in each row.
    """
    return table.drop_columns([name for name in table.column_names if _numbers_rows(table, name)])


def _numbers_rows(table: pa.Table, name: str) -> bool:
    plain = name.strip().lower()
    if not (ROW_NUMBERS.fullmatch(plain) or NO_NAME.fullmatch(plain)):
        return False
    values = numbers_if_all(table[name])
    return pa.types.is_integer(values.type) and len(values.unique()) == table.num_rows


def _per_user(name: str, names: Sequence[str]) -> str:
    """Returns the name of a column in a table with a row per user, such as ``sessions_per_user``."""
    longer = name + PER_USER
    return longer if name.removeprefix("pre_") in COUNTED and longer not in names else name


def _yes_as_one(column: pa.ChunkedArray, name: str, findings: Findings) -> pa.ChunkedArray:
    """Returns a column of true and false, or yes and no, as 1 and 0; other columns unchanged.

    It is a result per user, such as ``converted``. Text that is converted gets a notice.
    """
    if pa.types.is_boolean(column.type):
        return column.cast(pa.int64())
    if not is_text(column.type):
        return column
    words = pc.utf8_lower(pc.utf8_trim_whitespace(column.cast(pa.string())))
    words = pc.if_else(is_missing(words), None, words)
    index = pc.index_in(words, pa.array(list(YES_NO)))
    if words.null_count == len(words) or index.null_count > words.null_count:
        return column
    findings.notice("yes-no", f"column '{name}'", "yes and no are read as 1 and 0", "", 1)
    return pa.chunked_array([pa.array([int(value) for value in YES_NO.values()])]).take(index)


def _amounts(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, str]:
    """Returns the numbers, with null for NaN, and text that says why they are no amounts.

    The text is empty unless most numbers are so large that they are codes or timestamps.
    """
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    size = pc.abs(column.cast(pa.float64(), safe=False))
    typical = pc.quantile(pc.if_else(pc.is_finite(size), size, None), 0.5)[0].as_py()
    if typical is not None and typical > MOST:
        return column, "most of its numbers exceed 10¹²: they are codes or timestamps, not amounts"
    return column, ""


def _labels(column: pa.ChunkedArray) -> pa.ChunkedArray:
    trimmed = pc.utf8_trim_whitespace(column)
    words = pc.if_else(is_missing(trimmed), None, trimmed).combine_chunks()
    return pa.chunked_array([words.dictionary_encode()])


def _why_reserved(name: str, kind: TableKind, *, is_per_user: bool) -> str:
    """Returns why a column of sessions cannot have this name; an empty text if it can."""
    if kind != "sessions" or not (name in COUNTED or name.startswith("before_")):
        return ""
    if not is_per_user:
        return "recdash computes a total of this name; rename the column to add it up"
    if name in COUNTED:
        return f"it has the same meaning as {name}{PER_USER}"
    return "names with before_ are reserved; begin it with pre_ if it counts what came before the test"


def _why_useless(column: pa.ChunkedArray, numbers: bool, most: int | None) -> str:
    """Returns why a column cannot be an attribute; an empty text if it can."""
    if not pa.types.is_dictionary(column.type):
        return "" if numbers else "numbers cannot define segments"
    labels = column.chunk(0).dictionary
    if most is None or len(labels) <= most:
        return ""
    is_time = all(DATE.fullmatch(label) for label in labels.slice(0, LOOKED_AT).to_pylist())
    return TIMES if is_time else f"{len(labels):,} distinct texts are too many for segments"
