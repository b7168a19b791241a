"""Times are read by one rule in all tables: units, and dates of which day and month could be confused."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from recdash.domain.inputs import Upload
from recdash.errors import UploadError
from recdash.ingest import preview, read_upload

DAY_OF = dt.datetime(2024, 1, 2, tzinfo=dt.UTC)
SECONDS = int(DAY_OF.timestamp())


def truth(*times: object) -> Upload:
    rows = "".join(f"u{row},i{row},{time}\n" for row, time in enumerate(times))
    return read_upload("truth", f"user_id,item_id,timestamp\n{rows}".encode())


def exposures(*times: object) -> Upload:
    rows = "".join(f"u{row},{'ab'[row % 2]},{time}\n" for row, time in enumerate(times))
    return read_upload("exposures", f"unit_id,variant,ts\n{rows}".encode())


def notices(upload: Upload) -> dict[str, Any]:
    return {notice.code: notice for notice in upload.notices}


def test_milliseconds_among_seconds_are_noticed_and_read_as_such() -> None:
    mixed = truth(SECONDS, SECONDS + 1, (SECONDS + 2) * 1000)
    assert mixed.table["timestamp"].to_pylist() == [SECONDS, SECONDS + 1, SECONDS + 2]
    notice = notices(mixed)["mixed-time-units"]
    assert (notice.count, notice.example) == (1, f"'{(SECONDS + 2) * 1000}' (line 4)")
    log = exposures(SECONDS, (SECONDS + 1) * 1000, SECONDS + 2)
    assert notices(log)["mixed-time-units"].count == 1
    assert [time.timestamp() - SECONDS for time in log.table["ts"].to_pylist()] == [0, 1, 2]


@pytest.mark.parametrize("unit", [1, 1000, 1_000_000])
def test_one_unit_is_nothing_to_notice_and_stays_as_it_is(unit: int) -> None:
    upload = truth(SECONDS * unit, (SECONDS + 1) * unit)
    assert upload.table["timestamp"].to_pylist() == [SECONDS * unit, (SECONDS + 1) * unit]
    assert "mixed-time-units" not in notices(upload)


@pytest.mark.parametrize("no_time", [-1, 0, 5])
@pytest.mark.parametrize("unit", [1000, 1_000_000])
def test_a_small_number_that_means_no_time_is_of_the_unit_of_the_others(no_time: int, unit: int) -> None:
    times = [no_time, SECONDS * unit, (SECONDS + 1) * unit]
    upload = truth(*times)
    assert upload.table["timestamp"].to_pylist() == times
    assert "mixed-time-units" not in notices(upload)


@pytest.mark.parametrize(
    ("dates", "first"), [(("1/2/2024", "1/13/2024"), "month"), (("2/1/2024", "13/1/2024"), "day")]
)
def test_a_number_above_twelve_shows_what_is_the_day(dates: tuple[str, str], first: str) -> None:
    due = [DAY_OF, DAY_OF + dt.timedelta(days=11)]
    for upload, column in ((truth(*dates), "timestamp"), (exposures(*dates), "ts")):
        assert [time.replace(tzinfo=dt.UTC) for time in upload.table[column].to_pylist()] == due
        notice = notices(upload)["slash-dates"]
        assert f"with the {first} first" in notice.found
        assert notice.count == 2


def test_a_number_above_twelve_in_a_later_block_shows_what_is_the_day() -> None:
    early = "".join(f"u{row % 50},i{row},1/2/2024\n" for row in range(600_000))
    upload = read_upload("truth", f"user_id,item_id,timestamp\n{early}u1,x,13/1/2024\n".encode())
    times = upload.table["timestamp"]
    assert [str(times[place]) for place in (0, -1)] == ["2024-02-01 00:00:00", "2024-01-13 00:00:00"]
    assert notices(upload)["slash-dates"].count == 600_001


@pytest.mark.parametrize(("mark", "month"), [("day first", 2), ("month first", 1)])
def test_what_comes_first_in_a_date_can_be_stated(mark: str, month: int) -> None:
    data = b"user_id,item_id,when\nu1,i1,1/2/2024\nu2,i2,3/4/2024\n"
    upload = read_upload("truth", data, mapping={"timestamp": f"when ({mark})"})
    assert str(upload.table["timestamp"][0]) == f"2024-{month:02}-{3 - month:02} 00:00:00"
    assert upload.mapping["timestamp"] == f"when ({mark})"
    assert {"slash-dates", "text-times"}.isdisjoint(notices(upload))
    log = b"unit_id,variant,ts\nu1,a,1/2/2024\nu2,b,3/4/2024\n"
    moments = read_upload("exposures", log, mapping={"ts": f"ts ({mark})"}).table["ts"]
    assert moments[0].as_py().month == month


def test_what_comes_first_in_a_date_is_offered_to_choose() -> None:
    data = b"user_id,item_id,date\nu1,i1,1/2/2024\nu2,i2,3/4/2024\n"
    outline = preview("truth", data)
    assert {"date (day first)", "date (month first)"} <= set(outline.columns)
    (notice,) = [notice for notice in outline.notices if notice.code == "text-times"]
    assert "timestamp=date (day first) or timestamp=date (month first)" in notice.fix
    assert preview("truth", b"user_id,item_id,date\nu1,i1,2024-01-02\n").columns == (
        "user_id",
        "item_id",
        "date",
    )


def test_a_mark_of_dates_is_for_columns_of_times() -> None:
    with pytest.raises(UploadError, match=r"no column is called|does not exist|not a column|unknown"):
        read_upload("truth", b"user_id,item_id\nu1,i1\n", mapping={"item_id": "item_id (day first)"})


@pytest.mark.parametrize("dates", [("1/2/2024", "3/4/2024"), ("1/13/2024", "13/1/2024")])
def test_dates_that_could_be_two_days_are_not_guessed(dates: tuple[str, str]) -> None:
    kept = truth(*dates)
    assert kept.table["timestamp"].to_pylist() == list(dates)
    assert "timestamp=" in notices(kept)["text-times"].fix
    with pytest.raises(UploadError, match="is not a time"):
        exposures(*dates)


CLOCKS = [
    ("1/13/2024 9:05", (9, 5)), ("1/13/2024 12:05 AM", (0, 5)), ("1/13/2024 12:05 PM", (12, 5)),
    ("01/13/2024 09:05:00 PM", (21, 5)), ("1/13/2024 9:05:00 p.m.", (21, 5)), ("13.01.2024 9:05", (9, 5)),
    ("2024-01-13 9:05", (9, 5)), ("2024-1-13T9:05", (9, 5)), ("2024-01-13 09:05:00 PM", (21, 5)),
    ("2024/01/13 09:05:00", (9, 5)), ("2024/1/13 9:05", (9, 5)), ('"1/13/2024, 9:05:00 AM"', (9, 5)),
    ('"13.1.2024, 09:05:00"', (9, 5)), ('"2024-01-13 09:05:00,000"', (9, 5)),
]  # fmt: skip
"""Times as Excel, JavaScript and logs write them: the hour with one digit or in half days."""


@pytest.mark.parametrize(("written", "clock"), CLOCKS)
def test_hours_of_one_digit_and_of_half_days_are_read(written: str, clock: tuple[int, int]) -> None:
    due = dt.datetime(2024, 1, 13, *clock, tzinfo=dt.UTC)
    for upload, column in ((truth(written, written), "timestamp"), (exposures(written, written), "ts")):
        assert [time.replace(tzinfo=dt.UTC) for time in upload.table[column].to_pylist()] == [due, due]


@pytest.mark.parametrize(
    ("written", "clock"),
    [
        ("20240102", (0, 0)),
        ("20240102.0", (0, 0)),
        ("20240102093000", (9, 30)),
        ('" 20240102093000"', (9, 30)),
    ],
)
def test_dates_without_signs_are_days_and_not_seconds_of_1970(written: str, clock: tuple[int, int]) -> None:
    due = dt.datetime(2024, 1, 2, *clock, tzinfo=dt.UTC)
    upload = exposures(written, written)
    assert upload.table["ts"].to_pylist() == [due, due]
    assert notices(upload)["naive-times"].count == 2


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64()])
def test_dates_that_are_numbers_are_days(kind: pa.DataType) -> None:
    table = {"unit_id": ["u", "v"], "variant": ["a", "b"], "ts": pa.array([20240102, 20240103], kind)}
    times = read_upload("exposures", pa.table(table)).table["ts"].to_pylist()
    assert times == [DAY_OF, DAY_OF + dt.timedelta(days=1)]


def test_seconds_of_which_some_could_be_dates_are_seconds() -> None:
    times = exposures(20240102, 20240199, 20240200).table["ts"].to_pylist()
    assert [time.timestamp() for time in times] == [20240102, 20240199, 20240200]


def test_seconds_among_dates_without_signs_are_refused() -> None:
    with pytest.raises(UploadError, match=f"line 4: '{SECONDS}' is not a time"):
        exposures(20240102, 20240103, SECONDS)
    with pytest.raises(UploadError, match="line 3: '2024-02-30' is not a time"):
        exposures(20240102, 20240230)


MOMENTS = (
    "Sat, 13 Jan 2024 09:05:00 +0200", "13/Jan/2024:09:05:00 +0200", "[13/Jan/2024:09:05:00 +0200]",
    "20240113T070500Z", "13 Jan 2024 07:05:00 GMT", "Sat, 13 Jan 2024 07:05 UTC", "20240113T070500.000Z",
)  # fmt: skip


@pytest.mark.parametrize("written", MOMENTS)
def test_times_of_email_web_servers_and_without_signs_are_read(written: str) -> None:
    """Each is 07:05 UTC on 13 January: 09:05 two hours east of Greenwich."""
    due = dt.datetime(2024, 1, 13, 7, 5, tzinfo=dt.UTC)
    quoted = f'"{written}"'
    for upload, column in ((truth(quoted, quoted), "timestamp"), (exposures(quoted, quoted), "ts")):
        assert [time.astimezone(dt.UTC) for time in upload.table[column].to_pylist()] == [due, due]


@pytest.mark.parametrize("time", ["13/Mai/2024:09:05:00 +0200", "32 Jan 2024 09:05:00", "20241301T070500Z"])
def test_a_month_or_day_that_no_calendar_has_is_refused(time: str) -> None:
    with pytest.raises(UploadError, match="is not a time"):
        exposures("2024-01-13 12:05", time)


def test_a_zone_may_follow_a_time_of_half_days() -> None:
    (time, _) = exposures("2024-01-02 01:30 PM +02:00", "2024-01-02 1:30 PM UTC").table["ts"].to_pylist()
    assert time == dt.datetime(2024, 1, 2, 11, 30, tzinfo=dt.UTC)


@pytest.mark.parametrize("time", ["2024-01-13 13:05 PM", "2024-01-13 0:05 AM", "1/13/2024 9:5", "9:05 AM"])
def test_a_time_that_no_clock_shows_is_refused(time: str) -> None:
    with pytest.raises(UploadError, match=f"'{time}' is not a time"):
        exposures("2024-01-13 12:05", time)
