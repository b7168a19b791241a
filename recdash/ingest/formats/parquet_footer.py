"""Checks what a Parquet file's footer states before anything is decoded.

Some damaged footers make pyarrow end the process: its accessor of column metadata lets a C++ exception pass
(``Definition level histogram size mismatch``). If this process has only one thread, as a command has, the
footer is therefore read in a fork; if the fork dies, that is reported as an error.
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
"""A column chunk beyond all three limits is a decompression bomb: such long values do not compress so
well.
"""
MOST_VALUES = 1 << 24
MOST_VALUES_PER_BYTE = 1000
"""A column chunk with more values than both limits is a decompression bomb.

Even a constant column takes some bytes per page.
"""
SECONDS_TO_FORK = 10.0
MOST_FORKS = 5
BEGUN = b"\1"
"""The first byte that a fork writes."""


@dataclass(frozen=True)
class Chunks:
    """What the column chunks of a Parquet file contain.

    ``whole_ids`` are integer columns without nulls, ``values_per_row`` is the largest average number of
    values per row, and ``uncoded`` are delta-encoded columns, which Arrow cannot read as dictionary codes.
    """

    whole_ids: frozenset[str]
    values_per_row: int
    uncoded: frozenset[str]


def chunks_of(content: Content) -> Chunks:
    """Returns what the file's column chunks contain.

    Raises pa.ArrowException for a damaged footer, and UploadError for a footer that promises more than a file
    of this size can contain.
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
    """Returns the facts about the column chunks as JSON-ready values.

    The keys are whole (columns without nulls), values_per_row, uncoded (columns) and bomb, which is (column,
    values, bytes, compressed bytes) or None.
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
    """Returns the result of ``act``, which runs in a fork.

    Raises pa.ArrowInvalid if ``act`` raises an error or ends the fork.
    """
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
    """Returns the process id of a running fork, and the pipe from which its answer is read.

    In Python 3.11 a fork hangs at its start if an Arrow thread was just entering or leaving Python (about one
    in ten thousand). Such a fork is killed, and another one is made. Raises pa.ArrowInvalid if none starts.
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
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads, which are Arrow's
        pid = os.fork()
    if not pid:
        _answer(act, reading, writing)
    os.close(writing)
    return pid, reading


def _answer(act: Callable[[], dict[str, Any]], reading: int, writing: int) -> None:
    """Writes the result of ``act`` to the pipe, without output to the terminal, and ends the process."""
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
