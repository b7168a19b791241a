"""Logs of A/B tests at the door: exposures, events, served lists, bandit feedback, and their times."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recdash.domain.inputs import Upload
from recdash.domain.kinds import TableKind
from recdash.errors import UploadError
from recdash.ingest import preview, read_stream, read_upload
from recdash.online.templates import templates

KINDS: tuple[TableKind, ...] = ("sessions", "exposures", "events", "served", "aggregates", "bandit")


def refused(kind: Any, text: str, **how: Any) -> str:
    with pytest.raises(UploadError) as error:
        read_upload(kind, text.encode(), **how)
    return str(error.value)


def read(kind: Any, text: str, **how: Any) -> Upload:
    return read_upload(kind, text.encode(), **how)


def notices(upload: Upload) -> str:
    return "\n".join(map(str, upload.notices))


DECIMAL_COMMAS = "visitor;group;orders;revenue\nu1;a;0;0,0\nu2;b;1;22,43\nu3;b;2;1,5\nu4;a;0;\n"


def test_decimal_commas_of_a_metric_are_read_as_those_of_a_score() -> None:
    upload = read("sessions", DECIMAL_COMMAS)
    assert upload.table["revenue"].to_pylist() == [0.0, 22.43, 1.5, None]
    assert upload.table["orders"].to_pylist() == [0, 1, 2, 0]
    assert "revenue" not in notices(upload)
    per_session = "user_id;session_id;variant;revenue;place\nu1;1;a;12,5;x, y\nu2;2;b;3;z\n"
    table = read("sessions", per_session).table
    assert table["revenue"].to_pylist() == [12.5, 3.0]
    assert table["place"].to_pylist() == ["x, y", "z"]
    users = read("users", "user_id;age;codes\nu1;30,5;1,2,3\nu2;41;4,5\n").table
    assert users["age"].to_pylist() == [30.5, 41.0]
    assert users["codes"].to_pylist() == ["1,2,3", "4,5"]


def test_a_file_with_decimal_commas_and_thousands_in_a_metric_reads_neither_wrongly() -> None:
    upload = read("sessions", "user_id;variant;other;revenue\nu1;a;0,5;1,200\nu2;b;0,7;900\nu3;b;1;800\n")
    assert upload.table["revenue"].to_pylist() == ["1,200", "900", "800"]
    assert "column 'revenue'" in notices(upload)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize("kind", KINDS)
def test_the_templates_pass_without_a_word(kind: TableKind) -> None:
    upload = read(kind, templates()[kind])
    assert upload.notices == ()
    assert upload.table.num_rows == templates()[kind].count("\n") - 1


@pytest.mark.parametrize("kind", ["events", "served"])
def test_events_and_served_lists_can_be_taken_as_they_pass(kind: Any) -> None:
    passing = read_stream(kind, templates()[kind].encode())
    assert pa.Table.from_batches(list(passing.batches())).num_rows == templates()[kind].count("\n") - 1


def test_columns_of_a_log_can_be_named_by_hand() -> None:
    text = "wer,sitzung,wann,was,film\nu,s,2026-11-02T09:00:00Z,click,f\n"
    mapping = {"unit_id": "wer", "session_id": "sitzung", "ts": "wann", "event": "was", "item_id": "film"}
    assert preview("events", text.encode()).problems[0].code == "missing-column"
    assert preview("events", text.encode(), mapping=mapping).problems == ()
    assert read("events", text, mapping=mapping).table["item_id"].to_pylist() == ["f"]


# ── events ───────────────────────────────────────────────────────────────────────────────────

EVENTS = "unit_id,session_id,ts,event,item_id\n"


def test_events_are_known_by_their_usual_names_and_others_are_kept() -> None:
    names = ["View", "imp", "CLICK", "played", "ping", "Thumbs-Up", "watch"]
    upload = read("events", EVENTS + "".join(f"u,s,1,{name},f\n" for name in names))
    kept = ["impression", "impression", "click", "watch", "heartbeat", "thumbs-up", "watch"]
    assert upload.table["event"].to_pylist() == kept
    assert "column 'event', 'View': read as impression in 1 row" in notices(upload)
    assert "CLICK" not in notices(upload)


def test_an_event_needs_a_unit_a_name_and_a_time_but_neither_session_nor_item() -> None:
    rows = ",s,1,click,f\nu,s,1,,f\nu,,1,click,f\nu,s,1,search,\nu,s,1,click,f\n"
    upload = read("events", EVENTS + rows)
    assert upload.table["session_id"].to_pylist() == [None, "s", "s"]
    assert upload.table["item_id"].to_pylist() == ["f", None, "f"]
    for said in ("no unit id in 1 row", "no event in 1 row", "no session in 1 row", "no item in 1 row"):
        assert said in notices(upload)
    message = refused("events", f"{EVENTS}u,s,1,click,f\nu,s,,click,f\n")
    assert "column 'ts', line 3: '' is not a time" in message


def test_watch_times_are_never_negative_and_may_be_missing() -> None:
    head = "unit_id,session_id,ts,event,item_id,watch_s\n"
    assert read("events", f"{head}u,s,1,watch,f,\nu,s,1,watch,f,9\n").table["watch_s"].to_pylist() == [
        None,
        9,
    ]
    assert "column 'watch_s', line 2: '-3' is below 0" in refused("events", f"{head}u,s,1,watch,f,-3\n")
    assert "column 'watch_s', line 2: 'inf'" in refused("events", f"{head}u,s,1,watch,f,inf\n")


def test_positions_count_from_one() -> None:
    head = "unit_id,session_id,ts,event,item_id,position\n"
    assert read("events", f"{head}u,s,1,click,f,2\nu,s,1,watch,f,\n").table["position"].to_pylist() == [
        2,
        None,
    ]
    assert "If yours count from 0" in refused("events", f"{head}u,s,1,click,f,0\n")


# ── exposures, sessions ──────────────────────────────────────────────────────────────────────

EXPOSURES = "experiment_id,unit_id,variant,ts,country,age\n"


def test_exposures_of_several_experiments_need_a_choice() -> None:
    text = f"{EXPOSURES}spring,u,A,1,SE,30\nautumn,u,B,2,SE,30\nautumn,v,A,2,PT,40\n"
    assert "2 experiments: autumn, spring. Upload the exposures of one" in refused("exposures", text)
    assert read("exposures", text, experiment="autumn").table["unit_id"].to_pylist() == ["u", "v"]
    assert "no experiment is called 'winter'; found: autumn, spring" in refused(
        "exposures", text, experiment="winter"
    )


def test_exposures_keep_text_as_segments_and_say_that_numbers_are_left_out() -> None:
    upload = read("exposures", f"{EXPOSURES}spring,u,A,1,SE,30\nspring,v,B,2, ,40\n")
    assert upload.table["country"].to_pylist() == ["SE", None]
    assert "age" not in upload.table.column_names
    assert "column 'age': ignored: numbers cannot define segments" in notices(upload)


SESSIONS = "unit_id,session_id,start_ts,clicks,watch_s"


def test_further_columns_of_sessions_are_quantities_or_segments() -> None:
    upload = read("sessions", f"{SESSIONS},likes,plan,zip\nu,s,1,0,0,2,free,01\nv,t,1,0,0,,paid,02\n")
    assert upload.table["likes"].to_pylist() == [2, None]
    assert upload.table["plan"].to_pylist() == ["free", "paid"]
    assert upload.table["zip"].to_pylist() == ["01", "02"]


@pytest.mark.parametrize("name", ["sessions", "engaged_sessions", "watch_min", "before_clicks"])
def test_a_further_column_cannot_pass_for_what_is_counted_here(name: str) -> None:
    upload = read("sessions", f"{SESSIONS},{name}\nu,s,1,0,0,500\n")
    assert name not in upload.table.column_names
    assert f"column '{name}': ignored: recdash computes a total of this name" in notices(upload)


def test_in_a_table_of_users_sessions_are_a_column_like_any_other() -> None:
    """One row per user has no sessions of which recdash could compute totals."""
    upload = read("sessions", "unit_id,sessions,pre_sessions,before_orders\nu,4,1,2\nv,9,3,5\n")
    assert upload.table["sessions_per_user"].to_pylist() == [4, 9]
    assert upload.table["pre_sessions_per_user"].to_pylist() == [1, 3]
    assert "computes a total" not in notices(upload)
    assert "'before_orders': ignored: names with before_ are reserved" in notices(upload)


@pytest.mark.parametrize("name", ["clicks", "watch_s", "videos"])
@pytest.mark.parametrize(
    ("written", "said"),
    [("inf", "'inf'"), ("-inf", "'-inf'"), ("1e300", "'1e300' is more than"), ("-2", "'-2' is below 0")],
)
def test_amounts_of_sessions_are_no_wonders(name: str, written: str, said: str) -> None:
    cells = {"clicks": "0", "watch_s": "0", "videos": "0", name: written}
    message = refused("sessions", f"{SESSIONS},videos\nu,s,1,0,0,0\nv,t,1,{','.join(cells.values())}\n")
    assert f"column '{name}', line 3: {said}" in message
    assert message.count("column '") == 1


def test_seconds_of_events_are_no_wonders_either() -> None:
    head = "unit_id,session_id,ts,event,item_id,watch_s\n"
    message = refused("events", f"{head}u,s,1,watch,f,1e300\n")
    assert "column 'watch_s', line 2: '1e300' is more than 10¹²" in message


@pytest.mark.parametrize("written", ["inf", "-inf", "1e300", "-2e12"])
def test_further_numbers_that_cannot_be_added_up_are_refused(written: str) -> None:
    rows = f"u,s,1,0,0,2\nv,t,1,0,0,{written}\nw,r,1,0,0,-3\n"
    message = refused("sessions", f"{SESSIONS},net\n{rows}")
    assert f"column 'net': '{float(written):g}' is not an amount that can be added up, in 1 row" in message


def test_a_further_number_that_is_nan_is_nothing() -> None:
    table = pa.table(
        {"unit_id": ["u", "v"], "session_id": ["s", "t"], "start_ts": [1, 1], "clicks": [0, 0],
         "watch_s": [0, 0], "net": [float("nan"), 2.5]}
    )  # fmt: skip
    assert read_upload("sessions", table).table["net"].to_pylist() == [None, 2.5]


def test_codes_and_moments_are_no_amounts_to_add_up() -> None:
    upload = read("sessions", f"{SESSIONS},made\nu,s,1,0,0,1793610000000\nv,t,1,0,0,1793610000001\n")
    assert "made" not in upload.table.column_names
    assert "column 'made': ignored: most of its numbers exceed 10¹²" in notices(upload)


def test_text_that_differs_from_row_to_row_is_no_segment() -> None:
    rows = "".join(f"u{i},s{i},1,0,0,browser {i}\n" for i in range(201))
    upload = read("sessions", f"{SESSIONS},agent\n{rows}")
    assert "column 'agent': ignored: 201 distinct texts" in notices(upload)
    assert "agent" not in upload.table.column_names


def test_sessions_do_without_variants_but_not_with_some() -> None:
    assert "variant" not in read("sessions", f"{SESSIONS}\nu,s,1,0,0\n").table.column_names
    upload = read("sessions", f"{SESSIONS},variant\nu,s,1,0,0,A\nv,t,1,0,0,\n")
    assert upload.table["unit_id"].to_pylist() == ["u"]
    assert "no variant in 1 row. These rows are ignored" in notices(upload)


@pytest.mark.parametrize("name", ["A\x1b[31m", "A\x07B", '"A\nB"', "A\u2028B", "A\x85B", "A" * 201])
def test_names_that_would_tear_a_page_are_refused(name: str) -> None:
    tables = {
        "sessions": (f"{SESSIONS},variant\nu,s,1,0,0,B\n", f"v,t,1,0,0,{name}\n"),
        "exposures": ("unit_id,ts,variant\nu,1,B\n", f"v,1,{name}\n"),
        "served": ("request_id,unit_id,ts,rank,item_id,variant\nr,u,1,1,f,B\n", f"r,v,1,1,f,{name}\n"),
        "aggregates": ("metric,n,mean,variance,variant\nm,9,1,1,B\n", f"m,9,1,1,{name}\n"),
    }
    for kind, (good, bad) in tables.items():
        message = refused(kind, good + bad)
        assert "column 'variant', line 3" in message
        assert not {"\x1b", "\x07", "\x85", "\u2028"} & set(message)
        assert "is not a valid name. Names have no line breaks or other control characters" in message
        assert read(kind, good + bad.replace(name, "Ünïcode – 200" + "x" * 187)).table.num_rows == 2
    metrics = "variant,n,mean,variance,metric\n"
    assert "column 'metric', line 2" in refused("aggregates", f"{metrics}A,9,1,1,{name}\n")


# ── served lists and bandit feedback ─────────────────────────────────────────────────────────

SERVED = "request_id,unit_id,ts,variant,rank,item_id,propensity\n"
BANDIT = "item_id,position,click,propensity_score,hour\n"


def test_served_lists_have_ranks_and_probabilities() -> None:
    assert read("served", f"{SERVED}r,u,1,A,1,f,\nr,u,1,A,2,g,1\n").table["propensity"].to_pylist() == [
        None,
        1,
    ]
    assert "column 'rank', line 2: '0' is not a rank" in refused("served", f"{SERVED}r,u,1,A,0,f,1\n")
    assert "'1.5' is not a propensity" in refused("served", f"{SERVED}r,u,1,A,1,f,1.5\n")


@pytest.mark.parametrize("propensity", ["0", "-0.1", "1.01", ""])
def test_bandit_feedback_needs_a_probability(propensity: str) -> None:
    message = refused("bandit", f"{BANDIT}f,1,0,{propensity},9\n")
    assert f"column 'propensity_score', line 2: '{propensity}' is not a propensity" in message


@pytest.mark.parametrize("click", ["2", "0.5", "maybe", ""])
def test_a_click_is_none_or_one(click: str) -> None:
    assert f"column 'click', line 2: '{click}'" in refused("bandit", f"{BANDIT}f,1,{click},0.5,9\n")


def test_bandit_feedback_keeps_what_was_known_of_the_moment() -> None:
    table = read("bandit", f"{BANDIT}f,1,yes,0.5,9\ng,2,0,1,10\n").table
    assert table["click"].to_pylist() == [1, 0]
    assert table["hour"].to_pylist() == [9, 10]


def test_the_open_bandit_logs_pass(shared_data: Path) -> None:
    table = read_upload("bandit", shared_data / "openbandit" / "bts_women.csv.gz").table
    assert table.column_names == ["item_id", "position", "click", "propensity_score", "timestamp"]
    assert table["timestamp"][0].as_py() == at("2019-11-24 00:01:29.788335")


# ── times ────────────────────────────────────────────────────────────────────────────────────

MET = "unit_id,variant,ts\n"
NINE = at("2026-11-02 09:00")


@pytest.mark.parametrize(
    "written",
    [
        "2026-11-02T09:00:00Z",
        "2026-11-02 09:00:00.000000000 UTC",
        "2026-11-02T10:00:00+01:00",
        "2026-11-02 10:00:00 +0100",
        "2026-11-02 09:00",
        "1793610000",
        "1793610000000",
        "1793610000000000",
    ],
)
def test_a_moment_is_the_same_however_it_is_written(written: str) -> None:
    assert read("exposures", f"{MET}u,A,{written}\n").table["ts"].to_pylist() == [NINE]


def test_times_of_a_parquet_file_are_moments_too() -> None:
    sink, local = io.BytesIO(), pa.array([NINE.replace(tzinfo=None)], pa.timestamp("ns"))
    table = pa.table({"unit_id": [1], "variant": ["A"], "ts": local})
    pq.write_table(table, sink)
    upload = read_upload("exposures", sink.getvalue(), zone="Europe/Berlin")
    assert upload.table["ts"].to_pylist() == [at("2026-11-02 08:00")]


def test_times_without_a_zone_are_taken_as_utc_and_that_is_said_once() -> None:
    upload = read("exposures", f"{MET}u,A,2026-11-02 09:00:00\nv,B,2026-11-03T09:00:00Z\nw,B,2026-11-04\n")
    assert upload.table["ts"].to_pylist() == [NINE, at("2026-11-03 09:00"), at("2026-11-04")]
    (notice,) = upload.notices
    assert notice.code == "naive-times"
    assert "times without a zone in 2 rows were taken as UTC. If they are local times" in str(notice)


def test_local_times_become_utc_where_their_zone_is_declared() -> None:
    upload = read("exposures", f"{MET}u,A,2026-11-02 10:00:00\nv,B,2026-07-02 11:00\n", zone="Europe/Berlin")
    assert upload.table["ts"].to_pylist() == [NINE, at("2026-07-02 09:00")]
    assert upload.notices == ()


def test_hours_that_a_change_of_clocks_repeats_or_skips_are_counted() -> None:
    text = f"{MET}u,A,2024-10-27 02:30:00\nv,B,2024-03-31 02:30:00\n"
    upload = read("exposures", text, zone="Europe/Berlin")
    assert upload.table["ts"].to_pylist() == [at("2024-10-27 00:30"), at("2024-03-31 01:00")]
    assert "occurred twice in Europe/Berlin, when clocks went back, in 1 row" in notices(upload)
    assert "never occurred in Europe/Berlin, when clocks went forward, in 1 row" in notices(upload)


def test_a_zone_that_does_not_exist_is_refused_with_the_nearest() -> None:
    message = refused("exposures", templates()["exposures"], zone="Europe/Berlinn")
    assert "no time zone is called 'Europe/Berlinn'. Did you mean 'Europe/Berlin'?" in message
    shown = preview("exposures", templates()["exposures"].encode(), zone="Mars")
    assert shown.problems[0].code == "unknown-zone"


@pytest.mark.parametrize(
    "written", ["yesterday", "2026-02-30", "2026-13-01T00:00:00Z", "2026-11-02T25:00:00"]
)
def test_what_is_no_time_is_refused_with_its_line(written: str) -> None:
    message = refused("exposures", f"{MET}u,A,2026-11-02T09:00:00Z\nv,B,{written}\n")
    assert f"column 'ts', line 3: '{written}' is not a time" in message
    assert "more like it" not in message


@pytest.mark.parametrize(
    "written",
    ["9999-12-31T00:00:00Z", "0001-01-01 00:00", "2255-06-06", "1969-12-31T23:59:59Z"],
)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_a_time_of_another_century_is_refused_with_its_line(written: str, zone: str | None) -> None:
    message = refused("exposures", f"{MET}u,A,2026-11-02T09:00:00Z\nv,B,{written}\n", zone=zone)
    assert f"column 'ts', line 3: '{written}' is not between the years 1970 and 2100" in message
    assert "If 9999-12-31 or 0001-01-01 means no time, leave such rows out" in message


@pytest.mark.parametrize("written", ["9.9e16", "-5", "7e10"])
def test_numbers_that_say_another_century_are_no_times(written: str) -> None:
    message = refused("exposures", f"{MET}u,A,1793610000\nv,B,{written}\n")
    assert f"column 'ts', line 3: '{written}' is not between" in message


def test_an_end_of_a_session_that_is_no_end_may_be_left_empty() -> None:
    head = f"{SESSIONS},end_ts\n"
    message = refused("sessions", f"{head}u,s,2026-11-02T09:00:00Z,0,0,9999-12-31\n")
    assert "column 'end_ts', line 2: '9999-12-31' is not between" in message
    assert "leave such cells empty" in message
    table = read("sessions", f"{head}u,s,2026-11-02T09:00:00Z,0,0,\nv,t,,0,0,1970-01-02\n").table
    assert table["end_ts"].to_pylist() == [None, at("1970-01-02")]


@pytest.mark.parametrize("unit", ["s", "us"])
def test_far_times_of_a_parquet_file_are_refused_in_words(unit: str) -> None:
    far = 300_000_000_000 * {"s": 1, "us": 1_000_000}[unit]  # in the year 11476
    table = pa.table({"unit_id": [1], "variant": ["A"], "ts": pa.array([far], pa.timestamp(unit, "UTC"))})
    with pytest.raises(UploadError, match="is not between the years 1970 and 2100"):
        read_upload("exposures", table)
