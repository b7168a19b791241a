"""Tables of a shop and a news site: every number and kind of event is a metric, without a word of videos."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import recdash
from recdash.online import OnlineResults, OnlineRow, OnlineRules

N = 400
USERS = np.arange(N)


def csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def exposures(**names: str) -> pd.DataFrame:
    """Every second user saw the new checkout, at noon of the first three days."""
    table = pd.DataFrame(
        {
            "user_id": [f"u{i}" for i in USERS],
            "timestamp": [f"2026-11-0{1 + i % 3}T12:00:00Z" for i in USERS],
            "experiment_id": "checkout",
            "variation_id": np.where(USERS % 2 == 1, "new", "control"),
        }
    )
    return table.rename(columns=names)


def facts(**names: str) -> pd.DataFrame:
    """Users 0 to 99 of both variants bought once, for 20 in control and 30 in new, two hours later."""
    bought = USERS[:200]
    table = pd.DataFrame(
        {
            "user_id": [f"u{i}" for i in bought],
            "timestamp": [f"2026-11-0{1 + i % 3}T14:00:00Z" for i in bought],
            "event_name": "purchase",
            "value": np.where(bought % 2 == 1, 30.0, 20.0),
        }
    )
    return table.rename(columns=names)


def values(results: OnlineResults) -> dict[str, tuple[Any, ...]]:
    return {
        row.metric: (row.value, other.value)
        for row, other in zip(results.rows[::2], results.rows[1::2], strict=True)
    }


def words(results: OnlineResults) -> str:
    rows = [(row.metric, row.title, row.unit, row.note) for row in results.rows]
    return f"{rows} {results} {' '.join(map(str, results.noticed()))}".lower()


@pytest.mark.parametrize(
    "names",
    [
        {},
        {"variation_id": "group_name", "user_id": "unit_id", "experiment_id": "experiment_name"},  # Statsig
        {"variation_id": "variation", "user_id": "subject_id", "experiment_id": "experiment"},  # Eppo
    ],
    ids=["GrowthBook", "Statsig", "Eppo"],
)
def test_facts_beside_exposures_need_no_session_and_no_item(names: dict[str, str]) -> None:
    results = recdash.ab_test(exposures=csv(exposures(**names)), events=csv(facts()))
    assert results.users == {"control": 200, "new": 200}
    assert values(results) == {"purchase": (0.5, 0.5), "purchase value": (10.0, 15.0)}
    assert {row.role for row in results.rows} == {"goal"}
    assert "video" not in words(results)
    assert "watch" not in words(results)


def test_facts_before_the_exposure_are_covariates() -> None:
    """What happened in the morning, or the day before, is no result."""
    early = facts().assign(timestamp="2026-10-30T08:00:00Z", value=7.0)
    results = recdash.ab_test(exposures=csv(exposures()), events=csv(pd.concat([early, facts()])))
    assert values(results) == {"purchase": (0.5, 0.5), "purchase value": (10.0, 15.0)}


@pytest.mark.parametrize(
    ("rules", "bought"), [({}, 0.0), ({"clock_min": 5.0}, 0.0), ({"clock_min": 20.0}, 0.5)]
)
def test_facts_shortly_before_the_exposure_count_only_if_the_clocks_differ(
    rules: dict[str, float], bought: float
) -> None:
    """Everyone who buys does so ten minutes before the exposure; one user of each variant buys later."""
    user = np.arange(200)
    early = facts().assign(timestamp=[f"2026-11-0{1 + i % 3}T11:50:00Z" for i in user])
    later = facts().iloc[:2].assign(user_id=["u398", "u399"], timestamp="2026-11-05T14:00:00Z")
    results = recdash.ab_test(
        exposures=csv(exposures()), events=csv(pd.concat([early, later])), rules=OnlineRules(**rules)
    )
    assert values(results)["purchase"] == (bought + 1 / 200, bought + 1 / 200)


def test_a_stored_test_keeps_facts_that_it_counted_up_to_half_an_hour_before() -> None:
    assert OnlineRules.of_stored({"grace_min": 30.0}).clock_min is None
    early = facts().assign(timestamp=[f"2026-11-0{1 + i % 3}T11:50:00Z" for i in range(200)])
    rules = OnlineRules.of_stored({"grace_min": 30.0, "delta_method": False})
    results = recdash.ab_test(exposures=csv(exposures()), events=csv(early), rules=rules)
    assert values(results)["purchase"] == (0.5, 0.5)


def test_a_column_of_amounts_may_have_another_name_and_order() -> None:
    table = facts(value="revenue").sample(frac=1, random_state=1)
    results = recdash.ab_test(exposures=csv(exposures()), events=csv(table))
    assert values(results)["purchase value"] == (10.0, 15.0)


@pytest.mark.parametrize("name", ["amount", "quantity"])
def test_a_table_with_a_column_per_fact_is_read_as_sessions(name: str) -> None:
    table = facts(value=name).drop(columns="event_name")
    results = recdash.ab_test(exposures=csv(exposures()), sessions=csv(table))
    assert values(results) == {name: (10.0, 15.0)}


def shop_sessions(**more: Any) -> pd.DataFrame:
    """Two sessions per user; in the second one of three users of control and two of three of new order."""
    session, user = np.arange(2 * N), np.repeat(USERS, 2)
    orders = (session % 2 == 1) & (user // 2 % 3 < np.where(user % 2 == 1, 2, 1))
    return pd.DataFrame(
        {
            "user_id": [f"u{i}" for i in user],
            "session_id": [f"s{i}" for i in session],
            "variant": np.where(user % 2 == 1, "new", "control"),
            "orders": orders.astype(int),
            "revenue": orders * 12.5,
            **more,
        }
    )


def row(results: OnlineResults, metric: str) -> OnlineRow:
    return next(row for row in results.rows if row.metric == metric and not row.is_control)


def test_numbers_of_sessions_are_metrics_per_user() -> None:
    results = recdash.ab_test(sessions=csv(shop_sessions()))
    buyers = [sum(i // 2 % 3 < most for i in USERS if i % 2 == side) / 200 for side, most in ((0, 1), (1, 2))]
    assert values(results) == {
        "sessions_per_user": (2.0, 2.0),
        "orders": (buyers[0], buyers[1]),
        "revenue": pytest.approx((12.5 * buyers[0], 12.5 * buyers[1])),
    }
    assert {row.metric: row.role for row in results.rows} == {
        "sessions_per_user": "guardrail", "orders": "goal", "revenue": "goal",
    }  # fmt: skip
    assert row(results, "orders").unit == "0..1"
    assert "video" not in words(results)
    assert "watch" not in words(results)


def test_beside_a_standard_goal_further_numbers_are_for_information() -> None:
    """So that a column more does not widen the corrected intervals of the goals."""
    table = shop_sessions(clicks=np.arange(2 * N) % 3)
    results = recdash.ab_test(sessions=csv(table))
    assert {row.metric: row.role for row in results.rows} == {
        "engagement_rate": "goal", "sessions_per_user": "guardrail", "orders": "other", "revenue": "other",
    }  # fmt: skip
    alone = recdash.ab_test(sessions=csv(table.drop(columns=["orders", "revenue"])))
    assert row(results, "engagement_rate").corrected_low == row(alone, "engagement_rate").corrected_low


def test_events_of_a_shop_in_sessions_have_no_clicks_and_no_watch_time() -> None:
    user = np.repeat(USERS, 3)
    table = pd.DataFrame(
        {
            "user_id": [f"u{i}" for i in user],
            "session_id": [f"s{i}" for i in user],
            "timestamp": [f"2026-11-0{1 + i % 3}T12:30:00Z" for i in user],
            "event": np.tile(["view_product", "add_to_cart", "order"], N),
        }
    )
    results = recdash.ab_test(exposures=csv(exposures()), events=csv(table))
    assert set(values(results)) == {"sessions_per_user", "view_product", "add_to_cart", "order"}
    assert "video" not in words(results)
    assert "watch" not in words(results)
