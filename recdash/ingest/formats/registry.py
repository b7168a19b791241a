"""Reads files of all formats; lists the binary ones, with how each is recognised by its content and how it is
read.
"""

from __future__ import annotations

from dataclasses import replace

from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import Content
from recdash.ingest.formats.excel import is_excel, read_excel
from recdash.ingest.formats.format import CSV_FIX, Format
from recdash.ingest.formats.parquet import is_parquet, read_parquet
from recdash.ingest.formats.raw_table import RawTable
from recdash.ingest.formats.type_rows import without_types
from recdash.ingest.library_errors import each_translated, translated
from recdash.ingest.limits import Limits, keep_names_within, keep_within

FORMATS: tuple[Format, ...] = (
    Format("Parquet", is_parquet, read_parquet),
    Format("Excel", is_excel, read_excel),
)


def read_raw(content: Content, kind: TableKind, limits: Limits) -> RawTable:
    """Returns the raw table in ``content``, which must be decompressed.

    Raises ``UploadError`` with what is wrong, also if the table exceeds the limits.
    """
    if not content.head.strip(b"\xef\xbb\xbf\xff\xfe \t\r\n"):
        raise UploadError(
            Problem("empty-file", "file", "the file is empty", "Upload a table with a header and rows.")
        )
    table = without_types(translate_errors(translated(lambda: _in_its_format(content, kind, limits))))
    keep_names_within(limits, table.columns)
    keep_within(limits, "rows", table.n_rows or 0)
    keep_within(limits, "inflated_bytes", table.unpacked_bytes)
    return table


def _in_its_format(content: Content, kind: TableKind, limits: Limits) -> RawTable:
    chosen = next((f for f in FORMATS if f.recognise(content)), None)
    if chosen is not None:
        return chosen.table(content, kind, limits)
    _refuse_known_binary(content)
    # imported when it is needed: saves a Parquet file 0.02 s CPU
    from recdash.ingest.formats.text import read_text_format

    return read_text_format(content, kind, limits)


def translate_errors(table: RawTable) -> RawTable:
    """Returns the table, whose functions then raise ``UploadError`` in place of the errors of libraries."""
    return replace(
        table,
        blocks=lambda columns, ids: each_translated(table.blocks(columns, ids)),
        where=lambda row: translated(lambda: table.where(row)),
        sample=lambda: translated(table.sample),
    )


# (first bytes, format) of files that are never parsed
REFUSED: tuple[tuple[bytes, str], ...] = (
    (b"\x80\x02", "a pickle"),
    (b"\x80\x03", "a pickle"),
    (b"\x80\x04", "a pickle"),
    (b"\x80\x05", "a pickle"),
    (b"\x93NUMPY", "a numpy array (npy)"),
    (b"ARROW1", "an Arrow IPC or Feather file"),
    (b"FEA1", "a Feather file"),
    (b"\xff\xff\xff\xff", "an Arrow IPC stream"),
    (b"\x89HDF", "an HDF5 file"),
    (b"SQLite format 3", "a SQLite database"),
    (b"ORC", "an ORC file"),
    (b"Obj\x01", "an Avro file"),
    (b"%PDF", "a PDF"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x04\x22\x4d\x18", "LZ4 data"),
    (b"MATLAB 5.0 MAT", "a MATLAB file"),
    (b"RDX2", "an R data file"),
    (b"RDX3", "an R data file"),
    (b"X\n\0\0\0", "an R data file"),
)
TAR, TAR_AT = b"ustar", 257
"""The bytes by which a tar archive is recognised, and their place."""


def _refuse_known_binary(content: Content) -> None:
    """Raises ``UploadError`` for a file of a known format that is not supported."""
    file_type = next((file_type for magic, file_type in REFUSED if content.head.startswith(magic)), None)
    if content.head[TAR_AT:].startswith(TAR):
        file_type = "a tar archive"
    if file_type:
        finding = f"{file_type}, which is not supported"
        raise UploadError(Problem("unsupported-format", "file", finding, CSV_FIX))
