"""The packing of reports from when Plotly drew their figures, which is only read today."""

from __future__ import annotations

import zlib

import numpy as np

from recdash.report.reproduce.packed_page import N_SIGNS, SIGNS


def pack(text: str) -> str:
    """Compressed with zlib and written in ``SIGNS``; the length of what is compressed in front."""
    packed = zlib.compress(text.encode(), 9)
    padded = np.frombuffer(packed + bytes(-len(packed) % 5), dtype=np.uint8).reshape(-1, 5)
    words = padded.astype(np.int64) @ 256 ** np.arange(4, -1, -1, dtype=np.int64)
    signs = words[:, None] // N_SIGNS ** np.arange(2, -1, -1, dtype=np.int64) % N_SIGNS
    return f"{len(packed)}:{''.join(SIGNS[sign] for sign in signs.ravel())}"
