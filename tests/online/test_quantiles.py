"""Quantiles of users and of the rows of users: value, interval and p, against independent computations."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import recdash
from recdash.errors import InputError
from recdash.online import OnlineMetric, OnlineResults, OnlineRow, OnlineRules
from recdash.online.analysis.quantile_groups import by_cell
from recdash.online.analysis.quantiles import FEWEST_BEYOND, QuantileComparison, QuantileSide

N = 700
"""Users per variant."""


def loads(effect: float = 1.1, seed: int = 5, rows: int = 4) -> pd.DataFrame:
    """Page loads of users, who differ: one to ``rows`` each, slower by a factor in new."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(2 * N), 1 + rng.integers(0, rows, 2 * N))
    slow = rng.normal(0, 0.5, 2 * N)[user]
    load = np.exp(5 + slow + rng.normal(0, 0.5, len(user))) * np.where(user % 2 == 1, effect, 1.0)
    return pd.DataFrame(
        {
            "user_id": [f"u{i}" for i in user],
            "session_id": np.arange(len(user)),
            "variant": np.where(user % 2 == 1, "new", "control"),
            "load_ms": load,
        }
    )


def metric(quantile: float = 0.9, column: str = "load_ms") -> OnlineMetric:
    return OnlineMetric("slow", "Slow", "ms", "", column, quantile=quantile, direction="down")


def results_of(table: pd.DataFrame, *metrics: OnlineMetric, **how: Any) -> OnlineResults:
    return recdash.ab_test(sessions=table.to_csv(index=False).encode(), metrics=metrics or [metric()], **how)


def row(results: OnlineResults, variant: str = "new") -> OnlineRow:
    return next(row for row in results.rows if row.metric == "slow" and row.variant == variant)


def sides(table: pd.DataFrame, quantile: float, column: str = "load_ms") -> tuple[QuantileSide, QuantileSide]:
    made = []
    for variant in ("control", "new"):
        part = table[table.variant == variant]
        user = pd.factorize(part.user_id)[0]
        made.append(QuantileSide(part[column].to_numpy(float), user, int(user.max()) + 1, quantile))
    return made[0], made[1]


def test_the_value_is_the_quantile_of_the_rows() -> None:
    table = loads()
    results = results_of(table)
    for variant in ("control", "new"):
        rows = table.load_ms[table.variant == variant]
        assert row(results, variant).value == np.quantile(rows, 0.9, method="inverted_cdf")
    own, other = row(results), row(results, "control")
    assert own.value is not None
    assert other.value is not None
    assert own.lift == pytest.approx(own.value / other.value - 1)
    assert own.difference == pytest.approx(own.value - other.value)
    assert own.method == "quantile test by users"
    assert own.numerator is None


def test_the_interval_of_independent_rows_is_that_of_order_statistics() -> None:
    """Of n rows, n · q ± 1.96 √(n q (1 − q)) are the ranks of the ends."""
    side, _ = sides(loads(rows=1), 0.9)
    n = len(side.values)
    half = stats.norm.isf(0.025) * math.sqrt(n * 0.9 * 0.1)
    ranks = math.floor(n * 0.9 - half), math.ceil(n * 0.9 + half)
    values = np.sort(side.values)
    assert side.interval(0.95) == (values[ranks[0] - 1], values[ranks[1] - 1])


def by_hand(table: pd.DataFrame, quantile: float, scale: float = 1.0) -> float:
    """p of equal quantiles, of the variant's rows divided by ``scale``: how far apart the shares of rows up
    to their common quantile are (the k-th of n has (k − ½) / n), with their variance over users by pandas.
    """
    groups, errors = {}, {}
    for variant in ("control", "new"):
        part = table[table.variant == variant].assign(load=lambda t: t.load_ms)
        if variant == "new":
            part = part.assign(load=part.load / scale)
        cut = np.quantile(part.load, quantile, method="inverted_cdf")
        users = part.assign(below=part.load <= cut).groupby("user_id").below.agg(["sum", "size"])
        share = users["sum"].sum() / users["size"].sum()
        spread = ((users["sum"] - share * users["size"]) ** 2).sum() * len(users) / (len(users) - 1)
        factor = spread / (len(part) * share * (1 - share)) if (users["size"] > 1).any() else 1.0
        groups[variant], errors[variant] = part.load, quantile * (1 - quantile) / len(part) * factor

    def misses(value: float) -> list[float]:
        shares = [
            np.interp(value, np.sort(rows), (np.arange(len(rows)) + 0.5) / len(rows))
            for rows in groups.values()
        ]
        return [float(share) - quantile for share in shares]

    def weighted(value: float) -> float:
        return sum(miss / error for miss, error in zip(misses(value), errors.values(), strict=True))

    ends = [np.quantile(rows, place) for rows in groups.values() for place in (0.5, 0.99)]
    control, variant = misses(optimize.brentq(weighted, min(ends), max(ends), xtol=1e-12))
    return float(2 * stats.norm.sf(abs(control - variant) / math.sqrt(sum(errors.values()))))


@pytest.mark.parametrize("rows", [1, 4])
def test_p_is_that_of_a_computation_by_hand(rows: int) -> None:
    table = loads(rows=rows)
    assert row(results_of(table)).p == pytest.approx(by_hand(table, 0.9), rel=1e-6)


def test_the_ends_of_the_interval_are_the_effects_that_are_just_rejected() -> None:
    table = loads()
    own = row(results_of(table))
    assert own.lift_low is not None
    assert own.lift_high is not None
    for end, outwards in ((own.lift_low, -1), (own.lift_high, 1)):
        assert by_hand(table, 0.9, (1 + end) * (1 + 1e-3 * outwards)) < 0.05
        assert by_hand(table, 0.9, (1 + end) * (1 - 1e-3 * outwards)) > 0.05


def test_p_is_near_that_of_a_random_split_of_the_users() -> None:
    """2,000 splits of the users, with all their rows: how often the medians differ as much."""
    table = loads(effect=1.06, seed=11)
    values, user = table.load_ms.to_numpy(), pd.factorize(table.user_id)[0]
    is_new = (table.variant == "new").to_numpy()
    rng = np.random.default_rng(1)

    def distance(chosen: Any) -> float:
        return abs(float(np.log(np.median(values[chosen]) / np.median(values[~chosen]))))

    seen, splits = distance(is_new), 2000
    n_as_far = sum(distance((rng.permutation(2 * N) < N)[user]) >= seen for _ in range(splits))
    p = row(results_of(table, metric(0.5))).p
    assert p is not None
    error = math.sqrt(p * (1 - p) / splits)
    assert n_as_far / splits == pytest.approx(p, abs=4 * error + 0.02)


def test_rows_that_repeat_each_of_their_user_add_no_certainty() -> None:
    """Each load three times: the design effect is 3, and the interval stays what it is."""
    once = loads(rows=1, effect=1.2)
    thrice = pd.concat([once] * 3).assign(session_id=np.arange(3 * len(once)))
    one, three = row(results_of(once)), row(results_of(thrice))
    assert one.p is not None
    assert three.p is not None
    assert stats.norm.isf(three.p / 2) == pytest.approx(stats.norm.isf(one.p / 2), rel=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_p_and_intervals_agree(seed: int) -> None:
    own = row(results_of(loads(effect=1.08, seed=seed)))
    for low, high in ((own.lift_low, own.lift_high), (own.difference_low, own.difference_high)):
        assert own.p is not None
        assert low is not None
        assert high is not None
        assert (own.p < 0.05) == (low > 0 or high < 0)


def test_equal_variants_are_called_in_five_of_a_hundred_tests() -> None:
    """1,000 tests of 1,000 users with several rows each: between .033 and .067 (2.5 standard errors)."""
    rng, calls, tries = np.random.default_rng(7), 0, 1000
    for _ in range(tries):
        made = []
        for _ in range(2):
            n_rows = 1 + rng.poisson(1.5, 500)
            user = np.repeat(np.arange(500), n_rows)
            made.append(
                QuantileSide(
                    np.exp(rng.normal(0, 0.7, 500)[user] + rng.normal(0, 0.7, len(user))), user, 500, 0.9
                )
            )
        calls += QuantileComparison(*made).p < 0.05
    assert calls / tries == pytest.approx(0.05, abs=2.5 * math.sqrt(0.05 * 0.95 / tries))


def test_few_rows_beyond_the_quantile_give_a_value_and_the_reason_why_there_is_no_interval() -> None:
    table = loads(rows=1).iloc[:400]  # 20 of 200 rows of each variant lie beyond
    own = row(results_of(table))
    assert own.value is not None
    assert (own.lift_low, own.p, own.ci_low) == (None, None, None)
    assert own.lift is not None
    assert f"a valid interval needs {FEWEST_BEYOND} in each variant" in own.note
    assert own.word == "not settled"


def test_empty_cells_are_no_rows_and_zeros_are() -> None:
    table = loads(rows=1)
    half = table.index % 4 < 2
    empty = table.assign(load_ms=table.load_ms.where(half))
    zero = table.assign(load_ms=table.load_ms.where(half, 0.0))
    rest = table.load_ms[half & (table.variant == "new")]
    assert row(results_of(empty, metric(0.5))).value == np.quantile(rest, 0.5, method="inverted_cdf")
    assert row(results_of(zero, metric(0.4))).value == 0
    assert row(results_of(empty, metric(0.5))).n_users == N


def test_the_value_of_an_event_is_a_row_only_where_it_happened() -> None:
    """Views have no value; the median of the orders' values is not 0."""
    exposures = "".join(f"u{i},{'new' if i % 2 else 'control'},2026-11-01T09:00:00Z\n" for i in range(400))
    events = [f"u{i},2026-11-01T1{k}:00:00Z,view,\n" for i in range(400) for k in range(3)]
    events += [f"u{i},2026-11-01T15:00:00Z,order,{10 + i}\n" for i in range(400)]
    results = recdash.ab_test(
        exposures=f"user_id,variant,timestamp\n{exposures}".encode(),
        events=f"user_id,timestamp,event_name,value\n{''.join(events)}".encode(),
        metrics=[metric(0.5, "order value")],
    )
    of_new = [10 + i for i in range(400) if i % 2]
    assert row(results).value == np.quantile(of_new, 0.5, method="inverted_cdf")


def test_activation_keeps_the_rows_of_activated_users() -> None:
    table = loads()
    opened = (table.user_id.str[1:].astype(int) // 2 % 2).astype(int)
    results = results_of(table.assign(opened=opened), rules=OnlineRules(activated_by="opened"))
    rows = table.load_ms[(table.variant == "new") & (opened == 1)]
    assert row(results).value == np.quantile(rows, 0.9, method="inverted_cdf")


def test_other_questions_leave_a_quantile_out() -> None:
    results = results_of(loads(), metric(), OnlineMetric("load", "Load", "", "", "load_ms"))
    assert "slow" not in {line["metric"] for line in results.power().rows}  # type: ignore[attr-defined]
    assert row(results).sequence_note == "it is not available for a quantile"


def dated() -> pd.DataFrame:
    """Loads on six days, of users in two countries; users come first on the first three days."""
    table = loads()
    user = table.user_id.str[1:].astype(int)
    rng = np.random.default_rng(11)
    day = np.minimum(user // 2 % 3 + rng.integers(0, 4, len(table)), 5)
    first = table.groupby("user_id").cumcount() == 0
    day = np.where(first, user // 2 % 3, day)
    return table.assign(
        start_ts=[f"2026-03-{2 + d:02d}T12:00:00Z" for d in day], country=np.where(user % 5 < 3, "SE", "PT")
    )


def alone(table: pd.DataFrame, quantile: float = 0.9) -> tuple[float | None, ...]:
    """Lift and interval of a test of these rows alone."""
    control, new = sides(table, quantile)
    compared = QuantileComparison(control, new)
    lift = compared.lift(0.95)
    return lift.value, lift.low, lift.high


def lifts(rows: Any) -> list[tuple[float | None, ...]]:
    return [pytest.approx((row["lift"], row["low"], row["high"])) for row in rows]


def test_the_lift_of_a_segment_is_that_of_its_users_alone() -> None:
    table = dated()
    rows = results_of(table).segments("country", "slow").rows  # type: ignore[attr-defined]
    known = [row for row in rows if row["segment"]]
    assert [row["segment"] for row in known] == ["PT", "SE"]
    assert lifts(known) == [alone(table[table.country == country]) for country in ("PT", "SE")]
    part = table[(table.country == "PT") & (table.variant == "new")]
    assert known[0]["variant_value"] == np.quantile(part.load_ms, 0.9, method="inverted_cdf")
    assert known[0]["n_variant"] == part.user_id.nunique()


@pytest.mark.parametrize("scale", ["cumulative", "daily", "since"])
def test_the_lift_of_a_day_is_that_of_its_rows_alone(scale: str) -> None:
    table = dated()
    day = pd.to_datetime(table.start_ts).dt.day - 2
    exposed = day.groupby(table.user_id).transform("min")
    parts = {
        "cumulative": [table[day <= at] for at in range(6)],
        "daily": [table[day == at] for at in range(6)],
        "since": [table[day - exposed == at] for at in range(6)],
    }[scale]
    results = results_of(table, metric(0.5))
    rows = results.days("slow", scale).rows  # type: ignore[attr-defined]
    judged = [(row, part) for row, part in zip(rows, parts, strict=True) if row["low"] is not None]
    assert len(judged) >= 3
    assert lifts([row for row, _ in judged]) == [alone(part, 0.5) for _, part in judged]
    assert {row["sequence_low"] for row in rows} == {None}
    few = [row for row in rows if row["low"] is None]
    assert all(row["note"] for row in few)
    if scale == "cumulative":
        whole = row(results)
        assert lifts(rows[-1:]) == [(whole.lift, whole.lift_low, whole.lift_high)]
        assert [row["n"] for row in rows[:3]] == [
            exposed.groupby(table.user_id).first().le(at).sum() for at in range(3)
        ]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"quantile": 1.5}, "quantile is 1.5"),
        ({"quantile": 0.5, "cap": 9.0}, "it is a quantile and has a denominator, a cap"),
        ({"quantile": 0.5, "denominator": "sessions"}, "it is a quantile and has a denominator"),
    ],
)
def test_wrong_quantiles_are_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        results_of(loads(), OnlineMetric("slow", "Slow", "", "", "load_ms", **wrong))


def test_sums_of_a_warehouse_have_no_quantile() -> None:
    table = b"variant,n,x_sum,x_sum_squares\nA,100,500,3000\nB,100,510,3000\n"
    with pytest.raises(InputError, match="a quantile needs rows, not sums"):
        recdash.ab_test(aggregates=table, metrics=[metric(0.9, "x")])


@pytest.mark.parametrize("n_others", [0, 10, 100_000])
def test_users_without_rows_do_not_change_the_design_effect(n_others: int) -> None:
    """The rows of one segment are of some of the users only, here of every ``n_others``-th one."""
    control, _ = sides(loads(), 0.9)
    among = QuantileSide(control.values, control.user * (1 + n_others), control.n_users, 0.9)
    rows, below = (np.bincount(control.user, weights) for weights in (None, control.values <= control.value))
    share = below.sum() / rows.sum()
    variance = (below - share * rows).var(ddof=1) * len(rows)
    expected = variance / (rows.sum() * share * (1 - share))
    assert control.design_effect == pytest.approx(expected, rel=1e-12)
    assert among.design_effect == pytest.approx(expected, rel=1e-12)


def test_a_few_rows_among_many_users_take_no_counts_of_all() -> None:
    side = QuantileSide(np.arange(40.0), np.repeat(np.arange(20), 2) * 10**12, 20, 0.5)
    assert side.design_effect > 0  # counts of all users would take terabytes


def test_each_cell_has_the_design_effect_of_its_users() -> None:
    """Cells number their users anew; the numbers of all users give the same."""
    table = loads()
    user = pd.factorize(table.user_id)[0]
    cell = np.random.default_rng(2).integers(0, 5, int(user.max()) + 1)
    rows = SimpleNamespace(user=user, value=table.load_ms.to_numpy(float))
    users: Any = SimpleNamespace(values={"load_ms": rows})
    found = by_cell(users, metric(), cell, 5)
    assert sum(side.n_users for side in found) == len(cell)
    for code, side in enumerate(found):
        part = cell[user] == code
        plain = QuantileSide(rows.value[part], user[part], int((cell == code).sum()), 0.9)
        assert side.design_effect == pytest.approx(plain.design_effect, rel=1e-12)
        assert side.interval(0.95) == plain.interval(0.95)
