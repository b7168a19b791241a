"""Reads the parts of one table, which Spark and BigQuery write as several files, as one table."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pyarrow as pa

from recdash.errors import Problem, UploadError
from recdash.ingest.columns import is_known, pattern_of
from recdash.ingest.formats.raw_table import RawTable, is_list
from recdash.ingest.values import is_text

PART = re.compile(
    r"part-(?:[rm]-)?\d{4,}\b.*|part[-._]\d+(?:\.\w+)*|\d{6}_\d+\b.*"
    r"|(?P<table>.*?)(?<!\d)0{6}\d{6}(?:\.\w+)*"
)
"""Names of parts: part-00000-….csv of Spark, part-0.parquet of pyarrow, part.0.parquet of Dask, 000000_0 of
Hive, recs-000000000001.csv of BigQuery.
"""


def are_parts(names: Sequence[str]) -> bool:
    """Returns whether files of these names are the parts of one table."""
    return len(names) > 1 and _have_one_table(names)


def _have_one_table(names: Sequence[str]) -> bool:
    """Returns whether all names are those of parts, in one folder and with the same beginning."""
    tables = set()
    for path in map(PurePosixPath, names):
        part = PART.fullmatch(path.name)
        tables.add((path.parent, part["table"]) if part else None)
    return len(tables) == 1 and None not in tables


def in_order(names: Iterable[str]) -> list[str]:
    """Returns the names of parts by the numbers in them: part-9 comes before part-10."""

    def key(name: str) -> list[tuple[str, int]]:
        pieces = re.split(r"(\d+)", name)  # text and digits in turn
        return [
            (text, int(digits or 0)) for text, digits in zip(pieces[::2], [*pieces[1::2], ""], strict=True)
        ]

    return sorted(names, key=key)


def parts_in(folder: Path) -> list[Path]:
    """Returns the files of a folder that are the parts of one table, in order of their names.

    Raises ``UploadError`` if its files are no parts.
    """
    if (folder / "_delta_log").is_dir():  # it keeps files that are no longer part of its table
        fix = f"Write delta:{folder} to read its newest version."
        raise UploadError(Problem("lake-folder", str(folder), "is a table of Delta Lake", fix))
    names = in_order(path.name for path in folder.iterdir() if path.is_file())
    files = [folder / name for name in names if not name.startswith((".", "_"))]
    if not _have_one_table([str(path) for path in files]):
        fix = "Name its files. A folder is read as one table if Spark wrote it as part-00000 … files."
        raise UploadError(Problem("no-file", str(folder), "is a folder", fix))
    beside = in_order(path.name for path in folder.iterdir() if path.is_dir())
    if others := [name for name in beside if not name.startswith((".", "_"))]:
        finding = f"is a folder, with the folder '{others[0]}' beside its files"
        fix = "Name its files, or move the parts into one folder."
        raise UploadError(Problem("no-file", str(folder), finding, fix))
    return [path for path in files if path.stat().st_size]


def names_shown(names: Sequence[str]) -> list[str]:
    """Returns the name of each member of an archive without folders, or with them where two are alike."""
    last = [PurePosixPath(name).name or name for name in names]
    counts = Counter(last)
    return [
        own if counts[own] == 1 else name.strip("/").replace("/", "-")
        for name, own in zip(names, last, strict=True)
    ]


def joined(parts: Sequence[tuple[str, RawTable]]) -> RawTable:
    """Returns the raw tables of the parts as one table; each comes with its name.

    Raises ``UploadError`` if a part has another format or other columns than the first; named columns may
    be in any order. Parts without rows are left out, as Spark writes of an empty partition.
    """
    given = _with_first_lines(parts)
    parts = [(name, table) for name, table in given if table.n_rows != 0] or given[:1]
    first_name, first = parts[0]
    for name, table in given:  # also those without rows: their only line may be data
        _refuse_other(name, table, first_name, first)
    without_header = _without_header(given)
    if len(parts) == 1:
        return replace(first, without_header=without_header)
    tables = [table for _, table in parts]
    rows_before = [0]
    """The number of rows before each part, as far as the parts were read."""

    def blocks(columns: Sequence[str], ids: Collection[str]) -> Iterator[pa.RecordBatch]:
        n_rows = 0
        del rows_before[1:]
        kinds: dict[str, tuple[str, str]] = {}
        for name, table in parts:
            with naming_part(name):
                for batch in table.blocks(columns, ids):
                    _refuse_other_values(batch, ids, name, kinds)
                    n_rows += batch.num_rows
                    yield batch
            rows_before.append(n_rows)

    def where(row: int) -> str:
        place = bisect_right(rows_before[: len(tables)], row) - 1
        return f"'{parts[place][0]}', {tables[place].where(row - rows_before[place])}"

    def sample() -> list[dict[str, str]]:
        return next((rows for table in tables if (rows := table.sample())), [])

    commas = [name for name, table in parts if table.decimal == ","]
    notice_of_signs = _two_decimal_signs(commas, [name for name, _ in parts if name not in commas])
    counts = [table.n_rows for table in tables]
    finding = f"read as one table of {len(parts)} parts, '{first_name}' to '{parts[-1][0]}'"
    fix = "If these are several tables, rename them or upload each by itself."
    notice = Problem("parts", "file", finding, fix, len(parts), f"'{first_name}'")
    notices = dict.fromkeys(own for table in tables for own in table.notices)
    return replace(
        first,
        blocks=blocks,
        where=where,
        sample=sample,
        n_rows=None if None in counts else sum(filter(None, counts)),
        whole_ids=frozenset.intersection(*(table.whole_ids for table in tables)),
        unpacked_bytes=sum(table.unpacked_bytes for table in tables),
        without_header=without_header,
        decimal="," if commas else first.decimal,
        notices=(notice, *notice_of_signs, *notices),
    )


def _with_first_lines(parts: Sequence[tuple[str, RawTable]]) -> Sequence[tuple[str, RawTable]]:
    """Returns the parts with their first lines as data, if these were taken for headers and are none: they
    differ, have no known name, and have ids of one pattern, such as u17, in some column.
    """
    tables = [table for _, table in parts]
    headers = [table.columns for table in tables if table.header]
    if len({frozenset(names) for names in headers}) + (len(headers) < len(tables)) < 2:
        return parts
    if any(table.header and not table.without_header for table in tables):
        return parts
    if any(is_known(name) for names in headers for name in names):
        return parts
    lines = [table.columns if table.header else [*_first_row(table).values()] for table in tables]
    patterns = [{pattern_of(cell) for cell in cells} for cells in zip(*lines, strict=False)]
    if not any(len(own) == 1 and "9" in min(own) for own in patterns):
        return parts
    return [(name, table.without_header() if table.without_header else table) for name, table in parts]


def _without_header(parts: Sequence[tuple[str, RawTable]]) -> Callable[[], RawTable] | None:
    """Returns what reads the first lines of all parts as data, also of those with one line; None if a part
    has no header line, or must have one.
    """
    if not all(table.without_header for _, table in parts):
        return None
    return lambda: joined([(name, table.without_header()) for name, table in parts if table.without_header])


def _first_row(table: RawTable) -> dict[str, str]:
    return next(iter(table.sample()), {})


@contextmanager
def naming_part(name: str) -> Iterator[None]:
    """Adds the name of a part to the places of problems that the block raises."""
    try:
        yield
    except UploadError as error:
        problems = [
            replace(problem, place=f"'{name}'" + ("" if problem.place == "file" else f", {problem.place}"))
            for problem in error.problems
        ]
        raise UploadError(problems, error.source) from error


def _refuse_other_values(
    batch: pa.RecordBatch, columns: Collection[str], name: str, first_kinds: dict[str, tuple[str, str]]
) -> None:
    """Raises ``UploadError`` if one of these columns has numbers where an earlier part has texts, or the
    other way round. ``first_kinds`` is column → kind of its values and the first part that has it; those of
    the batch are added.
    """
    for column in (column for column in batch.schema.names if column in columns):
        kind = kind_of(batch.schema.field(column).type)
        first_kind, first_name = first_kinds.setdefault(column, (kind, name)) if kind else ("", "")
        if kind != first_kind:
            finding = f"its values are {kind}, and those of '{first_name}' are {first_kind}"
            fix = "Write this column as texts in all parts."
            raise UploadError(Problem("mixed-types", f"column '{column}'", finding, fix))


def kind_of(values: pa.DataType) -> str:
    """Returns ``texts`` or ``numbers``, also of lists of these; an empty text for others."""
    while pa.types.is_dictionary(values) or is_list(values):
        values = values.value_type
    is_number = pa.types.is_integer(values) or pa.types.is_floating(values)
    return "texts" if is_text(values) else "numbers" if is_number else ""


def _refuse_other(name: str, table: RawTable, first_name: str, first: RawTable) -> None:
    """Raises ``UploadError`` if a part has another format or other columns than the first."""
    if table.format != first.format:
        finding = f"'{name}' is {table.format}, and '{first_name}' is {first.format}"
        fix = "Write all parts of one table in one format."
        raise UploadError(Problem("parts-differ", "file", finding, fix))
    if not _have_same_columns(first, table):
        finding = f"'{name}' has other columns than '{first_name}': {', '.join(table.columns[:8])}"
        fix = "Parts of one table have the same columns. Upload different tables each by itself."
        if first.without_header or table.without_header:
            fix = "Write one header line in each part if they are of one table; else upload each by itself."
        raise UploadError(Problem("parts-differ", "file", finding, fix))


def _have_same_columns(first: RawTable, other: RawTable) -> bool:
    """Returns whether two parts have the same columns, in any order if both have names for them."""
    if first.header and other.header and first.lists == other.lists:
        return set(first.columns) == set(other.columns)
    return first.columns == other.columns


def _two_decimal_signs(commas: Sequence[str], points: Sequence[str]) -> tuple[Problem, ...]:
    """Returns the notice that some parts have decimal commas and others none; empty if all are alike."""
    if not (commas and points):
        return ()
    finding = f"decimal commas in '{commas[0]}' and none in '{points[0]}': 0,5 and 0.5 are both read as 0.5"
    fix = "If a comma separates thousands, write the numbers of all parts without it."
    return (Problem("two-decimal-signs", "file", finding, fix, len(commas), f"'{commas[0]}'"),)
