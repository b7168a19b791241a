"""``recdash plan``: an A/B test planned, changed and compared with its plan in a terminal."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from terminal import Recdash, as_json

from recdash.online.plan import Baseline, days_needed, users_needed

FILES: dict[str, str] = {}
PLAN = ("plan", "Shop", "--primary", "orders", "--effect", "10%", "--mean", "1", "--std-dev", "1")
# (1.95996 + 0.84162)² · 2 / .1² = 1,569.8 users a variant
USERS = 2 * 1570


def add_test(run: Recdash, name: str) -> None:
    rng, is_new = np.random.default_rng(11), np.arange(400) % 2 == 1
    variant, orders = np.where(is_new, "new", "control"), rng.poisson(np.where(is_new, 1.3, 1.0))
    pd.DataFrame({"user_id": range(400), "variant": variant, "orders": orders}).to_csv(
        "test.csv", index=False
    )
    added = run("online", "--sessions", "test.csv", "--experiment", "Shop", "--test", name)
    assert added.exit_code == 0, added.stderr


def test_a_plan_computes_users_and_days(run: Recdash) -> None:
    (plan,) = as_json(run, *PLAN, "--users-per-day", "500", "--guardrail", "visits=2%")["plans"]
    assert (plan["plan"]["users"], plan["plan"]["days"]) == (USERS, 7)
    assert plan["plan"]["guardrails"] == {"visits": 0.02}
    assert plan["tests"] == []


def test_without_an_experiment_nothing_is_stored(run: Recdash) -> None:
    facts = as_json(run, "plan", "--effect", "10%", "--mean", "1", "--std-dev", "1")
    assert facts == {"effect": 0.1, "power": 0.8, "users": USERS, "days": None, "baseline": None}
    assert "3,140 users" in run("plan", "--effect", "0.1", "--mean", "1", "--std-dev", "1").stdout
    assert as_json(run, "list")["experiments"] == []


def test_a_duration_that_is_not_in_full_weeks_is_told(run: Recdash) -> None:
    note = "A duration of 10 days is not a whole number of weeks: some weekdays count more often than others."
    typed = ("--effect", "10%", "--mean", "1", "--std-dev", "1")
    assert note in run("plan", *typed, "--days", "10").stdout
    assert "A duration of 1 day is not" in run("plan", *typed, "--days", "1").stdout
    assert "weeks" not in run("plan", *typed, "--days", "14").stdout
    assert note in run(*PLAN, "--days", "10").stdout


def test_a_rate_and_an_earlier_test_are_baselines(run: Recdash) -> None:
    # (1.95996 + 0.84162)² · (.1 · .9 + .11 · .89) / .01² = 14,748.1 users a variant
    assert as_json(run, "plan", "--effect", "10%", "--rate", "10%")["users"] == 2 * 14749
    assert run(*PLAN).exit_code == 0
    add_test(run, "March")
    (again, first) = as_json(
        run, "plan", "Shop", "--new", "--primary", "orders", "--effect", "10%", "--like", "March"
    )["plans"]
    assert again["plan"]["users"] > 0
    assert first["plan"]["users"] == USERS


def test_a_change_needs_a_reason_and_is_kept(run: Recdash) -> None:
    assert run(*PLAN).exit_code == 0
    refused = run("plan", "Shop", "--days", "14")
    assert refused.exit_code == 2
    assert "reason" in refused.stderr
    (plan,) = as_json(run, "plan", "Shop", "--days", "14", "--reason", "Two weekends.")["plans"]
    assert [version["plan"]["days"] for version in plan["versions"]] == [None, 14]
    text = run("plan", "Shop").stdout
    assert "duration – → 14 days. Two weekends." in text


def test_tests_are_compared_with_the_plan(run: Recdash) -> None:
    assert run(*PLAN, "--users", "400").exit_code == 0
    add_test(run, "March")
    (plan,) = as_json(run, "plan", "Shop")["plans"]
    (test,) = plan["tests"]
    assert (test["test"], test["as_planned"], test["planned_before_data"]) == ("March", True, True)
    assert test["headline"] == "Ship new"
    changed = run("plan", "Shop", "--primary", "revenue", "--reason", "It is money.")
    assert "Primary metric changed from orders to revenue when the test had data" in changed.stdout


def test_a_stored_test_says_whether_it_is_as_planned(run: Recdash) -> None:
    assert run(*PLAN, "--users", "900").exit_code == 0
    add_test(run, "March")
    text = run("online", "--experiment", "Shop").stdout
    assert "one thing differs from the plan" in text
    assert "400 of 900" in text
    deviations = as_json(run, "online", "--experiment", "Shop")["plan"]["deviations"]
    assert [deviation["code"] for deviation in deviations] == ["users"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["plan", "Shop"], "No experiment is called 'Shop'"),
        (["plan"], "nothing to compute a sample size from"),
        (["plan", "--mean", "1"], "one of them is missing"),
        (["plan", "--rate", "ten", "--effect", "1%"], "'ten'"),
        (["plan", "--rate", "10%"], "needs one"),
        (["plan", "Shop", "--days", "7"], "no primary metric"),
        (["plan", "Shop", "--primary", "orders", "--guardrail", "visits"], "METRIC=MARGIN"),
        (["plan", "Shop", "--primary", "orders", "--split", "a"], "control=2,new=1"),
        (["plan", "Shop", "--primary", "orders", "--power", "20%"], "power"),
        (["plan", "Shop", "--primary", "orders", "--no-guardrail", "visits"], "visits"),
    ],
)
def test_what_cannot_be_planned_is_an_error(run: Recdash, options: list[str], message: str) -> None:
    result = run(*options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert as_json(run, "list")["experiments"] == []


def test_one_plan_can_be_shown(run: Recdash) -> None:
    assert run(*PLAN, "--test", "March").exit_code == 0
    assert run(*PLAN, "--test", "April", "--new").exit_code == 0
    assert len(as_json(run, "plan", "Shop")["plans"]) == 2
    (plan,) = as_json(run, "plan", "Shop", "--test", "march")["plans"]
    assert plan["plan"]["test"] == "March"
    unknown = run("plan", "Shop", "--test", "May")
    assert unknown.exit_code == 2
    assert "no plan of an A/B test 'May'" in unknown.stderr


# ── a baseline from a table ──────────────────────────────────────────────────────────────────


def write_users(name: str, **columns: object) -> pd.DataFrame:
    """Writes 200 users, of whom every second one is in the control, and returns them."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"user_id": [f"u{n}" for n in range(200)], "orders": rng.poisson(2.0, 200)})
    frame["bought"] = (rng.random(200) < 0.25).astype(int)
    frame = frame.assign(**columns)
    frame.to_csv(name, index=False)
    return frame


ORDERS = ("plan", "--primary", "orders", "--effect", "5%")


def facts_of(frame: pd.DataFrame, control: str | None = None) -> dict[str, object]:
    """Returns what the JSON says of the users in ``frame`` as a baseline without anything left out."""
    values = {name: (frame[name].mean(), frame[name].std()) for name in ("orders", "bought")}
    metrics = {
        name: {"mean": pytest.approx(mean), "std_dev": pytest.approx(std_dev), "is_rate": name == "bought"}
        for name, (mean, std_dev) in values.items()
    }
    return {"control": control, "users": len(frame), "users_per_day": None, "metrics": metrics}


def said_without_notices(read: dict[str, dict[str, object]]) -> dict[str, object]:
    return {name: value for name, value in read["baseline"].items() if name not in ("notices", "left_out")}


def test_a_table_of_users_gives_mean_and_deviation(run: Recdash) -> None:
    users = write_users("users.csv")
    orders = users["orders"]
    read = as_json(run, *ORDERS, "--baseline", "users.csv")
    typed = as_json(run, *ORDERS, "--mean", str(orders.mean()), "--std-dev", str(orders.std()))
    assert {**read, "baseline": None} == typed
    assert said_without_notices(read) == facts_of(users)
    assert read["baseline"]["left_out"] == {"other_variants": {}, "crossover": 0, "removed": []}
    told = run(*ORDERS, "--baseline", "users.csv").stderr
    assert f"orders of 200 users (all users): mean {orders.mean():.2f}" in told


def test_a_table_of_an_earlier_test_gives_those_of_its_control(run: Recdash) -> None:
    frame = write_users("test.csv", variant=["control", "new"] * 100)
    control = frame[frame["variant"] == "control"]
    orders = control["orders"]
    read = as_json(run, *ORDERS, "--baseline", "test.csv")
    typed = as_json(run, *ORDERS, "--mean", str(orders.mean()), "--std-dev", str(orders.std()))
    assert {**read, "baseline": None} == typed
    assert said_without_notices(read) == facts_of(control, "control")
    assert read["baseline"]["left_out"] == {"other_variants": {"new": 100}, "crossover": 0, "removed": []}
    told = run(*ORDERS, "--baseline", "test.csv").stderr
    assert "orders of 100 users (control)" in told
    assert "Left out: new 100." in told


def test_the_control_of_the_table_can_be_named(run: Recdash) -> None:
    frame = write_users("test.csv", variant=["blue"] * 60 + ["red"] * 90 + ["tan"] * 50)
    guessed = run(*ORDERS, "--baseline", "test.csv")
    assert "No variant is named like a control, so 'blue'" in guessed.stderr
    named = run(*ORDERS, "--baseline", "test.csv", "--control", "red")
    assert "orders of 90 users (red)" in named.stderr
    assert "named like a control" not in named.stderr
    read = as_json(run, *ORDERS, "--baseline", "test.csv", "--control", "red")
    assert said_without_notices(read) == facts_of(frame[frame["variant"] == "red"], "red")
    assert read["baseline"]["left_out"]["other_variants"] == {"blue": 60, "tan": 50}


def test_a_column_that_may_have_the_variants_is_told(run: Recdash) -> None:
    """Without it the users of all variants count, those of the new one too."""
    write_users("test.csv", gruppe=["alt", "neu"] * 100)
    told = run(*ORDERS, "--baseline", "test.csv").stderr
    assert "orders of 200 users (all users)" in told
    assert "If gruppe has the variants, give --columns variant=COLUMN and --control NAME." in told
    named = ("--columns", "variant=gruppe", "--control", "alt")
    told = run(*ORDERS, "--baseline", "test.csv", *named).stderr
    assert "orders of 100 users (alt)" in told
    assert "has the variants" not in told


def test_what_is_left_out_of_a_baseline_is_told(run: Recdash) -> None:
    """Of 200 sessions, one is repeated, and one user is in both variants."""
    frame = write_users("test.csv", variant=["control", "new"] * 100)
    frame["session_id"] = frame["user_id"]
    changed = frame.iloc[[1]].assign(variant="control", session_id="second")
    pd.concat([frame, frame.iloc[[0]], changed]).to_csv("test.csv", index=False)
    read = as_json(run, *ORDERS, "--baseline", "test.csv")["baseline"]
    assert read["users"] == 100
    assert read["left_out"]["other_variants"] == {"new": 99}
    assert read["left_out"]["crossover"] == 1
    (repeated,) = read["left_out"]["removed"]
    assert (repeated["rule"], repeated["by_variant"]) == ("duplicate-session", {"control": 1, "new": 0})
    assert "crossovers" in [notice["code"] for notice in read["notices"]]
    assert "1 rows repeat a session" in run(*ORDERS, "--baseline", "test.csv").stderr


def test_an_earlier_test_in_the_store_says_its_baseline_too(run: Recdash) -> None:
    assert run(*PLAN).exit_code == 0
    add_test(run, "March")
    like = ("plan", "Shop", "--new", "--test", "May", "--primary", "orders", "--effect", "10%")
    read = as_json(run, *like, "--like", "March")["baseline"]
    frame = pd.read_csv("test.csv")
    orders = frame["orders"][frame["variant"] == "control"]
    assert (read["control"], read["users"]) == ("control", 200)
    assert read["metrics"]["orders"]["mean"] == pytest.approx(orders.mean())
    assert as_json(run, "plan", "Shop")["baseline"] is None


def test_a_table_gives_a_rate_and_the_users_per_day(run: Recdash) -> None:
    days = [f"2026-03-{1 + n % 7:02d}" for n in range(200)]  # 200 users in the last 7 days
    bought = write_users("users.csv", start_ts=days)["bought"]
    asked = ("plan", "--primary", "bought", "--effect", "20%")
    read = as_json(run, *asked, "--baseline", "users.csv")
    baseline = Baseline(bought.mean(), bought.std(), is_rate=True)
    assert read["users"] == users_needed(baseline, 0.2)
    assert read["days"] == days_needed(read["users"], 200 / 7)
    faster = as_json(run, *asked, "--baseline", "users.csv", "--users-per-day", "100000")
    assert faster["days"] == 7


def test_columns_of_the_table_can_be_named(run: Recdash) -> None:
    frame = write_users("users.csv").rename(columns={"user_id": "who"})
    frame.to_csv("named.csv", index=False)
    asked = ("plan", "--primary", "orders", "--effect", "5%")
    named = as_json(run, *asked, "--baseline", "named.csv", "--columns", "unit_id=who")
    read = as_json(run, *asked, "--baseline", "users.csv")
    assert said_without_notices(named) == said_without_notices(read)
    assert {**named, "baseline": None} == {**read, "baseline": None}


def test_a_plan_is_stored_with_the_sample_size_of_a_table(run: Recdash) -> None:
    write_users("users.csv")
    asked = ("--primary", "orders", "--effect", "5%", "--baseline", "users.csv")
    (plan,) = as_json(run, "plan", "Shop", *asked)["plans"]
    assert plan["plan"]["users"] == as_json(run, "plan", *asked)["users"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--primary", "orders", "--baseline", "users.csv", "--mean", "2"), "given with --mean"),
        (("--primary", "orders", "--baseline", "users.csv", "--rate", "2%"), "given with --rate"),
        (("--baseline", "users.csv"), "no primary metric is named"),
        (("--primary", "sales", "--baseline", "users.csv"), "No online metric is called 'sales'"),
        (("--primary", "orders", "--baseline", "none.csv"), "No such file"),
        (("--rate", "2%", "--columns", "unit_id=who"), "--columns: given without --baseline"),
        (("--rate", "2%", "--control", "a"), "--control: given without --baseline"),
        (("--primary", "orders", "--baseline", "users.csv", "--control", "a"), "no column has variants"),
        (("--primary", "orders", "--baseline", "test.csv", "--control", "a"), "No variant is called 'a'"),
    ],
)
@pytest.mark.parametrize("experiment", [(), ("Shop",)])
def test_a_baseline_that_cannot_be_read_is_refused(
    run: Recdash, experiment: tuple[str, ...], options: tuple[str, ...], message: str
) -> None:
    write_users("users.csv")
    write_users("test.csv", variant=["control", "new"] * 100)
    result = run("plan", *experiment, "--effect", "5%", *options)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
    assert as_json(run, "list")["experiments"] == []


# ── the covariate ────────────────────────────────────────────────────────────────────────────


def deviations_of(run: Recdash, *, planned: str, used: str) -> list[str]:
    """Returns what differs in a test whose plan names one covariate, and whose lift another adjusts."""
    rng, is_new = np.random.default_rng(2), np.arange(2000) % 2 == 1
    before = rng.poisson(4.0, 2000)
    write = {"user_id": range(2000), "variant": np.where(is_new, "new", "control")}
    write |= {"orders": before + rng.poisson(1.0, 2000), "pre_orders": before, "age": 2 * before}
    pd.DataFrame(write).to_csv("test.csv", index=False)
    assert run("plan", "Shop", "--primary", "orders", "--covariate", planned).exit_code == 0
    added = run(
        *("online", "--sessions", "test.csv", "--experiment", "Shop", "--test", "March"),
        *("--covariate", f"orders={used}"),
    )
    assert added.exit_code == 0, added.stderr
    (plan,) = as_json(run, "plan", "Shop")["plans"]
    return [row["text"] for row in plan["tests"][0]["deviations"] if row["code"] == "covariates"]


@pytest.mark.parametrize("planned", ["age", "pre_age"])
def test_the_planned_covariate_is_no_deviation(run: Recdash, planned: str) -> None:
    assert deviations_of(run, planned=planned, used="age") == []


def test_another_covariate_than_the_planned_one_is_told(run: Recdash) -> None:
    text = "The lift in orders is adjusted by age; the plan adjusts it by pre_orders."
    assert deviations_of(run, planned="pre_orders", used="age") == [text]
    assert text in run("online", "--experiment", "Shop", "--test", "March").stdout
