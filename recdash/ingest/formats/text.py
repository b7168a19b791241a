"""Lists the text formats, with how each is recognised by its content and how it is read."""

from __future__ import annotations

import re
from collections.abc import Mapping

from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import Content
from recdash.ingest.formats.delimited import read_delimited
from recdash.ingest.formats.encoding import as_utf8
from recdash.ingest.formats.format import CSV_FIX, Format
from recdash.ingest.formats.framed import without_footer, without_frame, without_rules
from recdash.ingest.formats.json import is_json, read_json
from recdash.ingest.formats.json_lines import is_json_lines, read_json_lines
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
from recdash.ingest.limits import Limits

TEXT_FORMATS: tuple[Format, ...] = (
    Format("JSON lines", is_json_lines, read_json_lines),
    Format("JSON", is_json, read_json),
    Format("TREC run", is_trec_run, read_trec_run),
    Format("TREC run without a tag", is_untagged_run, read_untagged_run),
    Format("TREC qrels", is_qrels, read_qrels),
    Format("delimited text", lambda _content: True, read_delimited),
)


def read_text_format(content: Content, kind: TableKind, limits: Limits) -> RawTable:
    """Returns the raw table in a text. Raises ``UploadError`` for text that is no table."""
    content = as_utf8(content)
    _refuse_other_text(content)
    content = without_rules(without_frame(without_footer(without_preamble(content))))
    _refuse_printed_objects(content)
    chosen = next(f for f in TEXT_FORMATS if f.recognise(content))
    return chosen.table(content, kind, limits)


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


def _refuse_other_text(content: Content) -> None:
    """Raises ``UploadError`` for text of a known format that is not supported."""
    head = content.head.lstrip(b"\xef\xbb\xbf \t\r\n")
    for (what, fix), beginning in OTHER_TEXT.items():
        if beginning.match(head):
            raise UploadError(Problem("unsupported-format", "file", f"{what}, which is not read", fix))
