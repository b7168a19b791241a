"""Text that any page can hold: compressed, and written in visible ASCII without <, and in letters.

Five bytes take three signs, and each sign takes two bytes of UTF-8: two ASCII characters, or one letter from
U+00AE on. That is 20 % more than the bytes themselves, where base64 takes 33 %; of Plotly's script that is
190,000 bytes. They stand in a script element of type text/plain, in which nothing but < could mean something
to a browser. The reader's browser undoes it in ``report.js``.
"""

from __future__ import annotations

import zlib

import numpy as np

MOST_BYTES = 64_000_000
"""No report comes near: what unpacks to more was made to fill a memory."""
ASCII = "".join(chr(code) for code in range(33, 127) if chr(code) != "<")
N_SIGNS, FIRST_LETTER = 10_322, 0xAE
"""Three signs hold 40 bits: 10,322 to the third is the least cube above 2 to the 40th."""
SIGNS = [one + other for one in ASCII for other in ASCII]
SIGNS += [chr(FIRST_LETTER + place) for place in range(N_SIGNS - len(SIGNS))]
_BYTES = np.frombuffer("".join(SIGNS).encode(), dtype=">u2")
_PLACES = np.full(1 << 16, N_SIGNS, dtype=np.int64)
_PLACES[_BYTES] = np.arange(N_SIGNS)
_BASES = N_SIGNS ** np.arange(2, -1, -1, dtype=np.int64)
_WEIGHTS = 256 ** np.arange(4, -1, -1, dtype=np.int64)


def pack(text: str) -> str:
    """Compressed with zlib and written in ``SIGNS``; the length of what is compressed in front."""
    packed = zlib.compress(text.encode(), 9)
    padded = np.frombuffer(packed + bytes(-len(packed) % 5), dtype=np.uint8).reshape(-1, 5)
    signs = (padded.astype(np.int64) @ _WEIGHTS)[:, None] // _BASES % N_SIGNS
    return f"{len(packed)}:{_BYTES[signs].tobytes().decode()}"


def unpack(text: str) -> str:
    """What ``pack`` packed. Raises ValueError for anything else."""
    length, colon, body = text.partition(":")
    written = body.encode("utf-8", "replace")
    if not colon or not length.isdecimal() or len(length) > 9 or len(written) % 6:
        raise ValueError("this was not packed here")
    signs = _PLACES[np.frombuffer(written, dtype=">u2")]
    words = signs.reshape(-1, 3) @ _BASES
    if (signs == N_SIGNS).any() or (words >= 1 << 40).any():
        raise ValueError("this was not packed here")
    packed = (words[:, None] // _WEIGHTS % 256).astype(np.uint8).tobytes()[: int(length)]
    stream = zlib.decompressobj()
    try:
        unpacked = stream.decompress(packed, MOST_BYTES).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"this was not packed here: {error}") from error
    if not stream.eof or stream.unused_data:
        raise ValueError(f"this was not packed here: it does not end, or not within {MOST_BYTES:,} bytes")
    return unpacked
