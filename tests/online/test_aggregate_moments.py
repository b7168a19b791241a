"""Aggregates of a warehouse, of which every number is that of the rows of users, to nine digits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import recdash
from recdash.errors import InputError
from recdash.online import OnlineMetric, OnlineResults, OnlineRules
from recdash.online.ab_test import read_logs, users_of
from recdash.online.analysis import choice, lift, over_time, segments
from recdash.online.analysis.aggregate_tables import MomentTable, aggregate_table
from recdash.online.rules import USUAL
from recdash.online.users import OnlineUsers

DIGITS = 1e-9
PRICE = OnlineMetric("price", "Price", "", "", "spend", "orders", low=None)


def mail(n: int = 6000) -> pd.DataFrame:
    """A mailing with three groups, few buyers, and what customers spent before: shaped like Hillstrom's."""
    rng = np.random.default_rng(17)
    group = rng.permutation(np.arange(n) % 3)
    before = np.round(rng.gamma(1.0, 200.0, n), 2)
    orders = rng.poisson(0.4 + 0.1 * group + before / 800)
    return pd.DataFrame(
        {
            "customer_id": np.arange(n),
            "segment": np.array(["no mail", "first mail", "other mail"])[group],
            "zone": np.array(["rural", "suburban", "urban"])[rng.integers(0, 3, n)],
            "visit": (orders > 0).astype(int),
            "orders": orders,
            "spend": np.round(orders * rng.gamma(4.0, 12.0, n), 2),
            "pre_orders": rng.poisson(before / 400 + 0.2),
            "pre_spend": before,
        }
    ).rename(columns={"segment": "test_group"})


def game(n: int = 5000) -> pd.DataFrame:
    """A game with two gates: rounds that few play very often, and who came back. Shaped like Cookie Cats."""
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "userid": np.arange(n),
            "version": np.array(["gate_30", "gate_40"])[rng.permutation(np.arange(n) % 2)],
            "sum_gamerounds": rng.negative_binomial(0.5, 0.01, n),
            "retention_1": rng.random(n) < 0.44,
            "retention_7": rng.random(n) < 0.19,
        }
    )


def shops(n: int = 548) -> pd.DataFrame:
    """Weekly sales of restaurants with three promotions, shaped like the marketing test of a chain."""
    rng = np.random.default_rng(9)
    promotion = rng.permutation(np.arange(n) % 3) + 1
    return pd.DataFrame(
        {
            "location_id": np.arange(n),
            "promotion": promotion,
            "market_size": np.array(["Small", "Medium", "Large"])[rng.integers(0, 3, n)],
            "sales_in_thousands": np.round(rng.normal(48 + 4.0 * (promotion == 1), 16, n), 2),
        }
    )


def moments_of(
    table: pd.DataFrame, keys: Sequence[str], totals: Sequence[str], sums: str = "{}_sum"
) -> pd.DataFrame:
    """The group-by of a warehouse: users, sums, sums of squares and of products."""
    numbers = table[list(totals)].astype(float)
    columns: dict[str, Any] = {"n": np.ones(len(table))}
    columns |= {sums.format(name): numbers[name] for name in totals}
    columns |= {f"{name}_sum_squares": numbers[name] ** 2 for name in totals}
    columns |= {f"{a}_{b}_sum_product": numbers[a] * numbers[b] for a, b in itertools.combinations(totals, 2)}
    grouped = pd.concat([table[list(keys)], pd.DataFrame(columns)], axis=1)
    return grouped.groupby(list(keys), as_index=False).sum()


def results_of(table: pd.DataFrame, kind: str = "aggregates", **how: Any) -> OnlineResults:
    tables: dict[str, Any] = {kind: table.to_csv(index=False).encode()}
    how["rules"] = replace(how.get("rules", USUAL), delta_method=True)  # the same from sums and users
    return recdash.ab_test(**tables, **how)


NUMBERS = (
    "value", "ci_low", "ci_high", "lift", "lift_low", "lift_high", "p", "plain_lift", "plain_low",
    "plain_high",
    "p_corrected", "corrected_low", "corrected_high", "sequence_low", "sequence_high", "numerator",
    "denominator",
)  # fmt: skip


def assert_same(aggregated: OnlineResults, of_users: OnlineResults) -> None:
    rows = {(row.metric, row.variant): row for row in aggregated.rows}
    assert rows.keys() == {(row.metric, row.variant) for row in of_users.rows}
    for row in of_users.rows:
        own = rows[row.metric, row.variant]
        for name in NUMBERS:
            expected = getattr(row, name)
            assert getattr(own, name) == (
                None if expected is None else pytest.approx(expected, rel=DIGITS, abs=DIGITS)
            ), (row.metric, row.variant, name)
        assert (own.word, own.n_users, own.role) == (row.word, row.n_users, row.role)
    assert dict(aggregated.users) == dict(of_users.users)
    assert aggregated.health.srm_p == pytest.approx(of_users.health.srm_p, rel=DIGITS)


TOTALS = ["visit", "orders", "spend", "pre_orders", "pre_spend"]


@pytest.mark.parametrize("metrics", [(), (PRICE,)])
@pytest.mark.parametrize("keys", [["test_group"], ["test_group", "zone"]])
def test_sums_of_a_warehouse_give_the_results_of_its_users(
    keys: list[str], metrics: tuple[OnlineMetric, ...]
) -> None:
    how: dict[str, Any] = {"control": "no mail", "metrics": metrics}
    aggregated = results_of(moments_of(mail(), keys, TOTALS), **how)
    assert_same(aggregated, results_of(mail(), "sessions", **how))
    assert any(row.is_adjusted for row in aggregated.rows)


def test_order_of_rows_and_columns_changes_no_number() -> None:
    table = moments_of(mail(), ["test_group", "zone"], TOTALS)
    first = results_of(table, control="no mail")
    shuffled = table.sample(frac=1, random_state=3)[list(reversed(table.columns))]
    assert_same(results_of(shuffled, control="no mail"), first)


def test_means_and_variances_say_the_same() -> None:
    grouped = mail().groupby("test_group")
    table = pd.DataFrame({"n": grouped.size()})
    for name in ("orders", "spend"):
        table[f"{name}_mean"], table[f"{name}_var"] = grouped[name].mean(), grouped[name].var()
    table["orders_spend_cov"] = grouped.apply(lambda rows: rows["orders"].cov(rows["spend"]))
    how: dict[str, Any] = {"control": "no mail", "metrics": [PRICE]}
    users = mail().drop(columns=["pre_orders", "pre_spend"])
    assert_same(results_of(table.reset_index(), **how), results_of(users, "sessions", **how))


@pytest.mark.parametrize(
    "names",
    [
        ("sum_{}", "sum_{}_squared"), ("{}", "{}_sq"), ("total_{}", "{}_sumsq"), ("{}_total", "sum_sq_{}"),
        ("{} sum", "{} sum of squares"),
    ],
)  # fmt: skip
def test_usual_names_of_sums_are_known(names: tuple[str, str]) -> None:
    table = moments_of(game(), ["version"], ["sum_gamerounds"])
    named = table.rename(
        columns={
            "sum_gamerounds_sum": names[0].format("rounds"),
            "sum_gamerounds_sum_squares": names[1].format("rounds"),
        }
    )
    (row,) = [row for row in results_of(named).rows if not row.is_control]
    rounds = [game().loc[game().version == gate, "sum_gamerounds"] for gate in ("gate_30", "gate_40")]
    assert row.metric == "rounds"
    assert row.p == pytest.approx(stats.ttest_ind(*rounds, equal_var=False).pvalue, rel=DIGITS)


def test_a_row_per_metric_may_have_a_denominator_and_covariates() -> None:
    table = mail()
    x, y, u, v = (table[name].astype(float) for name in ("spend", "orders", "pre_spend", "pre_orders"))
    columns = {
        "main_sum": x, "main_sum_squares": x * x, "denominator_sum": y, "denominator_sum_squares": y * y,
        "main_denominator_sum_product": x * y, "covariate_sum": u, "covariate_sum_squares": u * u,
        "main_covariate_sum_product": x * u, "denominator_pre_sum": v, "denominator_pre_sum_squares": v * v,
        "main_pre_denominator_post_sum_product": u * y, "main_pre_denominator_pre_sum_product": u * v,
        "main_post_denominator_pre_sum_product": x * v, "denominator_post_denominator_pre_sum_product": y * v,
    }  # fmt: skip
    wide = pd.DataFrame({"variation": table.test_group, "users": 1, **columns})
    of_metric = wide.groupby("variation", as_index=False).sum()
    of_metric.insert(0, "metric_id", "price")
    named = results_of(of_metric.rename(columns={"metric_id": "metric"}), control="no mail")
    expected = results_of(table, "sessions", control="no mail", metrics=[PRICE])
    assert_same(named, expected)
    alone = results_of(of_metric.drop(columns="metric_id"), control="no mail")
    rows = [(row.lift, row.lift_low) for row in alone.rows if not row.is_control]
    assert rows == pytest.approx(
        [pytest.approx((row.lift, row.lift_low), rel=DIGITS) for row in expected.rows if not row.is_control]
    )


def test_rows_of_metrics_with_sums_and_with_rates() -> None:
    table = game()
    gates = table.groupby("version")
    rounds = [
        ("sum_gamerounds", gate, len(rows), rows.sum_gamerounds.sum(), (rows.sum_gamerounds**2).sum(), None)
        for gate, rows in gates
    ]
    came = [("retention_7", gate, len(rows), None, None, rows.retention_7.sum()) for gate, rows in gates]
    columns = ["metric", "version", "n", "sum", "sum_squares", "successes"]
    aggregated = results_of(pd.DataFrame([*rounds, *came], columns=columns))
    of_users = results_of(table.drop(columns="retention_1"), "sessions")
    assert_same(aggregated, of_users)


def test_results_are_those_of_scipy() -> None:
    """Of three promotions: Welch's p and the chi-square of the split."""
    table = shops()
    aggregated = results_of(
        moments_of(table, ["promotion"], ["sales_in_thousands"]),
        control="1",
        columns={"variant": "promotion"},
    )
    sales = {name: rows.sales_in_thousands for name, rows in table.groupby("promotion")}
    for row in aggregated.rows:
        own = sales[int(row.variant)]
        half = stats.t.ppf(0.975, len(own) - 1) * own.std() / math.sqrt(len(own))
        assert (row.value, row.ci_low, row.ci_high) == pytest.approx(
            (own.mean(), own.mean() - half, own.mean() + half), rel=DIGITS
        )
        if not row.is_control:
            welch = stats.ttest_ind(own, sales[1], equal_var=False)
            assert row.p == pytest.approx(welch.pvalue, rel=DIGITS)
            assert row.lift == pytest.approx(own.mean() / sales[1].mean() - 1, rel=DIGITS)
    assert aggregated.health.srm_p == pytest.approx(
        stats.chisquare([len(own) for own in sales.values()]).pvalue, rel=DIGITS
    )


# ── tea-tasting and SQL ──────────────────────────────────────────────────────────────────────


def aggregates_of(data: Any) -> Any:
    from tea_tasting.aggr import read_aggregates

    names = ["orders", "spend", "pre_orders", "pre_spend"]
    return read_aggregates(
        data, "test_group", has_count=True, mean_cols=names, var_cols=names,
        cov_cols=list(itertools.combinations(names, 2)),
    )  # fmt: skip


def from_ibis(table: pd.DataFrame) -> Any:
    duckdb, ibis = pytest.importorskip("duckdb"), pytest.importorskip("ibis")
    database = duckdb.connect()
    database.register("rows", pa.Table.from_pandas(table))
    database.execute("create table users as select * from rows")
    return ibis.duckdb.from_connection(database).table("users")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("source", [lambda table: table, from_ibis], ids=["pandas", "ibis"])
def test_aggregates_of_tea_tasting_are_read(source: Callable[[pd.DataFrame], Any]) -> None:
    table = mail().drop(columns="visit")
    for metrics in ((), (PRICE,)):
        how: dict[str, Any] = {"control": "no mail", "metrics": metrics}
        rules = OnlineRules(delta_method=True)
        own = recdash.ab_test(aggregates=aggregates_of(source(table)), rules=rules, **how)
        assert_same(own, results_of(table, "sessions", **how))


def test_lifts_are_those_of_tea_tasting() -> None:
    from tea_tasting.metrics import RatioOfMeans

    arms = aggregates_of(mail())
    tasted = RatioOfMeans(
        "spend", "orders", numer_covariate="pre_spend", denom_covariate="pre_orders"
    ).analyze_aggregates(arms["no mail"], arms["first mail"])
    rules = OnlineRules(delta_method=True)
    own = recdash.ab_test(aggregates=arms, control="no mail", metrics=[PRICE], rules=rules)
    row = next(row for row in own.rows if row.variant == "first mail")
    if not row.is_adjusted:
        tasted = RatioOfMeans("spend", "orders").analyze_aggregates(arms["no mail"], arms["first mail"])
    assert (row.lift, row.lift_low, row.lift_high, row.p) == pytest.approx(
        (
            tasted.rel_effect_size, tasted.rel_effect_size_ci_lower, tasted.rel_effect_size_ci_upper,
            tasted.pvalue,
        ),
        rel=DIGITS,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_ibis_expression_of_sums_is_read_as_a_table() -> None:
    users = from_ibis(mail())
    expression = users.group_by("test_group").aggregate(
        n=users.count(),
        spend_sum=users.spend.sum(),
        spend_sum_squares=(users.spend * users.spend).sum(),
    )
    rules = OnlineRules(delta_method=True)
    own = recdash.ab_test(aggregates=expression, control="no mail", rules=rules)
    expected = results_of(mail()[["customer_id", "test_group", "spend"]], "sessions", control="no mail")
    assert_same(own, expected)


def test_aggregates_without_a_count_are_refused() -> None:
    from tea_tasting.aggr import Aggregates

    arms = {name: Aggregates(None, {"x": 1.0}, {"x": 1.0}) for name in "AB"}
    with pytest.raises(InputError, match="have no count"):
        recdash.ab_test(aggregates=arms)


# ── segments and days ────────────────────────────────────────────────────────────────────────


def read(table: pd.DataFrame) -> MomentTable:
    moments = aggregate_table(read_logs({"aggregates": table.to_csv(index=False).encode()}).table)
    assert isinstance(moments, MomentTable)
    return moments


def users(table: pd.DataFrame) -> OnlineUsers:
    logs = read_logs({"sessions": table.to_csv(index=False).encode()})
    return users_of(logs.table, logs.further_tables)


def assert_rows_are_same(own: Sequence[Any], others: Sequence[Any]) -> None:
    assert len(own) == len(others) > 0
    for row, other in zip(own, others, strict=True):
        for name, value in vars(other).items():
            is_number = isinstance(value, float)
            expected = pytest.approx(value, rel=DIGITS, abs=DIGITS) if is_number else value
            assert getattr(row, name) == expected, name


@pytest.mark.parametrize("metric", [PRICE, OnlineMetric("spend", "Spend", "", "", "spend")])
def test_segments_are_those_of_users(metric: OnlineMetric) -> None:
    own = read(moments_of(mail(), ["test_group", "zone"], TOTALS))
    question = (metric, "no mail", "zone")
    expected = segments.by_segment(users(mail()), *question, delta_method=True)
    assert own.segments == ["zone"]
    rows = segments.by_segment(own.groups_of(metric), *question, delta_method=True)
    assert_rows_are_same(
        rows, sorted(expected, key=lambda row: (row.variant != rows[0].variant, str(row.segment)))
    )


@pytest.mark.parametrize("metric", [PRICE, OnlineMetric("spend", "Spend", "", "", "spend")])
def test_days_of_exposure_are_those_of_users(metric: OnlineMetric) -> None:
    table = mail()
    days = pd.Timestamp("2026-11-02") + pd.to_timedelta(np.arange(len(table)) % 9, "D")
    table["date"] = days.strftime("%Y-%m-%d")
    own = read(moments_of(table, ["test_group", "date"], TOTALS))
    expected = over_time.cumulative(users(table), metric, "no mail", delta_method=True)
    days_of_sums = over_time.by_day_of_exposure(own.groups_of(metric), metric, "no mail", delta_method=True)
    assert_rows_are_same(days_of_sums, expected)


def test_segments_and_days_of_sums_are_compared_as_whole_tests_of_sums_are() -> None:
    """Each is the comparison of the aggregates of its users alone."""
    table = mail()
    table["date"] = np.where(np.arange(len(table)) < 3_000, "2026-11-02", "2026-11-03")
    groups = read(moments_of(table, ["test_group", "date", "zone"], TOTALS)).groups_of(PRICE)
    by_zone = segments.by_segment(groups, PRICE, "no mail", "zone")
    by_day = over_time.by_day_of_exposure(groups, PRICE, "no mail")
    cells = [
        *((row, table[table["zone"] == row.segment]) for row in by_zone),
        (by_day[0], table[:3_000]),
        (by_day[1], table),
    ]
    assert by_day[0].variant == by_day[1].variant
    for row, inside in cells:
        totals = {name: inside[name].to_numpy(float) for name in ("spend", "orders")}
        code = {"no mail": 0, row.variant: 1}
        order = np.array([code.get(name, 2) for name in inside["test_group"]])
        control, variant, _ = lift.arms(totals, order)
        alone = choice.of_aggregates(PRICE, control, variant).shown.lift(0.95)
        assert alone.low is not None
        assert (row.lift, row.low, row.high) == pytest.approx(alone[:3])


def test_a_split_that_differs_between_days_is_a_warning() -> None:
    rows = [
        (variant, f"2026-11-0{day}", n, 5 * n, 30 * n)
        for variant, sizes in (("A", (900, 100)), ("B", (100, 900)))
        for day, n in enumerate(sizes, start=1)
    ]
    found = results_of(pd.DataFrame(rows, columns=["variant", "day", "n", "x_sum", "x_sum_squares"]))
    assert [warning.code for warning in found.health.warnings] == ["uneven-days"]


# ── what cannot be ───────────────────────────────────────────────────────────────────────────


def refusal(text: str, **how: Any) -> str:
    with pytest.raises(InputError) as error:
        recdash.ab_test(aggregates=text.encode(), **how)
    return str(error.value)


def test_the_square_of_a_sum_is_no_sum_of_squares() -> None:
    text = "variant,n,x_sum,x_sum_squares\nA,100,500,1000\nB,100,510,90000\n"
    assert "the sum of squares of x is less than its squared sum ÷ n in 1 rows" in refusal(text)


def test_a_product_that_no_users_have_is_refused() -> None:
    head = "variant,n,x_sum,x_sum_squares,y_sum,y_sum_squares,x_y_sum_product\n"
    assert "the product of x and y is larger than their squares allow" in refusal(
        f"{head}A,100,0,100,0,100,101\nB,100,0,100,0,100,50\n"
    )


def test_a_ratio_without_products_says_what_is_missing() -> None:
    table = moments_of(mail(), ["test_group"], ["spend", "orders"]).drop(columns="spend_orders_sum_product")
    with pytest.raises(InputError, match="no column spend_orders_sum_product"):
        results_of(table, metrics=[PRICE])


def test_rows_of_all_users_beside_segments_are_refused() -> None:
    text = "variant,country,n,x_sum,x_sum_squares\n" + "".join(
        f"{variant},{country},{n},{n},{2 * n}\n"
        for variant in "AB"
        for country, n in (("SE", 100), ("PT", 50), ("All", 150))
    )
    assert "'all' names rows of all users" in refusal(text)


def test_a_column_without_a_spread_is_no_metric_and_says_so() -> None:
    text = "variant,n,x_sum,x_sum_squares,revenue\nA,100,500,3000,4100.5\nB,100,510,3000,4200.5\n"
    found = recdash.ab_test(aggregates=text.encode())
    assert {row.metric for row in found.rows} == {"x"}
    assert "revenue_sum_squares" in "\n".join(map(str, found.notices))


def test_successes_may_be_of_users() -> None:
    """A table of variant, users and conversions is a rate, whose split is checked."""
    found = recdash.ab_test(aggregates=b"variant,users,conversions\nA,1000,100\nB,1300,160\n")
    assert {row.metric: row.value for row in found.rows if row.is_control} == {"conversion": 0.1}
    assert found.health.blocked
    even = recdash.ab_test(aggregates=b"variant,metric,n,successes\nA,bought,1000,100\nB,bought,1010,160\n")
    assert not even.health.blocked
    assert [row.word for row in even.rows if not row.is_control] == ["better"]


def test_trials_of_a_metric_that_some_variants_lack_are_checked_too() -> None:
    text = "variant,metric,successes,trials\nA,bought,100,1000\nB,bought,160,1300\nC,other,5,100\n"
    assert recdash.ab_test(aggregates=text.encode()).health.blocked


@pytest.mark.parametrize("name", ["std", "SD", "standard deviation", "std_dev"])
def test_mean_and_standard_deviation_of_a_single_metric_are_read(name: str) -> None:
    """A table of n, mean and standard deviation gives what one of n, mean and variance gives."""
    rows = [("control", 400, 10.0, 3.0), ("new", 410, 10.6, 3.2)]
    by_deviation = f"variant,n,mean,{name}\n" + "".join(f"{v},{n},{m},{s}\n" for v, n, m, s in rows)
    by_variance = "variant,n,mean,variance\n" + "".join(f"{v},{n},{m},{s * s}\n" for v, n, m, s in rows)
    own, other = (recdash.ab_test(aggregates=text.encode()).rows for text in (by_deviation, by_variance))
    (lift,) = [row for row in own if row.variant == "new"]
    assert lift.lift == pytest.approx(0.06)
    assert lift.lift_low is not None
    facts = [(row.variant, row.value, row.lift_low, row.lift_high, row.p) for row in own]
    assert facts == [
        tuple(pytest.approx(value) if isinstance(value, float) else value for value in line)
        for line in [(row.variant, row.value, row.lift_low, row.lift_high, row.p) for row in other]
    ]


def test_a_table_with_a_column_of_metrics_may_have_standard_deviations() -> None:
    rows = [("revenue", "control", 400, 10.0, 3.0), ("revenue", "new", 410, 10.6, 3.2)]
    by_deviation, by_variance = (
        recdash.ab_test(
            aggregates=pd.DataFrame(rows, columns=["metric", "variant", "n", "mean", "std"]).pipe(make)
        )
        for make in (lambda table: table, lambda table: table.assign(variance=table.pop("std") ** 2))
    )
    pd.testing.assert_frame_equal(by_deviation.table(), by_variance.table())
    assert next(row.lift for row in by_deviation.rows if row.variant == "new") == pytest.approx(0.06)


def test_a_standard_deviation_below_0_is_named_as_it_is_written() -> None:
    text = "metric,variant,n,mean,sd\nrevenue,control,400,1,-2\nrevenue,new,400,1,2\n"
    with pytest.raises(InputError, match="column 'sd': negative in 1 row"):
        recdash.ab_test(aggregates=text.encode())


def test_a_table_that_says_how_much_values_vary_and_not_what_they_are_is_refused() -> None:
    with pytest.raises(InputError, match="neither n, mean and variance"):
        recdash.ab_test(aggregates=b"metric,variant,n,std\nrevenue,control,400,2\nrevenue,new,400,2\n")
