"""Goals, the primary metric and covariates that are chosen, and metrics derived from others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import recdash
from recdash.errors import InputError
from recdash.online import OnlineMetric, OnlineResults, OnlineRow, OnlineRules

N = 400
USERS = np.arange(N)


def csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def customers() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    history = rng.gamma(2.0, 20.0, N)
    return pd.DataFrame(
        {
            "user_id": USERS,
            "variant": np.where(USERS % 2 == 1, "new", "control"),
            "revenue": history + rng.normal(30, 5, N) + 12 * (USERS % 2),
            "orders": rng.poisson(2.0, N),
            "refunds": rng.poisson(0.3, N),
            "history": history,
        }
    )


def results_of(**how: Any) -> OnlineResults:
    return recdash.ab_test(sessions=csv(customers()), **how)


def row(results: OnlineResults, metric: str) -> OnlineRow:
    return next(row for row in results.rows if row.metric == metric and not row.is_control)


def test_goals_are_chosen_and_the_primary_one_comes_first() -> None:
    results = results_of(goals=["revenue", "orders"], primary="orders")
    roles = {row.metric: row.role for row in results.rows}
    assert roles == {"orders": "goal", "revenue": "goal", "refunds": "other", "history": "other"}
    assert results.rows[0].metric == "orders"


def test_fewer_goals_are_corrected_less() -> None:
    """Holm over four goals multiplies the smallest p by four, and of one goal by one."""
    one, all_four = row(results_of(goals=["revenue"]), "revenue"), row(results_of(), "revenue")
    assert one.p_corrected == one.p
    assert all_four.p is not None
    assert all_four.p_corrected == pytest.approx(4 * all_four.p)


def test_a_chosen_covariate_adjusts_the_lift_as_a_pre_column_does_and_is_no_metric() -> None:
    chosen = results_of(covariates={"revenue": "history"})
    named = recdash.ab_test(sessions=csv(customers().rename(columns={"history": "pre_revenue"})))
    assert {row.metric for row in chosen.rows} == {"revenue", "orders", "refunds"}
    own, other = row(chosen, "revenue"), row(named, "revenue")
    assert own.is_adjusted
    assert (own.lift, own.lift_low, own.lift_high) == (other.lift, other.lift_low, other.lift_high)


def test_a_pre_column_can_be_chosen_by_its_name() -> None:
    table = customers().rename(columns={"history": "pre_revenue"})
    plain = row(recdash.ab_test(sessions=csv(table)), "revenue")
    chosen = row(recdash.ab_test(sessions=csv(table), covariates={"revenue": "pre_revenue"}), "revenue")
    assert chosen.is_adjusted
    assert (chosen.lift, chosen.lift_low, chosen.p) == (plain.lift, plain.lift_low, plain.p)
    other = row(recdash.ab_test(sessions=csv(table), covariates={"orders": "pre_revenue"}), "orders")
    by_history = row(results_of(covariates={"orders": "history"}), "orders")
    assert (other.lift, other.lift_low, other.p) == (by_history.lift, by_history.lift_low, by_history.p)


def test_a_pre_column_of_sums_can_be_chosen_by_its_name() -> None:
    table = customers()
    r, h = table.revenue, table.history
    columns = {"n": 1, "revenue_sum": r, "revenue_sum_squares": r * r, "pre_revenue_sum": h}
    columns |= {"pre_revenue_sum_squares": h * h, "revenue_pre_revenue_sum_product": r * h}
    sums = pd.DataFrame({"variant": table.variant, **columns}).groupby("variant", as_index=False).sum()
    plain = row(recdash.ab_test(aggregates=csv(sums)), "revenue")
    how: dict[str, Any] = {"covariates": {"revenue": "pre_revenue"}}
    chosen = row(recdash.ab_test(aggregates=csv(sums), **how), "revenue")
    assert chosen.is_adjusted
    assert (chosen.lift, chosen.lift_low, chosen.p) == (plain.lift, plain.lift_low, plain.p)


def test_a_covariate_of_sums_of_a_warehouse_gives_the_same_lift() -> None:
    """These users are compared by their splits, sums by Welch's test: ends of intervals agree to 5 % of the
    error.
    """
    table = customers()
    r, h = table.revenue, table.history
    columns = {"n": 1, "revenue_sum": r, "revenue_sum_squares": r * r, "history_sum": h}
    columns |= {"history_sum_squares": h * h, "revenue_history_sum_product": r * h}
    sums = pd.DataFrame({"variant": table.variant, **columns}).groupby("variant", as_index=False).sum()
    how: dict[str, Any] = {"covariates": {"revenue": "history"}}
    own = row(recdash.ab_test(aggregates=csv(sums), **how), "revenue")
    users = table[["user_id", "variant", "revenue", "history"]]
    other = row(recdash.ab_test(sessions=csv(users), **how), "revenue")
    assert own.is_adjusted
    assert other.is_adjusted
    assert other.lift is not None
    assert other.lift_low is not None
    error = (other.lift - other.lift_low) / 1.96
    assert own.lift == pytest.approx(other.lift, rel=1e-9)
    assert own.lift_low == pytest.approx(other.lift_low, abs=0.05 * error)


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"goals": ["profit"]}, "goals: no metric is called 'profit'"),
        ({"primary": "profit"}, "primary: no metric is called 'profit'"),
        ({"covariates": {"revenue": "past"}}, "covariates: no column is called 'past'"),
    ],
)
def test_unknown_names_are_refused_with_those_known(how: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as error:
        results_of(**how)
    assert says in str(error.value)
    assert "orders" in str(error.value)


def test_a_cap_limits_what_counts_of_each_user() -> None:
    metric = OnlineMetric("revenue", "Revenue", "", "", "revenue", cap=60.0)
    own = row(results_of(metrics=[metric]), "revenue")
    capped = np.minimum(customers().revenue, 60.0)
    new, control = capped[USERS % 2 == 1], capped[USERS % 2 == 0]
    assert own.value == pytest.approx(new.mean())
    assert own.lift == pytest.approx(new.mean() / control.mean() - 1)
    # a p-value so far in the tail depends on the method: compare the standard errors
    t = float(stats.ttest_ind(new, control, equal_var=False).statistic)
    assert own.p is not None
    assert stats.norm.isf(own.p / 2) == pytest.approx(abs(t), rel=0.05)


# ── metrics of time ──────────────────────────────────────────────────────────────────────────


def exposures() -> pd.DataFrame:
    """Every user is exposed on 1 November at noon, but users 300 to 399 only on the 9th."""
    days = np.where(USERS < 300, 1, 9)
    return pd.DataFrame(
        {
            "user_id": USERS,
            "variant": np.where(USERS % 2 == 1, "new", "control"),
            "ts": [f"2026-11-{day:02d}T12:00:00Z" for day in days],
        }
    )


def orders() -> pd.DataFrame:
    """Users 0 to 99 order after an hour, 100 to 199 after two days, 0 to 49 again after seven."""
    rows = [(user, "2026-11-01T13:00:00Z") for user in range(100)]
    rows += [(user, "2026-11-03T12:00:00Z") for user in range(100, 200)]
    rows += [(user, "2026-11-08T09:00:00Z") for user in range(50)]
    rows += [(399, "2026-11-10T13:00:00Z")]
    table = pd.DataFrame(rows, columns=["user_id", "ts"])
    return table.assign(orders=1)


def of_time(**derived: Any) -> OnlineResults:
    metric = OnlineMetric("own", "Own", "", "", "orders", **derived)
    return recdash.ab_test(exposures=csv(exposures()), sessions=csv(orders()), metrics=[metric])


def test_a_count_within_hours_of_the_exposure_leaves_later_ones_out() -> None:
    """In each variant 50 of the 200 users order within a day; all were observed for it until the 10th."""
    results = of_time(within_hours=24)
    assert {(row.value, row.numerator, row.denominator) for row in results.rows} == {(50 / 200, 50, 200)}


def test_users_who_were_not_observed_long_enough_do_not_count() -> None:
    """The log ends on the 10th: users exposed on the 9th were not observed for 72 hours."""
    results = of_time(within_hours=72)
    assert {(row.value, row.numerator, row.denominator) for row in results.rows} == {(100 / 150, 100, 150)}


def test_retention_is_the_share_of_users_who_did_anything_on_a_day_after_their_exposure() -> None:
    results = of_time(retention_day=7)
    assert {(row.value, row.numerator, row.denominator) for row in results.rows} == {(25 / 150, 25, 150)}
    on_day_1 = of_time(retention_day=1)
    values = {row.variant: (row.numerator, row.denominator) for row in on_day_1.rows}
    assert values == {"control": (0, 200), "new": (1, 200)}


def test_days_of_a_derived_metric_add_up_to_its_result() -> None:
    for derived in ({"within_hours": 72}, {"retention_day": 7}):
        results = of_time(**derived)
        last = results.days().rows[-1]  # type: ignore[attr-defined]
        assert last["lift"] == pytest.approx(row(results, "own").lift)


def test_a_window_has_no_other_denominator() -> None:
    with pytest.raises(InputError, match="a denominator besides the users who were observed"):
        recdash.ab_test(
            sessions=csv(customers()),
            metrics=[OnlineMetric("x", "X", "", "", "revenue", "orders", within_hours=24)],
        )


def test_sums_of_a_warehouse_have_no_hours_after_exposure() -> None:
    table = b"variant,n,x_sum,x_sum_squares\nA,100,500,3000\nB,100,510,3000\n"
    metric = OnlineMetric("x", "X", "", "", "x", within_hours=24)
    with pytest.raises(InputError, match="needs data per user"):
        recdash.ab_test(aggregates=table, metrics=[metric])


# ── activation ───────────────────────────────────────────────────────────────────────────────


def visitors(n_new: int) -> pd.DataFrame:
    """Of 200 users each, 100 of control and so many of new opened the page; they spend 10 and 12."""
    is_new, place = USERS % 2 == 1, USERS // 2
    opened = place < np.where(is_new, n_new, 100)
    spend = np.where(opened, np.where(is_new, 12.0, 10.0), 0.0) + place % 3
    columns = {"user_id": USERS, "variant": np.where(is_new, "new", "control")}
    return pd.DataFrame({**columns, "opened": opened.astype(int), "spend": spend})


def of_activated(n_new: int) -> OnlineResults:
    rules = OnlineRules(activated_by="opened")
    return recdash.ab_test(sessions=csv(visitors(n_new)), rules=rules, goals=["spend"])


def test_only_activated_users_count_and_the_others_are_named() -> None:
    results = of_activated(100)
    assert results.users == {"control": 100, "new": 100}
    table = visitors(100)
    own = table.spend[(table.variant == "new") & (table.opened == 1)]
    assert row(results, "spend").value == pytest.approx(own.mean())
    (removed,) = [rule for rule in results.removed if rule.rule == "not-activated"]
    assert dict(removed.by_variant) == {"control": 100, "new": 100}
    assert not results.health.blocked


def test_the_split_of_activated_users_is_checked_again() -> None:
    """All 400 users are split evenly; of the activated ones 100 are of control and 160 of new."""
    results = of_activated(160)
    assert results.health.srm_p == pytest.approx(stats.chisquare([100, 160]).pvalue)
    assert results.health.blocked
    assert row(results, "spend").word == "not judged"
    assert "Of the activated users: Sample ratio mismatch" in str(results.health.warnings[0])


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(InputError, match="no total is called 'seen'"):
        recdash.ab_test(sessions=csv(visitors(100)), rules=OnlineRules(activated_by="seen"))
