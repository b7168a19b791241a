"""Runs a query in a database, and writes its rows as Parquet."""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

import pyarrow as pa

from recdash.errors import Problem, UploadError
from recdash.ingest.library_errors import reason
from recdash.ingest.schemas import common_type, repeated_name
from recdash.ingest.sources.address import Address, parts_of_query
from recdash.ingest.sources.written import Written

ROWS = 1 << 16
"""Rows that are in memory at a time."""
DUCKDB = "duckdb:"
POSTGRESQL = re.compile(r"postgres(ql)?://")
GIVES_ROWS = frozenset({"SELECT", "MULTI", "EXPLAIN"})
"""Types of DuckDB's statements that only read; PIVOT is MULTI."""
BEFORE_A_QUERY = frozenset({"SET", "LOAD"})
READING = frozenset(
    {
        sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_TRANSACTION,
    }
)  # fmt: skip
"""What a query of SQLite may do: neither ATTACH, VACUUM nor PRAGMA, which leave files or change them."""
OF_ARROW = (OSError, pa.ArrowException)
EXACT = (Decimal, UUID)
"""Values that are written as text: a float has too few digits for an id of type NUMERIC."""


def fetch_query(address: Address, written: Written) -> None:
    """Writes the rows of a query. Raises ``UploadError`` with the database's own words if it fails."""
    url, query = parts_of_query(address)
    if url.startswith(DUCKDB):
        _of_duckdb(url, query, address, written)
    else:
        _of_sqlalchemy(url, query, address, written)


def _without_rows(address: Address) -> UploadError:
    fix = "Write a query that gives rows, such as SELECT user_id, item_id FROM lists."
    return UploadError(Problem("no-rows", address.place, "the statement gives no rows", fix))


def _failed(address: Address, error: Exception) -> UploadError:
    own = getattr(error, "orig", None) or error  # of the driver, without SQLAlchemy's words around it
    fix = "Try the query in a client of the database."
    words = address.without_secrets(reason(own))
    return UploadError(Problem("query-failed", address.place, f"the query fails ({words})", fix))


# ── DuckDB ───────────────────────────────────────────────────────────────────────────────────


def _of_duckdb(url: str, query: str, address: Address, written: Written) -> None:
    """Writes the rows of a query in a DuckDB file (``duckdb:///shop.duckdb``) or in none (``duckdb:``)."""
    try:
        import duckdb
    except ModuleNotFoundError as error:
        fix = "Install it: pip install 'recdash[duckdb]'."
        raise UploadError(Problem("no-library", address.place, "DuckDB is not installed", fix)) from error
    file = url.removeprefix(DUCKDB).removeprefix("//").removeprefix("/")
    if file and not Path(file).is_file():
        place, fix = address.without_secrets(file), "Name a DuckDB file: duckdb:///shop.duckdb."
        raise UploadError(Problem("no-file", place, "is no file", fix))
    try:
        with duckdb.connect(file or ":memory:", read_only=bool(file)) as connection:
            _refuse_writing(address, duckdb.extract_statements(query))
            relation = connection.sql(query)
            if relation is None:
                raise _without_rows(address)
            reader = relation.to_arrow_reader(ROWS)
            _refuse_same_names(address, reader.schema.names)
            _refuse_unwritable(address, reader.schema)
            with written.parquet(_readable(reader.schema)) as add:
                for batch in reader:
                    add(batch)
    except (duckdb.Error, *OF_ARROW) as error:  # those of a later batch come through Arrow
        raise _failed(address, error) from None


def _refuse_writing(address: Address, statements: Sequence[Any]) -> None:
    """Raises ``UploadError`` for statements of DuckDB that are more than one query: a database that is opened
    for reading still writes other files.
    """
    types = [statement.type.name for statement in statements]
    if not types or types[-1] not in GIVES_ROWS:
        raise _without_rows(address)
    if not BEFORE_A_QUERY.issuperset(types[:-1]):
        finding = "several statements, of which only SET and LOAD can come before a query"
        raise UploadError(Problem("query-failed", address.place, finding, "Write one query."))


def _refuse_unwritable(address: Address, schema: pa.Schema) -> None:
    """Raises ``UploadError`` for a column of a type that a Parquet file does not have, such as INTERVAL."""
    for field in schema:
        if pa.types.is_interval(field.type) or pa.types.is_union(field.type):
            finding = f"column '{field.name}' is of type {field.type}, which is not read"
            fix = "Write it as text in the query, or leave it out."
            raise UploadError(Problem("bad-type", address.place, finding, fix))


def _readable(schema: pa.Schema) -> pa.Schema:
    """Returns a schema whose decimals are text: an id of type HUGEINT or NUMERIC keeps its digits."""
    fields = [
        pa.field(field.name, pa.string() if pa.types.is_decimal(field.type) else field.type)
        for field in schema
    ]
    return pa.schema(fields)


# ── other databases ──────────────────────────────────────────────────────────────────────────


def _of_sqlalchemy(url: str, query: str, address: Address, written: Written) -> None:
    """Writes the rows of a query in a database that SQLAlchemy knows.

    A database tells the types of its columns in ways of its own, and SQLite none. So the types are those of
    the values: batches are put aside in a temporary file until all are known.
    """
    import sqlalchemy as sa

    try:
        engine = sa.create_engine(POSTGRESQL.sub("postgresql+psycopg://", url, count=1))
    except (sa.exc.SQLAlchemyError, ImportError, ValueError) as error:  # ValueError: a port that is no number
        fix = "Write sql:URL QUERY with a URL of SQLAlchemy, and install the driver that it names."
        problem = Problem("bad-address", "sql", f"no connection from this URL ({_words(error)})", fix)
        raise UploadError(problem) from None  # the error may quote a password
    is_sqlite = engine.dialect.name == "sqlite"
    if is_sqlite:
        _refuse_new_file(address, engine.url.database)
    try:
        with tempfile.TemporaryFile() as aside, engine.connect() as connection:
            if is_sqlite:  # which keeps a change of its schema even without COMMIT
                driver: Any = connection.connection.driver_connection
                driver.set_authorizer(_may_read)
            streaming = connection.execution_options(stream_results=True, yield_per=ROWS, no_parameters=True)
            # as it was written: in a text of SQLAlchemy, ':b' would be a parameter
            result = streaming.exec_driver_sql(query)
            if not result.returns_rows:
                raise _without_rows(address)
            names = list(result.keys())
            _refuse_same_names(address, names)
            schema = _put_aside(names, result.partitions(ROWS), aside)
            with written.parquet(schema) as add:
                for batch in _read_back(aside):
                    add(batch)
    except (sa.exc.SQLAlchemyError, *OF_ARROW) as error:
        raise _failed(address, error) from None
    finally:
        engine.dispose()


def _refuse_new_file(address: Address, database: str | None) -> None:
    """Raises ``UploadError`` for a file of SQLite that is not there, which SQLite would make; a database in
    memory has none.
    """
    file = urlsplit(database).path if database and database.startswith("file:") else database
    if file and file != ":memory:" and not Path(unquote(file)).is_file() and not Path(file).is_file():
        place, fix = address.without_secrets(file), "Name an SQLite file: sqlite:///shop.db."
        raise UploadError(Problem("no-file", place, "is no file", fix))


def _may_read(action: int, *_: str | None) -> int:
    """Returns SQLite's answer to whether a statement may do something: it may read, and nothing else."""
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


def _words(error: Exception) -> str:
    """Returns the words of an error, or its type if they may quote the URL."""
    return type(error).__name__ if isinstance(error, ValueError) or "//" in str(error) else reason(error)


def _refuse_same_names(address: Address, names: Sequence[str]) -> None:
    """Raises ``UploadError`` if a query gives two columns of the same name."""
    if (twice := repeated_name(names)) is not None:
        fix = "Give each its own name with AS."
        finding = f"the query gives several columns called '{twice}'"
        raise UploadError(Problem("column-twice", address.place, finding, fix))


def _put_aside(names: Sequence[str], parts: Iterator[Sequence[Any]], aside: IO[bytes]) -> pa.Schema:
    """Writes each batch of rows as an Arrow stream; returns the schema that all of them have in common."""
    schemas = [pa.schema([pa.field(name, pa.null()) for name in names])]
    for rows in parts:
        columns = [_column(values) for values in zip(*rows, strict=True)]
        batch = pa.record_batch(columns, names=list(names))
        schemas.append(batch.schema)
        with pa.ipc.new_stream(aside, batch.schema) as stream:
            stream.write_batch(batch)
    return pa.schema([(name, _common([schema.field(name).type for schema in schemas])) for name in names])


def _column(values: Sequence[Any]) -> pa.Array:
    """Returns the values of a column; those of several types as text."""
    plain = [str(value) if isinstance(value, EXACT) else value for value in values]
    try:
        return pa.array(plain)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if value is None else str(value) for value in plain], pa.string())


def _common(types: Sequence[pa.DataType]) -> pa.DataType:
    """Returns the type of a column whose batches have these types. It is text for integers beside floats,
    which have too few digits for long ids.
    """
    common = common_type(types)
    is_rounded = pa.types.is_floating(common) and any(map(pa.types.is_integer, types))
    return pa.string() if is_rounded or pa.types.is_null(common) else common


def _read_back(aside: IO[bytes]) -> Iterator[pa.RecordBatch]:
    end = aside.tell()
    aside.seek(0)
    while aside.tell() < end:
        with pa.ipc.open_stream(aside) as stream:
            yield from stream
