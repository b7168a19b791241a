"""Tables in an object store and in PostgreSQL, of real servers on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest
from conftest import free_port
from postgresql_server import PROGRAMS, running_server
from pyarrow.fs import S3FileSystem
from source_lists import LISTS, MRR, ROWS, by_user, mrr

import recdash
from benchmarks.workloads import FORMS, Form, Workload, make, workload
from recdash.errors import UploadError
from recdash.ingest import read_upload

MOTO = "moto[server,s3]==5.2.5"
SECONDS = 120
M = "162000"
"""Users of the benchmarks' workload M, each with a list of 100 items."""

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where an object store answers; it has an environment of its own, since its versions fit no other."""
    venv = tmp_path_factory.mktemp("moto") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    subprocess.run([str(venv / "bin" / "pip"), "install", "--quiet", MOTO], check=True)
    port = free_port()
    server = subprocess.Popen([str(venv / "bin" / "moto_server"), "-H", "127.0.0.1", "-p", str(port)])
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/moto-api/data.json", timeout=5).close()
            break
        except OSError:
            time.sleep(0.1)
    yield f"127.0.0.1:{port}"
    server.terminate()
    server.wait()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> S3FileSystem:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "reader")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    store = S3FileSystem(
        endpoint_override=endpoint, scheme="http", region="us-east-1", allow_bucket_creation=True
    )
    store.create_dir("films")
    return store


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_object_is_scored_like_a_file(bucket: S3FileSystem, endpoint: str) -> None:
    where = f"?endpoint_override={endpoint}&scheme=http&region=us-east-1"
    pq.write_table(LISTS, "films/runs/als.parquet", filesystem=bucket)
    assert mrr(f"s3://films/runs/als.parquet{where}") == pytest.approx(MRR, abs=1e-12)
    with pytest.raises(UploadError, match=r"s3://films/runs/nosuch\.csv: cannot be read"):
        mrr(f"s3://films/runs/nosuch.csv{where}")


def test_a_partitioned_folder_of_objects_is_one_table(bucket: S3FileSystem, endpoint: str) -> None:
    for user, rows in by_user():
        bucket.create_dir(f"films/parted/user_id={user}")
        pq.write_table(rows, f"films/parted/user_id={user}/part-0.parquet", filesystem=bucket)
    where = f"?endpoint_override={endpoint}&scheme=http&region=us-east-1"
    assert mrr(f"s3://films/parted{where}") == pytest.approx(MRR, abs=1e-12)


def test_a_container_of_azure_without_credentials_is_refused() -> None:
    """In a process of its own, as Azure's library ends it for want of a token."""
    code = "import recdash; recdash.evaluate({'als': 'az://films/'}, {'u': ['a']})"
    names = {name: text for name, text in os.environ.items() if not name.startswith("AZURE_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=names | {"AZURE_STORAGE_ACCOUNT_NAME": "nosuch"}, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, "UploadError: als: az://films/: cannot be read" in done.stderr) == (1, True)


@pytest.mark.skipif(not (PROGRAMS / "initdb").exists(), reason="no PostgreSQL server on this machine")
def test_a_query_of_postgresql_is_scored_like_a_file() -> None:
    with running_server() as server:
        with closing(psycopg.connect(server.url(), autocommit=True)) as connection:
            connection.execute("CREATE TABLE lists (user_id text, item_id text, score numeric)")
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO lists VALUES (%s, %s, %s)", ROWS)
            connection.execute(
                "CREATE TABLE wide AS SELECT 18446744073709551617::numeric AS user_id, 1 AS item_id"
            )
        assert mrr(f"sql:{server.url()} TABLE lists") == pytest.approx(MRR, abs=1e-12)
        ids = read_upload("truth", f"sql:{server.url()} TABLE wide").table["user_id"].to_pylist()
        assert ids == ["18446744073709551617"]


def test_a_million_rows_of_a_query_are_those_of_the_file(tmp_path: Path) -> None:
    """And no more than a batch of them is in memory at a time; DuckDB tells the same sum."""
    import duckdb

    million = "SELECT (range // 10)::VARCHAR AS user_id, hash(range) % 5000 AS item_id, 1.0 - (range % 10) / 10 AS score FROM range(1_000_000)"  # noqa: E501
    truth = "SELECT range::VARCHAR AS user_id, hash(range * 10) % 5000 AS item_id FROM range(100_000)"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({million}) TO '{tmp_path}/lists.parquet'")
        connection.execute(f"COPY ({truth}) TO '{tmp_path}/truth.parquet'")
    of_file, of_query = (
        recdash.evaluate({"als": lists}, f"{tmp_path}/truth.parquet", metrics=["ndcg@10", "mrr@5"]).table()
        for lists in (f"{tmp_path}/lists.parquet", f"sql:duckdb: {million}")
    )
    assert of_file.equals(of_query)
    # Each user's truth is the first item of the list, so that every reciprocal rank is 1.
    assert of_file.set_index("metric").loc["mrr", "value"] == 1.0


# ── 16 million rows ──────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Workload M in every form."""
    made = tmp_path_factory.mktemp("workload")
    make(made, M, FORMS)
    return made


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[Any, list[Any]]:
    """The values of Parquet files with whole numbers as ids."""
    values = values_of(workload(folder, M))
    assert len(values) > 1000  # every metric at every k
    return values


def values_of(files: Workload, lists: str | None = None) -> dict[Any, list[Any]]:
    """Returns {(metric, k): value and standard error} of the lists, or of those in another source."""
    evaluation = recdash.evaluate({"als": lists or str(files.lists)}, str(files.truth))
    return {(row["metric"], row["k"]): [row["value"], row["std_error"]] for row in evaluation.rows()}


def assert_equal(got: dict[Any, list[Any]], expected: dict[Any, list[Any]]) -> None:
    assert got.keys() == expected.keys()
    for metric, values in expected.items():
        assert got[metric] == pytest.approx(values, abs=1e-9, nan_ok=True), metric


@pytest.mark.parametrize("form", [form for form in FORMS if form != "integers"])
def test_16_million_rows_in_another_form_have_the_same_values(
    form: Form, folder: Path, expected: dict[Any, list[Any]]
) -> None:
    assert_equal(values_of(workload(folder, M, form)), expected)


def test_16_million_rows_of_a_query_have_the_same_values(
    folder: Path, expected: dict[Any, list[Any]]
) -> None:
    files = workload(folder, M)
    query = f"sql:duckdb: SELECT user_id, item_id, score, rank FROM '{files.lists}'"  # noqa: S608 our own
    assert_equal(values_of(files, query), expected)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_16_million_rows_of_an_object_have_the_same_values(
    folder: Path, expected: dict[Any, list[Any]], bucket: S3FileSystem, endpoint: str
) -> None:
    files = workload(folder, M)
    with bucket.open_output_stream("films/m.parquet") as to:
        to.write(files.lists.read_bytes())
    where = f"?endpoint_override={endpoint}&scheme=http&region=us-east-1"
    assert_equal(values_of(files, f"s3://films/m.parquet{where}"), expected)


@pytest.mark.skipif(not (PROGRAMS / "initdb").exists(), reason="no PostgreSQL server on this machine")
def test_16_million_rows_of_postgresql_have_the_same_values(
    folder: Path, expected: dict[Any, list[Any]]
) -> None:
    files = workload(folder, M)
    with running_server() as server:
        with closing(psycopg.connect(server.url(), autocommit=True)) as connection:
            connection.execute("CREATE TABLE lists (user_id int, item_id int, score float8, rank int)")
            with (
                workload(folder, M, "csv").lists.open("rb") as file,
                connection.cursor().copy("COPY lists FROM STDIN CSV HEADER") as copy,
            ):
                while block := file.read(1 << 20):
                    copy.write(block)
        assert_equal(values_of(files, f"sql:{server.url()} TABLE lists"), expected)
