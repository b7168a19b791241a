"""Errors of the libraries that read files, as problems in words; our own mistakes pass unchanged."""

from __future__ import annotations

import csv
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa

from recdash.errors import Problem, UploadError

T = TypeVar("T")

FOREIGN = (OSError, EOFError, UnicodeError, OverflowError, zlib.error, csv.Error, pa.ArrowException)
"""What readers raise for bytes that are not what they should be, whatever the format."""
OF_ZIP = (zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError, struct.error)
"""What ``zipfile`` raises beside them: for passwords, for ways of packing, for places outside the file."""


TOO_LARGE = Problem(
    "read-too-large", "file", "reading it takes more memory than there is, or than one file may take",
    "Split the file, or raise RECDASH_MAX_READ_MEMORY_BYTES where the dashboard reads it.",
)  # fmt: skip


def reason(error: Exception) -> str:
    """The first line of what an error says."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


@contextmanager
def in_words(
    code: str, finding: str, fix: str, *, place: str = "file", beside: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Raises ``UploadError`` in place of an error of a reader.

    ``finding`` is what cannot be done, ``beside`` are errors that only this reader raises.
    """
    try:
        yield
    except UploadError:
        raise
    except MemoryError as error:
        raise UploadError(TOO_LARGE) from error
    except (*FOREIGN, *beside) as error:
        raise UploadError(Problem(code, place, f"{finding} ({reason(error)})", fix)) from error


UNREADABLE = ("unreadable", "the file cannot be read", "It is damaged, or of another format: write it again.")


def each_in_words(values: Iterator[T]) -> Iterator[T]:
    """The values themselves; raises ``UploadError`` where a reader fails between two of them."""
    with in_words(*UNREADABLE):
        yield from values


def translated(read: Callable[[], T]) -> T:
    """What ``read`` returns; raises ``UploadError`` where a reader fails."""
    with in_words(*UNREADABLE):
        return read()
