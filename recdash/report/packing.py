"""Text that any page can hold: compressed, and written in 91 printable characters without < ` or a backslash.

Thirteen bits take two characters: 23 % more than the bytes themselves, where base64 takes 33 %; of Plotly's
script that is 150,000 characters. They stand in a script element of type text/plain, in which nothing but <
could mean something to a browser. The reader's browser undoes it in ``report.js``.
"""

from __future__ import annotations

import zlib

import numpy as np

MOST_BYTES = 64_000_000
"""No report comes near: what unpacks to more was made to fill a memory."""
ALPHABET = "".join(chr(code) for code in range(33, 127) if chr(code) not in "<`\\")
BITS, BASE = 13, len(ALPHABET)
_WEIGHTS = 1 << np.arange(BITS - 1, -1, -1)
_CODES = np.frombuffer(ALPHABET.encode(), dtype=np.uint8)


def pack(text: str) -> str:
    """Compressed with zlib and written in ``ALPHABET``; the length of what is compressed in front."""
    packed = zlib.compress(text.encode(), 9)
    bits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8))
    padded = np.pad(bits, (0, -len(bits) % BITS)).reshape(-1, BITS)
    words = padded.astype(np.float32) @ _WEIGHTS.astype(np.float32)  # exact: below 2 to the 24th
    digits = np.stack(np.divmod(words.astype(np.int64), BASE), axis=1)
    return f"{len(packed)}:{_CODES[digits].tobytes().decode()}"


def unpack(text: str) -> str:
    """What ``pack`` packed. Raises ValueError for anything else."""
    length, colon, body = text.partition(":")
    places = np.full(256, BASE, dtype=np.int64)
    places[_CODES] = np.arange(BASE)
    digits = places[np.frombuffer(body.encode("ascii", "replace"), dtype=np.uint8)]
    if not colon or not length.isdecimal() or len(digits) % 2 or (digits == BASE).any():
        raise ValueError("this was not packed here")
    words = digits.reshape(-1, 2) @ np.array([BASE, 1])
    bits = ((words[:, None] & _WEIGHTS) > 0).astype(np.uint8)
    return _inflated(np.packbits(bits).tobytes()[: int(length)])


def _inflated(packed: bytes) -> str:
    stream = zlib.decompressobj()
    try:
        text = stream.decompress(packed, MOST_BYTES).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"this was not packed here: {error}") from error
    if not stream.eof or stream.unused_data:
        raise ValueError(f"this was not packed here: it does not end, or not within {MOST_BYTES:,} bytes")
    return text
