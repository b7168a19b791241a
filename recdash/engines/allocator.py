"""Returns freed memory to the system between two phases of an evaluation."""

from __future__ import annotations

import ctypes
from contextlib import suppress

import pyarrow as pa


def release_freed_memory() -> None:
    """Returns memory freed by one phase to the system before the next allocates other sizes.

    Only glibc needs this: 80 MB of 400 at a hundred million rows. Elsewhere the function does nothing.
    """
    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError, TypeError):  # no such library, or no such function in it
        ctypes.CDLL(None).malloc_trim(0)
