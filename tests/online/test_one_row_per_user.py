"""A table of one row per user: only user and variant are required, each number becomes a metric."""

from __future__ import annotations

import io
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recdash
from recdash.errors import InputError
from recdash.online import OnlineMetric, OnlineResults, OnlineRow

N = 400


def shop(**more: Any) -> pd.DataFrame:
    """Of each group 200 customers; of new 60 buy for 10 each, of control 40 for 5 each."""
    is_new = np.arange(N) % 2 == 1
    bought = np.where(is_new, np.arange(N) // 2 < 60, np.arange(N) // 2 < 40)
    return pd.DataFrame(
        {
            "customer": [f"c{i}" for i in range(N)],
            "experiment_group": np.where(is_new, "new", "control"),
            "country": np.where(np.arange(N) % 3 == 0, "SE", "PT"),
            "bought": np.where(bought, "yes", "no"),
            "revenue": np.where(bought, np.where(is_new, 10.0, 5.0), 0.0),
            **more,
        }
    )


def results_of(table: pd.DataFrame, **how: Any) -> OnlineResults:
    return recdash.ab_test(sessions=table.to_csv(index=False).encode(), **how)


def row(results: OnlineResults, metric: str) -> OnlineRow:
    return next(row for row in results.rows if row.metric == metric and not row.is_control)


def values(results: OnlineResults, metric: str) -> list[float | None]:
    return [row.value for row in results.rows if row.metric == metric]


def said(results: OnlineResults) -> str:
    return "\n".join(map(str, results.notices))


def test_each_number_is_a_metric_a_rate_where_all_values_are_0_or_1() -> None:
    results = results_of(shop())
    assert {row.metric: row.unit for row in results.rows} == {"bought": "0..1", "revenue": "per user"}
    assert values(results, "bought") == [40 / 200, 60 / 200]
    assert values(results, "revenue") == [40 * 5 / 200, 60 * 10 / 200]
    assert row(results, "revenue").lift == pytest.approx(600 / 200 / (200 / 200) - 1)
    assert "each number is a metric: bought (rate) and revenue (mean per user)" in said(results)
    assert "yes and no are read as 1 and 0" in said(results)
    assert "video" not in said(results)
    assert results.users == {"control": 200, "new": 200}


def test_a_column_of_sessions_is_a_guardrail() -> None:
    """12 and 9 sessions per user are a loss of 25 %, beyond the standard margin of 2 %."""
    results = results_of(shop(sessions=np.where(np.arange(N) % 2 == 1, 9, 12) + np.arange(N) // 2 % 2))
    own = row(results, "sessions_per_user")
    assert (own.title, own.role, own.margin, own.word) == ("Sessions per user", "guardrail", 0.02, "broken")
    assert "sessions_per_user (mean per user, a guardrail with a margin of 2 %)" in said(results)
    alone = results_of(shop(sessions=np.arange(N)).drop(columns=["bought", "revenue"]))
    assert row(alone, "sessions_per_user").role == "goal"


def test_the_lift_of_a_mean_is_that_of_independent_arithmetic() -> None:
    """The interval of the ratio of two means, by the delta method on its logarithm with Welch's t."""
    rng = np.random.default_rng(7)
    table = shop(revenue=rng.gamma(2.0, 10.0, N))
    own = row(results_of(table), "revenue")
    new = table.revenue[table.experiment_group == "new"]
    control = table.revenue[table.experiment_group == "control"]
    assert own.lift == pytest.approx(new.mean() / control.mean() - 1, rel=1e-4)
    assert own.lift_low is not None
    assert own.lift_high is not None
    assert own.lift_low < new.mean() / control.mean() - 1 < own.lift_high


@pytest.mark.parametrize(
    "name", ["variation", "version", "group", "bucket", "arm", "variation_id", "ab_group"]
)
@pytest.mark.parametrize("user", ["customer", "visitor_id", "member"])
def test_usual_names_of_user_and_variant_are_known(name: str, user: str) -> None:
    table = shop().rename(columns={"experiment_group": name, "customer": user})
    assert results_of(table).users == {"control": 200, "new": 200}


def test_a_number_of_the_time_before_the_test_adjusts_the_lift_and_is_no_metric() -> None:
    rng = np.random.default_rng(3)
    before = rng.gamma(2.0, 10.0, N)
    table = shop(revenue=before + rng.normal(0, 1, N) + 30, pre_revenue=before, pre_visits=1.0)
    results = results_of(table)
    own = row(results, "revenue")
    assert {row.metric for row in results.rows} == {"bought", "revenue"}
    assert own.is_adjusted
    assert own.narrower is not None
    assert own.narrower > 0.5


def test_printed_results_are_a_line_for_each_metric_and_variant() -> None:
    results = results_of(shop(refunds=0.0))
    head, *lines, more = str(results).splitlines()
    assert (head, more) == (f"Lifts over {results.control}:", "All numbers: .table(all_columns=True)")
    assert len(lines) == sum(not row.is_control for row in results.rows)
    assert lines[0].startswith("Bought, ")
    assert "(95 % CI " in lines[0]


def test_printed_results_fit_a_screen_goals_first() -> None:
    results = results_of(shop(**{f"metric_{number}": np.arange(N) % 7 for number in range(20)}))
    first, *others = results.rows
    rows = tuple(replace(row, role="other") if row.metric == first.metric else row for row in others)
    lines = str(replace(results, rows=(replace(first, role="other"), *rows))).splitlines()
    assert len(lines) <= 15
    assert lines[-2].startswith("… and ")
    assert not lines[1].startswith(first.title)


@pytest.mark.parametrize("name", ["Unnamed: 0", "__index_level_0__"])
def test_row_numbers_of_pandas_are_no_metric(name: str) -> None:
    results = results_of(shop(**{name: range(N)}))
    assert {row.metric for row in results.rows} == {"bought", "revenue"}


def test_names_that_identify_or_date_something_are_no_metrics() -> None:
    table = shop(order_id=range(N), zip_code=12_345, signup_year=2020, refunds=0.0)
    table.loc[:100, "refunds"] = 2.5
    results = results_of(table)
    assert {row.metric: row.direction for row in results.rows} == {
        "bought": "up", "revenue": "up", "refunds": "down",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("skips", "down"), ("uebersprungen", "down"), ("Übersprungene Titel", "down"),
        ("bounce_rate", "down"), ("churned", "down"), ("complaints", "down"), ("latency_ms", "down"),
        ("returns", "down"), ("return_rate", "down"), ("unsubscribed", "down"), ("Kündigungen", "down"),
        ("load_ms", "down"), ("page_load_time", "down"), ("pageload_s", "down"), ("response_time", "down"),
        ("loading seconds", "down"), ("render_ms", "down"), ("download_time", "down"),
        # what sounds alike, or says neither
        ("returning_days", "up"), ("return_visits", "up"), ("skipper_sales", "up"), ("costume_sales", "up"),
        ("wiedergaben", "up"), ("downloads", "up"), ("load_more_clicks", "up"), ("responses", "up"),
        ("watch_ms", "up"),
    ],
)  # fmt: skip
def test_less_of_a_metric_is_better_where_its_name_says_so(name: str, direction: str) -> None:
    results = results_of(shop(**{name: np.arange(N) % 7}))
    assert next(row.direction for row in results.rows if row.metric == name) == direction


@pytest.mark.parametrize("name", ["exposed_at", "first_exposure", "assigned_at"])
def test_when_users_entered_the_test_is_read_from_a_column_named_so(name: str) -> None:
    """Users are exposed in turn over 8 days."""
    at = pd.Timestamp("2026-10-05 09:00") + pd.to_timedelta(np.arange(N) % 8, unit="D")
    results = results_of(shop(**{name: at}))
    assert len(results.days("revenue")) == 8
    assert "distinct texts" not in said(results)


def test_a_column_of_times_with_another_name_is_no_segment_and_may_be_chosen() -> None:
    at = pd.Timestamp("2026-10-05 09:00") + pd.to_timedelta(np.arange(N), unit="h")
    results = results_of(shop(first_seen=at))
    assert "column 'first_seen': ignored: times cannot define segments" in said(results)
    assert "If it is when each user entered the test, choose it as start_ts or rename it exposed_at." in said(
        results
    )
    chosen = results_of(shop(first_seen=at), columns={"start_ts": "first_seen"})
    assert len(chosen.days("revenue")) == len(at.normalize().unique())


def test_metrics_that_are_stated_take_the_place_of_those_proposed() -> None:
    price = OnlineMetric("price", "Price", "", "", numerator="revenue", denominator="bought", low=None)
    results = results_of(shop(), metrics=[price])
    assert values(results, "price") == [5.0, 10.0]
    assert {row.metric for row in results.rows} == {"price"}


def test_no_user_of_a_table_per_user_is_taken_for_a_bot() -> None:
    """Clicks of the whole test say nothing about one day."""
    results = results_of(shop(clicks=1_000))
    assert results.users == {"control": 200, "new": 200}
    assert results.removed == ()
    assert values(results, "clicks") == [1_000.0, 1_000.0]


def test_rows_of_one_user_are_added_up() -> None:
    table = pd.concat([shop(), shop()])
    assert values(results_of(table.drop(columns="bought")), "revenue") == [2.0, 6.0]


def test_a_table_without_numbers_says_what_to_add() -> None:
    table = shop()[["customer", "experiment_group", "country"]]
    with pytest.raises(InputError, match="no column of numbers to compare the variants by"):
        results_of(table)


def test_columns_of_text_are_segments_and_empty_cells_count_as_nothing() -> None:
    table = shop()
    table.loc[table.revenue == 0, "revenue"] = np.nan
    assert values(results_of(table), "revenue") == [1.0, 3.0]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_column_of_empty_cells_is_no_metric_and_one_of_zeros_is_no_rate(form: str) -> None:
    table = shop(bonus=np.nan, refunds=0)
    file = io.BytesIO()
    (table.to_csv if form == "csv" else table.to_parquet)(file, index=False)
    results = recdash.ab_test(sessions=file.getvalue())
    assert {row.metric: row.unit for row in results.rows} == {
        "bought": "0..1", "revenue": "per user", "refunds": "per user",
    }  # fmt: skip
    assert "column 'bonus': ignored: all its cells are empty" in said(results)
    assert "refunds (mean per user, less is better)" in said(results)


def test_results_are_also_a_table() -> None:
    table = results_of(shop()).table()
    assert list(table["metric"].unique()) == ["bought", "revenue"]
    assert {"variant", "value", "lift", "p"} <= {*table.columns}
    whole = results_of(shop()).table(all_columns=True)
    assert list(table.columns) == list(whole.columns[: len(table.columns)])
    assert len(table.columns) <= 11
    assert set(whole.columns) == {field.name for field in fields(OnlineRow)}
