"""Converts text in common encodings to UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import BinaryIO

from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import CHUNK, Content, copied

# encodings by byte-order mark (the longer marks first)
MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


FIRST_BYTES, FEWEST_BYTES = 64, 16
"""How many bytes are looked at for UTF-16 without a mark, and how many it takes at least."""


CONTROL = bytes(set(range(32)) - {9, 10, 12, 13, 0x1B, 0})


def as_utf8(content: Content) -> Content:
    """Returns the content as UTF-8 text.

    Raises ``UploadError`` for NUL bytes, binary data and invalid text.
    """
    head = content.head
    encoding = next((name for mark, name in MARKS if head.startswith(mark)), None) or _unmarked(content)
    if encoding:
        notice = Problem("encoding", "file", f"the text is {encoding}, not UTF-8", "It was converted.")
        try:
            return copied(content, _transcoder(encoding), notice)
        except UnicodeError as error:
            finding = f"starts like {encoding} text but is not ({error})"
            raise UploadError(Problem("bad-encoding", "file", finding, "Save the file as UTF-8.")) from error
    n_control = len(head) - len(head.translate(None, CONTROL + b"\0"))
    if n_control > max(2, len(head) // 50):
        finding = "not a text file: it holds binary data"
        raise UploadError(Problem("binary", "file", finding, "Upload CSV, Parquet, JSON or a TREC file."))
    return content if _is_utf8(content) else _from_western(content)


def _unmarked(content: Content) -> str | None:
    """Returns the kind of UTF-16 that has no byte-order mark: every second byte of its first line is 0."""
    head = content.head[:FIRST_BYTES]
    if content.size % 2 or len(head) < FEWEST_BYTES:
        return None
    for name, zeros, others in (("UTF-16-LE", head[1::2], head[::2]), ("UTF-16-BE", head[::2], head[1::2])):
        if not zeros.strip(b"\0") and b"\0" not in others:
            return name
    return None


def _transcoder(encoding: str) -> Callable[[BinaryIO, BinaryIO], None]:
    def transcode(reader: BinaryIO, writer: BinaryIO) -> None:
        decoder = codecs.getincrementaldecoder(encoding)()
        while chunk := reader.read(CHUNK):
            writer.write(decoder.decode(chunk).encode())
        writer.write(decoder.decode(b"", final=True).encode())

    return transcode


def _is_utf8(content: Content) -> bool:
    """Returns True if all bytes are UTF-8. Raises ``UploadError`` at a NUL byte."""
    decoder, utf8, begin = codecs.getincrementaldecoder("utf-8")(), True, 0
    with content.open() as reader:
        while chunk := reader.read(CHUNK):
            if (nul := chunk.find(b"\0")) >= 0:
                line = _line_at(content, begin + nul)
                fix = "Export the table again; the file is damaged or binary."
                raise UploadError(
                    Problem("nul", f"line {line}", "a NUL byte, which text cannot contain", fix)
                )
            begin += len(chunk)
            utf8 = utf8 and _decodes(decoder, chunk)
    return utf8 and _decodes(decoder, b"", final=True)


def _line_at(content: Content, place: int) -> int:
    """Returns the number of the line that has the byte at ``place``.

    Lines are counted when they are needed: in a file of 455 MB that takes 0.4 s.
    """
    lines = 1
    with content.open() as reader:
        while place > 0 and (chunk := reader.read(min(CHUNK, place))):
            lines += _line_ends(chunk)
            place -= len(chunk)
    return lines


def _line_ends(chunk: bytes) -> int:
    return chunk.count(b"\n") or chunk.count(b"\r")


def _decodes(decoder: codecs.IncrementalDecoder, chunk: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError:
        return False
    return True


def _from_western(content: Content) -> Content:
    """Returns the content decoded as cp1252, which text that is not UTF-8 nearly always is.

    Bytes that cp1252 leaves undefined are decoded as latin-1.
    """
    finding = "the text is not UTF-8 and was read as latin-1 / cp1252"
    notice = Problem(
        "encoding", "file", finding, "Check names with accents; save the file as UTF-8 to be sure."
    )
    return copied(content, _decode_western, notice)


UNDEFINED = b"\x81\x8d\x8f\x90\x9d"
"""Bytes that cp1252 leaves undefined."""
WESTERN = "".join(bytes([byte]).decode("latin-1" if byte in UNDEFINED else "cp1252") for byte in range(256))
"""The character of each byte. A handler of errors would be called for every undefined byte, which is slow."""


def _decode_western(reader: BinaryIO, writer: BinaryIO) -> None:
    while chunk := reader.read(CHUNK):
        writer.write(codecs.charmap_decode(chunk, "strict", WESTERN)[0].encode())
