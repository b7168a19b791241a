"""Aggregated tables as people really write them: rows of all users, days in other forms, gaps and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import recdash
from recdash.errors import InputError


def users(n: int = 1200) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    before = rng.gamma(2, 5, n)
    return pd.DataFrame(
        {
            "user_id": [f"u{i}" for i in range(n)],
            "variant": rng.choice(["control", "new"], n),
            "country": rng.choice(["de", "fr", "it"], n),
            "device": rng.choice(["phone", "laptop"], n),
            "day": pd.Timestamp("2026-01-08") + pd.to_timedelta(rng.integers(0, 7, n), "D"),
            "pre_revenue": before,
            "revenue": before / 2 + rng.gamma(2, 5, n),
            "orders": rng.poisson(2, n),
        }
    )


def sums(*by: str) -> pd.DataFrame:
    """Returns the sums over users, as GROUP BY of these columns gives them."""
    rows = users()
    totals = ["revenue", "orders", "pre_revenue"]
    for name in totals:
        rows[f"{name}_sum"], rows[f"{name}_sum_squares"] = rows[name], rows[name] ** 2
        for other in totals:
            if name < other:
                rows[f"{name}_{other}_sum_product"] = rows[name] * rows[other]
    rows["n"] = 1
    values = [name for name in rows if name == "n" or "_sum" in name]
    return rows.groupby(list(by))[values].sum().reset_index()


def table_of(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return recdash.ab_test(aggregates=frame, **options).table()


def codes_of(frame: pd.DataFrame) -> list[str]:
    with pytest.raises(InputError) as error:
        recdash.ab_test(aggregates=frame)
    return [problem.code for problem in error.value.problems]


ALL = sums("variant")
BY_COUNTRY = sums("variant", "country")
BY_BOTH = sums("variant", "country", "device")


@pytest.mark.parametrize(
    "frame",
    [
        pd.concat([BY_COUNTRY, ALL]),  # GROUPING SETS ((variant, country), (variant))
        pd.concat([BY_COUNTRY, ALL.assign(country="Gesamt")]),
        pd.concat([BY_COUNTRY, sums("variant", "device")]),
        pd.concat([BY_BOTH, BY_COUNTRY, ALL]),  # ROLLUP (country, device)
        pd.concat([BY_BOTH, BY_COUNTRY, sums("variant", "device"), ALL]),  # CUBE (country, device)
    ],
)
def test_rows_of_all_users_beside_segments_are_refused(frame: pd.DataFrame) -> None:
    assert set(codes_of(frame)) == {"total-rows"}


def test_two_segments_of_the_same_size_are_no_rows_of_all_users() -> None:
    twice = pd.concat([ALL.assign(half="first"), ALL.assign(half="second")])
    assert (table_of(twice)["n_users"] == 2 * table_of(ALL)["n_users"]).all()


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%Y%m%d", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"])
def test_days_may_be_written_in_other_forms(form: str) -> None:
    frame = sums("variant", "day")
    written = frame.assign(day=frame["day"].dt.strftime(form))
    expected = recdash.ab_test(aggregates=frame).days("revenue").table()
    pd.testing.assert_frame_equal(recdash.ab_test(aggregates=written).days("revenue").table(), expected)


@pytest.mark.parametrize("value", ["soon", 3])
def test_values_that_are_no_day_are_refused(value: Any) -> None:
    frame = sums("variant", "day")
    days = frame["day"].dt.strftime("%Y-%m-%d") if value == "soon" else frame["day"].dt.day
    days.iloc[0] = value
    assert codes_of(frame.assign(day=days)) == ["bad-time"]


def test_a_column_of_standard_errors_is_no_moment() -> None:
    frame = pd.DataFrame(
        {"variant": ["a", "b"], "n": [900, 910], "successes": [90, 99], "std_err": [0.1, 0.2]}
    )
    assert table_of(frame)["metric"].unique().tolist() == ["conversion"]


@pytest.mark.parametrize(
    ("columns", "place"),
    [
        ({"mean": 1.0, "variance": [-1.0, 2.0]}, "'variance'"),
        ({"x_mean": 1.0, "x_std": [-1.0, 2.0]}, "'x_std'"),
    ],
)
def test_spreads_below_0_are_refused_by_the_name_of_their_column(columns: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=f"column {place}: negative in 1 row"):
        recdash.ab_test(aggregates=pd.DataFrame({"variant": ["a", "b"], "n": [900, 910], **columns}))


def test_a_total_without_squares_or_with_gaps_is_left_out_with_a_notice() -> None:
    frame = ALL.drop(columns="orders_sum_squares")
    frame.loc[0, "revenue_sum"] = np.nan
    frame["clicks_sum"], frame["clicks_sum_squares"] = frame["n"] * 2.0, frame["n"] * 5.0
    notices = {
        notice.place: str(notice)
        for notice in recdash.ab_test(aggregates=frame).notices
        if notice.code == "column-left-out"
    }
    assert "no number in 1 row" in notices["column 'revenue_sum'"]
    assert "Add orders_sum_squares" in notices["column 'orders_sum'"]
    assert not any("product_sum_squares" in text for text in notices.values())


def test_a_column_before_the_test_is_a_covariate_by_the_name_it_has_in_the_file() -> None:
    given = {"orders": "pre_revenue", "revenue": "pre_revenue"}
    of_users = recdash.ab_test(sessions=users().drop(columns=["day", "country", "device"]), covariates=given)
    of_sums = recdash.ab_test(aggregates=ALL, covariates=given)
    own = recdash.ab_test(aggregates=ALL).table()
    of_new = "variant == 'new' and metric in ('revenue', 'orders')"
    first, second = (
        results.table().query(of_new).set_index("metric")[["lift", "lift_low", "p"]].sort_index()
        for results in (of_users, of_sums)
    )
    np.testing.assert_allclose(first, second, rtol=1e-9)
    is_revenue = (own["metric"] == "revenue") & (own["variant"] == "new")
    np.testing.assert_allclose(of_sums.table()["lift"][is_revenue], own["lift"][is_revenue], rtol=1e-9)


def test_segments_come_in_the_same_order_whatever_the_order_of_the_file() -> None:
    rows = users().drop(columns=["day", "pre_revenue"])
    tables = [
        recdash.ab_test(sessions=rows.sample(frac=1, random_state=seed)).segments().table()
        for seed in range(3)
    ]
    for table in tables:
        pd.testing.assert_frame_equal(table, tables[0], rtol=1e-12)
