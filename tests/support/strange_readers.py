"""Readers for the tests of reading processes: each does what a hostile file could make a reader do."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from recdash.ingest.isolation.worker import OpenedFile

BLOCK = pa.RecordBatch.from_pydict({"n": list(range(1000))})


def sleeps(_source: Any, **_how: Any) -> OpenedFile:
    time.sleep(600)
    return OpenedFile()


def takes_memory(_source: Any, **_how: Any) -> OpenedFile:
    held = bytearray()
    for _ in range(4096):
        held += b"\1" * 2**20
    return OpenedFile({"held": len(held)})


def is_killed(_source: Any, **_how: Any) -> OpenedFile:
    os.kill(os.getpid(), signal.SIGKILL)
    return OpenedFile()


def is_killed_halfway(_source: Any, **_how: Any) -> OpenedFile:
    def blocks(_columns: Any) -> Iterator[pa.RecordBatch]:
        yield BLOCK
        os.kill(os.getpid(), signal.SIGKILL)

    return OpenedFile({}, [blocks])


def fails(_source: Any, **_how: Any) -> OpenedFile:
    raise KeyError("item")


def tells_its_number(_source: Any, **_how: Any) -> OpenedFile:
    return OpenedFile({"pid": os.getpid()}, [lambda _columns: iter([BLOCK] * 500)])


def works_on(_source: Any, **_how: Any) -> OpenedFile:
    def blocks(_columns: Any) -> Iterator[pa.RecordBatch]:
        yield BLOCK
        while True:
            pass

    return OpenedFile({"pid": os.getpid()}, [blocks])
