"""JSON text as values, and values as Arrow columns of one type."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

import pyarrow as pa

from recdash.errors import Problem, UploadError
from recdash.ingest.columns import is_known
from recdash.ingest.formats.raw_table import is_list
from recdash.ingest.formats.surrogates import WHOLE_TEXT, has_surrogate, printable


class RepeatedKey(ValueError):
    """A key that an object holds twice: JSON readers would silently keep the last of the two."""

    def __init__(self, key: str, is_user: bool) -> None:
        self.key, self.is_user = printable(key), is_user
        super().__init__(self.key)


def parse_json(data: bytes | str) -> Any:
    """A JSON value; raises ``ValueError`` for what is none, or for a key that is there twice."""
    return json.loads(data, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        key = next(key for key, count in counts.items() if count > 1)
        raise RepeatedKey(key, isinstance(held[key], (list, dict)) and not is_known(key))
    return held


def broken_json(error: ValueError, place: str) -> Problem:
    if isinstance(error, RepeatedKey):
        where = f"{'user' if error.is_user else 'key'} '{error.key}'"
        where = where if place == "file" else f"{place}, {where}"
        found = "there twice in one {…}, where only one of the two would count"
        return Problem("repeated-key", where, found, "Merge the two, or remove one.")
    if isinstance(error, json.JSONDecodeError):
        found = f"broken JSON at position {error.pos + 1}: {error.msg}"
    else:
        found = f"broken JSON ({error})"
    return Problem("bad-json", place, found, "The file may be cut off; write it again.")


def column_array(values: list[Any], column: str, where: Callable[[int], str]) -> pa.Array:
    """An Arrow column of one type; values of several types become text.

    Raises ``UploadError`` for what cannot stand in one column; ``where(row)`` gives its place.
    """
    try:
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError, TypeError):
            return pa.array([_worded(value) for value in values])
    except (pa.ArrowException, OverflowError, TypeError, UnicodeError) as error:
        row, found, fix = _first_odd(values)
        place = f"column '{column}', {where(row)}"
        raise UploadError(Problem("mixed-types", place, found, fix)) from error


ONE_FORM = "Write each column in one form: a list in each row, or a single value in each."


def _first_odd(values: Sequence[Any]) -> tuple[int, str, str]:
    """(row, what was found, what to do) of the first value that keeps a column from having one type."""
    for row, value in enumerate(values):
        if has_surrogate(value):
            return row, f"'{printable(value)}' holds half a character (a lone surrogate)", WHOLE_TEXT
    lists = [isinstance(value, (list, tuple)) for value in values]
    filled = [row for row, value in enumerate(values) if value is not None]
    row = next((row for row in filled if lists[row] != lists[filled[0]]), filled[0])
    found = "a list where other rows hold a single value" if lists[row] else "a value beside lists"
    if lists[row] == lists[filled[0]]:
        found = f"a value that no column can hold ({type(values[row]).__name__})"
    return row, found, ONE_FORM


def _worded(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_worded(inner) for inner in value]
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str) if isinstance(value, (bool, int, float, dict)) else str(value)


def ids_as_text(batch: pa.RecordBatch, ids: Collection[str]) -> pa.RecordBatch:
    """JSON ids are text whatever the first of them look like: a later block may hold letters."""
    arrays = [_texted(batch.column(n)) if n in ids else batch.column(n) for n in batch.schema.names]
    return pa.RecordBatch.from_arrays(arrays, batch.schema.names)


def _texted(array: pa.Array) -> pa.Array:
    kind = array.type
    try:
        return array.cast(pa.large_list(pa.string()) if is_list(kind) else pa.string())
    except pa.ArrowException:
        return array
