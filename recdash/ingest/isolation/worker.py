"""What a reading process does: open one file, tell what it is, send the rows that are asked for."""

from __future__ import annotations

import os
import socket
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from recdash.errors import Problem, UploadError
from recdash.ingest import reader
from recdash.ingest.byte_source import OpenFile
from recdash.ingest.columns import TableMapping
from recdash.ingest.isolation import channel as messages
from recdash.ingest.library_errors import TOO_LARGE


@dataclass(frozen=True)
class Request:
    """A function of this module (or of a test) and its arguments; ``folder`` is where paths begin.

    ``file_name`` is that of an open file, ``path`` the file where it is not open.
    """

    read: Callable[..., OpenedFile]
    arguments: Mapping[str, Any]
    folder: str
    path: Any = None
    file_name: str | None = None


@dataclass(frozen=True)
class OpenedFile:
    """An opened file: what there is to know of it, its streams of rows, what is known at their ends."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    streams: Sequence[Callable[[Any], Iterator[pa.RecordBatch]]] = ()
    notices: Sequence[Sequence[Problem]] = ()


def prepare() -> None:
    """Load what reading needs, so that no reading process has to."""
    import pyarrow.compute
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401

    sys.modules["pandas"] = None  # type: ignore[assignment]
    pa.array([0])  # which would load pandas; hidden once, it is not asked for again
    del sys.modules["pandas"]


def serve(channel: socket.socket, file: int) -> None:
    """Answer requests until the other side closes the channel."""
    incoming = messages.Incoming(channel.recv_into)
    try:
        served = _opened(channel, _next(incoming), file)
        while served is not None:
            index, columns = _next(incoming)
            _stream(channel, served, index, columns)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _next(incoming: messages.Incoming) -> Any:
    import pickle

    return pickle.loads(incoming.message()[1])  # noqa: S301 written by the server itself


def _opened(channel: socket.socket, request: Request, file: int) -> OpenedFile | None:
    def opened() -> OpenedFile:
        os.chdir(request.folder)
        source = request.path if request.path is not None else OpenFile(file, request.file_name)
        served = request.read(source, **request.arguments)
        facts = {**served.facts, "shared": _shared(request.arguments.get("mapping"))}
        messages.send_facts(channel, messages.FACTS, facts)
        return served

    return _telling(channel, opened)


def _stream(channel: socket.socket, served: OpenedFile, index: int, columns: Any) -> None:
    def streamed() -> None:
        messages.send_batches(channel, served.streams[index](columns))
        notices = [asdict(notice) for notice in served.notices[index]] if served.notices else []
        messages.send_facts(channel, messages.END, {"notices": notices})

    _telling(channel, streamed)


def _telling(channel: socket.socket, act: Callable[[], Any]) -> Any:
    """What ``act`` returns; None after telling why it could not."""
    try:
        return act()
    except UploadError as error:
        messages.send_problems(channel, error)
    except MemoryError:
        messages.send_problems(channel, UploadError(TOO_LARGE))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:  # noqa: BLE001 a mistake of ours; the file is refused and the trace kept
        traceback.print_exc(file=sys.stderr)
        messages.send_problems(channel, UploadError(_failed(type(error).__name__)))
    return None


def _failed(kind: str) -> Problem:
    fix = "Write the file again, or as CSV. If it is right, please report this."
    return Problem("unreadable", "file", f"reading it failed ({kind})", fix)


def _shared(mapping: Any) -> dict[str, Any]:
    """Which tables had the columns that were said for all tables."""
    if not isinstance(mapping, TableMapping):
        return {}
    return {"seen": mapping.shared.seen, "used": sorted(mapping.shared.used)}


# ── what can be asked for ────────────────────────────────────────────────────────────────────


def open_preview(source: Any, **how: Any) -> OpenedFile:
    return OpenedFile(asdict(reader.preview(source=source, **how)))


def open_upload(source: Any, **how: Any) -> OpenedFile:
    upload = reader.read_upload(source=source, **how)
    facts = {
        "name": upload.name,
        "mapping": dict(upload.mapping),
        "notices": [asdict(notice) for notice in upload.notices],
    }
    return OpenedFile(facts, [lambda _columns: iter(upload.table.to_batches())])


def open_passing(source: Any, **how: Any) -> OpenedFile:
    passing = reader.read_passing(source=source, **how)
    facts = {"name": passing.name, "notices": [asdict(notice) for notice in passing.notices]}
    return OpenedFile(facts, [lambda _columns: passing.batches()], [passing.notices])


OF_A_RUN = ("name", "has_rank", "has_score", "is_trec", "n_rows", "replicate", "noun")


def open_recommendations(source: Any, **how: Any) -> OpenedFile:
    runs = reader.read_recommendations(source, **how)
    facts = [
        {name: getattr(run, name) for name in OF_A_RUN}
        | {"mapping": dict(run.mapping), "notices": [asdict(notice) for notice in run.notices]}
        for run in runs
    ]
    return OpenedFile({"runs": facts}, [run.batches for run in runs], [run.notices for run in runs])
