"""``recdash plan``: an A/B test planned, changed and compared with its plan in a terminal."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from terminal import Recdash, as_json

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
    assert facts == {"effect": 0.1, "power": 0.8, "users": USERS, "days": None}
    assert "3,140 users" in run("plan", "--effect", "0.1", "--mean", "1", "--std-dev", "1").stdout
    assert as_json(run, "list")["experiments"] == []


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
