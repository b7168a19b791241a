"""A shop's and a news site's tests in Python: each number equals that of SciPy, and no word is of videos."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from other_products import (
    CONTROL,
    NEW,
    N,
    csv,
    customers,
    shop_exposures,
    shop_orders,
    visits,
    words_of_videos,
)
from scipy import stats

import recdash
from recdash.online import OnlineMetric, OnlineResults, OnlineRow


def row(results: OnlineResults, metric: str) -> OnlineRow:
    return next(row for row in results.rows if row.metric == metric and not row.is_control)


def control(results: OnlineResults, metric: str) -> OnlineRow:
    return next(row for row in results.rows if row.metric == metric and row.is_control)


def score_p(successes: tuple[int, int], n: tuple[int, int]) -> float:
    """The score test of two rates: Pearson's χ² times (N − 1) / N."""
    table = [successes, [total - ones for total, ones in zip(n, successes, strict=True)]]
    chi = stats.chi2_contingency(table, correction=False).statistic
    total = sum(n)
    return float(stats.chi2.sf(chi * (total - 1) / total, 1))


def test_rates_and_means_of_a_shop_are_those_of_scipy() -> None:
    table = customers()
    results = recdash.ab_test(sessions=csv(table), control=CONTROL, primary="revenue")
    old, new = (table[table.variant == variant] for variant in (CONTROL, NEW))
    assert {row.metric for row in results.rows} == {"revenue", "converted", "orders"}
    assert results.rows[0].metric == "revenue"
    assert results.users == {CONTROL: N, NEW: N}

    rate = row(results, "converted")
    assert rate.value == pytest.approx(new.converted.mean())
    assert rate.lift == pytest.approx(new.converted.mean() / old.converted.mean() - 1)
    bought = (int(old.converted.sum()), int(new.converted.sum()))
    assert rate.p == pytest.approx(score_p(bought, (N, N)), rel=1e-6)

    orders = row(results, "orders")
    welch = stats.ttest_ind(new.orders, old.orders, equal_var=False)
    assert orders.difference == pytest.approx(new.orders.mean() - old.orders.mean())
    assert orders.p == pytest.approx(float(welch.pvalue), rel=1e-6)
    interval = welch.confidence_interval()
    assert orders.difference_low == pytest.approx(interval.low)
    assert orders.difference_high == pytest.approx(interval.high)

    # CUPED: what the regression on revenue before the test explains is taken off, in both variants alike
    slope = stats.linregress(table.pre_revenue, table.revenue).slope
    rest = table.revenue - slope * (table.pre_revenue - table.pre_revenue.mean())
    revenue = row(results, "revenue")
    own, other = rest[table.variant == NEW], rest[table.variant == CONTROL]
    adjusted = stats.ttest_ind(own, other, equal_var=False)
    assert revenue.is_adjusted
    assert revenue.p == pytest.approx(float(adjusted.pvalue), rel=1e-6)
    assert revenue.lift == pytest.approx(own.mean() / other.mean() - 1)
    assert revenue.difference_low == pytest.approx(adjusted.confidence_interval().low)
    plain = new.revenue.mean() / old.revenue.mean() - 1
    assert revenue.plain_lift == pytest.approx(plain)
    assert words_of_videos(everything(results)) == []


def everything(results: OnlineResults) -> str:
    """All that the results say of themselves."""
    answers = [results.segments(), results.power(0.02)]  # type: ignore[attr-defined]
    texts = [results, results.table(all_columns=True).to_csv(), *results.noticed(), results.health]
    return "\n".join(map(str, [*texts, *answers]))


def test_orders_as_facts_beside_exposures_give_the_numbers_of_the_table_per_customer() -> None:
    """Each customer who bought has one row; the revenue of the others is 0."""
    table = customers()
    results = recdash.ab_test(
        exposures=csv(shop_exposures()), events=csv(shop_orders()), control=CONTROL, primary="order value"
    )
    own = row(results, "order value")
    welch = stats.ttest_ind(
        table.revenue[table.variant == NEW], table.revenue[table.variant == CONTROL], equal_var=False
    )
    assert own.value == pytest.approx(table.revenue[table.variant == NEW].mean())
    assert own.p == pytest.approx(float(welch.pvalue), rel=1e-6)
    rate = row(results, "order")
    assert rate.value == pytest.approx(table.converted[table.variant == NEW].mean())
    assert words_of_videos(everything(results)) == []


def test_orders_within_a_day_of_the_exposure_are_those_of_scipy() -> None:
    """Every third customer's order comes two days later, so that it does not count."""
    soon = OnlineMetric("soon", "Orders within a day", "", "", "order", within_hours=24)
    results = recdash.ab_test(
        exposures=csv(shop_exposures()), events=csv(shop_orders()), control=CONTROL, metrics=[soon]
    )
    table = customers()
    counts = (table.converted == 1) & (table.index % 3 != 0)
    sizes = counts.groupby(table.variant).sum()
    own = row(results, "soon")
    assert own.value == pytest.approx(sizes[NEW] / N)
    assert own.p == pytest.approx(score_p((int(sizes[CONTROL]), int(sizes[NEW])), (N, N)), rel=1e-6)


def test_sessions_and_retention_of_a_news_site_are_those_of_scipy() -> None:
    table = visits()
    per_session = OnlineMetric("reads_per_session", "Reads per session", "", "", "reads", "sessions")
    back = OnlineMetric("back", "Back after a week", "", "", "reads", retention_day=7)
    reads = OnlineMetric("reads", "Reads", "", "", "reads")
    results = recdash.ab_test(sessions=csv(table), control=CONTROL, metrics=[per_session, back, reads])
    users = table.groupby(["variant", "reader_id"]).agg(reads=("reads", "sum"), n=("session_id", "size"))
    old, new = users.loc[CONTROL], users.loc[NEW]

    welch = stats.ttest_ind(new.reads, old.reads, equal_var=False)
    assert row(results, "reads").p == pytest.approx(float(welch.pvalue), rel=1e-6)

    # a ratio of sums: its linearised values per user are compared by Welch's t
    ratios = [side.reads.sum() / side.n.sum() for side in (old, new)]
    errors = []
    for side, ratio in zip((old, new), ratios, strict=True):
        rest = (side.reads - ratio * side.n) / side.n.mean()
        errors.append(rest.var(ddof=1) / N)
    own = row(results, "reads_per_session")
    assert own.lift == pytest.approx(ratios[1] / ratios[0] - 1)
    t = (ratios[1] - ratios[0]) / np.sqrt(sum(errors))
    df = sum(errors) ** 2 / sum(error**2 / (N - 1) for error in errors)
    assert own.p == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-6)

    came = table.assign(day=pd.to_datetime(table.start_ts).dt.day)
    first = came.groupby("reader_id").day.transform("min")
    returned = came[came.day == first + 7].groupby("variant").reader_id.nunique()
    kept = row(results, "back")
    assert kept.value == pytest.approx(returned[NEW] / N)
    sizes = (int(returned[CONTROL]), int(returned[NEW]))
    assert kept.p == pytest.approx(score_p(sizes, (N, N)), rel=1e-6)
    assert words_of_videos(everything(results)) == []


def test_numbers_of_a_news_site_are_proposed_without_a_word_of_videos() -> None:
    results = recdash.ab_test(sessions=csv(visits()), control=CONTROL)
    assert {row.metric: row.role for row in results.rows} == {
        "sessions_per_user": "guardrail", "reads": "goal", "dwell_s": "goal", "subscribed": "goal",
    }  # fmt: skip
    assert words_of_videos(everything(results)) == []
