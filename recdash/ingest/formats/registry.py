"""Lists all file formats, with how each is recognised by its content and how it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import Content
from recdash.ingest.formats.delimited import read_delimited
from recdash.ingest.formats.encoding import as_utf8
from recdash.ingest.formats.excel import is_excel, read_excel
from recdash.ingest.formats.framed import without_footer, without_frame, without_rules
from recdash.ingest.formats.json import is_json, read_json
from recdash.ingest.formats.json_lines import is_json_lines, read_json_lines
from recdash.ingest.formats.parquet import is_parquet, read_parquet
from recdash.ingest.formats.preamble import without_preamble
from recdash.ingest.formats.raw_table import RawTable
from recdash.ingest.formats.trec import (
    is_qrels,
    is_trec_run,
    is_untagged_run,
    read_qrels,
    read_trec_run,
    read_untagged_run,
)
from recdash.ingest.formats.type_rows import without_types
from recdash.ingest.library_errors import each_translated, translated
from recdash.ingest.limits import Limits, keep_names_within, keep_within


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how to recognise it by the content, and how to read it."""

    name: str
    recognise: Callable[[Content], bool]
    read: Callable[[Content, TableKind, Limits], RawTable]


FORMATS: tuple[Format, ...] = (
    Format("Parquet", is_parquet, read_parquet),
    Format("Excel", is_excel, read_excel),
)


TEXT_FORMATS: tuple[Format, ...] = (
    Format("JSON lines", is_json_lines, read_json_lines),
    Format("JSON", is_json, read_json),
    Format("TREC run", is_trec_run, read_trec_run),
    Format("TREC run without a tag", is_untagged_run, read_untagged_run),
    Format("TREC qrels", is_qrels, read_qrels),
    Format("delimited text", lambda _content: True, read_delimited),
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
    if chosen is None:
        _refuse_known_binary(content)
        content = as_utf8(content)
        _refuse_other_text(content)
        content = without_rules(without_frame(without_footer(without_preamble(content))))
        _refuse_printed_objects(content)
        chosen = next(f for f in TEXT_FORMATS if f.recognise(content))
    table = chosen.read(content, kind, limits)
    return replace(table, notices=content.notices + table.notices)


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


CSV_FIX = "Save the table as CSV or Parquet."
OTHER_TEXT: Mapping[tuple[str, str], re.Pattern[bytes]] = {
    (
        "an HTML page",
        "If it is a page to sign in or an error, download the file again; otherwise export the table as CSV.",
    ): re.compile(rb"<!doctype html|<(?:html|head|body|script)\b", re.IGNORECASE),
    ("a table in HTML", CSV_FIX): re.compile(rb"<table\b", re.IGNORECASE),
    ("XML", CSV_FIX): re.compile(rb"<\?xml\b", re.IGNORECASE),
    (
        "a pointer of Git LFS in place of the file",
        "Fetch the file itself: git lfs pull.",
    ): re.compile(rb"version https://git-lfs", re.IGNORECASE),
    ("a Matrix Market file", CSV_FIX): re.compile(rb"%%MatrixMarket\b", re.IGNORECASE),
    ("an ARFF file", CSV_FIX): re.compile(rb"@relation\s", re.IGNORECASE),
    ("SQL statements", "Export the rows as CSV."): re.compile(
        rb"insert\s+into\s+\S+\s*(?:\(|values)|create\s+table\s|(?:--\s{0,9}\n)?--[^\n]{0,60}\bdump\b",
        re.IGNORECASE,
    ),
    (
        "a table as it is printed in a terminal",
        "Export it as CSV: write_csv in polars, COPY table TO 'FILE.csv' in DuckDB.",
    ): re.compile(rb"(?:shape: \([\d_, ]+\)\s*)?(?:\xe2\x94[\x8c\x8f]|\xe2\x95[\x94\xad])", re.IGNORECASE),
}
"""(format, fix) → how text begins that is no table, or not a whole one."""


PRINTED_OBJECT = re.compile(rb"[\s\[(]*([A-Z]\w{0,40})\(\w{1,40}=")
"""The start of Python objects written as ``print`` shows them: ``Prediction(uid='u1', iid='i1', …)``."""


def _refuse_printed_objects(content: Content) -> None:
    """Raises ``UploadError`` for printed Python objects, such as the predictions of Surprise."""
    printed = PRINTED_OBJECT.match(content.head.removeprefix(b"\xef\xbb\xbf"))
    if printed:
        finding = f"printed Python objects ({printed[1].decode()}), which are no table"
        fix = "Write them as CSV: pandas.DataFrame(objects).to_csv(FILE, index=False)."
        raise UploadError(Problem("unsupported-format", "line 1", finding, fix))


def _refuse_known_binary(content: Content) -> None:
    """Raises ``UploadError`` for a file of a known format that is not supported."""
    file_type = next((file_type for magic, file_type in REFUSED if content.head.startswith(magic)), None)
    if content.head[TAR_AT:].startswith(TAR):
        file_type = "a tar archive"
    if file_type:
        finding = f"{file_type}, which is not supported"
        raise UploadError(Problem("unsupported-format", "file", finding, CSV_FIX))


def _refuse_other_text(content: Content) -> None:
    """Raises ``UploadError`` for text of a known format that is not supported."""
    head = content.head.lstrip(b"\xef\xbb\xbf \t\r\n")
    for (what, fix), beginning in OTHER_TEXT.items():
        if beginning.match(head):
            raise UploadError(Problem("unsupported-format", "file", f"{what}, which is not read", fix))
