"""What the footer of a Parquet file promises, looked at before anything is decoded.

pyarrow ends the process over some damaged footers: its accessor of a column's metadata lets an exception of
C++ pass (``Definition level histogram size mismatch``). Where this process has one thread, as a command has,
the footer is therefore read in a fork of it, whose death is told.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import Content

MOST_BYTES = 1 << 24
MOST_TIMES_PACKED = 200
MOST_BYTES_PER_VALUE = 10_000
"""A column chunk beyond all three is a bomb: real values of such a length do not pack so small."""
MOST_VALUES = 1 << 24
MOST_VALUES_PER_BYTE = 1000
"""A column chunk of more values than either is a bomb; a column of one value takes some bytes a page."""


@dataclass(frozen=True)
class Chunks:
    """What the column chunks hold: columns without a gap, the most values that a row has on average, and
    columns that hold what each text adds to the one before, which Arrow does not read as codes.
    """

    whole_ids: frozenset[str]
    values_per_row: int
    uncoded: frozenset[str]


def chunks_of(content: Content) -> Chunks:
    """Raises UploadError for a footer that is damaged, or promises what no file of this size means."""
    facts = _in_a_fork(lambda: _facts(content)) if _may_fork() else _facts(content)
    if facts.get("bomb"):
        raise UploadError(_bomb(*facts["bomb"]))
    return Chunks(frozenset(facts["whole"]), facts["values_per_row"], frozenset(facts["uncoded"]))


def _facts(content: Content) -> dict[str, Any]:
    """{whole: columns without a gap, values_per_row, uncoded: columns, bomb: as ``_size`` gives or None}."""
    import pyarrow.parquet as pq

    with content.open() as source:
        file = pq.ParquetFile(source)
        metadata, schema = file.metadata, file.schema_arrow
        groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
        chunks = [(group.num_rows, group.column(c)) for group in groups for c in range(metadata.num_columns)]
    integers = {field.name for field in schema if pa.types.is_integer(field.type)}
    gaps = {chunk.path_in_schema for _, chunk in chunks if not _is_whole(chunk.statistics)}
    return {
        "whole": sorted(integers - gaps) if chunks else [],
        "values_per_row": max((-(-chunk.num_values // max(rows, 1)) for rows, chunk in chunks), default=1),
        "uncoded": sorted({chunk.path_in_schema.split(".")[0] for _, chunk in chunks if _is_delta(chunk)}),
        "bomb": next((_size(chunk) for _, chunk in chunks if _is_bomb(chunk)), None),
    }


def _is_delta(chunk: Any) -> bool:
    return any(encoding.startswith("DELTA") for encoding in chunk.encodings)


def _is_whole(statistics: Any) -> bool:
    return statistics is not None and statistics.has_null_count and statistics.null_count == 0


def _size(chunk: Any) -> tuple[str, int, int, int]:
    """(column, values, bytes, bytes as packed)."""
    size, packed = chunk.total_uncompressed_size, chunk.total_compressed_size
    return chunk.path_in_schema, chunk.num_values, size, packed


def _is_bomb(chunk: Any) -> bool:
    _, values, size, packed = _size(chunk)
    has_many = values > MOST_VALUES and values > MOST_VALUES_PER_BYTE * max(size, 1)
    is_large = size > MOST_BYTES and size > MOST_TIMES_PACKED * max(packed, 1)
    return bool(has_many or (is_large and size > MOST_BYTES_PER_VALUE * max(values, 1)))


def _bomb(column: str, values: int, size: int, packed: int) -> Problem:
    finding = f"{values:,} values in {size:,} bytes, packed in {packed:,}"
    fix = "Write the table with one row per item, and no value longer than a name or a text."
    return Problem("parquet-bomb", f"column '{column}'", finding, fix)


def _may_fork() -> bool:
    return hasattr(os, "fork") and threading.active_count() == 1


def _in_a_fork(act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What ``act`` returns, or its error as pa.ArrowInvalid; so too where it ends the process."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which are Arrow's own and fork-safe
        pid = os.fork()
    if not pid:
        _answer(act, reading, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        answer_bytes = answer.read()
    _, status = os.waitpid(pid, 0)
    facts: dict[str, Any] = (
        json.loads(answer_bytes) if answer_bytes else {"error": f"its reader was ended by {status & 127}"}
    )
    if "error" in facts:
        raise pa.ArrowInvalid(facts["error"])
    return facts


def _answer(act: Callable[[], dict[str, Any]], reading: int, writing: int) -> None:
    """Write what ``act`` returns, without a word on the terminal, and end."""
    try:
        os.close(reading)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 2)
        try:
            facts = act()
        except Exception as error:  # noqa: BLE001 told to the process that asked
            facts = {"error": str(error).splitlines()[0] if str(error) else type(error).__name__}
        with contextlib.suppress(OSError), os.fdopen(writing, "wb") as answer:
            answer.write(json.dumps(facts).encode())
    finally:
        os._exit(0)
