"""Ids of users that two tables of a test write in two ways."""

from __future__ import annotations

import pyarrow as pa
import pytest

from recdash.errors import InputError
from recdash.ingest import read_stream, read_upload
from recdash.online.logs.event_sums import Counted
from recdash.online.logs.events import sessions_of
from recdash.online.logs.id_spellings import Spellings
from recdash.online.logs.sessions import per_user
from recdash.online.users import OnlineUsers

SAID = "2 users are spelled differently than in the exposures, such as '{}' for '{}'"


def exposures(*ids: str) -> pa.Table:
    rows = "".join(f"{one},{'AB'[place % 2]},1\n" for place, one in enumerate(ids))
    return read_upload("exposures", f"unit_id,variant,ts\n{rows}".encode()).table


def users(ids: tuple[str, ...], exposed: tuple[str, ...]) -> OnlineUsers:
    """A session with one click for each of ``ids``."""
    rows = "".join(f"{one},s{place},5,1,60\n" for place, one in enumerate(ids))
    table = read_upload("sessions", f"unit_id,session_id,start_ts,clicks,watch_s\n{rows}".encode()).table
    return per_user(table, exposures=exposures(*exposed))


def counted(ids: tuple[str, ...], exposed: tuple[str, ...]) -> Counted:
    rows = "".join(f"{one},s{place},5,click,f\n" for place, one in enumerate(ids))
    batches = read_stream("events", f"unit_id,session_id,ts,event,item_id\n{rows}".encode()).batches()
    return sessions_of(batches, exposures(*exposed))


def clicks(found: OnlineUsers) -> dict[str, float]:
    return dict(zip(found.unit.to_pylist(), found.totals["clicks"].tolist(), strict=True))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("ids", "exposed"),
    [(("7", "8"), ("00007", "00008")), (("00007", "00008"), ("7", "8")), (("7", "8"), ("00007", "08"))],
)
def test_users_meet_in_spite_of_zeros_in_front_and_that_is_said(
    ids: tuple[str, ...], exposed: tuple[str, ...]
) -> None:
    result = users(ids, exposed)
    assert {str(unit): one for unit, one in clicks(result).items()} == dict.fromkeys(exposed, 1)
    (notice,) = [one for one in result.notices if one.code == "mixed-id-forms"]
    assert SAID.format(ids[0], exposed[0]) in str(notice)
    events = counted(ids, exposed)
    assert events.sessions["unit_id"].to_pylist() == list(exposed)
    assert SAID.format(ids[0], exposed[0]) in "\n".join(map(str, events.notices))


def test_spellings_that_the_exposures_tell_apart_stay_apart() -> None:
    result = users(("7", "007", "07", "8"), ("7", "007", "8"))
    assert clicks(result) == {"7": 1, "007": 1, "8": 1}
    assert "mixed-id-forms" not in {notice.code for notice in result.notices}
    assert {notice.code for notice in result.notices} >= {"never-exposed"}
    events = counted(("7", "007", "07", "8"), ("7", "007", "8"))
    assert events.sessions["unit_id"].to_pylist() == ["7", "007", "8"]


def test_ids_that_are_alike_meet_without_a_word() -> None:
    result = users(("007", "x0", "0x"), ("007", "x0", "0x"))
    assert clicks(result) == {"007": 1, "x0": 1, "0x": 1}
    assert "mixed-id-forms" not in {notice.code for notice in result.notices}


def test_only_numbers_with_other_zeros_meet() -> None:
    known = pa.array(["7", "-12", "a1", "0", "0" * 40])
    others = pa.array(["07", "-012", "a01", "00", "+7", "-07", None, "0" * 41])
    assert Spellings(known).find(others).tolist() == [0, 1, -1, 3, -1, -1, -1, -1]


def test_sessions_of_nobody_in_the_test_are_refused() -> None:
    with pytest.raises(InputError, match="none of 2 sessions is of a user in the test"):
        users(("a", "b"), ("u", "v"))
