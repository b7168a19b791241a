"""Turns errors of file-reading libraries into problems in words.

Errors in recdash's own code pass unchanged.
"""

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
"""Errors that the readers of any format raise for damaged bytes."""
OF_ZIP = (zipfile.BadZipFile, RuntimeError, NotImplementedError, ValueError, struct.error)
"""Other errors of ``zipfile``: for passwords, unsupported compression, and paths outside the archive."""


TOO_LARGE = Problem(
    "read-too-large", "file", "reading it takes more memory than is available, or than one file may use",
    "Split the file, or raise RECDASH_MAX_READ_MEMORY_BYTES if the dashboard reads it.",
)  # fmt: skip


def reason(error: Exception) -> str:
    """Returns the first line of an error's message, or the name of its type if the message is empty."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


@contextmanager
def translating_errors(
    code: str, finding: str, fix: str, *, place: str = "file", beside: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Raises ``UploadError`` in place of an error that a reader raises inside the ``with`` block.

    ``finding`` says what failed; ``beside`` are other errors that this reader raises.
    """
    try:
        yield
    except UploadError:
        raise
    except MemoryError as error:
        raise UploadError(TOO_LARGE) from error
    except (*FOREIGN, *beside) as error:
        raise UploadError(Problem(code, place, f"{finding} ({reason(error)})", fix)) from error


UNREADABLE = ("unreadable", "the file cannot be read", "It is damaged or has another format: write it again.")


def each_translated(values: Iterator[T]) -> Iterator[T]:
    """Yields the values. Raises ``UploadError`` if the reader fails before the next one."""
    with translating_errors(*UNREADABLE):
        yield from values


def translated(read: Callable[[], T]) -> T:
    """Returns the result of ``read``. Raises ``UploadError`` if the reader fails."""
    with translating_errors(*UNREADABLE):
        return read()
