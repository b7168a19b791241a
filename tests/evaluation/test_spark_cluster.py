"""A cluster of Spark has the numbers of the local engine, also if an executor is killed in between.

``RECDASH_SPARK_USERS=162000`` takes the whole workload M.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ab_test_answers as answers
import pyarrow.parquet as pq
import pytest
from spark_session import PANDAS_WARNING, UNMERGED, WITHOUT_SPARK, spark_engine

import recdash
from benchmarks.workloads import Workload, make, workload
from recdash.demo.ab_tests import simulate
from tests.support.spark_cluster import SparkCluster, running_cluster, wait_for

pytest.importorskip("pyspark", reason=WITHOUT_SPARK)
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="executors are found in /proc"),
    pytest.mark.filterwarnings(PANDAS_WARNING),
]

USERS = os.environ.get("RECDASH_SPARK_USERS", "20000")
AB_TEST_USERS = 30_000
PARTITIONS = 13
"""A number of tasks that no other stage has."""
SECONDS = 900


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def spark(cluster: SparkCluster) -> Iterator[recdash.Spark]:
    settings = UNMERGED | {"spark.sql.shuffle.partitions": str(PARTITIONS)}
    with spark_engine(cluster.master, settings) as engine:
        yield engine


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    folder = tmp_path_factory.mktemp("workload")
    make(folder, USERS, ("integers",))
    return workload(folder, USERS)


@pytest.fixture(scope="module")
def local(files: Workload) -> dict[Any, list[Any]]:
    return values_of(files, None)


def values_of(files: Workload, engine: recdash.Spark | None) -> dict[Any, list[Any]]:
    evaluation = recdash.evaluate({"als": str(files.lists)}, str(files.truth), engine=engine)
    return {(row["metric"], row["k"]): [row["value"], row["std_error"]] for row in evaluation.rows()}


def assert_equal(got: dict[Any, list[Any]], expected: dict[Any, list[Any]]) -> None:
    assert got.keys() == expected.keys()
    assert len(expected) > 1000  # every metric at every k
    for metric, values in expected.items():
        assert got[metric] == pytest.approx(values, abs=1e-9, nan_ok=True), metric


def test_two_workers_have_the_numbers_of_the_local_engine(
    files: Workload, spark: recdash.Spark, cluster: SparkCluster, local: dict[Any, list[Any]]
) -> None:
    assert_equal(values_of(files, spark), local)
    wait_for(lambda: len(cluster.executors()) == 2, cluster.logs[0])


def test_two_workers_count_the_events_of_an_ab_test_like_one_process(
    spark: recdash.Spark, tmp_path: Path
) -> None:
    logs = simulate(AB_TEST_USERS, 5, events=True).logs
    file = tmp_path / "events.parquet"
    pq.write_table(logs.events, file, row_group_size=100_000)
    local = recdash.ab_test(exposures=logs.exposures, events=file)
    assert min(local.users.values()) > AB_TEST_USERS / 3
    answers.assert_equal(recdash.ab_test(exposures=logs.exposures, events=file, engine=spark), local)


def test_an_executor_that_is_killed_while_it_matches_changes_no_number(
    files: Workload, spark: recdash.Spark, cluster: SparkCluster, local: dict[Any, list[Any]]
) -> None:
    tracker = spark.session().sparkContext.statusTracker()
    wait_for(lambda: len(cluster.executors()) == 2, cluster.logs[0])
    with ThreadPoolExecutor(1) as threads:
        evaluation = threads.submit(values_of, files, spark)
        done = wait_until_it_matches(tracker, evaluation)
        killed = cluster.kill_executor()
        assert 1 <= done < PARTITIONS
        assert not evaluation.done()
        got = evaluation.result(SECONDS)
    assert killed not in cluster.executors()
    assert "exitStatus 137" in cluster.log  # 128 + SIGKILL
    assert_equal(got, local)


def wait_until_it_matches(tracker: Any, evaluation: Future[Any]) -> int:
    """Returns how many partitions are matched, when some are and others are not."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and not evaluation.done():
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None and info.numTasks == PARTITIONS and info.numCompletedTasks:
                return int(info.numCompletedTasks)
        time.sleep(0.02)
    raise AssertionError("no partition was seen before all were matched")
