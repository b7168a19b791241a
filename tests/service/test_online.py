"""What a workspace says of a kept A/B test, and what becomes of it when its rules or metrics change."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from recdash.demo.ab_tests import Simulated, simulate
from recdash.domain.access import AccessRole, Person
from recdash.domain.records import OnlineTest
from recdash.errors import Forbidden, InputError, NotFound, UnknownName
from recdash.online import OnlineMetric, OnlineRules, templates
from recdash.online.ab_test import ab_test
from recdash.service import Workspace
from recdash.store import open_store

WATCH = "session_watch_time"
CLICKS = OnlineMetric("clicks_per_session", "Clicks per session", "", "", "clicks", "sessions", high=None)


def open_at(folder: Path, role: AccessRole = "editor") -> Workspace:
    store = open_store(f"sqlite:///{folder}/recdash.db", folder / "artifacts")
    return Workspace(store, person=Person("ann", role))


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate(900, 4, events=True, bots=0.02)


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return open_at(tmp_path)


@pytest.fixture
def home(space: Workspace) -> str:
    return space.experiments.create("Films", {"u": ["a"], "v": ["b"]}, depth=2).id


@pytest.fixture
def test(space: Workspace, home: str, simulated: Simulated) -> OnlineTest:
    return space.online_tests.add(home, "Row", {"sessions": simulated.sessions})


def lifts(found: Any) -> dict[tuple[str, str], Any]:
    return {(row.metric, row.variant): (row.lift, row.p, row.word) for row in found.rows}


def test_a_kept_test_says_what_it_said_when_it_was_read(
    space: Workspace, test: OnlineTest, simulated: Simulated, tmp_path: Path
) -> None:
    read = ab_test(sessions=simulated.sessions)
    assert lifts(space.online_tests.results(test.id)) == lifts(read)
    later = open_at(tmp_path).online_tests.results(test.id)
    assert (later.health, later.users, later.removed) == (read.health, read.users, read.removed)
    assert [row["lift"] for row in test.results] == [row.lift for row in read.rows]


def test_logs_are_kept_as_the_sessions_they_make_with_what_was_left_out(
    space: Workspace, home: str, simulated: Simulated, tmp_path: Path
) -> None:
    tables = {kind: table for kind, table in simulated.tables().items() if kind != "sessions"}
    test = space.online_tests.add(home, "Logs", tables)
    assert (test.kind, sorted(test.tables)) == ("events", ["exposures", "served"])
    found = open_at(tmp_path).online_tests.results(test.id)
    of_sessions = lifts(ab_test(sessions=simulated.sessions))
    for key, (lift, _, _) in of_sessions.items():
        assert lifts(found)[key][0] == (None if lift is None else pytest.approx(lift, rel=1e-9)), key
    assert "threshold" in {one.rule for one in found.removed}
    assert found.removed == ab_test(**tables).removed


def test_the_same_test_under_the_same_rules_is_one(
    space: Workspace, home: str, test: OnlineTest, simulated: Simulated
) -> None:
    again = space.online_tests.add(home, "Row", {"sessions": simulated.sessions})
    assert again.id == test.id
    assert len(space.online_tests.all(home)) == 1


def test_the_same_test_with_other_links_is_linked_anew(
    space: Workspace, home: str, test: OnlineTest, simulated: Simulated
) -> None:
    run = space.runs.add(home, {"u": ["a"], "v": ["a"]}, name="als")[0].run.id
    again = space.online_tests.add(home, "Row", {"sessions": simulated.sessions}, links={"new": run})
    assert (again.id, again.links) == (test.id, {"new": run})
    kept = space.online_tests.add(home, "Row", {"sessions": simulated.sessions})
    assert kept.links == {"new": run}


def test_a_test_that_is_stored_again_comes_back_from_the_archive(
    space: Workspace, home: str, test: OnlineTest, simulated: Simulated
) -> None:
    space.online_tests.archive(test.id)
    again = space.online_tests.add(home, "Row", {"sessions": simulated.sessions})
    assert (again.id, again.archived) == (test.id, None)
    assert [one.id for one in space.online_tests.all(home)] == [test.id]


def test_of_two_who_store_the_same_test_at_once_both_get_it(
    space: Workspace, home: str, simulated: Simulated, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other, transaction = open_at(tmp_path), space.store.transaction

    def later() -> AbstractContextManager[None]:
        monkeypatch.undo()  # the other one stores it while this one is still computing
        other.online_tests.add(home, "Row", {"sessions": simulated.sessions})
        return transaction()

    monkeypatch.setattr(space.store, "transaction", later)
    found = space.online_tests.add(home, "Row", {"sessions": simulated.sessions})
    assert [one.id for one in space.online_tests.all(home)] == [found.id]


# ── rules and metrics ────────────────────────────────────────────────────────────────────────


def test_other_rules_count_again_and_are_kept(space: Workspace, test: OnlineTest, tmp_path: Path) -> None:
    before = space.online_tests.results(test.id)
    space.online_tests.set_rules(test.id, OnlineRules(bot_clicks=None, bot_sessions=None))
    after = open_at(tmp_path).online_tests.results(test.id)
    assert sum(after.users.values()) > sum(before.users.values())
    assert not [one for one in after.removed if one.rule == "bots"]
    assert open_at(tmp_path).online_tests.rules(test.id) == OnlineRules(bot_clicks=None, bot_sessions=None)
    (kept,) = space.online_tests.all(test.experiment)
    assert [row["n_users"] for row in kept.results] == [row.n_users for row in after.rows]


def test_notices_follow_the_rules_and_those_of_the_upload_stay(
    space: Workspace, home: str, simulated: Simulated
) -> None:
    tables = {kind: table for kind, table in simulated.tables().items() if kind != "sessions"}
    test = space.online_tests.add(home, "Logs", tables)
    said = {notice.code for notice in test.notices}
    assert said
    changed = space.online_tests.set_rules(test.id, OnlineRules(bot_clicks=1))
    assert {notice.code for notice in changed.notices} >= said - {"novelty", "uneven-days", "bots-uneven"}
    again = space.online_tests.set_rules(test.id, OnlineRules())
    assert sorted(map(str, again.notices)) == sorted(map(str, test.notices))


@pytest.mark.parametrize(
    "rules",
    [
        OnlineRules(winsorise=3),
        OnlineRules(starts="soon"),
        OnlineRules(bot_clicks=-1),
        OnlineRules(split={"control": 1}),
    ],
)
def test_rules_that_cannot_be_followed_change_nothing(
    space: Workspace, test: OnlineTest, rules: OnlineRules
) -> None:
    with pytest.raises(InputError):
        space.online_tests.set_rules(test.id, rules)
    assert space.store.online_tests.get(test.id) == test


def test_rules_by_which_logs_were_read_stay(space: Workspace, home: str, simulated: Simulated) -> None:
    tables = {kind: table for kind, table in simulated.tables().items() if kind != "sessions"}
    test = space.online_tests.add(home, "Logs", tables)
    for rules in (OnlineRules(threshold_s=10), OnlineRules(item_cap_s=60), OnlineRules(zone="Europe/Berlin")):
        with pytest.raises(InputError, match="were read with another value of this rule"):
            space.online_tests.set_rules(test.id, rules)
    assert space.store.online_tests.get(test.id) == test


def test_a_metric_of_ones_own_is_kept_and_one_of_a_known_name_replaces_it(
    space: Workspace, test: OnlineTest, tmp_path: Path
) -> None:
    strict = OnlineMetric(
        "sessions_per_user", "Sessions per user", "", "", "sessions", role="guardrail", margin=0.001
    )
    space.online_analysis.set_own_metrics(test.id, [CLICKS, strict])
    found = open_at(tmp_path)
    assert "clicks_per_session" in {row.metric for row in found.online_tests.results(test.id).rows}
    (guard,) = [one for one in found.online_analysis.metrics(test.id) if one.name == "sessions_per_user"]
    assert guard.margin == 0.001
    assert found.online_analysis.own_metrics(test.id) == (CLICKS, strict)
    space.online_analysis.set_own_metrics(test.id, [])
    assert space.online_analysis.own_metrics(test.id) == ()
    assert [row["lift"] for row in test.results] == [
        row.lift for row in space.online_tests.results(test.id).rows
    ]


def test_a_metric_of_a_total_that_is_not_there_changes_nothing(space: Workspace, test: OnlineTest) -> None:
    with pytest.raises(InputError, match="no total is called 'plays'"):
        space.online_analysis.set_own_metrics(test.id, [replace(CLICKS, numerator="plays")])
    assert space.online_analysis.own_metrics(test.id) == ()


def test_the_stored_rows_hold_a_metric_that_is_better_the_lower_it_is(
    space: Workspace, home: str, simulated: Simulated
) -> None:
    run = space.runs.add(home, {"u": ["a"], "v": ["a"]}, name="als")[0].run.id
    base = space.runs.add(home, {"u": ["b"], "v": ["a"]}, name="popular")[0].run.id
    space.experiments.set_baseline(home, base)
    down = replace(CLICKS, direction="down")
    test = space.online_tests.add(
        home, "Row", {"sessions": simulated.sessions}, metrics=[down],
        links={"control": base, "new": run},
    )  # fmt: skip
    (row,) = [
        r for r in space.online_tests.results(test.id).rows if r.metric == down.name and not r.is_control
    ]
    (lift,) = [one for one in space.comparisons.online_lifts(run, base) if one.title == down.title]
    assert None not in (row.lift, row.corrected_low, row.corrected_high)
    ends = (-row.corrected_high, -row.corrected_low)  # type: ignore[operator]
    assert (lift.lift, lift.low, lift.high) == (-row.lift, *ends)  # type: ignore[operator]
    goals = [r for r in space.online_tests.results(test.id).rows if r.role == "goal" and not r.is_control]
    assert len(goals) > 1
    assert lift.is_corrected


# ── over time, by segment, how many users ────────────────────────────────────────────────────


def test_the_last_cumulative_lift_is_the_lift(space: Workspace, test: OnlineTest) -> None:
    frame = space.online_analysis.over_time(test.id, "session_watch_time", "cumulative")
    (row,) = [
        r
        for r in space.online_tests.results(test.id).rows
        if r.metric == "session_watch_time" and not r.is_control
    ]
    assert frame["lift"].iloc[-1] == pytest.approx(row.lift)
    assert frame["day"].is_monotonic_increasing
    assert set(space.online_analysis.over_time(test.id, "session_watch_time", "since")["day"]) == set(
        range(len(frame))
    )


def test_segments_are_those_of_the_upload(space: Workspace, test: OnlineTest) -> None:
    names = space.online_analysis.segments(test.id)
    assert names == ["country", "platform"]
    frame = space.online_analysis.by_segment(test.id, "engagement_rate", "platform")
    assert frame["n_control"].sum() + frame["n_variant"].sum() == sum(
        space.online_tests.results(test.id).users.values()
    )
    with pytest.raises(UnknownName, match="Did you mean 'country'"):
        space.online_analysis.by_segment(test.id, "engagement_rate", "countri")


def test_more_users_find_a_smaller_lift(space: Workspace, test: OnlineTest) -> None:
    found = space.online_analysis.detectable(test.id, "session_watch_time")["new"]
    assert found is not None
    assert space.online_analysis.more_users(test.id, "session_watch_time", "new", found * 1.05) == 0
    half = space.online_analysis.more_users(test.id, "session_watch_time", "new", found / 2)
    assert half == pytest.approx(3 * sum(space.online_tests.results(test.id).users.values()), rel=0.1)
    with pytest.raises(UnknownName):
        space.online_analysis.more_users(test.id, "session_watch_time", "newer", 0.1)


def test_of_a_summary_only_the_results_are_known(space: Workspace, home: str) -> None:
    table = templates()["aggregates"].encode()
    test = space.online_tests.add(home, "Sums", {"aggregates": table})
    assert {row.metric for row in space.online_tests.results(test.id).rows} == {
        "session_watch_time",
        "click_rate",
    }
    with pytest.raises(NotFound, match="has aggregated data only"):
        space.online_tests.users(test.id)
    assert space.online_analysis.segments(test.id) == []
    assert {metric.name for metric in space.online_analysis.metrics(test.id)} == {
        "session_watch_time",
        "click_rate",
    }
    with pytest.raises(NotFound, match="no rows of days or segments"):
        space.online_analysis.over_time(test.id, "click_rate", "cumulative")


WAREHOUSE = "variant,date,country,n,revenue_sum,revenue_sum_squares\n" + "".join(
    f"{variant},2026-11-0{day},{country},{n},{mean * n},{(mean**2 + 9) * n}\n"
    for variant, mean in (("control", 10), ("new", 11))
    for day, n in ((1, 400), (2, 300))
    for country in ("SE", "PT")
)


def test_of_sums_of_a_warehouse_segments_days_and_sample_size_are_known(space: Workspace, home: str) -> None:
    """Of 1,400 users each, revenue is 10 and 11 per user: a lift of 10 % on each day and in each country."""
    test = space.online_tests.add(home, "Warehouse", {"aggregates": WAREHOUSE.encode()})
    source = space.online_analysis
    assert source.segments(test.id) == ["country"]
    for frame in (
        source.by_segment(test.id, "revenue", "country"),
        source.over_time(test.id, "revenue", "cumulative"),
    ):
        assert frame["lift"].tolist() == [pytest.approx(0.1)] * 2
    assert source.totals(test.id) == ["revenue"]
    variance = 9 * 1400 / 1399  # within n − 1, of 2,800 users in halves
    expected = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * math.sqrt(4 * variance / 2800) / 10
    assert source.detectable(test.id, "revenue")["new"] == pytest.approx(expected)
    with pytest.raises(NotFound, match="no data for the daily lift"):
        source.over_time(test.id, "revenue", "daily")
    rail = replace(source.metric(test.id, "revenue"), role="guardrail", margin=0.02)
    source.set_own_metrics(test.id, [rail])
    assert {row.role for row in space.online_tests.results(test.id).rows} == {"guardrail"}


# ── who may, and what is left behind ─────────────────────────────────────────────────────────


def test_a_viewer_reads_and_changes_nothing(space: Workspace, test: OnlineTest, tmp_path: Path) -> None:
    viewer = open_at(tmp_path, "viewer")
    assert lifts(viewer.online_tests.results(test.id)) == lifts(space.online_tests.results(test.id))
    with pytest.raises(Forbidden):
        viewer.online_tests.set_rules(test.id, OnlineRules(winsorise=0.9))
    with pytest.raises(Forbidden):
        viewer.online_analysis.set_own_metrics(test.id, [CLICKS])
    assert space.store.online_tests.get(test.id) == test


def test_the_tables_beside_a_test_live_as_long_as_it(
    space: Workspace, home: str, simulated: Simulated
) -> None:
    tables = {kind: table for kind, table in simulated.tables().items() if kind != "sessions"}
    test = space.online_tests.add(home, "Logs", tables)
    space.store.artifacts.collect()
    served = space.store.artifacts.table(test.tables["served"])
    assert len(served) == len(tables["served"])
    assert np.isin(["rank", "item_id", "click"], served.column_names).all()


def test_segments_are_held_against_the_lift_without_the_time_before(space: Workspace, home: str) -> None:
    """Users of new watch 9.5 minutes after 9, those of the control 11 after 11: −14 %, and + with CUPED."""
    rows = [
        {
            "unit_id": f"{variant}{user}", "session_id": f"{variant}{user}-{day}", "variant": variant,
            "start_ts": f"2026-03-{day:02d}T12:00:00Z", "clicks": 1, "watch_s": 60 * (minutes + user % 5),
            "country": "DE" if user % 4 < 2 else "FR",
        }
        for variant, watched in (("control", {1: 11.0, 9: 11.0}), ("new", {1: 9.0, 9: 9.5}))
        for user in range(400)
        for day, minutes in watched.items()
    ]  # fmt: skip
    rows += [row | {"session_id": "once", "watch_s": 60.0 * n} for n, row in enumerate(rows[1::97])]
    test = space.online_tests.add(
        home,
        "Before",
        {"sessions": pd.DataFrame(rows)},
        rules=OnlineRules(starts="2026-03-08"),
        control="control",
    )
    watch = next(
        row for row in space.online_tests.results(test.id).rows if (row.metric, row.variant) == (WATCH, "new")
    )
    assert watch.lift is not None
    assert watch.plain_lift is not None
    assert watch.plain_lift < 0 < watch.lift
    assert (space.online_analysis.by_segment(test.id, WATCH, "country")["lift"] < 0).all()
    assert space.online_analysis.reversals(test.id, WATCH, "country") == ()
