"""A fast start for short commands."""

from __future__ import annotations

import gc
import os
import sys


class _Hidden:
    """An import finder that hides pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def start_light() -> None:
    """Keep Python, numpy and pyarrow from doing what this command has no use for.

    Python looks for cycles among its objects every now and then: 0.05 s CPU, and arrays are in none. numpy's
    linear algebra starts a thread per core, which waits busily: 0.1 s CPU. pyarrow loads pandas with the
    first array it makes, if it can: 0.35 s CPU; asked once while it is hidden, it does not ask again. Arrow
    keeps less for later with jemalloc, which its Linux builds have: 20 MiB.
    """
    gc.set_threshold(100_000)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.platform == "linux":
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
    import pyarrow as pa

    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(hidden)
