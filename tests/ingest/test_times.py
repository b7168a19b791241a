"""Times are read by one rule in all tables: units, and dates of which day and month could be confused."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from recdash.domain.inputs import Upload
from recdash.errors import UploadError
from recdash.ingest import read_upload

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


@pytest.mark.parametrize("dates", [("1/2/2024", "3/4/2024"), ("1/13/2024", "13/1/2024")])
def test_dates_that_could_be_two_days_are_not_guessed(dates: tuple[str, str]) -> None:
    kept = truth(*dates)
    assert kept.table["timestamp"].to_pylist() == list(dates)
    assert "timestamp=" in notices(kept)["text-times"].fix
    with pytest.raises(UploadError, match="is not a time"):
        exposures(*dates)
