"""The type of arguments and options that name a file to read: ``-`` is standard input, FILE.xlsx#SHEET a
sheet of a workbook, s3://… or sql:… a table that is elsewhere. Pipes are copied.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from recdash.errors import InputError, Problem, UploadError

if TYPE_CHECKING:
    from recdash.ingest import Sheet
    from recdash.ingest.sources.address import Address

STDIN = "-"
NAME = "standard input"
CHUNK = 1 << 20


class InputFile(click.ParamType["Path | Sheet"]):
    """The type of a file to read: its path, that of a copy of standard input or of a pipe, or a sheet."""

    name = "FILE"

    def convert(self, value: str | Path, _parameter: object, context: click.Context | None) -> Path | Sheet:
        return readable(str(value), context)


def readable(value: str, context: click.Context | None) -> Path | Sheet:
    """Returns the path of a file that can be read more than once, or the sheet that FILE.xlsx#SHEET names.

    Standard input (``-``), a pipe and a table at an address are copied; the copy is deleted when the command
    ends, and the limit of an upload holds for it. Raises InputError if standard input is read twice.
    """
    if value == STDIN:
        return _standard_input(context)
    if (address := address_of(value)) is not None:
        from recdash.ingest.sources.fetch import fetched

        return fetched(address, _folder(context))
    path = Path(value)
    if (sheet := sheet_named(value)) is not None:
        return sheet
    if not _is(path.is_fifo):
        return path
    with path.open("rb") as pipe:
        return _copied(pipe, path.name, context)


def sheet_named(value: str) -> Sheet | None:
    """Returns the sheet that FILE.xlsx#SHEET names; None for any other text, and for the name of a file."""
    named = re.fullmatch(r"(.+\.xlsx)#(.+)", value, re.IGNORECASE)
    if named is None or exists(Path(value)):
        return None
    from recdash.ingest import Sheet

    return Sheet(Path(named[1]), named[2])


def address_of(value: str) -> Address | None:
    """Returns the address of a table elsewhere (``s3://…``, ``sql:…``) or of a partitioned folder.

    None for the name of a file.
    """
    path = Path(value)
    if (":" not in value or exists(path)) and not _is(path.is_dir):
        return None  # without loading what reads files
    from recdash.ingest.sources.address import address_in

    return address_in(value)


def exists(file: Path) -> bool:
    """Returns whether the file exists; False if the text cannot be the name of a file."""
    return _is(file.exists)


def _is(asked: Callable[[], bool]) -> bool:
    """Returns the answer of the disk about a path; False if the text cannot be the name of a file."""
    try:
        return asked()
    except (OSError, ValueError):
        return False


def _standard_input(context: click.Context | None) -> Path:
    root = _root(context)
    if NAME in root.meta:
        raise InputError(Problem("stdin-twice", NAME, "given for two files", "Give '-' once."))
    root.meta[NAME] = True
    return _copied(sys.stdin.buffer, NAME, root)


def _root(context: click.Context | None) -> click.Context:
    return (context or click.get_current_context()).find_root()


def _folder(context: click.Context | None) -> Path:
    """Returns a new folder that is deleted when the command ends."""
    return Path(_root(context).with_resource(tempfile.TemporaryDirectory(prefix="recdash-")))


def _copied(source: BinaryIO, name: str, context: click.Context | None) -> Path:
    from recdash.ingest.limits import Limits, keep_within
    from recdash.settings import settings

    limits, copy = Limits(upload_bytes=settings().max_upload_bytes), _folder(context) / name
    try:
        with copy.open("wb") as file:
            while chunk := source.read(CHUNK):
                keep_within(limits, "upload_bytes", file.tell() + len(chunk))
                file.write(chunk)
    except UploadError as error:
        raise UploadError(error.problems, name) from None
    return copy
