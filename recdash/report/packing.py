"""Text that any page can hold: compressed, in 85 printable characters without < & " ' or a backslash.

Four bytes take five characters, where base64 takes five and a third: Plotly's script is 120,000 characters
shorter. The reader's browser undoes it in ``report.js``.
"""

from __future__ import annotations

import zlib

import numpy as np

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%()*+,-./:;=>?@[]^_{"
POWERS = 85 ** np.arange(4, -1, -1, dtype=np.uint32)
_CODES = np.frombuffer(ALPHABET.encode(), dtype=np.uint8)


def pack(text: str) -> str:
    """Compressed with zlib, and written in ``ALPHABET``; the length of what is compressed in front."""
    packed = zlib.compress(text.encode(), 9)
    words = np.frombuffer(packed + bytes(-len(packed) % 4), dtype=">u4").astype(np.uint32)
    digits = (words[:, None] // POWERS) % np.uint32(85)
    return f"{len(packed)}|{_CODES[digits].tobytes().decode()}"


def unpack(text: str) -> str:
    """What ``pack`` packed. Raises ValueError for anything else."""
    length, bar, body = text.partition("|")
    places = np.full(256, 255, dtype=np.uint8)
    places[_CODES] = np.arange(85)
    digits = places[np.frombuffer(body.encode("ascii"), dtype=np.uint8)].astype(np.uint64)
    if not bar or not length.isdecimal() or len(digits) % 5 or (digits == 255).any():
        raise ValueError("this was not packed here")
    words = (digits.reshape(-1, 5) * POWERS.astype(np.uint64)).sum(axis=1)
    try:
        return zlib.decompress(words.astype(">u4").tobytes()[: int(length)]).decode()
    except zlib.error as error:
        raise ValueError(f"this was not packed here: {error}") from error
