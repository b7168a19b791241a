"""Checks what a Parquet file's footer states before anything is decoded.

pyarrow ends the process over some damaged footers: its accessor of column metadata lets a C++ exception pass
(``Definition level histogram size mismatch``). Where this process has one thread, as a command has, the
footer is therefore read in a fork, whose death is reported.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
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
(
    """A column chunk beyond all three limits is a decompression bomb: real values of that length do not
    compress so well.
    """
)
MOST_VALUES = 1 << 24
MOST_VALUES_PER_BYTE = 1000
(
    """A column chunk of more values than either is a decompression bomb; even a constant column takes
    some bytes per page.
    """
)
SECONDS_TO_FORK = 10.0
MOST_FORKS = 5
BEGUN = b"\1"
"""The first bytes that a fork writes."""


@dataclass(frozen=True)
class Chunks:
    """What the column chunks hold: columns without nulls, the largest average number of values per row, and
    delta-encoded text columns, which Arrow cannot read as dictionary codes.
    """

    whole_ids: frozenset[str]
    values_per_row: int
    uncoded: frozenset[str]


def chunks_of(content: Content) -> Chunks:
    """Returns the chunks. Raises UploadError for a footer that is damaged or promises more than a file of
    this size can hold.
    """
    may_fork = hasattr(os, "fork") and threading.active_count() == 1
    facts = _in_a_fork(lambda: _facts(content)) if may_fork else _facts(content)
    if facts.get("bomb"):
        column, values, size, packed = facts["bomb"]
        finding = f"{values:,} values in {size:,} bytes, compressed to {packed:,}"
        fix = "Write one row per item, with no value longer than a name or a text."
        raise UploadError(Problem("parquet-bomb", f"column '{column}'", finding, fix))
    return Chunks(frozenset(facts["whole"]), facts["values_per_row"], frozenset(facts["uncoded"]))


def _facts(content: Content) -> dict[str, Any]:
    """Returns {whole: columns without nulls, values_per_row, uncoded: columns, bomb: (column, values, bytes,
    compressed bytes) or None}.
    """
    import pyarrow.parquet as pq

    with content.open() as source:
        file = pq.ParquetFile(source)
        metadata, schema = file.metadata, file.schema_arrow
        groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
        chunks = [(group.num_rows, group.column(c)) for group in groups for c in range(metadata.num_columns)]
    whole = {field.name for field in schema if pa.types.is_integer(field.type)} if chunks else set()
    uncoded, values_per_row, bomb = set(), 1, None
    for n_rows, chunk in chunks:
        column, statistics = chunk.path_in_schema, chunk.statistics
        if statistics is None or not statistics.has_null_count or statistics.null_count:
            whole.discard(column)
        if any(encoding.startswith("DELTA") for encoding in chunk.encodings):
            uncoded.add(column.split(".")[0])
        values_per_row = max(values_per_row, -(-chunk.num_values // max(n_rows, 1)))
        size = (chunk.num_values, chunk.total_uncompressed_size, chunk.total_compressed_size)
        bomb = bomb or ((column, *size) if _is_bomb(*size) else None)
    return {"whole": [*whole], "values_per_row": values_per_row, "uncoded": [*uncoded], "bomb": bomb}


def _is_bomb(values: int, size: int, packed: int) -> bool:
    has_many = values > MOST_VALUES and values > MOST_VALUES_PER_BYTE * max(size, 1)
    is_large = size > MOST_BYTES and size > MOST_TIMES_PACKED * max(packed, 1)
    return has_many or (is_large and size > MOST_BYTES_PER_VALUE * max(values, 1))


def _in_a_fork(act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Returns what ``act`` returns. Raises its error as pa.ArrowInvalid, also if it ends the process."""
    pid, reading = _begun_fork(act)
    with os.fdopen(reading, "rb") as answer:
        answer_bytes = answer.read()
    _, status = os.waitpid(pid, 0)
    facts: dict[str, Any] = (
        json.loads(answer_bytes) if answer_bytes else {"error": f"its reader was ended by {status & 127}"}
    )
    if "error" in facts:
        raise pa.ArrowInvalid(facts["error"])
    return facts


def _begun_fork(act: Callable[[], dict[str, Any]]) -> tuple[int, int]:
    """Returns (process, pipe with its answer) of a running fork.

    In Python 3.11 a fork hangs at its start if an Arrow thread was just entering or leaving Python (about one
    in ten thousand): such a fork is killed and another one made.
    """
    for _ in range(MOST_FORKS):
        pid, reading = _forked(act)
        poll = select.poll()
        poll.register(reading, select.POLLIN)
        if poll.poll(SECONDS_TO_FORK * 1000):
            os.read(reading, len(BEGUN))
            return pid, reading
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reading)
    raise pa.ArrowInvalid("its reader did not start")


def _forked(act: Callable[[], dict[str, Any]]) -> tuple[int, int]:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which belong to Arrow
        pid = os.fork()
    if not pid:
        _answer(act, reading, writing)
    os.close(writing)
    return pid, reading


def _answer(act: Callable[[], dict[str, Any]], reading: int, writing: int) -> None:
    """Writes what ``act`` returns without printing to the terminal, and exits."""
    try:
        os.close(reading)
        os.write(writing, BEGUN)
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
