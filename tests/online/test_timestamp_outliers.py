"""Times that a wrong clock wrote, and what becomes of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from recdash.ingest import read_stream, read_upload
from recdash.online.logs.events import sessions_of
from recdash.online.logs.sessions import per_user
from recdash.online.logs.timestamp_outliers import TimestampOutliers
from recdash.online.users import OnlineUsers

DAY = 86_400
NOVEMBER = 20_000 * DAY


def table(kind: Any, head: str, rows: list[str]) -> Any:
    return read_upload(kind, "\n".join([head, *rows, ""]).encode()).table


def users(wrong: float, exposures: Any = None) -> OnlineUsers:
    """40 users with a session of one click each, on ten days; the clock of u0's second one is wrong."""
    rows = [f"u{i},s{i},{'AB'[i % 2]},{NOVEMBER + i % 10 * DAY},1,60" for i in range(40)]
    rows.append(f"u0,wrong,A,{wrong},1,60")
    result = table("sessions", "unit_id,session_id,variant,start_ts,clicks,watch_s", rows)
    return per_user(result, exposures=exposures)


def codes(found: OnlineUsers) -> list[str]:
    return [str(notice) for notice in found.notices if notice.code == "stray-times"]


@pytest.mark.parametrize("wrong", [0, NOVEMBER - 95 * DAY, NOVEMBER + 105 * DAY, 47_000 * DAY])
def test_a_session_of_a_wrong_clock_does_not_count_but_its_user_does(wrong: float) -> None:
    result = users(wrong)
    assert len(result) == 40
    assert result.totals["clicks"].tolist() == [1] * 40
    assert result.totals["sessions"].tolist() == [1] * 40
    assert set(result.days.day.tolist()) == set(range(20_000, 20_010))
    assert set(result.exposed.tolist()) == set(range(20_000, 20_010))
    assert [(one.rule, dict(one.by_variant)) for one in result.removed] == [("stray-times", {"A": 1, "B": 0})]
    (said,) = codes(result)
    assert "1 of 41 rows have a time more than 90 days from nearly all others, such as" in said


@pytest.mark.parametrize("odd", [NOVEMBER - 60 * DAY, NOVEMBER + 60 * DAY])
def test_a_session_of_some_weeks_before_or_after_counts(odd: float) -> None:
    result = users(odd)
    assert result.totals["clicks"].sum() == 41
    assert codes(result) == []


def test_a_user_of_whom_only_a_stray_session_is_known_counts_with_none() -> None:
    rows = [f"u{i},s{i},{'AB'[i % 2]},{NOVEMBER},1,60" for i in range(40)]
    head = "unit_id,session_id,variant,start_ts,clicks,watch_s"
    result = per_user(table("sessions", head, [*rows, "lost,s,A,0,1,60"]))
    at = result.unit.to_pylist().index("lost")  # type: ignore[attr-defined]
    assert (result.totals["sessions"][at], result.totals["clicks"][at], result.exposed[at]) == (0, 0, 20_000)


def test_an_exposure_of_a_wrong_clock_does_not_count() -> None:
    rows = [f"u{i},{'AB'[i % 2]},{NOVEMBER - DAY}" for i in range(40)]
    rows[0], again = "u0,A,0", "u1,B,0"
    exposures = table("exposures", "unit_id,variant,ts", [*rows, again, again, again])
    # u0 and three of u1: four of 43 are more than the outermost hundredth: nobody can tell
    assert codes(users(NOVEMBER, exposures)) == []
    exposures = table("exposures", "unit_id,variant,ts", rows)
    result = users(NOVEMBER, exposures)
    assert len(result) == 39
    (said,) = codes(result)
    assert "exposures: 1 of 40 rows have a time more than 90 days" in said
    assert "such as 1970-01-01. They do not count, nor do users who have no other rows" in said
    clicks = [f"u{i},s,{NOVEMBER},click,f" for i in range(40)]
    events = read_stream("events", "\n".join(["unit_id,session_id,ts,event,item_id", *clicks, ""]).encode())
    sessions = sessions_of(events.batches(), exposures).sessions
    assert len(per_user(sessions, exposures=exposures)) == 39


def test_of_few_rows_none_is_stray() -> None:
    at = np.array([0.0] + [NOVEMBER] * 18)
    assert not TimestampOutliers.among(at).far.any()
    at = np.array([0.0, np.nan] + [NOVEMBER] * 19)
    assert np.flatnonzero(TimestampOutliers.among(at).far).tolist() == [0]
