"""The work of a reading process: it opens one file, sends facts about it, and then its rows on request."""

from __future__ import annotations

import os
import socket
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import pyarrow as pa

from recdash.errors import Problem, UploadError
from recdash.ingest import inspected, reader
from recdash.ingest.byte_source import Member, OpenFile, Sheet
from recdash.ingest.columns import TableMapping
from recdash.ingest.isolation import channel as messages
from recdash.ingest.library_errors import TOO_LARGE


@dataclass(frozen=True)
class Request:
    """A function of this module (or of a test) with its arguments.

    ``folder`` is the base of relative paths. ``path`` is the file, None if the process gets an open file,
    whose name is ``file_name``. ``parts`` are the archive's member and the workbook's sheet to
    read, the outer one first.
    """

    read: Callable[..., OpenedFile]
    arguments: Mapping[str, Any]
    folder: str
    path: Any = None
    file_name: str | None = None
    parts: Sequence[Member | Sheet] = ()


@dataclass(frozen=True)
class OpenedFile:
    """An opened file: facts about it, its streams of rows, and the notices known after each stream."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    streams: Sequence[Callable[[Any], Iterator[pa.RecordBatch]]] = ()
    notices: Sequence[Sequence[Problem]] = ()


def prepare() -> None:
    """Imports what reading needs, so that reading processes need not do it."""
    import pyarrow.compute
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401

    sys.modules["pandas"] = None  # type: ignore[assignment]
    pa.array([0])  # hide pandas while pyarrow looks for it; it does not look again
    del sys.modules["pandas"]


def serve(channel: socket.socket, file: int) -> None:
    """Answers requests until the other side closes the channel."""
    incoming = messages.Incoming(channel.recv_into)

    def request() -> Any:
        import pickle

        return pickle.loads(incoming.message()[1])  # noqa: S301 written by the server itself

    opened = None
    try:
        first = request()
        with _errors_sent(channel):
            opened = _open(channel, first, file)
        while opened is not None:
            index, columns = request()
            with _errors_sent(channel):
                _stream(channel, opened, index, columns)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _open(channel: socket.socket, request: Request, file: int) -> OpenedFile:
    os.chdir(request.folder)
    source = request.path if request.path is not None else OpenFile(file, request.file_name)
    for part in request.parts:
        source = replace(part, file=source)
    opened = request.read(source, **request.arguments)
    mapping, shared = request.arguments.get("mapping"), {}
    if isinstance(mapping, TableMapping):  # which tables have the columns of the mapping for all
        shared = {"seen": mapping.shared.seen, "used": sorted(mapping.shared.used)}
    messages.send_facts(channel, messages.FACTS, {**opened.facts, "shared": shared})
    return opened


def _stream(channel: socket.socket, opened: OpenedFile, index: int, columns: Any) -> None:
    messages.send_batches(channel, opened.streams[index](columns))
    notices = _as_dicts(opened.notices[index]) if opened.notices else []
    messages.send_facts(channel, messages.END, {"notices": notices})


@contextmanager
def _errors_sent(channel: socket.socket) -> Iterator[None]:
    """Sends errors of the ``with`` block to the server as problems.

    It passes on the errors of a closed channel.
    """
    try:
        yield
    except UploadError as error:
        messages.send_problems(channel, error)
    except MemoryError:
        messages.send_problems(channel, UploadError(TOO_LARGE))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:  # noqa: BLE001 a mistake of ours; the file is refused and the trace kept
        traceback.print_exc(file=sys.stderr)
        finding = f"reading it failed ({type(error).__name__})"
        fix = "Write the file again, or as CSV. If the file is valid, please report this."
        messages.send_problems(channel, UploadError(Problem("unreadable", "file", finding, fix)))


def _as_dicts(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    return [asdict(problem) for problem in problems]


# ── requests ─────────────────────────────────────────────────────────────────────────────────


def open_preview(source: Any, **how: Any) -> OpenedFile:
    return OpenedFile(asdict(reader.preview(source=source, **how)))


def open_inspection(source: Any, **how: Any) -> OpenedFile:
    return OpenedFile(asdict(inspected.inspect_file(source=source, **how)))


def open_upload(source: Any, **how: Any) -> OpenedFile:
    upload = reader.read_upload(source=source, **how)
    facts = {"name": upload.name, "mapping": dict(upload.mapping), "notices": _as_dicts(upload.notices)}
    return OpenedFile(facts, [lambda _columns: iter(upload.table.to_batches())])


def open_stream(source: Any, **how: Any) -> OpenedFile:
    stream = reader.read_stream(source=source, **how)
    facts = {"name": stream.name, "notices": _as_dicts(stream.notices)}
    return OpenedFile(facts, [lambda _columns: stream.batches()], [stream.notices])


def open_look(source: Any, **how: Any) -> OpenedFile:
    look = reader.look(source, **how)
    facts = {
        field.name: getattr(look, field.name)
        for field in fields(look)
        if field.name not in ("rows", "problems")
    }
    facts |= {"lists": sorted(look.lists), "problems": _as_dicts(look.problems)}
    return OpenedFile(facts, [lambda _columns: iter(look.rows.to_batches())])


def open_members(source: Any, **how: Any) -> OpenedFile:
    return OpenedFile({"members": reader.members(source, **how)})


def open_sheets(source: Any, **how: Any) -> OpenedFile:
    return OpenedFile({"sheets": reader.sheets(source, **how)})


OF_A_RUN = ("name", "has_rank", "has_score", "is_trec", "n_rows", "replicate", "noun")


def open_recommendations(source: Any, **how: Any) -> OpenedFile:
    runs = reader.read_recommendations(source, **how)
    facts = [
        {name: getattr(run, name) for name in OF_A_RUN}
        | {"mapping": dict(run.mapping), "notices": _as_dicts(run.notices)}
        for run in runs
    ]
    return OpenedFile({"runs": facts}, [run.batches for run in runs], [run.notices for run in runs])
