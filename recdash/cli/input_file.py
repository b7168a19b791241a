"""The type of arguments and options that name a file to read; ``-`` is standard input. Pipes are copied."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import BinaryIO

import click

from recdash.errors import InputError, Problem, UploadError

STDIN = "-"
NAME = "standard input"
CHUNK = 1 << 20


class InputFile(click.ParamType[Path]):
    """The type of a file to read: its path, or that of a copy of standard input or of a pipe."""

    name = "FILE"

    def convert(self, value: str | Path, _parameter: object, context: click.Context | None) -> Path:
        return readable(str(value), context)


def readable(value: str, context: click.Context | None) -> Path:
    """Returns the path of a file that can be read more than once.

    Standard input (``-``) and a pipe are copied; the copy is deleted when the command ends, and the limit of
    an upload holds for it. Raises InputError if standard input is read twice.
    """
    if value == STDIN:
        return _standard_input(context)
    path = Path(value)
    if not _is_pipe(path):
        return path
    with path.open("rb") as pipe:
        return _copied(pipe, path.name, context)


def _is_pipe(path: Path) -> bool:
    try:
        return path.is_fifo()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _standard_input(context: click.Context | None) -> Path:
    root = _root(context)
    if NAME in root.meta:
        raise InputError(Problem("stdin-twice", NAME, "given for two files", "Give '-' once."))
    root.meta[NAME] = True
    return _copied(sys.stdin.buffer, NAME, root)


def _root(context: click.Context | None) -> click.Context:
    return (context or click.get_current_context()).find_root()


def _copied(source: BinaryIO, name: str, context: click.Context | None) -> Path:
    from recdash.ingest.limits import Limits, keep_within
    from recdash.settings import settings

    folder = _root(context).with_resource(tempfile.TemporaryDirectory(prefix="recdash-"))
    limits, copy = Limits(upload_bytes=settings().max_upload_bytes), Path(folder, name)
    try:
        with copy.open("wb") as file:
            while chunk := source.read(CHUNK):
                keep_within(limits, "upload_bytes", file.tell() + len(chunk))
                file.write(chunk)
    except UploadError as error:
        raise UploadError(error.problems, name) from None
    return copy
