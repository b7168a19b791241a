"""Makes short commands start faster."""

from __future__ import annotations

import gc
import os
import sys


class _Hidden:
    """An import finder that makes pandas look as if it were not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def start_light() -> None:
    """Turns off work of Python, numpy and pyarrow that short commands do not need.

    Python's garbage collector takes 0.05 s of CPU, and arrays have no cycles to collect. numpy's linear
    algebra starts one thread per core; they wait busily: 0.1 s of CPU. pyarrow imports pandas when it makes
    its first array: 0.35 s of CPU. It tries this only once, so pandas is hidden at that time. The memory
    allocator jemalloc, which pyarrow's Linux builds include, reserves 20 MiB less than the default one.
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
