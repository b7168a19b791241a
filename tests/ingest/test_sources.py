"""Tables in databases, on the web, in lakes and in partitioned folders: read as the same table in a file."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from source_lists import LISTS, MRR, ROWS, TRUTH, by_user, mrr
from terminal import Recdash

from recdash.errors import UploadError
from recdash.ingest import read_upload
from recdash.ingest.sources import query
from recdash.ingest.sources.address import FOLDER, SCHEMES, address_in, parts_of_query
from recdash.ingest.sources.fetch import FETCH, fetched

FILES = {"truth.json": json.dumps(TRUTH)}


def sql(url: object, statement: str) -> str:
    return f"sql:{url} {statement}"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """An SQLite database with the table ``lists``."""
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE lists (user_id TEXT, item_id TEXT, score REAL)")
        connection.executemany("INSERT INTO lists VALUES (?, ?, ?)", ROWS)
    connection.close()
    return file


@pytest.fixture
def website(tmp_path: Path) -> Iterator[str]:
    """The address of a server of the files in the folder."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def refusal(source: Any) -> str:
    with pytest.raises(UploadError) as refused:
        mrr(source)
    return str(refused.value)


def test_each_scheme_is_fetched() -> None:
    assert set(FETCH) == {*SCHEMES, FOLDER}


@pytest.mark.parametrize(
    ("text", "scheme"),
    [("HTTPS://host/x.csv", "https"), ("s3a://bucket/x", "s3"), ("S3://bucket/x", "s3"), ("c:/x.csv", None)],
)
def test_a_scheme_is_known_in_capitals_and_by_the_name_of_spark(text: str, scheme: str | None) -> None:
    address = address_in(text)
    assert (address and address.scheme) == scheme


# ── databases ────────────────────────────────────────────────────────────────────────────────


def test_a_query_is_scored_like_a_file(shop: Path) -> None:
    assert mrr(LISTS) == pytest.approx(MRR, abs=1e-12)
    assert mrr(sql(f"sqlite:///{shop}", "SELECT * FROM lists WHERE score > 0")) == pytest.approx(
        MRR, abs=1e-12
    )


def test_a_query_of_duckdb_is_scored_like_a_file(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.register("given", LISTS)
        connection.execute("CREATE TABLE lists AS SELECT * FROM given")
    pq.write_table(LISTS, tmp_path / "lists.parquet")

    assert mrr(sql(f"duckdb:///{tmp_path}/shop.duckdb", "SELECT * FROM lists")) == pytest.approx(
        MRR, abs=1e-12
    )
    assert mrr(sql("duckdb:", f"FROM '{tmp_path}/lists.parquet'")) == pytest.approx(MRR, abs=1e-12)


def test_long_ids_of_a_database_keep_their_digits() -> None:
    long_id = 2**64 + 1
    query_of_ids = f"sql:duckdb: SELECT {long_id}::HUGEINT AS user_id, '007' AS item_id"
    assert read_upload("truth", query_of_ids).table["user_id"].to_pylist() == [str(long_id)]


def test_batches_of_other_types_are_one_column(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite has no types: the first batches have no item and a number, the last a text."""
    monkeypatch.setattr(query, "ROWS", 1)
    with closing(sqlite3.connect(shop)) as connection, connection:
        connection.execute("CREATE TABLE mixed (user_id, item_id, rating)")
        connection.executemany(
            "INSERT INTO mixed VALUES (?, ?, ?)", [(1, "x", None), (2, 7, 1), (3, "007", 0.5)]
        )
    connection.close()
    table = read_upload("truth", sql(f"sqlite:///{shop}", "SELECT * FROM mixed WHERE user_id > 1")).table
    assert table["item_id"].to_pylist() == ["7", "007"]
    assert table["user_id"].to_pylist() == [2, 3]
    assert table["relevance"].to_pylist() == [1.0, 0.5]


def test_values_without_a_type_in_arrow_are_text() -> None:
    assert query._column([Decimal("12345678901234567890.5"), None]).to_pylist() == [
        "12345678901234567890.5", None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("sql:sqlite:///shop.db", "has no connection and query"),
        ("sql:sqlite:///{shop} SELECT nosuch FROM lists", "no such column: nosuch"),
        ("sql:nosuch://host SELECT 1", "no connection from this URL"),
        ("sql:postgresql://host:port/x SELECT 1", "no connection from this URL"),
        ("sql:sqlite:///{shop} SELECT user_id, item_id AS user_id FROM lists", "columns called 'user_id'"),
        ("sql:postgresql://${NO_SUCH_NAME}@host/x SELECT 1", "the variable NO_SUCH_NAME is not set"),
        ("sql:duckdb:///nosuch.duckdb SELECT 1", "nosuch.duckdb: is no file"),
        ("sql:duckdb: SELECT nosuch", "the query fails"),
        ("delta:nosuch", "cannot be read"),
        ("iceberg:alone", "names no table"),
        ("hf://models/x", "names no file of a data set"),
        ("az://container/x.csv", "the storage account is not named"),
        ("http://127.0.0.1:1/x.csv", "cannot be read"),
        ("http://[::1/x.csv", "cannot be read"),
    ],
)
def test_what_cannot_be_fetched_is_said(
    source: str, words: str, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    assert words in refusal(source.replace("{shop}", str(shop)))


def test_no_message_shows_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    for source in (
        "http://reader:hunter2@127.0.0.1:1/x.csv?key=hunter2",
        "sql:mysql+nosuch://reader:hunter2@127.0.0.1/x SELECT 1",
        "sql:postgresql://reader:${SHOP_PASSWORD}@127.0.0.1:1/x SELECT 1",
        "sql:postgresql://reader:${SHOP_PASSWORD}@127.0.0.1:1/x?sslmode=${SHOP_PASSWORD} SELECT 1",
        "sql:duckdb:///nosuch_${SHOP_PASSWORD}.duckdb SELECT 1",
        "http://reader:old@hunter2@127.0.0.1:1/x.csv",
        "http://127.0.0.1:1/a file.csv?key=${SHOP_PASSWORD}",
        "http://127.0.0.1:1/a file.csv?key=hunter2",
        "s3://key:${SHOP_PASSWORD}@a bucket/x.csv",
        "s3://key:hunter2/with/slashes@bucket/x.csv",
    ):
        assert "hunter2" not in refusal(source), source


def test_a_query_is_asked_as_it_was_written(shop: Path) -> None:
    statement = "SELECT user_id, ' :b 100% %s \\:c' AS item_id FROM lists WHERE item_id <> ':none'"
    table = read_upload("truth", sql(f"sqlite:///{shop}", statement)).table
    assert set(table["item_id"].to_pylist()) == {r":b 100% %s \:c"}


@pytest.mark.parametrize("url", ["sqlite:///{shop}", "sqlite:///file:{shop}?uri=true"])
@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE lists", "DELETE FROM lists", "INSERT INTO lists VALUES ('u', 'i', 1) RETURNING *",
        "PRAGMA journal_mode=WAL", "ATTACH '{shop}.other' AS other", "VACUUM INTO '{shop}.copy'",
    ],
)  # fmt: skip
def test_a_statement_that_writes_changes_nothing(statement: str, url: str, shop: Path) -> None:
    before = {path.name: path.read_bytes() for path in shop.parent.iterdir()}
    said = refusal(sql(url.format(shop=shop), statement.format(shop=shop)))
    assert "(not authorized)" in said or "(authorization denied)" in said
    assert {path.name: path.read_bytes() for path in shop.parent.iterdir()} == before


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("COPY (SELECT 1) TO '{folder}/copy.csv'", "the statement gives no rows"),
        ("ATTACH '{folder}/d.db' AS d; CREATE TABLE d.t AS SELECT 1 AS a; FROM d.t", "only SET and LOAD can"),
        ("SELECT 1 AS a; SELECT 2 AS b", "only SET and LOAD can come before a query"),
    ],
)
def test_duckdb_writes_no_file(statement: str, words: str, tmp_path: Path) -> None:
    assert words in refusal(sql("duckdb:", statement.format(folder=tmp_path)))
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    "credentials",
    ["user:p\u2100ss", "user:sec/ret", "user:s3c?ret", "us er:s3cret", "user:1234/5", "u:[secret]"],
)
def test_a_password_that_is_not_encoded_is_in_no_message(credentials: str) -> None:
    said = refusal(f"https://{credentials}@127.0.0.1:1/x.csv")
    assert not [part for part in ("ss@", "sec", "s3c", "1234", "ret") if part in said.replace("secrets", "")]


def test_no_file_is_made_for_a_database_that_is_not_there(tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path}/nosuch.db", f"sqlite:///file:{tmp_path}/nosuch.db?uri=true"):
        assert "is no file. Name an SQLite file" in refusal(sql(url, "SELECT 1"))
    assert [*tmp_path.iterdir()] == []


def test_integers_and_floats_of_different_batches_keep_their_digits(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query, "ROWS", 1)
    statement = f"SELECT {2**53 + 1} AS user_id, 'a' AS item_id UNION ALL SELECT 0.5, 'b'"
    table = read_upload("truth", sql(f"sqlite:///{shop}", statement)).table
    assert table["user_id"].to_pylist() == [str(2**53 + 1), "0.5"]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT 1 AS user_id, 2 AS item_id, 3 AS item_id", "several columns called 'item_id'"),
        (
            "SELECT range AS user_id, if(range = 900000, error('boom'), 1) AS item_id FROM range(1000000)",
            "(Invalid Input Error: boom)",
        ),
        (
            "SELECT 1 AS user_id, 2 AS item_id, INTERVAL 1 DAY AS age",
            "column 'age' is of type month_day_nano",
        ),
        (";", "the statement gives no rows"),
    ],
)
def test_what_a_query_of_duckdb_cannot_give_is_said(statement: str, words: str) -> None:
    assert words in refusal(sql("duckdb:", statement))


@pytest.mark.parametrize("password", ["p@ss/w:rd?%41", "p%40ss"])
def test_a_password_is_encoded_for_its_url_unless_it_is(
    password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlalchemy import make_url

    monkeypatch.setenv("SHOP_PASSWORD", password)
    address = address_in("sql:postgresql://reader:${SHOP_PASSWORD}@host/shop SELECT '${SHOP_PASSWORD}@'")
    assert address is not None
    url, statement = parts_of_query(address)
    assert make_url(url).password == password.replace("p%40ss", "p@ss")
    assert (make_url(url).host, statement) == ("host", f"SELECT '{password}@'")
    assert "ss" not in address.without_secrets(f"no host in {url}")


# ── the web ──────────────────────────────────────────────────────────────────────────────────


def test_a_file_of_the_web_is_scored_like_a_file(tmp_path: Path, website: str) -> None:
    pq.write_table(LISTS, tmp_path / "lists.parquet")
    assert mrr(f"{website}/lists.parquet") == pytest.approx(MRR, abs=1e-12)
    assert "404" in refusal(f"{website}/nothing.parquet")


class Answer(BaseHTTPRequestHandler):
    """What a server that asks for a password answers, with a length that is no number."""

    def do_GET(self) -> None:
        known = self.headers["Authorization"] == "Basic " + b64encode(b"reader:p/ss w").decode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", "unknown")
        self.end_headers()
        self.wfile.write(f"user_id,item_id\n7,{self.path}\n".encode())

    def log_message(self, *_arguments: object) -> None: ...


def test_a_web_server_gets_the_password_of_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEB_PASSWORD", "p/ss w")
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        host = f"127.0.0.1:{server.server_port}"
        try:
            for user in ("reader:p%2Fss%20w", "reader:${WEB_PASSWORD}"):
                table = read_upload("truth", f"http://{user}@{host}/a b%20é.csv?q=%3F").table
                assert table["item_id"].to_pylist() == ["/a%20b%20%C3%A9.csv?q=%3F"]
            assert "401" in refusal(f"http://reader:wrong@{host}/a.csv")
        finally:
            server.shutdown()
            thread.join()


def test_a_file_of_hugging_face_is_scored_like_a_file(
    tmp_path: Path, website: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", website)
    folder = tmp_path / "datasets" / "owner" / "films" / "resolve" / "v2" / "runs"
    folder.mkdir(parents=True)
    pq.write_table(LISTS, folder / "als.parquet")
    assert mrr("hf://datasets/owner/films@v2/runs/als.parquet") == pytest.approx(MRR, abs=1e-12)


def test_more_than_the_limit_of_an_upload_is_not_fetched(tmp_path: Path, website: str) -> None:
    (tmp_path / "large.csv").write_text("user_id,item_id\n" + "u,i\n" * 1000)
    (tmp_path / "fetched").mkdir()
    address = address_in(f"{website}/large.csv")
    assert address is not None
    with pytest.raises(UploadError, match="RECDASH_MAX_UPLOAD_BYTES"):
        fetched(address, tmp_path / "fetched", 1000)


# ── lakes and partitioned folders ────────────────────────────────────────────────────────────


def test_a_partitioned_folder_is_one_table(tmp_path: Path) -> None:
    """The user 001 is in a folder's name, and keeps its zeros."""
    folder = tmp_path / "lists"
    for user, rows in by_user():
        (folder / f"user_id={user}").mkdir(parents=True)
        pq.write_table(rows, folder / f"user_id={user}" / "part-0.parquet")
    assert mrr(folder) == pytest.approx(MRR, abs=1e-12)
    assert mrr(str(folder)) == pytest.approx(MRR, abs=1e-12)


def folder_of(root: Path, files: dict[str, pa.Table]) -> Path:
    """A folder with these Parquet files, which are written in an order that is none of a disk."""
    for name, table in [*[*files.items()][1::2], *[*files.items()][::2]]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, root / name)
    return root


def pairs(users: list[Any], items: list[Any], **more: list[Any]) -> pa.Table:
    return pa.table({"user_id": users, "item_id": items, **more})


def test_files_of_a_folder_are_in_the_order_of_the_numbers_in_their_names(tmp_path: Path) -> None:
    names = [f"day={day}/part-{number}.parquet" for day in (1, 9, 10) for number in (2, 11)]
    folder = folder_of(tmp_path / "lists", {name: pairs([name], ["a"]) for name in names})
    assert read_upload("truth", folder).table["user_id"].to_pylist() == names


def test_hidden_files_of_a_folder_are_not_read(tmp_path: Path) -> None:
    """What Spark leaves beside the files of a table, or has not finished."""
    files = ["day=1/part-0", "day=1/.part-0", "_temporary/0/day=1/part-0", ".trash/part-0", "_metadata"]
    folder = folder_of(tmp_path / "lists", {f"{name}.parquet": pairs([name], ["a"]) for name in files})
    for name in ("_SUCCESS", "day=1/.part-0.parquet.crc", "readme.md"):
        (folder / name).write_text("no table")
    assert read_upload("truth", folder).table["user_id"].to_pylist() == ["day=1/part-0"]


def test_files_of_a_folder_have_the_columns_and_types_of_all(tmp_path: Path) -> None:
    """The first file has no rows, as pandas writes it, and the second has no column of ratings."""
    files = {
        "day=0/a.parquet": pairs(pa.nulls(0), pa.nulls(0)),
        "day=1/a.parquet": pairs([1], ["a"]),
        "day=2/a.parquet": pairs([2**40], pa.array(["b"]).dictionary_encode(), rating=[2.5]),
    }
    folder = folder_of(tmp_path / "lists", files)
    with pytest.raises(UploadError, match="column 'rating', row 1: '' is not a relevance"):
        read_upload("truth", folder)
    (folder / "day=1" / "a.parquet").unlink()
    table = read_upload("truth", folder).table
    assert table.to_pylist() == [{"user_id": 2**40, "item_id": "b", "relevance": 2.5}]


def test_the_widest_type_of_the_files_of_a_folder_holds(tmp_path: Path) -> None:
    files = {
        f"day={day}/a.parquet": pairs(pa.array([user], kind), ["a"])
        for day, user, kind in ((1, 1, pa.int16()), (2, 2**40, pa.int64()))
    }
    folder = folder_of(tmp_path / "lists", files)
    assert read_upload("truth", folder).table["user_id"].to_pylist() == [1, 2**40]


@pytest.mark.parametrize("numbers_first", [True, False])
def test_texts_and_numbers_in_a_folder_are_refused(numbers_first: bool, tmp_path: Path) -> None:
    """The user 007 of one file would be the user 7 of another."""
    users: list[list[Any]] = [[7, 8], ["007", "08"]]
    first, last = users if numbers_first else users[::-1]
    files = {"day=1/a.parquet": pairs(first, ["a", "b"]), "day=2/a.parquet": pairs(last, ["a", "b"])}
    with pytest.raises(UploadError, match=r"column 'user_id' has numbers in 'day=./a\.parquet', and texts"):
        read_upload("truth", folder_of(tmp_path / "lists", files))


def test_the_column_of_a_folder_comes_before_that_of_its_files(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "lists", {"user_id=007/a.parquet": pairs([7], ["a"])})
    assert read_upload("truth", folder).table["user_id"].to_pylist() == ["007"]


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ("_delta_log/00000000000000000000.json", "is a table of Delta Lake. Write delta: before its path"),
        ("metadata/00001-x.metadata.json", "is a table of Iceberg"),
        ("day=2/a.csv", "has 'day=2/a.csv' beside Parquet files"),
    ],
)
def test_a_folder_of_more_than_one_table_is_refused(beside: str, words: str, tmp_path: Path) -> None:
    """A lake keeps files that are no longer part of its table."""
    folder = folder_of(tmp_path / "lists", {"day=1/a.parquet": pairs([7], ["a"])})
    (folder / beside).parent.mkdir()
    (folder / beside).write_text("{}")
    assert words in refusal(folder)
    (folder / beside).unlink()
    assert read_upload("truth", folder).table.num_rows == 1


def test_a_column_that_a_file_has_twice_is_refused(tmp_path: Path) -> None:
    twice = pa.table([pa.array([7]), pa.array([1]), pa.array([2])], names=["user_id", "item_id", "item_id"])
    assert "several columns called 'item_id'" in refusal(folder_of(tmp_path, {"day=1/a.parquet": twice}))


def test_a_delta_table_is_scored_like_a_file(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    write_deltalake(str(tmp_path / "lists"), LISTS)
    assert mrr(f"delta:{tmp_path}/lists") == pytest.approx(MRR, abs=1e-12)


def test_the_folder_of_a_delta_table_is_no_table(tmp_path: Path) -> None:
    """It has the rows of both versions, and the names of its files are those of parts."""
    from deltalake import write_deltalake

    for _ in range(2):
        write_deltalake(str(tmp_path / "lists"), LISTS, mode="overwrite")
    assert f"Write delta:{tmp_path}/lists to read its newest version" in refusal(tmp_path / "lists")
    assert read_upload("truth", f"delta:{tmp_path}/lists").table.num_rows == LISTS.num_rows


def test_an_iceberg_table_is_scored_like_a_file(tmp_path: Path) -> None:
    """In a process of its own, because PyIceberg reads its configuration when it is imported."""
    from pyiceberg.catalog import load_catalog

    settings = {"uri": f"sqlite:///{tmp_path}/catalogue.db", "warehouse": f"file://{tmp_path}"}
    with load_catalog("shop", **settings) as catalogue:
        catalogue.create_namespace("films")
        catalogue.create_table("films.lists", schema=LISTS.schema).append(LISTS)
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))

    names = {f"PYICEBERG_CATALOG__SHOP__{name.upper()}": value for name, value in settings.items()}

    def evaluated(table: str) -> subprocess.CompletedProcess[str]:
        line = ["evaluate", "--run", f"als=iceberg:shop.{table}", "--truth", "truth.json"]
        return subprocess.run(
            [sys.executable, "-m", "recdash", *line, "--metrics", "mrr@2", "--format", "csv"],
            cwd=tmp_path, env=os.environ | names, check=False, capture_output=True, text=True,
        )  # fmt: skip

    (row,) = csv.DictReader(evaluated("films.lists").stdout.splitlines())
    assert float(row["value"]) == pytest.approx(MRR, abs=1e-12)
    missing = evaluated("books.lists")
    assert (missing.returncode, "Traceback" in missing.stderr) == (2, False)
    assert "iceberg:shop.books.lists: cannot be read" in missing.stderr


# ── the command line ─────────────────────────────────────────────────────────────────────────


def test_the_command_line_reads_addresses(run: Recdash, shop: Path) -> None:
    lists = sql(f"sqlite:///{shop}", "SELECT * FROM lists WHERE score > 0")
    for given, name in ((lists, "lists"), (f"als={lists}", "als")):
        printed = run(
            "evaluate", "--truth", "truth.json", "--run", given, "--metrics", "mrr@2", "--format", "csv"
        )
        assert printed.exit_code == 0, printed.stderr
        (row,) = csv.DictReader(printed.stdout.splitlines())
        assert row["run"] == name
        assert float(row["value"]) == pytest.approx(MRR, abs=1e-12)
