"""The type of arguments and options that name a file to read; ``-`` is standard input."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from recdash.errors import InputError, Problem, UploadError

STDIN = "-"
NAME = "standard input"
CHUNK = 1 << 20


class InputFile(click.ParamType[Path]):
    """The type of a file to read: its path, of ``-`` that of a temporary copy of standard input."""

    name = "FILE"

    def convert(self, value: str | Path, _parameter: object, context: click.Context | None) -> Path:
        return standard_input(context) if str(value) == STDIN else Path(value)


def standard_input(context: click.Context | None) -> Path:
    """Returns a file with all of standard input, deleted when the command ends.

    The limit of an upload holds for it. Raises InputError if it is read twice.
    """
    root = (context or click.get_current_context()).find_root()
    if NAME in root.meta:
        raise InputError(Problem("stdin-twice", NAME, "given for two files", "Give '-' once."))
    folder = root.with_resource(tempfile.TemporaryDirectory(prefix="recdash-"))
    root.meta[NAME] = copy = Path(folder, NAME)
    _copy_input(copy)
    return copy


def _copy_input(copy: Path) -> None:
    from recdash.ingest.limits import Limits, keep_within
    from recdash.settings import settings

    limits, size = Limits(upload_bytes=settings().max_upload_bytes), 0
    with copy.open("wb") as file:
        while chunk := sys.stdin.buffer.read(CHUNK):
            size += len(chunk)
            try:
                keep_within(limits, "upload_bytes", size)
            except UploadError as error:
                raise UploadError(error.problems, NAME) from None
            file.write(chunk)
