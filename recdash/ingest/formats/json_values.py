"""Parses JSON text, and turns values into Arrow columns of one type."""

from __future__ import annotations

import gc
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from recdash.errors import Problem, UploadError
from recdash.ingest.columns import is_known
from recdash.ingest.formats.dialect import NUMBER
from recdash.ingest.formats.raw_table import is_list
from recdash.ingest.formats.surrogates import WHOLE_TEXT, has_surrogate, printable

BLANKS = re.compile(r"\s*")
PYTHON = re.compile(r"'|(?:None|True|False)\b")
"""What Python prints where JSON has another form."""


class RepeatedKey(ValueError):
    """A key that occurs twice in a JSON object; other readers would silently keep the last value."""

    def __init__(self, key: str, is_user: bool) -> None:
        super().__init__(key)
        self.key = printable(key)
        self.is_user = is_user


def parse_json(data: bytes | str) -> Any:
    """Returns the JSON value. Raises ``ValueError`` for invalid JSON and for a key that occurs twice."""
    with _without_garbage_collection():
        return json.loads(data, object_pairs_hook=_unique_keys)


def parse_documents(text: str) -> list[Any]:
    """Returns the JSON values that stand after one another, as jq writes them.

    Raises ``ValueError`` for invalid JSON, and ``UploadError`` if some are no objects or empty ones.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_unique_keys)
    documents, end = [], len(text.rstrip())
    position = len(text) - len(text.lstrip())
    with _without_garbage_collection():
        while position < end:
            document, position = decoder.raw_decode(text, position)
            if not isinstance(document, dict) or not document:
                finding, fix = (
                    "several JSON documents after one another",
                    "Write one list of rows, as jq -s does.",
                )
                raise UploadError(Problem("bad-json", "file", finding, fix))
            documents.append(document)
            position = BLANKS.match(text, position).end()  # type: ignore[union-attr]
    return documents


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Stops the search for unused circles of objects.

    A JSON value has none, but Python searches it again and again while it grows: 35 million lists took 19 s,
    and take 2 s without.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        key = next(key for key, count in counts.items() if count > 1)
        raise RepeatedKey(key, isinstance(values[key], (list, dict)) and not is_known(key))
    return values


def broken_json(error: ValueError, place: str) -> Problem:
    """Returns the problem that states the error of ``parse_json``."""
    if isinstance(error, RepeatedKey):
        where = f"{'user' if error.is_user else 'key'} '{error.key}'"
        where = where if place == "file" else f"{place}, {where}"
        finding = "occurs twice in one {…}, and only one would count"
        return Problem("repeated-key", where, finding, "Merge the two, or remove one.")
    finding = f"broken JSON ({error})"
    if isinstance(error, json.JSONDecodeError):
        finding = f"broken JSON at position {error.pos + 1}: {error.msg}"
        if PYTHON.match(error.doc, error.pos):
            finding = f"no JSON, but what Python prints, at position {error.pos + 1}"
            return Problem("bad-json", place, finding, "Write it with json.dump or DataFrame.to_json.")
    return Problem("bad-json", place, finding, "The file may be cut off; write it again.")


def column_array(values: list[Any], column: str, where: Callable[[int], str]) -> pa.Array:
    """Returns an Arrow column of one type; values of several types become text.

    Raises ``UploadError`` for values that cannot share a column; ``where(row)`` returns a row's place for the
    message.
    """
    if _are_scores_by_item(values):  # as one struct, they would have a field for each item
        values = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    try:
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError, TypeError):
            return pa.array([_as_text(value) for value in values])
    except (pa.ArrowException, OverflowError, TypeError, UnicodeError) as error:
        row, finding, fix = _first_mismatch(values)
        place = f"column '{column}', {where(row)}"
        raise UploadError(Problem("mixed-types", place, finding, fix)) from error


def _are_scores_by_item(values: Sequence[Any]) -> bool:
    """Returns True if each value is {item: score} or null; a record has known names as keys."""
    filled = [value for value in values if value is not None]
    if not filled or not all(isinstance(value, dict) for value in filled):
        return False
    scores = [score for value in filled for score in value.values()]
    if all(type(score) in (int, float) for score in scores):
        return all(sum(map(is_known, value)) < 2 for value in filled)
    # a missing score, or one in quotes, is read or refused with its row
    return all(map(_may_be_score, scores)) and not any(
        map(is_known, (key for value in filled for key in value))
    )


def _may_be_score(value: Any) -> bool:
    return (
        value is None
        or type(value) in (int, float)
        or (isinstance(value, str) and bool(NUMBER.fullmatch(value)))
    )


ONE_FORM = "Use one form in each column: a list in every row, or a single value in every row."


def _first_mismatch(values: Sequence[Any]) -> tuple[int, str, str]:
    """Returns (row, finding, fix) for the first value that cannot share a column with the others."""
    for row, value in enumerate(values):
        if has_surrogate(value):
            return row, f"'{printable(value)}' holds half a character (a lone surrogate)", WHOLE_TEXT
    lists = [isinstance(value, (list, tuple)) for value in values]
    filled = [row for row, value in enumerate(values) if value is not None]
    row = next((row for row in filled if lists[row] != lists[filled[0]]), filled[0])
    if lists[row] == lists[filled[0]]:
        return row, f"a value of a type that no column can hold ({type(values[row]).__name__})", ONE_FORM
    return (
        row,
        "a list where other rows hold a single value"
        if lists[row]
        else "a single value where other rows hold lists",
        ONE_FORM,
    )


def _as_text(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_as_text(member) for member in value]
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str) if isinstance(value, (bool, int, float, dict)) else str(value)


def ids_as_text(batch: pa.RecordBatch, ids: Collection[str]) -> pa.RecordBatch:
    """Returns the batch with its id columns as text.

    Even if all ids of this batch are numbers, a later batch may have letters.
    """
    arrays = []
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        if name in ids:
            with suppress(pa.ArrowException):
                array = array.cast(pa.large_list(pa.string()) if is_list(array.type) else pa.string())  # noqa: PLW2901
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, batch.schema.names)
