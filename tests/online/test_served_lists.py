"""Served lists beside events: which were clicked, and which hold what their user watched next."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from recdash.ingest import read_stream, read_upload
from recdash.online.ab_test import ab_test
from recdash.online.logs.event_sums import Counted
from recdash.online.logs.events import sessions_of
from recdash.online.metrics import SERVED_METRICS
from recdash.online.rules import USUAL, OnlineRules
from recdash.online.templates import templates

EXPOSURES = "unit_id,variant,ts\nu,A,1\nv,B,1\n"
EVENTS = "unit_id,session_id,ts,event,item_id,watch_s,request_id\n"
SERVED = "request_id,unit_id,ts,variant,rank,item_id\n"
# r: f, g, h for u at 100
ONE_LIST = f"{SERVED}r,u,100,A,1,f\nr,u,100,A,2,g\nr,u,100,A,3,h\n"
LISTS = ("clicked_lists", "answerable_lists", "answered_lists")


def counted(
    events: str, served: str = ONE_LIST, rules: OnlineRules = USUAL, rows: int | None = None
) -> Counted:
    who = read_upload("exposures", EXPOSURES.encode()).table
    batches = read_stream("events", (EVENTS + events).encode()).batches()
    if rows:
        batches = iter(pa.Table.from_batches(list(batches)).to_batches(rows))
    return sessions_of(batches, who, rules, read_upload("served", served.encode()).table)


def lists(found: Counted) -> list[tuple[Any, ...]]:
    """(clicked, answerable, answered) of every list."""
    rows = [row for row in found.sessions.to_pylist() if row["lists"]]
    return [tuple(row[name] for name in LISTS) for row in rows]


def notices(found: Counted) -> str:
    return "\n".join(map(str, found.notices))


def test_lists_are_rows_outside_sessions() -> None:
    result = counted("u,s,100,click,f,,r\n").sessions.to_pylist()
    assert [(row["session_id"], row["clicks"], row["lists"]) for row in result] == [
        ("s", 1, None),
        (None, None, 1),
    ]
    assert result[1]["start_ts"].timestamp() == 100


def test_a_list_is_clicked_by_a_click_on_one_of_its_items_in_that_request() -> None:
    assert lists(counted("u,s,110,click,g,,r\n")) == [(1, 0, 0)]
    assert lists(counted("u,s,110,click,g,,q\n")) == [(0, 0, 0)]
    assert lists(counted("u,s,110,click,x,,r\n")) == [(0, 0, 0)]
    assert lists(counted("u,s,110,click,g,,\nu,s,110,click,x,,r\n")) == [(0, 0, 0)]


def test_the_answer_is_what_is_watched_next_outside_the_list() -> None:
    # f is watched from a search: the list held it
    assert lists(counted("u,s,110,watch,f,200,\nu,s,1,click,x,,q\n")) == [(0, 1, 1)]
    # x is watched first, then f: the list did not hold x
    assert lists(counted("u,s,110,watch,x,200,q\nu,s,120,watch,f,200,\n")) == [(0, 1, 0)]


def test_what_was_clicked_or_watched_in_the_list_is_no_answer_to_it() -> None:
    # f came from the list itself, g from elsewhere: g is the answer
    assert lists(counted("u,s,105,click,f,,r\nu,s,110,watch,f,200,\nu,s,120,watch,g,200,\n")) == [(1, 1, 1)]
    assert lists(counted("u,s,110,watch,f,200,r\n")) == [(0, 0, 0)]
    assert lists(counted("u,s,110,watch,f,200,r\nu,s,120,watch,x,200,\n")) == [(0, 1, 0)]


def test_an_answer_comes_after_the_list_and_is_watched_past_the_threshold() -> None:
    assert lists(counted("u,s,100,watch,f,200,q\n")) == [(0, 0, 0)]
    assert lists(counted("u,s,101,watch,f,120,q\n")) == [(0, 0, 0)]
    assert lists(counted("u,s,101,watch,f,121,q\n")) == [(0, 1, 1)]
    assert lists(counted("u,s,101,watch,f,61,q\nu,s,102,heartbeat,f,90,\nu,s,103,watch,f,61,\n")) == [
        (0, 1, 1)
    ]
    assert lists(counted("u,s,101,watch,f,90,q\n", rules=OnlineRules(threshold_s=60))) == [(0, 1, 1)]


def test_what_another_user_watches_is_no_answer() -> None:
    assert lists(counted("v,s,110,watch,f,200,q\n")) == [(0, 0, 0)]


def test_each_list_has_its_own_next_item() -> None:
    # u watches g at 150 and x at 250: g answers the list of 100, x that of 200
    served = ONE_LIST + "r2,u,200,A,1,g\nr3,v,100,B,1,g\n"
    result = counted("u,s,150,watch,g,200,q\nu,s,250,watch,x,200,\nv,t,1,click,g,,r3\n", served)
    assert lists(result) == [(0, 1, 1), (0, 1, 0), (1, 0, 0)]


def test_requests_of_two_users_may_have_the_same_id() -> None:
    served = f"{SERVED}1,u,100,A,1,f\n1,v,100,B,1,f\n"
    assert lists(counted("v,s,110,click,f,,1\n", served)) == [(0, 0, 0), (1, 0, 0)]


def test_without_request_ids_only_the_number_of_lists_is_known() -> None:
    result = counted("u,s,110,click,f,,\n")
    assert not set(LISTS) & set(result.sessions.column_names)
    assert "no event names its list. Add request_id to the events" in notices(result)


def test_served_lists_may_say_themselves_what_was_clicked() -> None:
    served = f"{SERVED[:-1]},click\nr,u,100,A,1,f,1\nr,u,100,A,2,g,0\n"
    result = counted("u,s,110,watch,f,200,\nu,s,120,watch,g,200,\n", served)
    assert lists(result) == [(1, 1, 1)]


def test_the_served_table_learns_what_was_clicked() -> None:
    result = counted("u,s,110,click,g,,r\nu,s,110,click,f,,\n")
    assert result.served is not None
    assert result.served["click"].to_pylist() == [0, 1, 0]


def test_lists_of_others_and_of_other_variants_are_told() -> None:
    result = counted("u,s,110,click,f,,r\n", f"{ONE_LIST}q,x,1,A,1,f\np,v,1,A,1,f\n")
    assert "1 rows are of users who were never exposed" in notices(result)
    assert "1 lists were served by another variant than their user's" in notices(result)
    assert "2 lists of 1 to 3 items" in notices(result)


@pytest.mark.parametrize("rows", [1, 3, 11])
def test_the_size_of_the_batches_changes_nothing(rows: int) -> None:
    events = templates()["events"].partition("\n")[2]
    who = read_upload("exposures", templates()["exposures"].encode()).table
    served = read_upload("served", templates()["served"].encode()).table
    head = templates()["events"].partition("\n")[0]
    table = read_upload("events", f"{head}\n{events}".encode()).table
    whole = sessions_of(table.to_batches(), who, USUAL, served)
    parts = sessions_of(table.to_batches(rows), who, USUAL, served)
    assert parts == whole


def test_hit_ratio_and_list_ctr_of_the_template() -> None:
    # control: lists r1 and r2, both clicked, r1 answered, the only one with an answer; new: the same of r4
    results = ab_test(**{name: templates()[name].encode() for name in ("exposures", "events", "served")})
    values = {(row.metric, row.variant): row.value for row in results.rows}
    for variant in ("control", "new"):
        assert [values[metric.name, variant] for metric in SERVED_METRICS] == [1 / 2, 1 / 2, 2 / 2]
