"""Events added up to sessions: one test for each rule, the sums by hand."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import pyarrow as pa
import pytest

from recdash.demo.ab_tests import simulate
from recdash.errors import InputError
from recdash.ingest import read_stream, read_upload
from recdash.online.logs.event_sums import Counted
from recdash.online.logs.events import sessions_of
from recdash.online.logs.sources import says_recommendation
from recdash.online.rules import USUAL, OnlineRules
from recdash.online.templates import templates

EXPOSURES = "unit_id,variant,ts\nu,A,1\nv,B,1\nw,A,1\nw,B,2\n"
HEAD = "unit_id,session_id,ts,event,item_id,watch_s"


def counted(
    text: str, rules: OnlineRules = USUAL, exposures: str = EXPOSURES, rows: int | None = None
) -> Counted:
    """What comes of a log; ``rows``: so many events at a time."""
    who = read_upload("exposures", exposures.encode()).table
    batches = read_stream("events", text.encode()).batches()
    if rows:
        batches = iter(pa.Table.from_batches(list(batches)).to_batches(rows))
    return sessions_of(batches, who, rules)


def sums(found: Counted, *names: str) -> dict[str, Any]:
    """Session → its numbers."""
    columns = [found.sessions[name].to_pylist() for name in names]
    values = columns[0] if len(names) == 1 else zip(*columns, strict=True)
    return dict(zip(found.sessions["session_id"].to_pylist(), values, strict=True))


def removed(found: Counted) -> dict[str, dict[str, int]]:
    return {one.rule: dict(one.by_variant) for one in found.removed}


def notices(found: Counted) -> str:
    return "\n".join(map(str, found.notices))


def test_the_template_adds_up_to_the_sessions_of_the_template() -> None:
    names = ("unit_id", "session_id", "start_ts", "clicks", "watch_s", "videos")
    sessions = read_upload("sessions", templates()["sessions"].encode()).table
    result = counted(templates()["events"], exposures=templates()["exposures"]).sessions
    assert result.select(names).sort_by("session_id").to_pylist() == sessions.select(names).to_pylist()


def test_a_session_lasts_from_its_first_to_its_last_event() -> None:
    result = counted(f"{HEAD}\nu,s,200,click,f,\nu,s,100,search,,\nu,s,300,watch,f,60\nv,t,50,click,f,\n")
    seconds = {
        name: (a.timestamp(), b.timestamp()) for name, (a, b) in sums(result, "start_ts", "end_ts").items()
    }
    assert seconds == {"s": (100, 300), "t": (50, 50)}


def test_sessions_of_two_users_may_have_the_same_id() -> None:
    result = counted(f"{HEAD}\nu,1,5,click,f,\nv,1,5,click,f,\nv,1,6,click,f,\n").sessions
    assert result.select(["unit_id", "clicks"]).to_pylist() == [
        {"unit_id": "u", "clicks": 1},
        {"unit_id": "v", "clicks": 2},
    ]


def test_a_video_is_watched_strictly_longer_than_the_threshold() -> None:
    # f: 60 + 60 = 120, not more than 120 · g: 60 + 61 = 121
    text = f"{HEAD}\nu,s,1,watch,f,60\nu,s,2,watch,f,60\nu,s,3,watch,g,60\nu,s,4,watch,g,61\n"
    assert sums(counted(text), "watch_s", "videos") == {"s": (241, 1)}
    assert sums(counted(text, OnlineRules(threshold_s=119)), "videos") == {"s": 2}
    assert removed(counted(text)) == {"threshold": {"A": 1, "B": 0}}


def test_seconds_of_different_sessions_or_users_do_not_add_up_to_a_video() -> None:
    text = f"{HEAD}\nu,s,1,watch,f,100\nu,t,2,watch,f,100\nv,r,3,watch,f,100\n"
    assert sums(counted(text), "videos") == {"s": 0, "t": 0, "r": 0}


def test_tenths_of_a_second_add_up_to_what_they_are() -> None:
    text = f"{HEAD}\n" + "u,s,1,watch,f,0.1\n" * 1200
    assert sums(counted(text), "watch_s", "videos") == {"s": (120.0, 0)}


def test_heartbeats_count_by_the_last_of_them_not_by_their_sum() -> None:
    text = f"{HEAD}\nu,s,1,heartbeat,f,30\nu,s,3,heartbeat,f,90\nu,s,2,heartbeat,f,60\nu,s,4,heartbeat,g,30\n"
    assert sums(counted(text), "watch_s", "videos") == {"s": (90 + 30, 0)}


def test_of_watch_events_and_heartbeats_the_longer_time_counts() -> None:
    # f: max(100 + 50, 140) = 150 · g: max(10, 200) = 200
    text = f"{HEAD}\nu,s,1,watch,f,100\nu,s,1,watch,f,50\nu,s,1,heartbeat,f,140\n"
    text += "u,s,1,watch,g,10\nu,s,1,heartbeat,g,200\n"
    result = counted(text)
    assert sums(result, "watch_s", "videos") == {"s": (350, 2)}
    assert "2 items of a session have watch events and heartbeats" in notices(result)


def test_a_cap_cuts_the_seconds_of_an_item_but_not_its_being_a_video() -> None:
    text = f"{HEAD}\nu,s,1,watch,f,500\nv,t,1,watch,g,90\n"
    result = counted(text, OnlineRules(item_cap_s=100))
    assert sums(result, "watch_s", "videos") == {"s": (100, 1), "t": (90, 0)}
    assert removed(result) == {"item-cap": {"A": 1, "B": 0}, "threshold": {"A": 0, "B": 1}}


def test_only_recommended_items_count_where_the_log_tells() -> None:
    text = f"{HEAD},source\nu,s,1,click,f,,home_recs\nu,s,1,click,f,,search\nu,s,1,watch,f,200,search\n"
    text += "u,s,1,watch,g,300,home_recs\nv,t,1,click,f,,\nv,t,1,like,f,,search\n"
    result = counted(text)
    assert sums(result, "clicks", "watch_s", "videos", "like") == {"s": (1, 300, 1, 0), "t": (0, 0, 0, 1)}
    assert removed(result) == {"source": {"A": 2, "B": 1}}
    told = "counted as recommendations: home_recs (2 events); not search (3 events), no source (1 events)"
    assert told in notices(result)


def test_without_a_source_every_item_counts_and_that_is_said() -> None:
    result = counted(f"{HEAD}\nu,s,1,click,f,\n")
    assert sums(result, "clicks") == {"s": 1}
    assert "Clicks of all items count" in notices(result)
    watched = counted(f"{HEAD}\nu,s,1,click,f,\nu,s,1,watch,f,300\n")
    assert "Clicks and watch time of all items count" in notices(watched)


def test_a_log_in_which_nothing_says_recommendation_is_refused() -> None:
    with pytest.raises(InputError, match=r"no value indicates recommendations: home \(1 events\)"):
        counted(f"{HEAD},source\nu,s,1,click,f,,home\n")


@pytest.mark.parametrize(
    "name", ["rec", "Recs", "recommended", "home/recommendations", "reco-row", "RECOMMENDER"]
)
def test_what_says_recommendation(name: str) -> None:
    assert says_recommendation(name)


@pytest.mark.parametrize("name", ["", "search", "record", "recent", "not_recommended", "non-rec"])
def test_what_does_not_say_recommendation(name: str) -> None:
    assert not says_recommendation(name)


def test_an_event_that_is_there_twice_counts_once() -> None:
    text = f"{HEAD},event_id\nu,s,1,click,f,,e1\nu,s,1,click,f,,e1\nu,s,1,click,f,,e2\n"
    text += "v,t,1,click,f,,\nv,t,1,click,f,,\n"
    for rows in (None, 1, 2):
        result = counted(text, rows=rows)
        assert sums(result, "clicks") == {"s": 2, "t": 2}
        assert removed(result) == {"duplicate-event": {"A": 1, "B": 0}}


def test_event_ids_may_count_up_for_each_user_anew() -> None:
    rows = "".join(f"{user},{user}1,{i},click,f,,{i}\n" for i in range(1, 6) for user in "uv")
    for size in (None, 1):
        result = counted(f"{HEAD},event_id\n{rows}", rows=size)
        assert sums(result, "clicks") == {"u1": 5, "v1": 5}
        assert removed(result) == {}


def test_event_ids_that_do_not_tell_events_apart_are_refused() -> None:
    def log(n_alike: int) -> str:
        ids = ["same"] * n_alike + [f"e{i}" for i in range(10 - n_alike)]
        return f"{HEAD},event_id\n" + "".join(f"u,s,{i},click,f,,{one}\n" for i, one in enumerate(ids))

    # of three alike the first counts, and 2 of 10 are no more than a fifth
    assert sums(counted(log(3)), "clicks") == {"s": 8}
    for size in (None, 1):
        with pytest.raises(InputError, match="30 % of the events have an id that their user had"):
            counted(log(4), rows=size)


def test_of_a_long_log_some_ids_tell_whether_they_tell_events_apart(monkeypatch: Any) -> None:
    monkeypatch.setattr("recdash.online.logs.event_reader.ALL_LOOKED_AT", 1)
    rows = "".join(f"u,s{i // 2},{i},click,f,,{i % 4000}\n" for i in range(8000))
    with pytest.raises(InputError, match=r"(4|5)\d % of the events"):
        counted(f"{HEAD},event_id\n{rows}", rows=1000)
    good = "".join(f"u,s{i // 2},{i},click,f,,{i}\n" for i in range(8000))
    assert removed(counted(f"{HEAD},event_id\n{good}", rows=1000)) == {}


def test_a_log_that_was_delivered_twice_counts_once() -> None:
    rows = "".join(f"u,s,{i},click,f,,e{i}\n" for i in range(10))
    assert sums(counted(f"{HEAD},event_id\n{rows}{rows}"), "clicks") == {"s": 10}


def test_impressions_and_other_events_are_counted_per_session() -> None:
    text = (
        f"{HEAD}\nu,s,1,view,f,\nu,s,1,imp,g,\nu,s,1,add_to_list,f,\nv,t,1,add_to_list,f,\nv,t,1,videos,f,\n"
    )
    result = counted(text)
    assert sums(result, "impressions", "add_to_list", "videos events") == {"s": (2, 1, 0), "t": (0, 1, 1)}
    assert "counted under their own names: add_to_list, videos" in notices(result)
    assert "videos" not in result.sessions.column_names


@pytest.mark.parametrize("n_names", [38, 39, 40])
def test_up_to_forty_names_are_counted_in_all_batches(n_names: int) -> None:
    """Three events of each name, one in each batch."""
    names = [f"kind{number}" for number in range(n_names)]
    rows = "".join(f"u,s,{time},{name},,\n" for time in (1, 2, 3) for name in names)
    result = counted(f"{HEAD}\n{rows}", rows=n_names)
    assert [result.sessions[name].to_pylist() for name in names] == [[3]] * n_names


def test_a_column_of_many_names_is_no_column_of_events() -> None:
    text = f"{HEAD}\nu,s,1,click,f,\n" + "".join(f"u,s,1,clicked on {i},f,\n" for i in range(41))
    result = counted(text)
    assert result.sessions.column_names == [
        "unit_id",
        "session_id",
        "start_ts",
        "end_ts",
        "clicks",
    ]
    assert "41 names" in notices(result)


def test_users_who_were_never_exposed_do_not_count() -> None:
    result = counted(f"{HEAD}\nu,s,1,click,f,\nx,t,1,click,f,\nx,t,2,click,f,\n")
    assert sums(result, "clicks") == {"s": 1}
    assert "2 events are of users who were never exposed" in notices(result)


def test_a_log_of_other_users_is_refused() -> None:
    with pytest.raises(InputError, match=r"2 are of others\. Do both tables write user ids in the same form"):
        counted(f"{HEAD}\nx,s,1,click,f,\ny,s,1,click,f,\n")


def test_events_without_a_session_are_left_out_and_counted() -> None:
    result = counted(f"{HEAD}\nu,,1,click,f,\nu,s,1,click,f,\nv,,1,click,f,\nw,,1,click,f,\n")
    assert sums(result, "clicks") == {"s": 1}
    assert removed(result) == {"no-session": {"A": 1, "B": 1}}


def test_watching_without_an_item_is_left_out_and_counted() -> None:
    result = counted(f"{HEAD}\nu,s,1,watch,,500\nu,s,1,click,,\n")
    assert sums(result, "clicks", "watch_s") == {"s": (1, 0)}
    assert removed(result) == {"no-item": {"A": 1, "B": 0}}


def test_numbers_and_their_text_are_one_id() -> None:
    who = pa.table({"unit_id": [7, 8], "variant": ["A", "B"], "ts": [1, 1]})
    exposures = read_upload("exposures", who).table
    events = read_stream("events", f"{HEAD}\n7,s,1,click,f,\n9,s,1,click,f,\n".encode())
    result = sessions_of(events.batches(), exposures)
    assert result.sessions["unit_id"].to_pylist() == ["7"]


def random_log(seed: int, rows: int) -> str:
    import numpy as np

    rng = np.random.default_rng(seed)
    pick = lambda words: rng.choice(words.split(), rows)  # noqa: E731
    columns = (
        pick("u v w x"), pick("s1 s2 s3"), rng.integers(0, 99, rows), pick("click imp watch heartbeat like"),
        pick("f g h"), rng.integers(0, 90, rows), pick("recs search"), rng.integers(0, 2 * rows, rows),
    )  # fmt: skip
    body = "\n".join(",".join(map(str, row)) for row in zip(*columns, strict=True))
    return f"{HEAD},source,event_id\n{body}\n"


@pytest.mark.parametrize("seed", range(3))
def test_the_size_of_the_batches_changes_nothing(seed: int) -> None:
    text = random_log(seed, 300)
    whole = counted(text)
    for rows in (1, 7, 64):
        parts = counted(text, rows=rows)
        assert parts.sessions.equals(whole.sessions)
        assert (parts.removed, parts.notices) == (whole.removed, whole.notices)


def test_many_sessions_are_told_apart() -> None:
    n = 20_000
    rows = "".join(f"u,s{i % n},1,click,f,\n" for i in range(2 * n))
    result = counted(f"{HEAD}\n{rows}", rows=4096)
    assert result.sessions["session_id"].to_pylist() == [f"s{i}" for i in range(n)]
    assert set(result.sessions["clicks"].to_pylist()) == {2}


def test_an_invented_log_adds_up_to_the_sessions_that_it_was_made_from() -> None:
    tables = simulate(300, 1, events=True).tables()
    exposures = read_upload("exposures", tables["exposures"]).table
    result = sessions_of(read_stream("events", tables["events"]).batches(), exposures)
    names = ["session_id", "unit_id", "start_ts", "clicks", "watch_s", "videos"]
    made = read_upload("sessions", tables["sessions"]).table.select(names).to_pylist()
    assert sorted(made, key=itemgetter("session_id")) == [
        {**row, "unit_id": type(made[0]["unit_id"])(row["unit_id"])}
        for row in result.sessions.select(names).sort_by("session_id").to_pylist()
    ]
