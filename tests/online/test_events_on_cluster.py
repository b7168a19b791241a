"""An A/B test whose events Spark counts has every number of the local reading, or is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from ab_test_answers import assert_equal, words_in
from spark_session import LOCAL, PANDAS_WARNING, UNMERGED, WITHOUT_SPARK, spark_engine
from terminal import Recdash, as_json

import recdash
import recdash.online
from recdash.demo.ab_tests import simulate
from recdash.errors import InputError

pytest.importorskip("pyspark", reason=WITHOUT_SPARK)
pytestmark = pytest.mark.filterwarnings(PANDAS_WARNING)

FILES = {"truth.csv": "user_id,item_id\nu1,a\n", "als.csv": "user_id,item_id,rank\nu1,a,1\n"}
LISTS = ("--truth", "truth.csv", "--run", "als=als.csv", "--depth", "1")


@pytest.fixture(scope="module")
def spark() -> Iterator[recdash.Spark]:
    with spark_engine("local[2]", LOCAL | UNMERGED) as engine:
        yield engine


@pytest.fixture(scope="module")
def exposures() -> pa.Table:
    return simulate(400, 5, events=True).logs.exposures


@pytest.fixture(scope="module")
def events() -> pa.Table:
    """Events of which some are repeated, some have amounts, and some are of users who were never exposed."""
    made = simulate(400, 5, events=True).logs.events.to_pandas()
    made = made.astype({"event": str, "source": str, "position": "Int64", "request_id": "Int64"})
    sales = made[made["event"] == "click"].iloc[::5].assign(event="purchase")
    sales["event_id"] += 1_000_000
    sales["value"] = [0.25 * number for number in range(len(sales))]
    strangers = made.iloc[:30].assign(unit_id=10_000_000)
    rows = pd.concat([made, sales, made.iloc[100:140], strangers], ignore_index=True)
    return pa.Table.from_pandas(rows, preserve_index=False)


@pytest.mark.parametrize("form", ["parquet", "csv", "parts"])
def test_every_number_is_that_of_the_local_reading(
    form: str, exposures: pa.Table, events: pa.Table, spark: recdash.Spark, tmp_path: Path
) -> None:
    file = tmp_path / f"events.{form}"
    if form == "csv":
        pa_csv.write_csv(events, file)
    elif form == "parquet":
        pq.write_table(events, file)
    else:
        file.mkdir()
        for number in range(12):  # part-2 comes before part-10
            size = events.num_rows // 12 + 1
            pq.write_table(events.slice(number * size, size), file / f"part-{number}.parquet")
    local = recdash.ab_test(exposures=exposures, events=file)
    assert {"purchase", "duplicate-event", "never-exposed"} <= words_in(local)
    assert_equal(recdash.ab_test(exposures=exposures, events=file, engine=spark), local)


def test_events_of_a_data_frame_are_counted_where_they_are(
    exposures: pa.Table, events: pa.Table, spark: recdash.Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = spark.session().createDataFrame(events)
    monkeypatch.setattr(type(frame), "toArrow", first_rows_only(type(frame).toArrow))
    assert_equal(
        recdash.ab_test(exposures=exposures, events=frame),
        recdash.ab_test(exposures=exposures, events=events),
    )


def first_rows_only(to_arrow: Any) -> Any:
    """Returns the method, which fails for more rows than a preview has."""

    def to_arrow_of_few(frame: Any) -> pa.Table:
        table = to_arrow(frame)
        assert table.num_rows < 1_000
        return table

    return to_arrow_of_few


def test_of_the_events_of_a_table_with_one_id_the_earliest_counts(
    exposures: pa.Table, events: pa.Table, spark: recdash.Spark
) -> None:
    """Sent again an hour later with more seconds, and written before the others."""
    rows = events.to_pandas()
    again = rows[rows["event"] == "watch"].iloc[:40]
    again = again.assign(ts=again["ts"] + pd.Timedelta(hours=1), watch_s=again["watch_s"] + 1_000)
    later_first = pa.Table.from_pandas(pd.concat([again, rows]), preserve_index=False)
    by_time = later_first.sort_by("ts")
    local = recdash.ab_test(exposures=exposures, events=by_time)
    written = recdash.ab_test(exposures=exposures, events=later_first)
    assert written.table()["value"].tolist() != local.table()["value"].tolist()
    frame = spark.session().createDataFrame(later_first)
    assert_equal(recdash.ab_test(exposures=exposures, events=frame), local)


def test_a_test_of_the_command_line_is_counted_on_a_cluster(
    exposures: pa.Table, events: pa.Table, spark: recdash.Spark, run: Recdash, folder: Path
) -> None:
    pq.write_table(exposures, folder / "exposures.parquet")
    pq.write_table(events, folder / "events.parquet")
    spark.session().createDataFrame(events).createOrReplaceTempView("logs_of_events")
    local = as_json(run, "online", "--exposures", "exposures.parquet", "--events", "events.parquet")
    logs = ["--exposures", "exposures.parquet", "--events", "table:logs_of_events"]
    got = as_json(run, "online", *logs, "--engine", "spark", "--experiment", stored(run), "--test", "row")
    assert {row["metric"]: row["lift"] for row in got["results"]} == pytest.approx(
        {row["metric"]: row["lift"] for row in local["results"]}, abs=1e-9
    )


def stored(run: Recdash) -> str:
    """Returns the name of an experiment in which the test is stored."""
    added = run("add", "--experiment", "Films", *LISTS)
    assert added.exit_code == 0, added.stderr
    return "Films"


def test_rules_hold_on_a_cluster(exposures: pa.Table, events: pa.Table, spark: recdash.Spark) -> None:
    rules = recdash.online.OnlineRules(threshold_s=30, item_cap_s=60, bot_clicks=5, winsorise=0.9)
    frame = spark.session().createDataFrame(events)
    tables = {"exposures": exposures, "rules": rules}
    local = recdash.ab_test(events=events, **tables)
    assert {"threshold", "item-cap", "bots"} <= words_in(local)
    assert_equal(recdash.ab_test(events=frame, **tables), local)


def test_an_invalid_event_is_refused_as_in_one_process(
    exposures: pa.Table, events: pa.Table, spark: recdash.Spark
) -> None:
    watched = events["watch_s"].to_numpy().copy()
    watched[5_000] = -4
    events = events.set_column(events.column_names.index("watch_s"), "watch_s", pa.array(watched))
    codes = []
    for source in (events, spark.session().createDataFrame(events)):
        with pytest.raises(InputError) as refused:
            recdash.ab_test(exposures=exposures, events=source)
        codes.append([problem.code for problem in refused.value.problems])
    assert codes[0] == codes[1] == ["negative"]


def test_a_user_who_is_written_in_two_ways_is_refused(spark: recdash.Spark) -> None:
    exposed = b"unit_id,variant,ts\n7,A,1\n8,B,1\n"
    rows = [(written, "s", 2 + place, "click") for place, written in enumerate(["7", "007", "0007", "8"])]
    frame = spark.session().createDataFrame(rows, ["unit_id", "session_id", "ts", "event"])
    with pytest.raises(InputError, match="written in two ways"):
        recdash.ab_test(exposures=exposed, events=frame)


@pytest.mark.parametrize("tables", [{"sessions": "s.csv"}, {"exposures": "e", "events": "e", "served": "s"}])
def test_other_tables_of_a_test_are_refused(tables: dict[str, str]) -> None:
    with pytest.raises(InputError, match="Spark counts exposures and events, without served lists"):
        recdash.ab_test(**tables, engine=recdash.Spark())
