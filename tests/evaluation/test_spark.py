"""Runs that Spark matches have the numbers of the local engine, or are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from spark_session import LOCAL, PANDAS_WARNING, WITHOUT_SPARK, spark_engine

import recdash
from recdash.errors import InputError
from recdash.evaluation.spark_rows import SparkRows

pytest.importorskip("pyspark", reason=WITHOUT_SPARK)
pytestmark = pytest.mark.filterwarnings(PANDAS_WARNING)

N_USERS, LENGTH = 300, 12


@pytest.fixture(scope="module")
def spark() -> Iterator[recdash.Spark]:
    with spark_engine("local[2]", LOCAL | {"spark.driver.maxResultSize": "16m"}) as engine:
        yield engine


@pytest.fixture(scope="module")
def lists() -> pa.Table:
    """Lists with ties, repeated items and text ids; the last users and items are unknown."""
    random = np.random.default_rng(11)
    user = np.repeat(np.arange(N_USERS), LENGTH)
    return pa.table(
        {
            "user_id": [f"u{number:04}" for number in user],
            "item_id": [f"i{number}" for number in random.integers(0, 60, len(user))],
            "score": -(np.tile(np.arange(LENGTH), N_USERS) // 3).astype(float),
            "rank": np.tile(np.arange(1, LENGTH + 1), N_USERS),
        }
    )


@pytest.fixture(scope="module")
def truth() -> pd.DataFrame:
    random = np.random.default_rng(12)
    rows = pd.DataFrame(
        {
            "user_id": [f"u{number:04}" for number in random.integers(0, N_USERS - 20, 2000)],
            "item_id": [f"i{number}" for number in random.integers(0, 50, 2000)],
            "relevance": random.integers(0, 4, 2000),
        }
    )
    return rows.drop_duplicates(["user_id", "item_id"])


def rows(source: Any, truth: pd.DataFrame, **how: Any) -> dict[tuple[str, int | None], list[float]]:
    evaluation = recdash.evaluate({"als": source}, truth, train=truth, depth=10, **how)
    assert not [notice for notice in evaluation.notices() if "partition" in str(notice)]
    return {(row["metric"], row["k"]): [row["value"], row["std_error"]] for row in evaluation.rows()}


def assert_equal(spark: Any, local: Any) -> None:
    assert spark.keys() == local.keys()
    assert len(local) > 100  # every metric at every k
    for metric, values in local.items():
        expected = [np.nan if value is None else value for value in values]
        got = [np.nan if value is None else value for value in spark[metric]]
        assert got == pytest.approx(expected, abs=1e-9, nan_ok=True), metric


@pytest.mark.parametrize("form", ["parquet", "csv", "parts"])
@pytest.mark.parametrize("order", ["rank", "score"])
def test_every_metric_is_that_of_the_local_engine(
    form: str, order: str, lists: pa.Table, truth: pd.DataFrame, spark: recdash.Spark, tmp_path: Path
) -> None:
    lists = lists.drop_columns(["score" if order == "rank" else "rank"])
    file = tmp_path / f"als.{form}"
    if form == "csv":
        pa_csv.write_csv(lists, file)
    elif form == "parquet":
        pq.write_table(lists, file)
    else:
        file.mkdir()
        for number in range(12):  # part-2 comes before part-10
            part = lists.slice(number * N_USERS, N_USERS)
            pq.write_table(part, file / f"part-{number}.parquet")
    assert_equal(rows(file, truth, engine=spark), rows(file, truth))


def test_ids_in_the_names_of_folders_keep_their_zeros(spark: recdash.Spark, tmp_path: Path) -> None:
    """The users 007 and 7 have a list each."""
    for user, items in (("007", ["a", "b"]), ("7", ["c", "a"])):
        folder = tmp_path / "lists" / f"user_id={user}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"item_id": items, "score": [0.9, 0.8]}), folder / "part-0.parquet")
    truth = pd.DataFrame({"user_id": ["007", "7"], "item_id": ["b", "c"]})
    lists = tmp_path / "lists"
    (found,), (expected,) = (
        recdash.evaluate({"als": lists}, truth, metrics=["mrr@2"], engine=engine).table()["value"]
        for engine in (spark, None)
    )
    assert found == expected == 0.75


def test_columns_that_some_files_lack_are_those_of_the_local_engine(
    spark: recdash.Spark, tmp_path: Path
) -> None:
    """The first file has no scores, and Spark takes the columns of one file."""
    folder = tmp_path / "lists"
    for day, table in enumerate(
        (
            pa.table({"user_id": ["u"], "item_id": ["a"]}),
            pa.table({"user_id": ["v", "v"], "item_id": ["a", "b"], "score": [0.1, 0.2]}),
        )
    ):
        (folder / f"day={day}").mkdir(parents=True)
        pq.write_table(table, folder / f"day={day}" / "part-0.parquet")
    truth = pd.DataFrame({"user_id": ["u", "v"], "item_id": ["a", "a"]})
    for engine in (spark, None):
        (value,) = recdash.evaluate({"als": folder}, truth, metrics=["mrr@2"], engine=engine).table()["value"]
        assert value == 0.75


def test_an_error_of_java_is_told_without_secrets(truth: pd.DataFrame, spark: recdash.Spark) -> None:
    with pytest.raises(InputError) as refused:
        rows("s3://key:hunter2@films/als.parquet?token=hunter2", truth, engine=spark)
    assert str(refused.value).startswith(
        "'s3://films/als.parquet': Spark says: No FileSystem for scheme \"s3\""
    )
    assert "hunter2" not in str(refused.value)


def test_the_folder_of_a_delta_table_is_refused(
    lists: pa.Table, truth: pd.DataFrame, spark: recdash.Spark, tmp_path: Path
) -> None:
    pq.write_table(lists, tmp_path / "part-0.parquet")
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(InputError, match="is a table of Delta Lake"):
        rows(tmp_path, truth, engine=spark)


def test_a_data_frame_of_spark_is_read_where_it_is(
    lists: pa.Table, truth: pd.DataFrame, spark: recdash.Spark
) -> None:
    frame = spark.session().createDataFrame(lists)
    assert_equal(rows(frame, truth), rows(lists, truth))


def test_a_table_of_sparks_catalogue_is_read_by_its_name(
    lists: pa.Table, truth: pd.DataFrame, spark: recdash.Spark
) -> None:
    spark.session().createDataFrame(lists).createOrReplaceTempView("als_of_tonight")
    assert_equal(rows("table:als_of_tonight", truth, engine=spark), rows(lists, truth))


@pytest.mark.parametrize("name", ["als of tonight", "nosuch", "no.such.table"])
def test_a_table_that_is_not_in_sparks_catalogue_is_refused(
    name: str, truth: pd.DataFrame, spark: recdash.Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that an admin named for pages, whose address Spark does not get."""
    sources = tmp_path / "sources.toml"
    sources.write_text('"als of tonight" = "s3://recommendations/als.parquet"\n')
    monkeypatch.setenv("RECDASH_SOURCES", str(sources))
    with pytest.raises(InputError) as refused:
        rows(f"table:{name}", truth, engine=spark)
    assert str(refused.value) == (
        f"'table:{name}': Spark's catalogue has no table of this name. Write table:DATABASE.NAME. Names of "
        "RECDASH_SOURCES are for pages and recdash push."
    )


def test_ties_of_a_table_without_an_order_of_rows_are_refused(
    lists: pa.Table, truth: pd.DataFrame, spark: recdash.Spark
) -> None:
    lists = lists.drop_columns(["rank"])
    frame = spark.session().createDataFrame(lists)
    with pytest.raises(InputError, match="tied scores in the lists of 300 users"):
        rows(frame, truth)
    by_item = {"ties": "item_desc"}
    assert_equal(rows(frame, truth, **by_item), rows(lists, truth, **by_item))


def test_an_invalid_rank_far_down_is_refused_as_in_one_process(
    lists: pa.Table, truth: pd.DataFrame, spark: recdash.Spark
) -> None:
    ranks = lists["rank"].to_numpy().copy()
    ranks[3_000] = -4
    lists = lists.set_column(3, "rank", pa.array(ranks))
    frame = spark.session().createDataFrame(lists)
    codes = []
    for source in (lists, frame):
        with pytest.raises(InputError) as refused:
            rows(source, truth)
        codes.append([problem.code for problem in refused.value.problems])
    assert codes[0] == codes[1]


def test_the_first_rows_come_without_the_rest_of_their_partition(spark: recdash.Spark) -> None:
    """The rest, 32 MB, is more than the driver takes here."""
    frame = spark.session().range(4_000_000, numPartitions=1).withColumnRenamed("id", "user_id")
    batches = SparkRows(frame, None).batches(["user_id"], 1_000)
    assert next(batches)["user_id"].to_pylist() == list(range(1_000))
    with pytest.raises(Exception, match="maxResultSize"):
        list(batches)


def test_all_rows_are_read_once(spark: recdash.Spark) -> None:
    session = spark.session()
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    frame = session.range(1_000, numPartitions=3).withColumnRenamed("id", "user_id")
    batches = list(SparkRows(frame, None).batches(["user_id"], 70))
    session.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert [user for batch in batches for user in batch["user_id"].to_pylist()] == list(range(1_000))


def test_rows_without_ranks_or_scores_are_refused(
    lists: pa.Table, truth: pd.DataFrame, spark: recdash.Spark
) -> None:
    frame = spark.session().createDataFrame(lists.select(["user_id", "item_id"]))
    with pytest.raises(InputError, match="Spark does not keep the order of rows"):
        rows(frame, truth)


def test_a_run_is_stored_with_its_lists(
    lists: pa.Table, truth: pd.DataFrame, spark: recdash.Spark, tmp_path: Path
) -> None:
    workspace = recdash.open(f"sqlite:///{tmp_path}/recdash.db", str(tmp_path / "artifacts"))
    frame = spark.session().createDataFrame(lists)
    stored = []
    for name, source in (("elsewhere", frame), ("here", lists)):
        experiment = workspace.experiments.create(name, truth)
        (added,) = workspace.runs.add(experiment.id, source, name="als")
        stored.append(added.run)
        assert sum(batch.num_rows for batch in workspace.runs._data.lists_of(added.run).batches()) == 3_600
    assert stored[0].ledger == stored[1].ledger
