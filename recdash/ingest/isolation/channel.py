"""What the server and the process that reads a file for it say to each other, over one socket.

A message is a letter, its length and its body. After a ``STREAM`` an Arrow IPC stream follows: record batches
of one schema. Nothing that comes from a reading process is unpickled: it has read a file of a stranger.
"""

from __future__ import annotations

import itertools
import json
import pickle
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from recdash.errors import Problem, UploadError

REQUEST, FACTS, PROBLEMS, STREAM, END = b"Q", b"F", b"P", b"S", b"E"
HEAD = struct.Struct(">cQ")
MOST_FACTS = 1 << 26
"""Bytes of a message that is not a stream."""


def send(channel: socket.socket, letter: bytes, body: bytes = b"") -> None:
    channel.sendall(HEAD.pack(letter, len(body)) + body)


def send_facts(channel: socket.socket, letter: bytes, facts: Mapping[str, Any]) -> None:
    send(channel, letter, json.dumps(facts).encode())


def send_request(channel: socket.socket, request: Any) -> None:
    send(channel, REQUEST, pickle.dumps(request))


def send_problems(channel: socket.socket, error: UploadError) -> None:
    facts = {"problems": [asdict(problem) for problem in error.problems], "source": error.source}
    send_facts(channel, PROBLEMS, facts)


def send_batches(channel: socket.socket, batches: Iterator[pa.RecordBatch]) -> None:
    """One stream for as long as the schema stays the same; a dictionary that stays goes once."""
    with channel.makefile("wb", buffering=1 << 18) as sink:
        for _, alike in itertools.groupby(batches, _Alike()):
            sink.write(HEAD.pack(STREAM, 0))
            _send_stream(sink, alike)


class _Alike:
    """Numbers batches: those of one schema that follow each other alike."""

    def __init__(self) -> None:
        self.number = 0
        self._schema: pa.Schema | None = None

    def __call__(self, batch: pa.RecordBatch) -> int:
        if self._schema is None or not batch.schema.equals(self._schema, check_metadata=True):
            self.number, self._schema = self.number + 1, batch.schema
        return self.number


def _send_stream(sink: Any, batches: Iterator[pa.RecordBatch]) -> None:
    """Ended as a stream also where the batches end in an error, which is told after it."""
    first = next(batches)
    with pa.ipc.new_stream(sink, first.schema) as writer:
        for batch in itertools.chain([first], batches):
            writer.write_batch(batch)
            sink.flush()


def problems_of(facts: Mapping[str, Any]) -> UploadError:
    return UploadError(problems_from(facts["problems"]), facts["source"])


def problems_from(dicts: Any) -> tuple[Problem, ...]:
    return tuple(Problem(**problem) for problem in dicts)


class Incoming:
    """The messages and streams that come out of a channel; ``receive_into`` gives its bytes."""

    def __init__(self, receive_into: Callable[[memoryview], int]) -> None:
        self._receive_into = receive_into

    def read(self, size: int) -> bytearray:
        """Exactly ``size`` bytes; raises EOFError where the other side ended before."""
        held = bytearray(size)
        view, got = memoryview(held), 0
        while got < size:
            count = self._receive_into(view[got:])
            if not count:
                raise EOFError
            got += count
        return held

    def message(self) -> tuple[bytes, bytes]:
        """(letter, body); raises ValueError for one that is larger than any of ours."""
        letter, size = HEAD.unpack(self.read(HEAD.size))
        if size > MOST_FACTS:
            raise ValueError(f"a message of {size} bytes")
        return letter, bytes(self.read(size))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches of one stream."""
        yield from pa.ipc.open_stream(pa.PythonFile(_Readable(self.read), mode="r"))


class _Readable:
    """As a file that Arrow reads from."""

    closed = False

    def __init__(self, read: Callable[[int], bytearray]) -> None:
        self.read = read

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True
