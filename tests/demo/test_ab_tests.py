"""The generator of A/B tests: its effects are what it says, and its logs tell what its sessions tell."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from terminal import Recdash

from recdash.demo.ab_tests import Simulated, simulate
from recdash.errors import InputError, UnknownName
from recdash.online import METRICS, templates
from recdash.online.analysis import lift
from recdash.online.logs.sessions import per_user
from recdash.online.rules import OnlineRules

LIFTED = {"engagement_rate": 0.1, "session_watch_time": 0.04, "sessions_per_user": 0.2}
FILES: dict[str, str] = {}
TEST_FROM = datetime(2026, 11, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def logged() -> Simulated:
    return simulate(3_000, seed=1, events=True, before_days=5, crossover=0.02, bots=0.01)


def frame(table: Any) -> pd.DataFrame:
    return table.to_pandas(strings_to_categorical=False)


# ── effects ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "plan",
    [
        {},
        {"arms": {"control": {}, "new": LIFTED}},
        {"arms": {"control": {}, "new": {"sessions_per_user": -0.3}, "third": {"engagement_rate": -0.2}}},
        {"novelty": 0.2, "days": 7, "arms": {"control": {}, "new": {"sessions_per_user": 0.3}}},
        {"reverse": "phone", "arms": {"control": {}, "new": LIFTED}},
        {"reverse": "tv", "novelty": -0.3},
        {"srm": 0.2, "bots": 0.02, "before_days": 3},
    ],
    ids=["usual", "all lifted", "three arms", "novelty", "reversed", "reversed and novel", "faults"],
)
def test_what_is_known_is_what_the_sessions_show(plan: dict[str, Any]) -> None:
    """Values of all metrics and variants within four and a half standard errors."""
    test = simulate(60_000, seed=2, **plan)
    users = per_user(test.sessions, OnlineRules(starts="2026-11-02"))
    arms = dict(zip(users.variants, lift.arms(users.totals, users.variant), strict=True))
    for variant, values in test.known.values.items():
        for metric in METRICS[:4]:
            found = lift.value(metric, arms[variant])
            assert found.value is not None
            assert found.high is not None
            error = (found.high - found.value) / 1.96
            assert values[metric.name] == pytest.approx(found.value, abs=4.5 * error), (variant, metric.name)


def test_lifts_are_exactly_those_that_were_asked_for() -> None:
    known = simulate(10, seed=1, arms={"control": {}, "new": LIFTED}).known
    assert {name: known.lifts["new"][name] for name in LIFTED} == pytest.approx(LIFTED, abs=1e-12)


def test_without_a_watch_time_of_its_own_it_rises_with_engagement() -> None:
    known = simulate(10, seed=1, arms={"control": {}, "new": {"engagement_rate": 0.1}}).known
    assert known.lifts["new"]["session_watch_time"] == pytest.approx(0.1)


def test_a_control_user_has_3_4_sessions_of_which_40_percent_are_engaged() -> None:
    values = simulate(10, seed=1).known.values["control"]
    assert values["sessions_per_user"] == pytest.approx(3.4)
    assert values["engagement_rate"] == pytest.approx(0.4)
    assert values["session_watch_time"] == pytest.approx(0.4 * 1.8 * 500 / 60)
    assert values["videos_per_user"] == pytest.approx(3.4 * 0.4 * 1.8 * (1 - 1 / 500) ** 120)


def test_few_users_have_many_sessions() -> None:
    test = simulate(20_000, seed=3)
    visits = np.sort(np.bincount(test.sessions["unit_id"].to_numpy())[1:])
    assert visits.min() == 1
    assert visits[-2_000:].sum() / visits.sum() > 0.3  # a tenth of the users


# ── faults ───────────────────────────────────────────────────────────────────────────────────


def test_faults_are_planted_in_the_numbers_that_are_told(logged: Simulated) -> None:
    table = frame(logged.sessions)
    several = table.groupby("unit_id", observed=True)["variant"].nunique()
    assert (several > 1).sum() == logged.known.crossed == 60
    machines = table[table["clicks"] > 300]
    assert len(machines) == logged.known.bots > 10
    assert set(machines["variant"]) == {"new"}


def test_lost_users_are_of_the_last_arm() -> None:
    whole, lossy = simulate(10_000, seed=4), simulate(10_000, seed=4, srm=0.1)
    n = [frame(one.sessions).groupby("variant", observed=True)["unit_id"].nunique() for one in (whole, lossy)]
    assert n[1]["control"] == n[0]["control"]
    assert n[1]["new"] == n[0]["new"] - lossy.known.lost
    assert lossy.known.lost == pytest.approx(500, abs=90)  # four standard deviations


def test_the_time_before_the_test_is_before_it(logged: Simulated) -> None:
    start = frame(logged.sessions)["start_ts"]
    days = (start - TEST_FROM) / pd.Timedelta(days=1)
    assert days.min() == pytest.approx(-5, abs=0.1)
    assert days.max() == pytest.approx(14, abs=0.1)
    assert not ((days > -0.125) & (days < 0)).any()


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def test_the_same_seed_gives_the_same_test_and_another_seed_another() -> None:
    one, again, other = (simulate(200, seed=seed, events=True) for seed in (5, 5, 6))
    assert one.tables() == again.tables()
    assert one.sessions != other.sessions


def test_columns_are_those_of_the_templates(logged: Simulated) -> None:
    for kind, table in logged.tables().items():
        expected = templates()[kind].splitlines()[0].split(",")
        assert [name for name in expected if name in table.column_names] == expected, kind
        assert set(table.column_names) - set(expected) <= {"country", "platform", "propensity"}


def test_without_logs_there_are_only_sessions() -> None:
    test = simulate(10, seed=1)
    assert test.logs is None
    assert list(test.tables()) == ["sessions"]


def test_sessions_come_in_the_order_of_time(logged: Simulated) -> None:
    assert frame(logged.sessions)["start_ts"].is_monotonic_increasing


def test_the_events_add_up_to_the_sessions(logged: Simulated) -> None:
    """By the plain rules: an event_id once, recommended items only, the most that a heartbeat has counted."""
    assert logged.logs is not None
    events = frame(logged.logs.events)
    assert events["event_id"].duplicated().sum() > 100
    once = events.drop_duplicates("event_id")
    ours = once[once["source"] == "recommendations"]
    sessions = frame(logged.sessions).set_index("session_id")
    clicks = ours[ours["event"] == "click"].groupby("session_id").size()
    watch = ours[ours["event"] == "watch"].groupby(["session_id", "item_id"])["watch_s"].sum()
    beats = ours[ours["event"] == "heartbeat"].groupby(["session_id", "item_id"])["watch_s"].max()
    seconds = pd.concat([watch, beats])
    assert not seconds.index.duplicated().any()
    videos = (seconds > 120).groupby("session_id").sum()
    for name, found in (
        ("clicks", clicks),
        ("watch_s", seconds.groupby("session_id").sum()),
        ("videos", videos),
    ):
        told = found.reindex(sessions.index, fill_value=0)
        assert (told == sessions[name]).all(), name
    assert set(once["session_id"]) == set(sessions.index)


def test_exposures_fire_inside_the_first_session_of_the_test(logged: Simulated) -> None:
    assert logged.logs is not None
    exposed = frame(logged.logs.exposures).groupby("unit_id")["ts"].min()
    sessions = frame(logged.sessions)
    first = sessions[sessions["start_ts"] >= TEST_FROM].groupby("unit_id")["start_ts"].min()
    late = (exposed - first).dt.total_seconds()
    assert len(late) == 3_000
    assert late.between(1, 60).mean() > 0.99  # a user who comes twice within seconds may be exposed between


def test_lists_hold_each_film_once_and_all_films_alike(logged: Simulated) -> None:
    assert logged.logs is not None
    served = frame(logged.logs.served)
    assert not served.duplicated(["request_id", "item_id"]).any()
    assert served["rank"].value_counts().tolist() == [len(served) // 5] * 5
    assert (served["propensity"] == 1 / 997).all()
    assert served["item_id"].nunique() == 997
    clicked = frame(logged.logs.events).query(
        "event == 'click' and source == 'recommendations' and position <= 5"
    )
    shown = clicked.merge(served, on=["request_id", "item_id"], how="inner")
    in_test = clicked["request_id"].isin(served["request_id"])
    assert len(shown) == in_test.sum()
    assert (shown["position"] == shown["rank"]).all()


# ── what cannot be ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        ({"srm": 1.0}, "bad-share"),
        ({"bots": -0.1}, "bad-share"),
        ({"days": 0}, "bad-days"),
        ({"before_days": -1}, "bad-days"),
        ({"novelty": 0.3}, "impossible-lift"),
        ({"arms": {"control": {}, "new": {"engagement_rate": -1.0}}}, "impossible-lift"),
        ({"arms": {"control": {}, "new": {"sessions_per_user": -0.8}}}, "impossible-lift"),
        ({"arms": {"control": {}, "new": {"session_watch_time": -0.999}}}, "impossible-lift"),
    ],
)
def test_a_test_that_cannot_be_is_refused(plan: dict[str, Any], code: str) -> None:
    with pytest.raises(InputError) as refused:
        simulate(10, seed=1, **plan)
    assert [problem.code for problem in refused.value.problems] == [code]


def test_an_unknown_metric_or_platform_is_named() -> None:
    with pytest.raises(UnknownName, match="metric"):
        simulate(10, seed=1, arms={"control": {}, "new": {"engagment_rate": 0.1}})
    with pytest.raises(UnknownName, match="platform"):
        simulate(10, seed=1, reverse="radio")


# ── recdash demo --online ────────────────────────────────────────────────────────────────────


def test_the_command_writes_a_test_and_says_what_is_true_of_it(run: Recdash, folder: Any) -> None:
    said = run(
        "demo", "--online", "ab", "--users", "300", "--seed", "4", "--lift", "engagement_rate=0.1"
    ).stdout
    assert {file.name for file in (folder / "ab").iterdir()} == {
        "sessions.csv", "exposures.csv", "events.csv", "served.csv", "known.json"
    }  # fmt: skip
    known = json.loads((folder / "ab" / "known.json").read_text())
    assert known["lifts"]["new"]["engagement_rate"] == pytest.approx(0.1)
    assert "engagement_rate +10 %" in said
    assert "recdash online --sessions ab/sessions.csv" in said


def test_what_the_command_writes_can_be_asked_either_way(run: Recdash) -> None:
    run("demo", "--online", "ab", "--users", "400", "--format", "parquet")
    files = {kind: f"ab/{kind}.parquet" for kind in ("sessions", "exposures", "events")}
    sessions = run("online", "--sessions", files["sessions"], "--format", "json").stdout
    logs = run(
        "online", "--exposures", files["exposures"], "--events", files["events"], "--format", "json"
    ).stdout
    rows = [
        {(one["metric"], one["variant"]): one["variant_value"] for one in json.loads(text)["results"]}
        for text in (sessions, logs)
    ]
    assert {key: rows[1][key] for key in rows[0]} == pytest.approx(rows[0])


def test_faults_are_planted_by_the_command(run: Recdash, folder: Any) -> None:
    run("demo", "--online", "ab", "--users", "2000", "--srm", "--crossover", "--bots", "--novelty", "0.1")
    known = json.loads((folder / "ab" / "known.json").read_text())
    assert known["lost"] == pytest.approx(80, abs=36)
    assert (known["crossed"], known["bots"]) == (pytest.approx(39, abs=2), pytest.approx(9, abs=1))
    assert known["lifts"]["new"]["engagement_rate"] > 0.05


def test_options_of_an_invented_test_need_a_folder(run: Recdash) -> None:
    refused = run("demo", "--srm", "--lift", "engagement_rate=0.1")
    assert refused.exit_code == 2
    assert "--srm" in refused.stderr or "--lift" in refused.stderr
    assert "Add --online FOLDER." in refused.stderr


def test_a_lift_that_is_no_number_is_refused(run: Recdash) -> None:
    refused = run("demo", "--online", "ab", "--lift", "engagement_rate=much")
    assert (refused.exit_code, "METRIC=SHARE" in refused.stderr) == (2, True)
