"""Messages between the server and the process that reads a file for it, over one socket.

A message is a letter, the length of its body, and the body. After ``STREAM`` follows an Arrow IPC stream:
record batches of one schema. Nothing from a reading process is unpickled, because it has read an untrusted
file.
"""

from __future__ import annotations

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
"""Largest size of a message in bytes; streams may be longer."""


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
    """Sends the batches as one stream per schema; an unchanged dictionary is sent once."""
    with channel.makefile("wb", buffering=1 << 18) as sink:
        writer, schema = None, None
        try:
            for batch in batches:
                if writer is None or not batch.schema.equals(schema, check_metadata=True):
                    if writer is not None:
                        writer.close()
                    sink.write(HEAD.pack(STREAM, 0))
                    writer, schema = pa.ipc.new_stream(sink, batch.schema), batch.schema
                writer.write_batch(batch)
                sink.flush()
        finally:  # also if the batches end in an error, which is sent after the stream
            if writer is not None:
                writer.close()


def problems_of(facts: Mapping[str, Any]) -> UploadError:
    return UploadError(problems_from(facts["problems"]), facts["source"])


def problems_from(dicts: Any) -> tuple[Problem, ...]:
    return tuple(Problem(**problem) for problem in dicts)


class Incoming:
    """Receives messages and streams from a channel; ``receive_into`` fills a buffer with its bytes."""

    def __init__(self, receive_into: Callable[[memoryview], int]) -> None:
        self._receive_into = receive_into

    def read(self, size: int) -> bytearray:
        """Returns exactly ``size`` bytes. Raises EOFError if the other side ended before."""
        buffer = bytearray(size)
        view, n_received = memoryview(buffer), 0
        while n_received < size:
            count = self._receive_into(view[n_received:])
            if not count:
                raise EOFError
            n_received += count
        return buffer

    def message(self) -> tuple[bytes, bytes]:
        """Returns (letter, body) of the next message. Raises ValueError if it exceeds the size limit."""
        letter, size = HEAD.unpack(self.read(HEAD.size))
        if size > MOST_FACTS:
            raise ValueError(f"a message of {size} bytes")
        return letter, bytes(self.read(size))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the batches of one stream."""
        yield from pa.ipc.open_stream(pa.PythonFile(_Readable(self.read), mode="r"))


class _Readable:
    """A file-like object from which Arrow reads."""

    closed = False

    def __init__(self, read: Callable[[int], bytearray]) -> None:
        self.read = read

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True
