"""``recdash online``: the same results from sessions, from exposures and events, and from sums."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal import Fill, Recdash, answer, as_json

import recdash
from recdash.errors import InputError
from recdash.online import templates

METRICS = ["engagement_rate", "videos_per_user", "session_watch_time", "sessions_per_user"]
KEYS = {"metric", "variant", "control_value", "variant_value", "lift", "lift_low", "lift_high", "p"}

# User A clicks five and watches three for ten minutes each; B clicks two and watches five and ninety minutes.
SESSIONS = """\
unit_id,session_id,variant,start_ts,clicks,watch_s,videos
A,s1,control,2026-11-02T09:00:00Z,5,1800,3
B,s2,new,2026-11-02T09:00:00Z,2,5700,2
"""
EXPOSURES = """\
experiment_id,unit_id,variant,ts
row,A,control,2026-11-02T09:00:05Z
row,B,new,2026-11-02T09:00:05Z
"""
CLICKS = [("A", "s1", item) for item in "abcde"] + [("B", "s2", item) for item in "xy"]
WATCHES = [("A", "s1", item, 600) for item in "abc"] + [("B", "s2", "x", 300), ("B", "s2", "y", 5400)]
EVENTS = "unit_id,session_id,ts,event,item_id,watch_s\n" + "".join(
    [f"{unit},{session},2026-11-02T09:00:00Z,click,{item},\n" for unit, session, item in CLICKS]
    + [f"{unit},{session},2026-11-02T09:10:00Z,watch,{item},{s}\n" for unit, session, item, s in WATCHES]
)
GOLDEN = {
    "engagement_rate": (1.0, 1.0),
    "videos_per_user": (3, 2),
    "session_watch_time": (30, 95),
    "sessions_per_user": (1, 1),
}


FILES = {
    "sessions.csv": SESSIONS,
    "exposures.csv": EXPOSURES,
    "events.csv": EVENTS,
    "aggregates.csv": templates()["aggregates"],
}


@pytest.mark.parametrize("logs", [("sessions",), ("exposures", "events")])
def test_a_long_watch_beats_many_clicks_only_in_session_watch_time(
    run: Recdash, logs: tuple[str, ...]
) -> None:
    options = [part for name in logs for part in (f"--{name}", f"{name}.csv")]
    rows = as_json(run, "online", *options)["results"]
    assert {row["metric"]: (row["control_value"], row["variant_value"]) for row in rows} == GOLDEN
    assert all(row.keys() >= KEYS for row in rows)
    (watch,) = [row for row in rows if row["metric"] == "session_watch_time"]
    assert watch["lift"] == pytest.approx(95 / 30 - 1)
    assert watch["p"] is None
    assert watch["note"] == "a variant with one user has no interval"


def simulated(run: Recdash, folder: Path, *how: str) -> Path:
    assert run("demo", "--online", str(folder), "--users", "600", *how).exit_code == 0
    return folder


def test_sessions_and_the_logs_they_came_from_say_the_same(run: Recdash, tmp_path: Path) -> None:
    made = simulated(run, tmp_path / "logs")
    ours = as_json(run, "online", "--sessions", f"{made}/sessions.csv")
    logs = as_json(run, "online", "--exposures", f"{made}/exposures.csv", "--events", f"{made}/events.csv")
    assert [row["metric"] for row in ours["results"]] == METRICS
    of_logs = {row["metric"]: row for row in logs["results"]}
    for row in ours["results"]:
        for key in ("control_value", "variant_value", "lift", "lift_low", "lift_high", "p"):
            assert of_logs[row["metric"]][key] == pytest.approx(row[key], rel=1e-9), (row["metric"], key)
    assert logs["health"] == ours["health"]


def test_python_says_what_the_terminal_says(run: Recdash, tmp_path: Path) -> None:
    made = simulated(run, tmp_path / "logs")
    result = recdash.ab_test(sessions=made / "sessions.csv")
    rows = [row for row in result.rows if not row.is_control]
    output = as_json(run, "online", "--sessions", f"{made}/sessions.csv")["results"]
    assert [(row.metric, row.lift, row.p, row.word) for row in rows] == [
        (row["metric"], row["lift"], row["p"], row["finding"]) for row in output
    ]


def test_health_names_what_is_wrong(run: Recdash, tmp_path: Path) -> None:
    made = simulated(run, tmp_path / "logs", "--srm", "--users", "4000")
    health = as_json(run, "online", "--sessions", f"{made}/sessions.csv")["health"]
    assert health["srm_p"] < 0.001
    assert health["blocked"]
    assert health["warnings"][0].startswith("sample-ratio-mismatch: users per variant: Sample ratio mismatch")
    text = run("online", "--sessions", f"{made}/sessions.csv").stdout
    assert "no metric is judged" in text
    assert "better" not in text


def test_aggregates_are_compared_with_the_control_that_is_named(run: Recdash) -> None:
    result = as_json(run, "online", "--aggregates", "aggregates.csv", "--control", "new")
    assert result["control"] == "new"
    rate = next(row for row in result["results"] if row["metric"] == "click_rate")
    assert rate["control_value"] == pytest.approx(2235 / 20815)
    assert rate["lift"] == pytest.approx((2146 / 20940) / (2235 / 20815) - 1)


def test_the_first_variant_named_like_a_control_is_the_control(run: Recdash) -> None:
    assert as_json(run, "online", "--sessions", "sessions.csv")["control"] == "control"


def test_a_metric_of_ones_own_is_written_as_a_formula(run: Recdash) -> None:
    rows = as_json(run, "online", "--sessions", "sessions.csv", "--metric", "plays=videos/sessions")[
        "results"
    ]
    own = next(row for row in rows if row["metric"] == "plays")
    assert (own["control_value"], own["variant_value"]) == (3 / 1, 2 / 1)


def test_a_guardrail_of_ones_own_has_its_margin(run: Recdash) -> None:
    options = "sessions_per_user=sessions:guardrail:0.1"
    rows = as_json(run, "online", "--sessions", "sessions.csv", "--metric", options)["results"]
    (own,) = [row for row in rows if row["metric"] == "sessions_per_user"]
    assert (own["role"], own["margin"]) == ("guardrail", 0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "given: nothing"),
        (["--events", "events.csv"], "given: events"),
        (["--sessions", "sessions.csv", "--aggregates", "sessions.csv"], "given: sessions, aggregates"),
        (["--sessions", "sessions.csv", "--control", "kontrol"], "Did you mean 'control'?"),
        (["--sessions", "sessions.csv", "--metric", "x=plays"], "no total is called 'plays'"),
        (["--sessions", "sessions.csv", "--metric", "x=plays/plays"], "recdash: 2 problems:"),
        (["--sessions", "sessions.csv", "--metric", "x"], "Write NAME=NUMERATOR/DENOMINATOR"),
        (["--sessions", "sessions.csv", "--metric", "x=clicks:soon"], "'soon' is not a number"),
        (["--sessions", "sessions.csv", "--split", "control"], "Write a share for each variant"),
        (
            ["--sessions", "sessions.csv", "--split", "control=2,old=1"],
            "the planned split is control=2.0, old=1.0",
        ),
        (["--sessions", "sessions.csv", "--split", "control=nan,new=1"], "control=nan"),
        (["--sessions", "sessions.csv", "--split", "control=2,control=1"], "'control' occurs twice"),
        (["--sessions", "sessions.csv", "--metric", "x=clicks/clicks"], "'clicks' divided by itself"),
        (["--sessions", "sessions.csv", "--metric", "x=clicks:up:down"], "contradicts itself"),
        (
            ["--sessions", "sessions.csv", "--metric", "x=clicks", "--metric", "x=videos"],
            "'x' occurs twice",
        ),
        (["--sessions", "sessions.csv", "--zone", "Europe/Berlim"], "Did you mean 'Europe/Berlin'?"),
        (["--sessions", "sessions.csv", "--starts", "soon"], "'soon' is not a day"),
        (["--sessions", "sessions.csv", "--winsorise", "99"], "Give a share from 0.5 to 1"),
        (["--sessions", "sessions.csv", "--threshold", "-1"], "Give a number from 0"),
        (["--sessions", "events.csv"], "column"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(run: Recdash, arguments: list[str], message: str) -> None:
    result = run("online", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_lifts_that_are_adjusted_say_so_and_show_the_plain_ones(run: Recdash) -> None:
    rows = ["unit_id,session_id,variant,start_ts,clicks,watch_s"]
    for unit in range(40):
        arm, taste = ("control", "new")[unit % 2], 60 * (1 + unit % 7)
        rows.append(f"u{unit},p{unit},{arm},2026-10-20T09:00:00Z,1,{taste}")
        rows.append(f"u{unit},s{unit},{arm},2026-11-02T09:00:00Z,{unit % 3},{taste + 30 * (unit % 5)}")
    Path("long.csv").write_text("\n".join(rows))
    options = ("online", "--sessions", "long.csv", "--starts", "2026-11-01")
    (watch,) = [row for row in as_json(run, *options)["results"] if row["metric"] == "session_watch_time"]
    assert watch["adjusted"]
    assert watch["plain_lift"] == pytest.approx(watch["variant_value"] / watch["control_value"] - 1)
    assert watch["lift"] != watch["plain_lift"]
    assert "adjusted for pre-test behaviour" in run(*options).stdout
    (plain,) = [row for row in as_json(run, "online", "--sessions", "sessions.csv")["results"]
                if row["metric"] == "session_watch_time"]  # fmt: skip
    assert not plain["adjusted"]


def test_exposures_of_no_experiment_cannot_be_chosen_from(run: Recdash) -> None:
    Path("bare.csv").write_text(EXPOSURES.replace("experiment_id,", "").replace("row,", ""))
    options = ("--exposures", "bare.csv", "--events", "events.csv")
    assert run("online", *options).exit_code == 0
    result = run("online", *options, "--exposures-of", "row")
    assert result.exit_code == 2
    assert "there is no column experiment_id" in result.stderr


def test_of_several_experiments_the_one_that_is_meant_is_read(run: Recdash) -> None:
    more = "rail,A,new,2026-11-02T09:00:05Z\nrail,B,control,2026-11-02T09:00:05Z\n"
    Path("both.csv").write_text(EXPOSURES + more)
    options = ("--exposures", "both.csv", "--events", "events.csv")
    assert "2 experiments: rail, row" in run("online", *options).stderr
    rows = as_json(run, "online", *options, "--exposures-of", "rail")["results"]
    result = {row["metric"]: (row["control_value"], row["variant_value"]) for row in rows}
    assert result["session_watch_time"] == (95, 30)


def test_uneven_splits_that_were_planned_are_no_mismatch(run: Recdash, tmp_path: Path) -> None:
    made = simulated(run, tmp_path / "logs", "--srm", "--users", "4000")
    counts = answer(run("online", "--sessions", f"{made}/sessions.csv", "--format", "json"))["users"]
    split = ",".join(f"{name}={count}" for name, count in counts.items())
    result = as_json(run, "online", "--sessions", f"{made}/sessions.csv", "--split", split)
    assert result["health"]["srm_p"] > 0.9


def test_metrics_of_fewer_users_have_their_own_split(run: Recdash) -> None:
    rows = "control,signups,9000,1,1\nnew,signups,9100,1,1\ncontrol,revenue,4000,5,9\nnew,revenue,4100,5,9\n"
    Path("sums.csv").write_text(f"variant,metric,n,mean,variance\n{rows}")
    text = run("online", "--aggregates", "sums.csv").stdout
    assert "Users: control 9,000, new 9,100." in text
    assert "Users of revenue: control 4,000, new 4,100; split p = 0.267." in text  # chi-square of the two


# ── kept in an experiment ────────────────────────────────────────────────────────────────────


@pytest.fixture
def kept(run: Recdash, filled: Fill) -> None:
    """An experiment with a run, and the test above kept in it."""
    Path("truth.csv").write_text("user_id,item_id\nu1,a\nu2,b\n")
    Path("als.csv").write_text("user_id,item_id,rank\nu1,a,1\nu2,c,1\n")
    add = ("add", "--experiment", "Films", "--truth", "truth.csv", "--run", "als=als.csv", "--depth", "1")
    online = ("online", "--sessions", "sessions.csv", "--experiment", "Films", "--test", "Row",
              "--link", "new=als", "--metric", "plays=videos/sessions")  # fmt: skip

    def fill() -> None:
        for command in (add, online):
            done = run(*command)
            assert done.exit_code == 0, done.stderr

    filled(fill)


@pytest.mark.usefixtures("kept")
def test_a_test_that_is_kept_says_again_what_it_said(run: Recdash) -> None:
    again = as_json(run, "online", "--experiment", "Films", "--test", "Row")
    assert {row["metric"] for row in again["results"]} == {*METRICS, "plays"}
    assert as_json(run, "online", "--experiment", "Films") == again
    (experiment,) = as_json(run, "list")["experiments"]
    assert experiment["online_tests"] == ["Row"]


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--experiment", "Film"], "No experiment is called 'Film'"),
        (["--experiment", "Films", "--test", "Rows"], "Did you mean 'Row'?"),
        (["--sessions", "sessions.csv", "--experiment", "Films", "--link", "new=bpr"], "bpr"),
        (["--sessions", "sessions.csv", "--link", "new=als"], "given without --experiment"),
        (["--sessions", "sessions.csv", "--test", "Row"], "given without --experiment"),
        (["--experiment", "Films", "--engine", "spark"], "--engine: not possible for a stored test"),
    ],
)
def test_where_a_test_is_kept_must_be_there(run: Recdash, arguments: list[str], message: str) -> None:
    result = run("online", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sessions", "sessions.csv", "--engine", "spark"], "Spark counts exposures and events"),
        (["--sessions", "sessions.csv", "--master", "yarn"], "--master: given without --engine spark"),
        (
            ["--exposures", "exposures.csv", "--events", "sql:sqlite:///x SELECT 1", "--engine", "spark"],
            "Spark reads no address that begins with sql:",
        ),
    ],
)
def test_what_a_cluster_does_not_count_is_refused(run: Recdash, arguments: list[str], message: str) -> None:
    result = run("online", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.usefixtures("kept")
def test_how_a_kept_test_is_counted_cannot_be_said_again(run: Recdash) -> None:
    for option in (("--control", "new"), ("--threshold", "60"), ("--link", "new=als")):
        result = run("online", "--experiment", "Films", *option)
        assert result.exit_code == 2
        assert f"{option[0]}: not possible for a stored test" in result.stderr
    assert run("online", "--experiment", "Films", "--correction", "bh").exit_code == 0


@pytest.mark.usefixtures("kept")
def test_an_experiment_without_a_test_says_what_to_do(run: Recdash) -> None:
    made = run("add", "--experiment", "Books", "--truth", "truth.csv", "--run", "als=als.csv", "--depth", "1")
    assert made.exit_code == 0
    assert "has no A/B test yet" in run("online", "--experiment", "Books").stderr


def test_a_test_of_one_variant_shows_its_values(run: Recdash) -> None:
    Path("one.csv").write_text("\n".join(SESSIONS.splitlines()[:2]))
    result = run("online", "--sessions", "one.csv")
    assert "session_watch_time  control" in result.stdout
    assert "30.0" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["--sessions", "sessions.csv", "--threshold", "60"], "threshold_s"),
        (["--sessions", "sessions.csv", "--item-cap", "60"], "item_cap_s"),
        (["--exposures", "exposures.csv", "--events", "events.csv", "--starts", "2026-11-02"], "starts"),
        (["--aggregates", "aggregates.csv", "--winsorise", "0.9"], "winsorise"),
    ],
)
def test_a_rule_that_says_nothing_of_such_logs_is_named(
    run: Recdash, arguments: list[str], rule: str
) -> None:
    assert f"note: rule '{rule}'" in run("online", *arguments).stderr


def test_an_invented_test_is_not_written_into_a_file(run: Recdash) -> None:
    assert "this is a file" in run("demo", "--users", "5", "--online", "sessions.csv").stderr
    assert run("demo", "--users", "50", "--online", "logs", "--novelty", "nan").exit_code == 2


def test_the_split_of_the_users_of_a_rate_blocks_and_trials_are_said_to_be_no_users(
    run: Recdash, folder: Path
) -> None:
    head = "variant,metric,n,successes,trials\n"
    (folder / "users.csv").write_text(f"{head}a,bought,1000,100,1000\nb,bought,1300,140,1300\n")
    (folder / "trials.csv").write_text(f"{head}a,bought,,100,1000\nb,bought,,140,1010\n")
    (folder / "uneven.csv").write_text(f"{head}a,bought,,100,1000\nb,bought,,140,1300\n")
    broken = run("online", "--aggregates", "users.csv").stdout
    assert "Split of users: p < 0.001." in broken
    assert "no metric is judged" in broken
    unknown = run("online", "--aggregates", "trials.csv").stdout
    assert (
        "Split of users: cannot be checked: the table counts trials rather than users (column 'n')."
        in unknown
    )
    uneven = run("online", "--aggregates", "uneven.csv").stdout
    assert "Split of users: p < 0.001 assuming that each trial is a user" in uneven
    assert "no metric is judged" in uneven


def test_the_text_says_from_when_on_a_lift_may_be_looked_at_every_day(run: Recdash, folder: Path) -> None:
    head = "variant,metric,n,successes,trials\n"
    (folder / "few.csv").write_text(f"{head}a,bought,150,60,150\nb,bought,150,75,150\n")
    (folder / "many.csv").write_text(f"{head}a,bought,2000,800,2000\nb,bought,2000,900,2000\n")
    few, many = (run("online", "--aggregates", f"{name}.csv").stdout for name in ("few", "many"))
    message = "No always-valid interval yet: bought, b: 150 users"
    assert message in few
    assert "looked at every day" not in many


def test_a_refused_notice_gives_no_results_and_stores_no_test(run: Recdash, folder: Path) -> None:
    local = SESSIONS.replace("T09:00:00Z", " 09:00:00")
    (folder / "local.csv").write_text(local)
    files = ("online", "--sessions", "local.csv", "--refuse", "naive-times")
    assert run(*files[:3]).exit_code == 0
    refused = "Files with the notice 'naive-times' are refused, as you chose"
    assert refused in run(*files).output
    with pytest.raises(InputError, match=refused):
        recdash.ab_test(sessions=local.encode(), refuse="naive-times")
    assert run("add", "--experiment", "New", "--sessions", "shop=sessions.csv").exit_code == 0
    stored = run(*files, "--experiment", "New", "--test", "local")
    assert (stored.exit_code, refused in stored.output) == (2, True)
    assert "local" not in run("list", "--format", "json").output
    added = run("add", "--experiment", "New", "--sessions", "local=local.csv", "--refuse", "naive-times")
    assert (added.exit_code, refused in added.output) == (2, True)
    assert "local" not in run("list", "--format", "json").output


CUSTOMERS = "user_id,variant,revenue,orders,history\n" + "".join(
    f"u{i},{'new' if i % 2 else 'control'},{20 + i % 7 + i % 11},{i % 3},{i % 11}\n" for i in range(300)
)


def test_goals_primary_and_covariates_are_options(run: Recdash, tmp_path: Path) -> None:
    path = tmp_path / "customers.csv"
    path.write_text(CUSTOMERS)
    options = ["--goals", "revenue,orders", "--primary", "orders", "--covariate", "revenue=history"]
    out = as_json(run, "online", "--sessions", str(path), *options)
    rows = {row["metric"]: row for row in out["results"]}
    assert list(rows) == ["orders", "revenue"]
    assert rows["revenue"]["adjusted"]
    wrong = run("online", "--sessions", str(path), "--covariate", "history")
    assert wrong.exit_code == 2
    assert "Write METRIC=COLUMN" in wrong.stderr


def test_a_metric_may_have_a_cap(run: Recdash, tmp_path: Path) -> None:
    path = tmp_path / "customers.csv"
    path.write_text(CUSTOMERS)
    options = ["online", "--sessions", str(path), "--metric"]
    out = as_json(run, *options, "few=orders:cap=1")
    (row,) = out["results"]
    assert (row["metric"], row["control_value"]) == ("few", 2 / 3)
    assert "'capp='" in run(*options, "few=orders:capp=1").stderr


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (("--goals", ","), "--goals: it names no metric"),
        (("--goals", ""), "--goals: it names no metric"),
        (("--primary", " "), "--primary: it names no metric"),
        (("--primary", ""), "--primary: it names no metric"),
        (("--goals", "orders,orders"), "--goals: 'orders' occurs twice"),
    ],
)
def test_an_option_that_names_no_metric_is_refused(run: Recdash, option: tuple[str, str], says: str) -> None:
    Path("customers.csv").write_text("user_id,variant,orders\nu1,A,1\nu2,B,2\n", encoding="utf-8")
    result = run("online", "--sessions", "customers.csv", *option)
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_quantile_is_compared_by_users_and_shown_with_its_reason(run: Recdash) -> None:
    rows = "".join(f"u{n % 800},s{n},{'AB'[n % 2]},{100 + n * 7 % 900}\n" for n in range(2400))
    Path("visits.csv").write_text(f"user_id,session_id,variant,load_ms\n{rows}", encoding="utf-8")
    facts = as_json(
        run,
        "online",
        "--sessions",
        "visits.csv",
        "--metric",
        "slow=load_ms:quantile=0.9:down",
        "--control",
        "A",
    )
    (row,) = [row for row in facts["results"] if row["metric"] == "slow"]
    of_b = sorted(100 + n * 7 % 900 for n in range(2400) if n % 2)
    assert row["variant_value"] == of_b[1080 - 1]  # 90 % of 1,200 rows
    assert (row["method"], row["p"] is not None) == ("quantile test by users", True)
    assert run("metrics", "add", "slow=load_ms:quantile=0.9:down").stdout == "Added slow.\n"
    assert "90 % quantile of load_ms" in run("metrics", "list").stdout


@pytest.mark.usefixtures("kept")
def test_users_of_another_stored_test_are_told(run: Recdash) -> None:
    """40 users by turns in A and B, in the other test two by two: ten in each pair of variants."""
    head = "unit_id,session_id,variant,start_ts,clicks,watch_s\n"
    for name, each in (("menu", 1), ("price", 2)):
        rows = [f"u{n},s{n},{'AB'[n // each % 2]},2026-03-01T09:00Z,1,{60 + n}\n" for n in range(40)]
        Path(f"{name}.csv").write_text(head + "".join(rows))
        stored = run("online", "--sessions", f"{name}.csv", "--experiment", "Films", "--control", "A")
        assert stored.exit_code == 0, stored.stderr
    (shared,) = as_json(run, "online", "--experiment", "Films", "--test", "menu")["shared_users"]
    assert (shared["other"], shared["n"], shared["share"], shared["balanced"]) == ("price", 40, 1.0, True)
    told = run("online", "--experiment", "Films", "--test", "menu").stderr
    assert "40 users (100 %) are also in 'price'" in told
