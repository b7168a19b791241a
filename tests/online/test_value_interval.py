"""A metric in one variant: its interval, or the reason why it has none."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import recdash
from recdash.online import OnlineMetric, OnlineResults, OnlineRow, OnlineRules
from recdash.online.ab_test import read_logs, users_of
from recdash.online.analysis.results import value_notes
from recdash.online.analysis.value_interval import distribution, rate_interval, users_needed
from recdash.online.counts import Count
from recdash.online.users import OnlineUsers
from recdash.stats.sparse import wilson

SPEND = OnlineMetric("spend", "Spend", "", "", "spend")
PRICE = OnlineMetric("price", "Price", "", "", "spend", "orders")


def shop(n: int, *, skewed: bool = True, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    spend = rng.lognormal(0, 1.3, n) * (rng.random(n) < 0.6) if skewed else rng.normal(50.0, 9.0, n)
    columns = {"user_id": np.arange(n), "variant": np.array(["A", "B"])[np.arange(n) % 2]}
    return pd.DataFrame({**columns, "spend": spend, "orders": 1 + rng.poisson(1, n)})


def csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def users(table: pd.DataFrame) -> OnlineUsers:
    logs = read_logs({"sessions": csv(table)})
    return users_of(logs.table, logs.further_tables)


def row(results: OnlineResults, metric: str, variant: str = "B") -> OnlineRow:
    (found,) = [row for row in results.rows if (row.metric, row.variant) == (metric, variant)]
    return found


# ── rates ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (30, 300), (299, 300), (300, 300)])
def test_wilsons_interval_is_that_of_scipy(successes: int, n: int) -> None:
    expected = stats.binomtest(successes, n).proportion_ci(method="wilson")
    assert wilson(successes, n, 0.95) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(
    ("count", "method"),
    [
        (Count(40, 100), "exact"),
        (Count(40, 101), "wilson"),
        (Count(11, 1_000), "wilson"),  # needs .989 / .011 / .3² = 999 users
        (Count(10, 1_000), "exact"),
        (Count(990, 1_000), "exact"),
    ],
)
def test_a_rate_is_exact_for_few_users_successes_or_failures(count: Count, method: str) -> None:
    expected = stats.binomtest(*count).proportion_ci(method=method)
    assert rate_interval(count) == pytest.approx((expected.low, expected.high))


def test_a_rate_of_users_has_an_interval_in_a_test_of_few() -> None:
    table = shop(60)
    table["bought"] = np.arange(60) % 4 == 0  # none of B, which has the odd numbers
    found = row(recdash.ab_test(sessions=csv(table), control="A"), "bought")
    assert (found.ci_low, found.ci_high, found.value_note) == (0.0, pytest.approx(1 - 0.025 ** (1 / 30)), "")


def test_amounts_whose_moments_could_be_those_of_a_rate_are_no_rate() -> None:
    """(0, 0, 0, .05, .95): the mean is .2 and the variance .176, between the .16 and .2 of one success."""
    table = pd.DataFrame({"user_id": range(10), "variant": list("ABABABABAB"), "spend": 0.0})
    table.loc[[7, 9], "spend"] = (0.05, 0.95)
    table.loc[[6, 8], "spend"] = (3.0, 7.0)
    assert row(recdash.ab_test(sessions=csv(table), control="A"), "spend").ci_low is None
    sums = "variant,n,spend_sum,spend_sum_squares\nA,5,10,58\nB,5,1,0.905\n"
    assert row(recdash.ab_test(aggregates=sums.encode(), control="A"), "spend").ci_low is None


# ── means ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("skewness", "users"),
    [(0, 200), (1.4, 200), (2, 400), (-2, 400), (10**0.5, 1_000), (5, 1_000), (18, 1_000), (40, 4_800)],
)
def test_a_mean_needs_more_users_the_more_skewed_they_are(skewness: float, users: int) -> None:
    """100 by squared skewness up to 1,000 users, and 3 from there on: 3 · 18² = 972, 3 · 40² = 4,800."""
    assert users_needed(skewness) == pytest.approx(users, abs=1)


def test_skewness_is_that_of_scipy() -> None:
    table = shop(900)
    table["spend"] += 5 * (table.variant == "B")  # a difference of the variants is no skewness
    known = distribution(SPEND, users(table))
    means = table.groupby("variant").spend.transform("mean")
    assert known.skewness == pytest.approx(stats.skew(table.spend - means))
    own = {variant: stats.skew(table.spend[table.variant == variant]) for variant in "AB"}
    assert min(own.values()) < known.skewness < max(own.values())
    # 450 users each: one variant has its own skewness, the other, whose own is smaller, that of all
    expected = {variant: max(skew, known.skewness) / math.sqrt(450) for variant, skew in own.items()}
    assert known.skewness_of_mean == pytest.approx(expected)


def test_one_user_who_carries_the_metric_leaves_no_interval() -> None:
    """The skewness of n users of whom one has a value is about √n: a variant needs 3 n of n / 2."""
    table = shop(4_000).assign(spend=0.0)
    table.loc[1, "spend"] = 1000.0
    found = row(recdash.ab_test(sessions=csv(table), control="A"), "spend")
    assert (found.ci_low, found.ci_high) == (None, None)
    assert found.value_note.startswith("2,000 users: a valid interval needs about 12,")


def test_the_skewness_of_a_ratio_is_that_of_its_residuals() -> None:
    table = shop(900)
    known = distribution(PRICE, users(table))
    rates = table.groupby("variant").spend.sum() / table.groupby("variant").orders.sum()
    rest = table.spend - table.variant.map(rates) * table.orders
    # the residuals add up to 0 in each variant, so moments about 0 are those about the mean
    assert known.skewness == pytest.approx(stats.skew(rest))


def test_a_skewed_mean_of_few_users_is_withheld_and_says_how_many_it_needs() -> None:
    results = recdash.ab_test(sessions=csv(shop(600)), control="A")
    found = row(results, "spend")
    assert (found.ci_low, found.ci_high) == (None, None)
    assert found.value_note.startswith("300 users: a valid interval needs about 1,")
    assert found.lift_low is not None  # the comparison is valid
    assert found.note == ""
    lines = value_notes(results.rows)
    assert f"Spend: no 95 % CI of the value of A and B ({found.value_note})." in lines
    frame = results.table(all_columns=True).set_index(["metric", "variant"])
    assert frame.loc[("spend", "B"), "value_note"] == found.value_note


@pytest.mark.parametrize(
    ("n_b", "shown"), [(1_000, True), (1_333, True), (1_334, False), (1_800, False)]
)  # of 2,000: two thirds are 1,333.3
def test_a_skewed_mean_of_most_users_needs_more_of_them(n_b: int, shown: bool) -> None:
    table = shop(2_000)
    table["spend"] = table["spend"].clip(upper=30.0)
    assert 10**0.5 < stats.skew(table["spend"]) < 15  # 1,000 users would be enough: 3 · 15² = 675
    table["variant"] = np.where(np.arange(2_000) < n_b, "B", "A")
    found = row(recdash.ab_test(sessions=csv(table), control="A"), "spend")
    note = "" if shown else f"{n_b:,} users: a valid interval needs about 5,000 users"
    assert (found.value_note, found.ci_low is not None) == (note, shown)


def test_as_many_users_who_are_not_skewed_have_an_interval() -> None:
    table = shop(600, skewed=False)
    found = row(recdash.ab_test(sessions=csv(table), control="A"), "spend")
    own = table.spend[table.variant == "B"]
    half = stats.t.ppf(0.975, 299) * own.std() / math.sqrt(300)
    assert found.value_note == ""
    # the skewness of the mean is below .01, by which Hall's cubic moves an end by less than 1 %
    assert (found.ci_low, found.ci_high) == pytest.approx(
        (own.mean() - half, own.mean() + half), abs=half / 50
    )


def test_the_order_of_rows_changes_no_interval() -> None:
    table = shop(3_000)
    first, second = (
        row(recdash.ab_test(sessions=csv(rows), control="A"), "spend")
        for rows in (table, table.sample(frac=1, random_state=1))
    )
    assert first.ci_low is not None
    assert (first.ci_low, first.ci_high) == pytest.approx((second.ci_low, second.ci_high), rel=1e-12)


def test_rows_that_were_stored_before_have_the_intervals_of_then() -> None:
    table = shop(600)
    found = row(
        recdash.ab_test(sessions=csv(table), control="A", rules=OnlineRules(delta_method=True)), "spend"
    )
    own = table.spend[table.variant == "B"]
    half = stats.t.ppf(0.975, 299) * own.std() / math.sqrt(300)
    assert (found.ci_low, found.ci_high) == pytest.approx((own.mean() - half, own.mean() + half))


# ── sums ─────────────────────────────────────────────────────────────────────────────────────


def sums(n: int, mean: float, variance: float) -> OnlineRow:
    text = f"variant,metric,n,mean,variance\nA,x,{n},{mean},{variance}\nB,x,{n},{mean},{variance}\n"
    return row(recdash.ab_test(aggregates=text.encode(), control="A"), "x")


@pytest.mark.parametrize(
    ("n", "variance", "needed"),
    [(4_000, 1.0, "5,000"), (5_000, 2.0 * 10**4, "80,000")],  # 5 % of 10 is √(20,000 / 80,000)
)
def test_a_mean_of_sums_needs_many_users_and_says_what_is_not_known(
    n: int, variance: float, needed: str
) -> None:
    found = sums(n, 10.0, variance)
    assert (found.ci_low, found.ci_high) == (None, None)
    assert found.value_note == (
        f"{n:,} users: a valid interval needs about {needed} users, since sums do not tell how skewed the "
        "users' values are"
    )


def test_a_mean_of_sums_of_many_users_has_students_interval() -> None:
    half = stats.t.ppf(0.975, 4_999) * math.sqrt(9 / 5_000)
    found = sums(5_000, -10.0, 9.0)
    assert (found.ci_low, found.ci_high) == pytest.approx((-10 - half, -10 + half))


# ── values at the ends of what floats and bounds allow ───────────────────────────────────────


def test_a_bound_that_the_value_itself_breaks_cuts_no_interval() -> None:
    """A metric of Python is at least 0 unless told otherwise; a loss per user of 5 ± 8 is not."""
    loss = np.random.default_rng(4).normal(-5.0, 8.0, 800)
    table = shop(800).assign(spend=loss)
    found = row(recdash.ab_test(sessions=csv(table), metrics=[SPEND]), "spend")
    own = loss[1::2]
    expected = stats.ttest_1samp(own, 0).confidence_interval(0.95)
    assert found.value == pytest.approx(own.mean())
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(expected), rel=0.01)


@pytest.mark.parametrize("unit", [1e-120, 1e110])
def test_the_skewness_of_values_does_not_depend_on_their_unit(unit: float) -> None:
    table = shop(800)
    known = distribution(SPEND, users(table))
    scaled = users(table)
    totals = {**scaled.totals, "spend": scaled.totals["spend"] * unit}
    found = distribution(SPEND, dataclasses.replace(scaled, totals=totals))
    assert found.skewness == pytest.approx(known.skewness)
    assert found.skewness_of_mean == pytest.approx(known.skewness_of_mean)
