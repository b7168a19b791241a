"""Bytes → a raw table that can be read block by block. One function and one row of ``FORMATS`` per format."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest import text
from recdash.ingest.byte_source import HEAD, Content, for_arrow, whole
from recdash.ingest.columns import WITH_ATTRIBUTES, is_known, listed
from recdash.ingest.library_errors import each_in_words, in_words, told
from recdash.ingest.limits import Limits, keep_within
from recdash.ingest.parquet_footer import chunks_of
from recdash.ingest.values import is_text, python_values

BLOCK_BYTES = 1 << 23
BLOCK_ROWS = 1 << 18
"""Few enough that what the engine does with a block stays in the processor's cache."""
LOG_ROWS = 1 << 17
"""Fewer of a log: its rows are wide, and nearly each has ids of its own."""
BATCH_VALUES = 1 << 23
"""Values of a column that are decoded at once."""
SAMPLE_ROWS = 50
SAMPLE_LIST = 1000
"""Values of a list that a sample shows."""
BLANK = b" \t\r\n\f\v\xef\xbb\xbf"
TEXT = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class RawTable:
    """A table as its file writes it: nothing is checked yet but that it can be read.

    ``blocks(columns, ids)`` streams record batches of those columns, in that order; text columns
    named in ``ids`` come dictionary-encoded. ``where(row)`` says where the row with that index
    stands in the file, ``sample()`` gives the first rows as text. ``roles`` are fixed by the
    format (else None); ``whole_ids`` are integer columns without a gap.
    """

    format: str
    columns: tuple[str, ...]
    blocks: Callable[[Sequence[str], Collection[str]], Iterator[pa.RecordBatch]]
    where: Callable[[int], str]
    sample: Callable[[], list[dict[str, str]]]
    lists: frozenset[str] = frozenset()
    roles: Mapping[str, str] | None = None
    header: bool = True
    decimal: str = "."
    n_rows: int | None = None
    whole_ids: frozenset[str] = frozenset()
    unpacked_bytes: int = 0
    is_trec: bool = False
    without_header: Callable[[], RawTable] | None = None
    """The same file with its first line as data; None where it has no header line, or could not lack one."""
    scores: Mapping[str, str] = field(default_factory=dict)
    """Columns of items whose cells hold pairs, and the columns that have the scores of these."""
    notices: tuple[Problem, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how to tell it from the content, and how to read it."""

    name: str
    recognise: Callable[[Content], bool]
    read: Callable[[Content, TableKind, Limits], RawTable]


def read_raw(content: Content, kind: TableKind, limits: Limits) -> RawTable:
    """The raw table in ``content`` (already unpacked); raises ``UploadError`` with what is wrong."""
    if not content.head.strip(b"\xef\xbb\xbf\xff\xfe \t\r\n"):
        raise UploadError(
            Problem("empty-file", "file", "the file is empty", "Upload a table with a header and rows.")
        )
    table = _told(told(lambda: _in_its_format(content, kind, limits)))
    keep_within(limits, "columns", len(table.columns), "header")
    keep_within(limits, "rows", table.n_rows or 0)
    keep_within(limits, "inflated_bytes", table.unpacked_bytes)
    return table


def _in_its_format(content: Content, kind: TableKind, limits: Limits) -> RawTable:
    chosen = next((f for f in FORMATS if f.recognise(content)), None)
    if chosen is None:
        _refuse_known_binary(content)
        content = text.as_utf8(content)
        chosen = next(f for f in TEXT_FORMATS if f.recognise(content))
    table = chosen.read(content, kind, limits)
    return replace(table, notices=content.notices + table.notices)


def _told(table: RawTable) -> RawTable:
    """The table, whose readers raise ``UploadError`` in place of errors of their libraries."""
    return replace(
        table,
        blocks=lambda columns, ids: each_in_words(table.blocks(columns, ids)),
        where=lambda row: told(lambda: table.where(row)),
        sample=lambda: told(table.sample),
    )


# ── refused on sight ─────────────────────────────────────────────────────────────────────────

# (first bytes, what it is); nothing of such a file is ever parsed
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
)


def _refuse_known_binary(content: Content) -> None:
    what = next((what for magic, what in REFUSED if content.head.startswith(magic)), None)
    if what:
        found = f"{what}, which is not supported"
        raise UploadError(Problem("unsupported-format", "file", found, "Save the table as CSV or Parquet."))


# ── Parquet and tables in memory ─────────────────────────────────────────────────────────────


def is_parquet(content: Content) -> bool:
    return content.head.startswith(b"PAR1")


def read_parquet(content: Content, kind: TableKind, limits: Limits) -> RawTable:
    """Row group by row group; only the columns asked for are decoded."""
    import pyarrow.parquet as pq

    with in_words(*DAMAGED_PARQUET), content.open() as source:
        footer = pq.ParquetFile(source)
        schema, metadata = footer.schema_arrow, footer.metadata
        keep_within(limits, "columns", len(schema.names), "header")
    with in_words(*DAMAGED_PARQUET):
        chunks = chunks_of(content)
    paths = _paths(schema)
    at_once = LOG_ROWS if kind == "events" else BLOCK_ROWS
    at_once = max(1, min(at_once, BATCH_VALUES // max(chunks.values_per_row, 1)))

    def blocks(columns: Sequence[str], ids: Collection[str], rows: int = at_once) -> Iterator[pa.RecordBatch]:
        # codes for text ids; one thread, since whoever reads us already works beside us
        texts = [paths[c][0] for c in ids if c in paths and is_text(schema.field(paths[c][0]).type)]
        coded = [column for column in texts if column not in chunks.uncoded]
        wanted = list(dict.fromkeys(paths[c][0] for c in columns))
        with in_words(*DAMAGED_PARQUET), content.open() as source:
            file = pq.ParquetFile(source, memory_map=False, read_dictionary=coded)
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(min(rows, at_once), [group], wanted, use_threads=False):
                    batch.validate(full=True)  # codes outside their dictionary, text that is not UTF-8
                    yield _projected(batch, columns, paths)

    return RawTable(
        "Parquet",
        tuple(paths),
        blocks,
        _row,
        lambda: _first_rows(blocks(tuple(paths), (), SAMPLE_ROWS)),
        lists=_list_columns(schema, paths),
        n_rows=metadata.num_rows,
        unpacked_bytes=sum(metadata.row_group(g).total_byte_size for g in range(metadata.num_row_groups)),
        whole_ids=chunks.whole_ids & frozenset(schema.names),
    )


DAMAGED_PARQUET = ("damaged-parquet", "the Parquet file cannot be read", "Write it again.")


def read_arrow(source: Any) -> RawTable:
    """A pandas, polars or Arrow table (anything that offers an Arrow stream)."""
    try:
        table = source if isinstance(source, pa.Table) else _streamed(source)
    except NOT_ARROW as error:
        found, fix = _why_not_arrow(error)
        raise UploadError(Problem("bad-table", _first_not_arrow(source), found, fix)) from error
    with in_words("bad-table", "the table is not sound", "Make it again.", place="table"):
        table.validate(full=True)
    return _of_table(table, "table in memory")


NOT_ARROW = (pa.ArrowException, TypeError, ValueError, OverflowError)


def _streamed(source: Any) -> pa.Table:
    return pa.RecordBatchReader.from_stream(source).read_all()


def _why_not_arrow(error: Exception) -> tuple[str, str]:
    """(what was found, what to do)."""
    if isinstance(error, UnicodeEncodeError):
        half = _printable(error.object[error.start : error.end])
        return f"'{half}' is half a character (a lone surrogate)", WHOLE_TEXT
    if isinstance(error, OverflowError):
        return "a whole number of more than 64 bits", "Write such numbers as text, or as decimals."
    found = f"the table cannot be read as Arrow ({'; '.join(map(_escaped, error.args))})"
    return found, "Give each column one type; ids that mix forms as text."


def _first_not_arrow(source: Any) -> str:
    """The column of a data frame that cannot be read by itself either; the table where there is none."""
    for name in getattr(source, "columns", ()):
        try:
            _streamed(source[[name]])
        except NOT_ARROW:
            return f"column '{_printable(name)}'"
    return "table"


def _of_table(table: pa.Table, name: str, **extra: Any) -> RawTable:
    table = table.rename_columns(list(text.unique([str(n) for n in table.column_names])))
    paths = _paths(table.schema)

    def blocks(columns: Sequence[str], _ids: Collection[str]) -> Iterator[pa.RecordBatch]:
        wanted = list(dict.fromkeys(paths[c][0] for c in columns))
        for batch in table.select(wanted).to_batches(BLOCK_ROWS):
            yield _projected(batch, columns, paths)

    whole_ids = (
        n for n in table.column_names if pa.types.is_integer(table[n].type) and not table[n].null_count
    )
    fixed = {
        "lists": _list_columns(table.schema, paths),
        "n_rows": table.num_rows,
        "whole_ids": frozenset(whole_ids),
    }
    where = extra.pop("where", _row)
    sample = lambda: _first_rows(blocks(tuple(paths), ()))  # noqa: E731
    return RawTable(name, tuple(paths), blocks, where, sample, **{**fixed, **extra})


def _row(row: int) -> str:
    return f"row {row + 1}"


Path = tuple[str, str | None]


def _paths(schema: pa.Schema) -> dict[str, Path]:
    """Column name → (column, field): a list of structs counts as one list column per field."""
    paths: dict[str, Path] = {}
    taken = set(schema.names)
    for column in schema:
        inner = column.type.value_type if is_list(column.type) else None
        if inner is not None and pa.types.is_struct(inner):
            for part in inner:
                name = f"{column.name}.{part.name}" if part.name in taken else part.name
                paths[name] = (column.name, part.name)
        else:
            paths[column.name] = (column.name, None)
    return paths


def _projected(batch: pa.RecordBatch, columns: Sequence[str], paths: Mapping[str, Path]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_at(batch, *paths[c]) for c in columns], list(columns))


def _at(batch: pa.RecordBatch, column: str, inner: str | None) -> pa.Array:
    array = _spelled(batch.column(column))
    if inner is None:
        return array
    values = pc.struct_field(pc.list_flatten(array), inner)
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array([0, *lengths.cumsum().tolist()], pa.int64())
    return pa.LargeListArray.from_arrays(offsets, values)


def _spelled(array: pa.Array) -> pa.Array:
    """Periods and intervals of pandas as it writes them; to Arrow a month is its number since 1970."""
    if pa.types.is_dictionary(array.type):
        words = _spelled(array.dictionary)
        return array if words is array.dictionary else pa.DictionaryArray.from_arrays(array.indices, words)
    if not getattr(array.type, "extension_name", "").startswith("pandas."):
        return array
    return pa.array(array.to_pandas().astype("string"), pa.string(), from_pandas=True)


def is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _list_columns(schema: pa.Schema, paths: Mapping[str, Path]) -> frozenset[str]:
    return frozenset(name for name, (column, _) in paths.items() if is_list(schema.field(column).type))


def _first_rows(blocks: Iterator[pa.RecordBatch]) -> list[dict[str, str]]:
    first = next(blocks, None)
    if first is None:
        return []
    texts = [_as_words(column) for column in _short_lists(first.slice(0, SAMPLE_ROWS)).columns]
    return [dict(zip(first.schema.names, row, strict=True)) for row in zip(*texts, strict=True)]


def _as_words(column: pa.Array) -> list[str]:
    return ["" if value is None else str(value) for value in python_values(column)]


def _short_lists(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Long lists cut: a sample is to be seen and judged by a person."""
    arrays = [_short(array) if is_list(array.type) else array for array in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, batch.schema.names)


def _short(array: pa.Array) -> pa.Array:
    longest = pc.max(pc.list_value_length(array)).as_py() or 0
    return pc.list_slice(array, 0, SAMPLE_LIST) if longest > SAMPLE_LIST else array


# ── delimited text ───────────────────────────────────────────────────────────────────────────


def read_delimited(content: Content, _kind: TableKind, _limits: Limits) -> RawTable:
    """CSV and its relatives: any delimiter, with or without a header line."""
    dialect = text.dialect_of(content)
    table = _delimited(content, dialect)
    if not dialect.header:
        return table
    return replace(table, without_header=lambda: _delimited(content, text.without_header(dialect)))


def _delimited(content: Content, dialect: text.Dialect) -> RawTable:
    named = {",": "CSV", "\t": "tab-separated text"}
    name = named.get(dialect.delimiter, f"text with {text.DELIMITERS[dialect.delimiter]} delimiters")
    notices = text.dialect_notices(dialect, content.name)
    return _of_text(content, dialect, name, notices=notices)


def _of_text(content: Content, dialect: text.Dialect, name: str, **extra: Any) -> RawTable:
    content, delimiter = text.single_delimiter(content, dialect)
    if dialect.quoted and (unclosed := text.unclosed_quote(content, delimiter)):
        raise UploadError(unclosed)
    lines = text.sample_lines(content)
    if len(lines) <= dialect.header or text.is_cut(content):
        if content.size > HEAD:
            raise UploadError(text.long_start(content, dialect, delimiter))
        found = f"a header ({listed(dialect.names)}) and no rows"
        raise UploadError(Problem("no-rows", "file", found, "Upload a table with rows."))
    return RawTable(
        name,
        dialect.names,
        lambda columns, ids: _text_blocks(content, dialect, delimiter, columns, ids),
        lambda row: text.line_of(content, dialect, delimiter, row),
        lambda: _text_sample(lines, dialect, delimiter),
        header=dialect.header,
        decimal=dialect.decimal,
        **extra,
    )


def _text_sample(lines: Sequence[str], dialect: text.Dialect, delimiter: str) -> list[dict[str, str]]:
    rows = text.fields_of(lines, delimiter, dialect.quoted)[int(dialect.header) :]
    complete = [row for row in rows if len(row) == len(dialect.names)]
    return [dict(zip(dialect.names, row, strict=True)) for row in complete[:SAMPLE_ROWS]]


def _text_blocks(
    content: Content, dialect: text.Dialect, delimiter: str, columns: Sequence[str], ids: Collection[str]
) -> Iterator[pa.RecordBatch]:
    """All values stay text here; rows of a wrong width are passed over and refused at the end.

    To pass over rows Arrow's threads would hold a function of ours: see ``content.for_arrow``. A table is
    read without it as long as no row asks for it.
    """
    n_blocks = 0
    try:
        for block in _strict_blocks(content, dialect, delimiter, columns, ids):
            n_blocks += 1
            yield block
    except pa.ArrowInvalid:
        lenient = _lenient_blocks(content, dialect, delimiter, columns, ids)
        yield from itertools.islice(lenient, n_blocks, None)


def _lenient_blocks(
    content: Content, dialect: text.Dialect, delimiter: str, columns: Sequence[str], ids: Collection[str]
) -> Iterator[pa.RecordBatch]:
    ragged: list[Any] = []

    def passed_over(row: Any) -> str:
        ragged.append(row)
        return "skip"

    with in_words("bad-text", "the text cannot be read as a table", "Check the delimiter and the quotes."):
        yield from _strict_blocks(content, dialect, delimiter, columns, ids, passed_over)
    if ragged:
        raise UploadError(text.ragged_rows(content, dialect, delimiter, len(ragged)))


def _strict_blocks(
    content: Content,
    dialect: text.Dialect,
    delimiter: str,
    columns: Sequence[str],
    ids: Collection[str],
    of_wrong_width: Callable[[Any], str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Raises pa.ArrowInvalid for a row of a wrong width, unless ``of_wrong_width`` says what to do."""
    from pyarrow import csv

    read = csv.ReadOptions(
        use_threads=False,
        block_size=BLOCK_BYTES,
        column_names=list(dialect.names),
        skip_rows_after_names=int(dialect.header),
    )
    parse = csv.ParseOptions(
        delimiter=delimiter,
        quote_char='"' if dialect.quoted else False,
        newlines_in_values=dialect.quoted,
        invalid_row_handler=of_wrong_width,
    )
    types = {name: TEXT if name in ids else pa.string() for name in columns}
    convert = csv.ConvertOptions(column_types=types, include_columns=list(columns), strings_can_be_null=False)
    with for_arrow(content) as source, csv.open_csv(source, read, parse, convert) as reader:
        yield from reader


# ── TREC ─────────────────────────────────────────────────────────────────────────────────────

ITERATIONS = {"q0", "0"}
A_SCORE = re.compile(rf"{text.NUMBER.pattern}|[+-]?(nan|inf|infinity)", re.IGNORECASE)


def is_trec_run(content: Content) -> bool:
    """Six blank-separated fields: query, Q0, document, rank, score, tag."""
    rows = [line.split() for line in text.sample_lines(content)]
    return all(len(r) == 6 and r[1].lower() in ITERATIONS and A_SCORE.fullmatch(r[4]) for r in rows)


def is_untagged_run(content: Content) -> bool:
    """Five blank-separated fields: query, Q0, document, rank, score."""
    rows = [line.split() for line in text.sample_lines(content)]
    return all(
        len(r) == 5 and r[1].lower() == "q0" and r[3].isdecimal() and A_SCORE.fullmatch(r[4]) for r in rows
    )


def is_qrels(content: Content) -> bool:
    """Four blank-separated fields: query, iteration, document, relevance."""
    rows = [line.split() for line in text.sample_lines(content)]
    return all(len(r) == 4 and r[1].lower() in ITERATIONS and text.NUMBER.fullmatch(r[3]) for r in rows)


def read_trec_run(content: Content, _kind: TableKind, _limits: Limits) -> RawTable:
    """The score decides the order and the rank column is left alone, as in trec_eval."""
    return _trec_run(content, ("tag",))


def read_untagged_run(content: Content, _kind: TableKind, _limits: Limits) -> RawTable:
    """As a TREC run; only the name of the run is missing, and the file gives one."""
    found = "a TREC run without the tag in its sixth field: the file's name is that of the run"
    return _trec_run(content, (), Problem("trec-without-tag", "file", found, ""))


def _trec_run(content: Content, tag: tuple[str, ...], *notices: Problem) -> RawTable:
    dialect = text.Dialect(
        " ", ("query_id", "Q0", "doc_id", "rank", "score", *tag), header=False, quoted=False
    )
    found = "TREC run: the rank column is ignored and the score used, as in trec_eval"
    roles = {"user_id": "query_id", "item_id": "doc_id", "score": "score"} | dict.fromkeys(
        ["run"] if tag else [], "tag"
    )
    told = (Problem("trec", "file", found, ""), *notices)
    return _of_text(content, dialect, "TREC run", roles=roles, is_trec=True, notices=told)


def read_qrels(content: Content, kind: TableKind, _limits: Limits) -> RawTable:
    dialect = text.Dialect(" ", ("query_id", "iteration", "doc_id", "relevance"), header=False, quoted=False)
    value = {"train": "rating", "run": "score"}.get(kind, "relevance")
    roles = {"user_id": "query_id", "item_id": "doc_id", value: "relevance"}
    notice = Problem("trec", "file", "TREC qrels: query, iteration, document, relevance", "")
    return _of_text(content, dialect, "TREC qrels", roles=roles, notices=(notice,))


# ── JSON ─────────────────────────────────────────────────────────────────────────────────────


def is_json_lines(content: Content) -> bool:
    """One object per line: the first two lines that hold anything both begin with a brace."""
    if not content.head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{"):
        return False
    if content.name.lower().endswith((".jsonl", ".ndjson")):
        return True
    with content.open() as reader:
        lines = (line.strip() for line in iter(reader.readline, b""))
        first, second = next(filter(None, lines)), next(filter(None, lines), b"")
    return len(first) > 1 and second.startswith(b"{")


def read_json_lines(content: Content, _kind: TableKind, limits: Limits) -> RawTable:
    first = next(_json_rows(content))
    names = tuple(dict.fromkeys(name for row in first for name in row))
    keep_within(limits, "columns", len(names), "header")
    where = lambda row: f"line {_filled_line(content, row)}"  # noqa: E731
    paths = _paths(_columns_of(first, names, where).schema)

    def blocks(columns: Sequence[str], ids: Collection[str]) -> Iterator[pa.RecordBatch]:
        wanted, before = list(dict.fromkeys(paths[c][0] for c in columns)), 0
        for rows in _json_rows(content):
            placed = partial(_placed, where, before)
            yield _as_text(_of_block(_columns_of(rows, wanted, placed), columns, paths, placed), ids)
            before += len(rows)

    sample = _columns_of(first[:SAMPLE_ROWS], names, where)
    lists = _list_columns(sample.schema, paths)
    rows = lambda: _first_rows(iter([_projected(sample, tuple(paths), paths)]))  # noqa: E731
    return RawTable("JSON lines", tuple(paths), blocks, where, rows, lists=lists)


def _placed(where: Callable[[int], str], before: int, row: int) -> str:
    return where(before + row)


def _filled_line(content: Content, row: int) -> int:
    """The line of the row with this index; blank lines hold none."""
    with content.open() as reader:
        filled = (number for number, line in enumerate(reader, 1) if line.strip(BLANK))
        return next(itertools.islice(filled, row, None), row + 1)


def _of_block(
    batch: pa.RecordBatch, columns: Sequence[str], paths: Mapping[str, Path], where: Callable[[int], str]
) -> pa.RecordBatch:
    """A later block may write structs where the first had none, or the other way round."""
    try:
        return _projected(batch, columns, paths)
    except (pa.ArrowException, TypeError) as error:
        found = "lists of another form than those before"
        raise UploadError(Problem("mixed-types", f"from {where(0)} on", found, ONE_FORM)) from error


def _json_rows(content: Content) -> Iterator[list[dict[str, Any]]]:
    """Blocks of rows; raises ``UploadError`` at a line that is no JSON object."""
    number = 1
    with content.open() as reader:
        while lines := reader.readlines(BLOCK_BYTES):
            if number == 1:
                lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
            filled = [line for line in lines if line.strip(BLANK)]
            try:
                rows = _parsed(b"[" + b",".join(filled) + b"]")
            except (ValueError, RecursionError):
                raise UploadError(_broken_line(lines, number)) from None
            if not all(isinstance(row, dict) for row in rows):
                raise UploadError(_broken_line(lines, number))
            yield rows
            number += len(lines)


def _broken_line(lines: Sequence[bytes], first: int) -> Problem:
    for number, line in enumerate(lines, first):
        try:
            if line.strip() and not isinstance(_parsed(line.rstrip()), dict):
                return Problem(
                    "bad-json", f"line {number}", "JSON, but not an object", "Write one {…} per line."
                )
        except ValueError as error:
            return _bad_json(error, f"line {number}")
        except RecursionError:
            break
    return Problem("bad-json", "file", "JSON that is nested too deeply", "Write one flat {…} per line.")


class RepeatedKey(ValueError):
    """A key that an object holds twice: JSON readers would silently keep the last of the two."""

    def __init__(self, key: str, is_user: bool) -> None:
        self.key, self.is_user = _printable(key), is_user
        super().__init__(self.key)


def _parsed(data: bytes | str) -> Any:
    """A JSON value; raises ``ValueError`` for what is none, or for a key that is there twice."""
    return json.loads(data, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        key = next(key for key, count in counts.items() if count > 1)
        raise RepeatedKey(key, isinstance(held[key], (list, dict)) and not is_known(key))
    return held


def _bad_json(error: ValueError, place: str) -> Problem:
    if isinstance(error, RepeatedKey):
        where = f"{'user' if error.is_user else 'key'} '{error.key}'"
        where = where if place == "file" else f"{place}, {where}"
        found = "there twice in one {…}, where only one of the two would count"
        return Problem("repeated-key", where, found, "Merge the two, or remove one.")
    if isinstance(error, json.JSONDecodeError):
        found = f"broken JSON at position {error.pos + 1}: {error.msg}"
    else:
        found = f"broken JSON ({error})"
    return Problem("bad-json", place, found, "The file may be cut off; write it again.")


def _columns_of(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], where: Callable[[int], str]
) -> pa.RecordBatch:
    _refuse_halves(names)
    arrays = [_array([row.get(n) for row in rows], n, where) for n in names]
    return pa.RecordBatch.from_arrays(arrays, list(names))


def _array(values: list[Any], column: str, where: Callable[[int], str]) -> pa.Array:
    """An Arrow column of one type; values of several types become text.

    Raises ``UploadError`` for what cannot stand in one column; ``where(row)`` gives its place.
    """
    try:
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError, TypeError):
            return pa.array([_worded(value) for value in values])
    except (pa.ArrowException, OverflowError, TypeError, UnicodeError) as error:
        row, found, fix = _first_odd(values)
        place = f"column '{column}', {where(row)}"
        raise UploadError(Problem("mixed-types", place, found, fix)) from error


ONE_FORM = "Write each column in one form: a list in each row, or a single value in each."


def _first_odd(values: Sequence[Any]) -> tuple[int, str, str]:
    """(row, what was found, what to do) of the first value that keeps a column from having one type."""
    for row, value in enumerate(values):
        if _has_half(value):
            return row, f"'{_printable(value)}' holds half a character (a lone surrogate)", WHOLE_TEXT
    lists = [isinstance(value, (list, tuple)) for value in values]
    filled = [row for row, value in enumerate(values) if value is not None]
    row = next((row for row in filled if lists[row] != lists[filled[0]]), filled[0])
    found = "a list where other rows hold a single value" if lists[row] else "a value beside lists"
    if lists[row] == lists[filled[0]]:
        found = f"a value that no column can hold ({type(values[row]).__name__})"
    return row, found, ONE_FORM


WHOLE_TEXT = "Write the text again as UTF-8; it was cut in the middle of a character."


def _has_half(value: Any) -> bool:
    """Whether a text, or one somewhere inside, holds a lone surrogate, which no text file can hold."""
    if isinstance(value, Mapping):
        return any(map(_has_half, value)) or any(map(_has_half, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_half, value))
    return isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value)


def _refuse_halves(names: Sequence[str]) -> None:
    if half := next((name for name in names if _has_half(name)), None):
        found = "half a character (a lone surrogate) in the name"
        raise UploadError(Problem("bad-text", f"column '{_printable(half)}'", found, WHOLE_TEXT))


def _printable(value: Any) -> str:
    """As text that can be shown: lone surrogates escaped, at most 40 characters."""
    text = _escaped(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _escaped(value: Any) -> str:
    return str(value).encode(errors="backslashreplace").decode()


def _worded(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_worded(inner) for inner in value]
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str) if isinstance(value, (bool, int, float, dict)) else str(value)


def _as_text(batch: pa.RecordBatch, ids: Collection[str]) -> pa.RecordBatch:
    """JSON ids are text whatever the first of them look like: a later block may hold letters."""
    arrays = [_texted(batch.column(n)) if n in ids else batch.column(n) for n in batch.schema.names]
    return pa.RecordBatch.from_arrays(arrays, batch.schema.names)


def _texted(array: pa.Array) -> pa.Array:
    kind = array.type
    try:
        return array.cast(pa.large_list(pa.string()) if is_list(kind) else pa.string())
    except pa.ArrowException:
        return array


def is_json(content: Content) -> bool:
    return content.head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] in (b"{", b"[")


def read_json(content: Content, kind: TableKind, _limits: Limits) -> RawTable:
    """{user: {item: score}}, {user: [items]}, a list of rows, or {column: values}."""
    try:
        document = _parsed(whole(content).decode("utf-8-sig"))
    except ValueError as error:
        raise UploadError(_bad_json(error, "file")) from error
    except RecursionError:
        found = "JSON that is nested too deeply"
        raise UploadError(
            Problem("bad-json", "file", found, "Write {user: {item: score}} or rows.")
        ) from None
    return read_document(document, kind)


PAIRS: Mapping[TableKind, tuple[str, str, str]] = {
    "truth": ("user_id", "item_id", "relevance"),
    "train": ("user_id", "item_id", "rating"),
    "similarity": ("item_a", "item_b", "similarity"),
}
"""The roles of the outer keys, the inner keys and the values of {…: {…: …}}; others are read like a run."""


def read_document(document: Any, kind: TableKind) -> RawTable:
    """A JSON value (or the like from Python) as a table."""
    if isinstance(document, dict) and document and not _is_by_column(document, kind):
        return _by_key(document, kind)
    if isinstance(document, dict) and document:
        columns = {str(n): list(v.values()) if isinstance(v, dict) else list(v) for n, v in document.items()}
        if len({len(values) for values in columns.values()}) == 1:
            return _of_json(columns, "JSON columns")
    if isinstance(document, list) and document and all(isinstance(row, dict) for row in document):
        names = dict.fromkeys(name for row in document for name in row)
        return _of_json({name: [row.get(name) for row in document] for name in names}, "JSON rows")
    found = "JSON of an unknown shape" if document else "JSON without rows"
    fix = "Write {user: {item: score}}, {user: [items, best first]} or a list of rows."
    raise UploadError(Problem("bad-json" if document else "no-rows", "file", found, fix))


def _is_by_column(document: Mapping[Any, Any], kind: TableKind) -> bool:
    """Attributes may be called anything, so that beside lists of them one known name will do."""
    lists = all(isinstance(value, list) for value in document.values())
    enough = 1 if lists and kind in WITH_ATTRIBUTES else 2
    return sum(is_known(str(key)) for key in document) >= enough and all(
        isinstance(value, (list, dict)) for value in document.values()
    )


def _by_key(document: Mapping[Any, Any], kind: TableKind) -> RawTable:
    """{item: vector}, {user: {attribute: value}}, or pairs as {user: {item: score}}."""
    if kind == "vectors":
        vectors = [held.tolist() if hasattr(held, "tolist") else held for held in document.values()]
        return _of_json({"item_id": [str(item) for item in document], "vector": vectors}, "JSON by item")
    if kind in WITH_ATTRIBUTES and all(isinstance(held, Mapping) for held in document.values()):
        own = "user_id" if kind == "users" else "item_id"
        return read_document([{own: str(key), **held} for key, held in document.items()], kind)
    if kind == "run" and _is_by_model(document):
        return _of_models(document)
    return _of_pairs(document, *PAIRS.get(kind, ("user_id", "item_id", "score")))


def _is_by_model(document: Mapping[Any, Any]) -> bool:
    """{model: {user: [items]}} or {model: {user: {item: score}}}: every inner value holds items itself."""
    return all(isinstance(users, Mapping) and users for users in document.values()) and all(
        isinstance(held, (list, tuple, Mapping, set, frozenset))
        for users in document.values()
        for held in users.values()
    )


REPLICATE_LABEL = re.compile(r"(?:(seed|fold|split|repeat|replicate)[ _-]?)?\d+", re.IGNORECASE)


def are_replicates(labels: Iterable[Any]) -> bool:
    """Whether labels are those of replicates (1, seed_2, fold 3) and not names of models."""
    return all(REPLICATE_LABEL.fullmatch(str(label)) for label in labels)


def _noun(labels: Iterable[Any]) -> str:
    """What the first of the replicates calls itself."""
    named = REPLICATE_LABEL.fullmatch(str(next(iter(labels))))
    return ((named and named[1]) or "replicate").lower()


def _of_models(document: Mapping[Any, Any]) -> RawTable:
    """{model: {user: [items]}} as rows of model, user, item and, where there is one, score.

    Models that are called 1, 2 or seed_1, seed_2 … are replicates of one candidate.
    """
    role, column = ("replicate", _noun(document)) if are_replicates(document) else ("run", "model")
    tables = {
        str(model): _of_pairs(users, "user_id", "item_id", "score") for model, users in document.items()
    }
    scored = {"score" in table.columns for table in tables.values()}
    if len(scored) > 1:
        found, fix = "scores for some models only", "Write scores for all models, or for none."
        raise UploadError(Problem("mixed-types", "file", found, fix))
    parts = []
    for model, table in tables.items():
        names = list(table.columns)
        for batch in table.blocks(names, ()):
            part = pa.Table.from_batches([batch])
            parts.append(part.add_column(0, column, pa.array([model] * len(batch), pa.string())))
    roles = {"user_id": "user", "item_id": "item", role: column}
    roles |= {"score": "score"} if True in scored else {}
    return _of_table(pa.concat_tables(parts), "JSON by model", roles=roles)


def _of_json(columns: Mapping[str, list[Any]], name: str) -> RawTable:
    _refuse_halves(list(columns))
    arrays = [_array(values, column, _row) for column, values in columns.items()]
    raw = _of_table(pa.Table.from_arrays(arrays, list(columns)), name)

    def blocks(names: Sequence[str], ids: Collection[str]) -> Iterator[pa.RecordBatch]:
        return (_as_text(batch, ids) for batch in raw.blocks(names, ids))

    return RawTable(name, raw.columns, blocks, raw.where, raw.sample, lists=raw.lists, n_rows=raw.n_rows)


def _of_pairs(document: Mapping[Any, Any], outer: str, inner: str, value: str) -> RawTable:
    """{user: {item: score}}, {user: [items]} or {user: [[item, score], …]}; the names are roles."""
    users: list[str] = []
    items: list[Any] = []
    scores: list[Any] = []
    for user, held in document.items():
        is_set = isinstance(held, set | frozenset)
        pairs = _pairs(user, _members(user, held, is_ranked=value == "score") if is_set else held)
        users += [str(user)] * len(pairs)
        items += [_id(item) for item, _ in pairs]
        scores += [score for _, score in pairs]
    if not users:
        raise UploadError(Problem("no-rows", "file", "users, but no items", "Write {user: {item: score}}."))
    roles = {role: role.removesuffix("_id") for role in (outer, inner)}
    columns: dict[str, list[Any]] = {roles[outer]: users, roles[inner]: items}
    if any(score is not None for score in scores):
        columns[value], roles[value] = scores, value
    where = lambda row: f"{roles[outer]} '{_printable(users[row])}'"  # noqa: E731
    arrays = [_array(values, column, where) for column, values in columns.items()]
    table = pa.Table.from_arrays(arrays, list(columns))
    return _of_table(table, f"JSON by {roles[outer]}", roles=roles, where=where)


def _id(item: Any) -> str | None:
    return None if item is None else str(item)


def _members(user: Any, items: Collection[Any], is_ranked: bool) -> list[Any]:
    """The items of a set; raises ``UploadError`` where their order counts, since a set has none."""
    if not is_ranked:
        return list(items)
    raise UploadError(Problem("unordered", f"user '{_printable(user)}'", *SET_FOUND))


SET_FOUND = ("a set of items, and a set has no order", "Write a list, best item first, or {item: score}.")


def _pairs(user: Any, held: Any) -> list[tuple[Any, Any]]:
    if isinstance(held, Mapping):
        return list(held.items())
    if hasattr(held, "tolist"):  # a numpy array or a pandas series
        held = held.tolist()
    if isinstance(held, (list, tuple)) and all(isinstance(p, (list, tuple)) and len(p) == 2 for p in held):
        return [(item, score) for item, score in held]
    if isinstance(held, (list, tuple)) and not any(isinstance(p, (list, tuple, Mapping)) for p in held):
        return [(item, None) for item in held]
    found = f"neither a list of items nor {{item: score}}, but {type(held).__name__}"
    fix = "Write {user: {item: score}} or {user: [items]}."
    raise UploadError(Problem("bad-json", f"user '{_printable(user)}'", found, fix))


# ── the tables: first match wins ─────────────────────────────────────────────────────────────

FORMATS: tuple[Format, ...] = (Format("Parquet", is_parquet, read_parquet),)

TEXT_FORMATS: tuple[Format, ...] = (
    Format("JSON lines", is_json_lines, read_json_lines),
    Format("JSON", is_json, read_json),
    Format("TREC run", is_trec_run, read_trec_run),
    Format("TREC run without a tag", is_untagged_run, read_untagged_run),
    Format("TREC qrels", is_qrels, read_qrels),
    Format("delimited text", lambda _content: True, read_delimited),
)
