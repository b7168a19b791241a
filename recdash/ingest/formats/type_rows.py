"""Leaves out a first row that names the types of the columns, as databases and data frames write it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from recdash.errors import Problem, UploadError
from recdash.ingest.formats.raw_table import RawTable

NAME = (
    r"(?:u?int(?:eger)?(?:8|16|32|64)?|[iu](?:8|16|32|64)|(?:big|small|tiny|medium)int|long|short|byte"
    r"|float(?:16|32|64)?|f(?:32|64)|double(?: precision)?|real|dbl|decimal|numeric|number"
    r"|(?:large_)?(?:str|string|utf8)|fixedstring|n?(?:var)?char2?|character(?: varying)?"
    r"|(?:long|medium|tiny)?text|chr|object|category|factor|fct|enum|uuid|uniqueidentifier"
    r"|bool(?:ean)?|bit|lgl|date(?:32|64)?|datetime(?:64)?2?|smalldatetime|dttm|time"
    r"|timestamp(?:tz|_[nl]?tz)?(?: with(?:out)? time zone)?)"
    r"(?: ?\((?:\d+(?: ?, ?\d+)?|max)\)|\[(?:s|ms|us|ns)(?:, ?[\w=/+-]+)?\])?"
)
TYPE = re.compile(
    rf"(?:(?:nullable|lowcardinality|array|list)[\[(<])*<?{NAME}[\])>]*(?:\[\])?", re.IGNORECASE
)
"""The name of a type in SQL, pandas, Arrow, polars, Spark, ClickHouse or R: int64, VARCHAR(255), <chr>."""


def without_types(table: RawTable) -> RawTable:
    """Returns the table without its first row if that names a type for each column; else the table itself.

    No other of the first rows may have the name of a type, as a table of types would.
    """
    if not table.header or table.roles is not None or len(table.columns) < 2:
        return table
    try:
        rows = [[row[column].strip() for column in table.columns] for row in table.sample()]
    except UploadError:  # which reading the table raises again
        return table
    if len(rows) < 2 or not all(map(TYPE.fullmatch, rows[0])):
        return table
    if any(TYPE.fullmatch(cell) for row in rows[1:] for cell in row):
        return table
    shown = f"'{', '.join(rows[0])[:80]}'"
    finding = f"the row below the header, {shown}, names the types of the columns and is not read"
    fix = "Move the row down if it is a row of the table."
    notice = Problem("type-row", table.where(0), finding, fix, 1, shown)

    def blocks(columns: Sequence[str], ids: Collection[str]) -> Iterator[pa.RecordBatch]:
        n_left_out = 1
        for batch in table.blocks(columns, ids):
            if batch.num_rows > n_left_out:
                yield batch.slice(n_left_out)
            n_left_out = max(n_left_out - batch.num_rows, 0)

    n_rows = None if table.n_rows is None else table.n_rows - 1
    return replace(
        table,
        blocks=blocks,
        where=lambda row: table.where(row + 1),
        sample=lambda: table.sample()[1:],
        n_rows=n_rows,
        notices=(*table.notices, notice),
    )
