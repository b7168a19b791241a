"""Turns what people have in Python, other than data frames and dicts, into tables that are read as such.

Arrays of users, items and scores, rows as tuples, Series, score matrices and results of other libraries
become Arrow tables or dicts; DuckDB relations are read block by block. Libraries are told by the modules of
their classes, so that none of them is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest.columns import is_known
from recdash.ingest.formats.json import PAIRS
from recdash.ingest.formats.relation import DuckRelation
from recdash.ingest.spark_frames import is_spark_frame

TRIPLES: frozenset[TableKind] = frozenset({"run", "truth", "train", "predictions", "similarity"})
"""Kinds of tables whose rows are two ids and a value, so that columns without names have a meaning."""
FRAMES = "Give a path, bytes, a file opened with 'rb', a pandas, polars or Arrow table, or a dict by user."


class Unnamed(NamedTuple):
    """A table of values that had no names; its columns are named by their roles."""

    table: pa.Table


class Form(NamedTuple):
    """A form of objects: how to tell it, and how to read it."""

    fits: Callable[[Any], bool]
    read: Callable[[Any, TableKind], Any]


def is_object(source: Any) -> bool:
    """Returns whether ``table_of_object`` has something to do with the source."""
    return any(form.fits(source) for form in FORMS)


def table_of_object(source: Any, kind: TableKind) -> Any:
    """Returns the source as a dict, a list of rows, an object with an Arrow stream, or one of this module's
    classes; others unchanged.

    Raises ``UploadError`` for forms that lack something, with what to write instead.
    """
    form = next((form for form in FORMS if form.fits(source)), None)
    return source if form is None else form.read(source, kind)


def refuse(source: Any) -> UploadError:
    """Returns the error that says what to give in place of this source."""
    return _bad(
        f"{type(source).__name__} is neither a path, bytes, a binary file, a table nor a dict", FRAMES
    )


def _bad(finding: str, fix: str) -> UploadError:
    return UploadError(Problem("bad-source", "source", finding, fix))


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _names(kind: TableKind) -> tuple[str, str, str]:
    if kind not in TRIPLES:
        raise _bad("columns without names", "Give a data frame whose columns have names.")
    return PAIRS.get(kind, ("user_id", "item_id", "score"))


# ── pandas and polars ────────────────────────────────────────────────────────────────────────


def _is_series(value: Any) -> bool:
    return _library(value) == "pandas" and type(value).__name__ == "Series"


def _of_series(series: Any, kind: TableKind) -> Any:
    """Returns a frame of a Series: user → item or list of items, or (user, item) → value."""
    user, item, value = _names(kind)
    levels = series.index.nlevels
    if levels > 2:
        raise _bad(f"a Series with {levels} index levels", "Use .reset_index() and name the columns.")
    usual = (user, item)[:levels]
    given = zip(series.index.names, usual, strict=True)
    names = [own if name is None else str(name) for name, own in given]
    name = str(series.name) if is_known(str(series.name)) else (item if levels == 1 else value)
    return series.rename_axis(names).reset_index(name=name)


def _is_lazy(value: Any) -> bool:
    return _library(value) == "polars" and type(value).__name__ == "LazyFrame"


# ── arrays and rows ──────────────────────────────────────────────────────────────────────────


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _of_array(array: Any, kind: TableKind) -> Any:
    """Returns the table of a structured array, or of one with two or three columns of ids and values."""
    if array.dtype.names:
        return pa.table({name: _arrow(array[name]) for name in array.dtype.names})
    if array.ndim == 2 and array.dtype == object and array.shape[1] in (2, 3):
        return _of_columns(list(array.T), kind)
    if array.ndim == 2:
        fix = (
            "Give scipy.sparse.csr_array(scores), whose rows are users and columns items, or a dict by user."
        )
        raise _bad(f"an array of {array.shape[0]:,} × {array.shape[1]:,} numbers without ids", fix)
    raise _bad(f"an array of {array.ndim} dimensions", "Give (users, items, scores), arrays of one length.")


def _are_arrays(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and bool(value) and all(map(_is_array, value))


def _of_arrays(arrays: Sequence[Any], kind: TableKind) -> Any:
    if any(array.ndim != 1 for array in arrays):
        finding = f"{len(arrays)} arrays, of which rows may be users, but which users is not said"
        raise _bad(finding, "Give dict(zip(users, items)), or {user: {item: score}}.")
    if len(arrays) not in (2, 3):
        raise _bad(f"{len(arrays)} arrays", "Give two or three: (users, items), (users, items, scores).")
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        finding = f"arrays of different lengths ({', '.join(f'{length:,}' for length in lengths)})"
        raise _bad(finding, "Give arrays with one value per row.")
    return _of_columns(arrays, kind)


def _of_columns(columns: Sequence[Any], kind: TableKind) -> Unnamed:
    names = _names(kind)[: len(columns)]
    return Unnamed(pa.table({name: _arrow(values) for name, values in zip(names, columns, strict=True)}))


def _arrow(values: Any) -> pa.Array:
    """Returns an array as Arrow's; of objects of several types as text."""
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.array([None if value is None else str(value) for value in values])


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, (tuple, Mapping)) for row in value)


def _of_rows(rows: Sequence[Any], kind: TableKind) -> Any:
    """Returns rows as dicts: those of named tuples, such as Surprise's predictions, have their names."""
    if all(hasattr(row, "_asdict") for row in rows):
        return [_without_details(row._asdict()) for row in rows]
    if all(isinstance(row, Mapping) for row in rows):
        return rows
    lengths = sorted({len(row) for row in rows})
    if lengths not in ([2], [3]):
        raise _bad(
            f"rows of {' and '.join(map(str, lengths))} values", "Give (user, item) or (user, item, score)."
        )
    return _of_columns(list(zip(*rows, strict=True)), kind)


def _without_details(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not isinstance(value, (dict, list, tuple))}


def _are_named_arrays(value: Any) -> bool:
    """Returns whether this is {column: array}: two names of columns are known."""
    return (
        isinstance(value, Mapping)
        and sum(is_known(str(name)) for name in value) > 1
        and all(_is_array(column) or _is_series(column) for column in value.values())
    )


def _of_named_arrays(columns: Mapping[Any, Any], _kind: TableKind) -> Any:
    lengths = {str(name): len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        lengths_shown = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise _bad(f"columns of different lengths ({lengths_shown})", "Give arrays with one value per row.")
    return pa.table({str(name): _arrow(np.asarray(column)) for name, column in columns.items()})


# ── score matrices ───────────────────────────────────────────────────────────────────────────


def _is_sparse(value: Any) -> bool:
    return _library(value) == "scipy" and hasattr(value, "tocoo")


def _of_sparse(matrix: Any, kind: TableKind) -> Unnamed:
    """Returns a row per stored score of a matrix, whose rows are users and columns items: their ids are the
    numbers of row and column, from 0.
    """
    user, item, value = _names(kind)
    entries = matrix.tocoo()
    rows, columns = entries.coords if hasattr(entries, "coords") else (entries.row, entries.col)
    return Unnamed(pa.table({user: rows.astype("i8"), item: columns.astype("i8"), value: entries.data}))


# ── other libraries ──────────────────────────────────────────────────────────────────────────


def _is_relation(value: Any) -> bool:
    return type(value).__name__ == "DuckDBPyRelation"


def _is_lenskit(value: Any) -> bool:
    return _library(value) == "lenskit" and hasattr(value, "to_df")


ELSEWHERE: Mapping[str, str] = {
    "toPandas": "Call .toPandas(), or write the table as Parquet and give its path.",
    "to_pandas": "Call .to_pandas() first.",
    "to_arrow": "Call .to_arrow() first.",
    "compute": "Call .compute() first.",
}
"""Method of tables of other libraries → what to do with them."""


def _is_elsewhere(value: Any) -> bool:
    if isinstance(value, type) or hasattr(value, "__arrow_c_stream__"):
        return False
    return any(callable(getattr(value, method, None)) for method in ELSEWHERE)


def _refuse_elsewhere(value: Any, _kind: TableKind) -> Any:
    method = next(method for method in ELSEWHERE if callable(getattr(value, method, None)))
    raise _bad(f"{type(value).__name__} of {_library(value)} is not read", ELSEWHERE[method])


def _is_iterator(value: Any) -> bool:
    return (
        isinstance(value, Iterator)
        and not hasattr(value, "read")
        and not hasattr(value, "__arrow_c_stream__")
    )


def _refuse_iterator(value: Any, _kind: TableKind) -> Any:
    raise _bad(f"{type(value).__name__} can be read only once", "Give a list of its rows: list(rows).")


FORMS: tuple[Form, ...] = (
    Form(_is_series, _of_series),
    Form(_is_lazy, lambda frame, _kind: frame.collect()),
    Form(_is_array, _of_array),
    Form(_are_arrays, _of_arrays),
    Form(_are_rows, _of_rows),
    Form(_are_named_arrays, _of_named_arrays),
    Form(_is_sparse, _of_sparse),
    Form(_is_relation, lambda relation, _kind: DuckRelation(relation)),
    Form(is_spark_frame, lambda frame, _kind: frame.toArrow()),
    Form(_is_lenskit, lambda items, _kind: items.to_df()),
    Form(_is_elsewhere, _refuse_elsewhere),
    Form(_is_iterator, _refuse_iterator),
)
"""The forms of objects; the first that fits reads them."""
