"""Chance to win and expected loss: GrowthBook's numbers, closed forms against integration, and what is
withheld.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from tea_tasting.aggr import Aggregates

import recdash
from recdash.errors import InputError, UnknownName
from recdash.online import OnlineMetric
from recdash.online.analysis.analysed_test import AnalysedTest
from recdash.online.analysis.chance_to_win import (
    FLAT,
    INFORMED,
    SKEWED,
    Effect,
    Prior,
    chance_text,
    effect_of,
    posterior,
    prior_of,
)


def from_sums(n: int, total: float, squares: float) -> Aggregates:
    """The aggregates of ``n`` users whose values have this sum and sum of squares."""
    return Aggregates(n, {"x": total / n}, {"x": (squares - total**2 / n) / (n - 1)})


def of_rate(n: int, successes: int) -> Aggregates:
    share = successes / n
    return Aggregates(n, {"x": share}, {"x": share * (1 - share) * n / (n - 1)})


def of_ratio(
    n: int, numerator: tuple[float, float], denominator: tuple[float, float], products: float
) -> Aggregates:
    (x, xx), (y, yy) = numerator, denominator
    variances = {"x": (xx - x**2 / n) / (n - 1), "y": (yy - y**2 / n) / (n - 1)}
    return Aggregates(n, {"x": x / n, "y": y / n}, variances, {("x", "y"): (products - x * y / n) / (n - 1)})


MEAN = OnlineMetric("x", "X", "", "", "x", low=None)
PAIRS = {
    "mean": (MEAN, from_sums(1000, 2100, 8200), from_sums(1040, 2300, 9400)),
    "rate": (MEAN, of_rate(5000, 400), of_rate(4950, 455)),
    "small": (MEAN, from_sums(40, 83, 260), from_sums(44, 80, 230)),
    "ratio": (
        replace(MEAN, denominator="y"),
        of_ratio(800, (1200, 2600), (2400, 8800), 4300),
        of_ratio(820, (1400, 3300), (2500, 9300), 5000),
    ),
}
SHIFTED = Prior(0.05, 0.02)
PRIORS = {"flat": FLAT, "informed": INFORMED, "shifted": SHIFTED}
GROWTHBOOK: list[tuple[str, str, Effect, float, float, float, float, float, float]] = [
    # pair, prior, effect, chance to win, risk of control, risk of variant, expected effect, interval
    ("mean", "flat", "relative",
     0.890984945, 0.055379125, 0.002265572, 0.053113553, -0.031398606, 0.137625712),
    ("mean", "flat", "absolute",
     0.896900439, 0.115872343, 0.004333882, 0.111538462, -0.061401788, 0.284478711),
    ("mean", "informed", "relative",
     0.888626004, 0.054339967, 0.002301454, 0.052038513, -0.031613994, 0.13569102),
    ("mean", "informed", "absolute",
     0.894690889, 0.113795843, 0.004403248, 0.109392595, -0.061875994, 0.280661183),
    ("mean", "shifted", "relative",
     0.997333633, 0.050565711, 1.4461e-05, 0.05055125, 0.014990965, 0.086111534),
    ("mean", "shifted", "absolute",
     0.997449723, 0.106236578, 2.8803e-05, 0.106207774, 0.031879989, 0.18053556),
    ("rate", "flat", "relative",
     0.976059585, 0.149667235, 0.000677336, 0.148989899, 0.001390218, 0.29658958),
    ("rate", "flat", "absolute",
     0.983035389, 0.011953497, 3.4305e-05, 0.011919192, 0.000904502, 0.022933882),
    ("rate", "informed", "relative",
     0.972500892, 0.140926723, 0.000768646, 0.140158078, -0.00300007, 0.283316226),
    ("rate", "informed", "absolute",
     0.980541002, 0.011338583, 3.896e-05, 0.011299623, 0.000575029, 0.022024216),
    ("rate", "shifted", "relative",
     0.99827253, 0.056531573, 9.635e-06, 0.056521937, 0.018635978, 0.094407897),
    ("rate", "shifted", "absolute",
     0.998583063, 0.004594397, 6.196e-07, 0.004593778, 0.001577691, 0.007609864),
    ("small", "flat", "relative",
     0.19316394, 0.015256722, 0.139024521, -0.123767798, -0.403788066, 0.156252469),
    ("small", "flat", "absolute",
     0.209460992, 0.037638277, 0.294456459, -0.256818182, -0.879555784, 0.36591942),
    ("small", "informed", "relative",
     0.217068706, 0.015999779, 0.116886596, -0.100886817, -0.353701819, 0.151928186),
    ("small", "informed", "absolute",
     0.235781892, 0.03908681, 0.242827241, -0.203740431, -0.758405501, 0.350924638),
    ("small", "shifted", "relative",
     0.990757555, 0.046721734, 6.1517e-05, 0.046660217, 0.007839466, 0.085480968),
    ("small", "shifted", "absolute",
     0.99120788, 0.097822787, 0.000120943, 0.097701844, 0.017048408, 0.17835528),
    ("ratio", "flat", "relative",
     0.999984256, 0.120000099, 9.906e-08, 0.12, 0.063495573, 0.176504427),
    ("ratio", "flat", "absolute",
     0.999994669, 0.060000015, 1.512e-08, 0.06, 0.033293275, 0.086706725),
    ("ratio", "informed", "relative",
     0.999982886, 0.118902075, 1.076e-07, 0.118901967, 0.06265665, 0.175147284),
    ("ratio", "informed", "absolute",
     0.999994207, 0.059508945, 1.642e-08, 0.059508929, 0.032911719, 0.086106138),
    ("ratio", "shifted", "relative",
     0.999995216, 0.072743357, 1.629e-08, 0.07274334, 0.040535576, 0.104951104),
    ("ratio", "shifted", "absolute",
     0.999998088, 0.037251841, 3.079e-09, 0.037251838, 0.021450741, 0.053052934),
]  # fmt: skip
"""gbstats 0.8.0: ``EffectBayesianABTest(control, variant, EffectBayesianConfig(difference_type=effect,
prior_effect=GaussianPrior(mean, std_dev², proper=prior is not flat))).compute_result()`` of ``PAIRS``: as
``SampleMeanStatistic``, ``ProportionStatistic`` and ``RatioStatistic``.
"""


@pytest.mark.parametrize(
    ("pair", "prior", "effect", "chance", "gain", "loss", "mean", "low", "high"), GROWTHBOOK
)
def test_they_are_those_of_growthbook(
    pair: str,
    prior: str,
    effect: Effect,
    chance: float,
    gain: float,
    loss: float,
    mean: float,
    low: float,
    high: float,
) -> None:
    metric, control, variant = PAIRS[pair]
    scaled = PRIORS[prior]
    if effect == "absolute":
        scaled = scaled.in_units_of(control.mean("x") / control.mean(metric.denominator))
    normal = posterior(*effect_of(metric, (control, variant), effect), scaled)
    numbers = (normal.chance_above, normal.expected_gain, normal.expected_loss, normal.mean, *normal.interval)
    assert numbers == pytest.approx((chance, gain, loss, mean, low, high), abs=2e-9)


@pytest.mark.parametrize("mean", [-0.3, -0.01, 0.0, 0.02, 0.5])
@pytest.mark.parametrize("prior", [FLAT, INFORMED, SHIFTED])
def test_closed_forms_are_the_integrals_over_the_posterior(mean: float, prior: Prior) -> None:
    error = 0.04
    normal = posterior(mean, error, prior)

    def density(effect: float) -> float:
        before = 1.0 if prior.std_dev is None else norm.pdf(effect, prior.mean, prior.std_dev)
        return float(before * norm.pdf(mean, effect, error))

    ends, break_points = (-1.5, 1.5), (normal.mean - 0.1, normal.mean, normal.mean + 0.1, 0.0)
    total = quad(density, *ends, points=break_points)[0]

    def expected(value: object) -> float:
        return float(quad(lambda x: density(x) * value(x), *ends, points=break_points)[0]) / total  # type: ignore[operator]

    assert normal.chance_above == pytest.approx(expected(lambda x: x > 0), abs=1e-7)
    assert normal.expected_gain == pytest.approx(expected(lambda x: max(x, 0.0)), abs=1e-8)
    assert normal.expected_loss == pytest.approx(expected(lambda x: max(-x, 0.0)), abs=1e-8)


def results() -> AnalysedTest:
    rng = np.random.default_rng(5)
    variant = np.repeat(["control", "new"], 500)
    revenue = rng.gamma(2.0, np.where(variant == "new", 5.4, 5.0))
    refunds = rng.gamma(2.0, np.where(variant == "new", 1.2, 1.0))
    table = pd.DataFrame({"unit_id": range(1000), "variant": variant, "revenue": revenue, "refunds": refunds})
    return recdash.ab_test(sessions=table)


def test_a_metric_of_which_less_is_better_is_mirrored() -> None:
    test = results()
    refunds, revenue = (test.chance_to_win().of(name, "new") for name in ("refunds", "revenue"))
    assert refunds.direction == "down"
    assert refunds.effect is not None
    assert refunds.std_dev is not None
    assert refunds.chance == pytest.approx(norm.cdf(-refunds.effect / refunds.std_dev))
    assert refunds.loss is not None
    assert refunds.loss_of_control is not None
    assert revenue.loss is not None
    assert revenue.loss_of_control is not None
    # E[max(x, 0)] − E[max(−x, 0)] = E[x]: what shipping the variant loses is what refunds rise by
    assert refunds.loss - refunds.loss_of_control == pytest.approx(refunds.effect)
    assert revenue.loss_of_control - revenue.loss == pytest.approx(revenue.effect)


def test_the_interval_of_a_flat_prior_is_about_that_of_the_lift() -> None:
    test = results()
    row = next(row for row in test.rows if row.metric == "revenue" and not row.is_control)
    chance = test.chance_to_win().of("revenue", "new")
    assert (chance.low, chance.high) == pytest.approx((row.lift_low, row.lift_high), abs=0.005)
    assert chance.effect == pytest.approx(row.lift)


def test_an_absolute_effect_is_in_the_unit_of_the_metric() -> None:
    test = results()
    values = {row.variant: row.value for row in test.rows if row.metric == "revenue"}
    chance = test.chance_to_win(effect="absolute").of("revenue", "new")
    assert chance.effect == pytest.approx(values["new"] - values["control"])  # type: ignore[operator]


def test_an_adjusted_lift_has_the_chance_of_the_adjusted_estimate() -> None:
    rng = np.random.default_rng(8)
    before = rng.gamma(2.0, 5.0, 2000)
    variant = np.tile(["control", "new"], 1000)
    revenue = before * rng.uniform(0.9, 1.1, 2000) * np.where(variant == "new", 1.01, 1.0)
    table = pd.DataFrame(
        {"unit_id": range(2000), "variant": variant, "revenue": revenue, "pre_revenue": before}
    )
    test = recdash.ab_test(sessions=table)
    row = next(row for row in test.rows if not row.is_control)
    assert row.is_adjusted
    chance, absolute = (
        test.chance_to_win(effect=effect).of("revenue", "new") for effect in ("relative", "absolute")
    )
    assert chance.effect == pytest.approx(row.lift, abs=1e-4)
    assert (chance.low, chance.high) == pytest.approx((row.lift_low, row.lift_high), abs=1e-3)
    assert chance.chance == pytest.approx(absolute.chance, abs=0.02)


def test_a_lift_without_an_interval_has_no_chance() -> None:
    table = pd.DataFrame(
        {
            "unit_id": range(12),
            "variant": ["control", "new"] * 6,
            "revenue": [1.0, 2.0] * 6,
            "orders": [1, 5, 2, 3] * 3,
        }
    )
    chance = recdash.ab_test(sessions=table).chance_to_win().of("revenue", "new")
    assert (chance.chance, chance.loss, chance.low) == (None, None, None)
    assert "needs about 10 users" in chance.note


def test_few_successes_have_no_chance() -> None:
    table = pd.DataFrame(
        {"variant": ["control", "new"], "metric": "rate", "successes": [2, 5], "trials": [900, 900]}
    )
    test = recdash.ab_test(aggregates=table)
    assert test.rows[1].lift_low is not None  # Fisher's p has an interval
    assert test.chance_to_win().rows[0].note == "too few successes or failures for a normal posterior"


def test_a_broken_split_has_no_chance() -> None:
    table = pd.DataFrame(
        {
            "variant": ["control", "new"],
            "metric": "m",
            "n": [1000, 1500],
            "mean": [2.0, 2.5],
            "variance": [4.0, 4.0],
        }
    )
    (chance,) = recdash.ab_test(aggregates=table).chance_to_win().rows
    assert chance.chance is None
    assert chance.note == "sample ratio mismatch: no metric is judged"


def test_the_table_states_the_prior() -> None:
    chances = results().chance_to_win(INFORMED)
    frame = chances.table()
    assert list(frame.columns[:6]) == ["metric", "title", "variant", "role", "direction", "chance"]
    assert len(frame) == 2
    assert "normal, mean 0 %, standard deviation 30 %" in chances.definition
    assert "to win, expected loss" in repr(chances)


@pytest.mark.parametrize(
    ("text", "prior"), [("flat", FLAT), ("0,0.3", INFORMED), (" -0.01 , 0.2", Prior(-0.01, 0.2))]
)
def test_a_prior_is_written_as_mean_and_standard_deviation(text: str, prior: Prior) -> None:
    assert prior_of(text) == prior


@pytest.mark.parametrize("text", ["", "0.3", "a,b", "0,0", "0,-1", "0,inf", "nan,1", "0,nan", "0,1,2"])
def test_another_text_is_no_prior(text: str) -> None:
    with pytest.raises(InputError, match="prior"):
        prior_of(text)


def test_a_chance_is_never_certain() -> None:
    assert [chance_text(chance) for chance in (1.0, 0.9731, 0.0, None)] == [
        ">99.9 %",
        "97.3 %",
        "<0.1 %",
        "–",
    ]


def test_unknown_names_are_refused() -> None:
    test = results()
    with pytest.raises(UnknownName):
        test.chance_to_win(effect="both")  # type: ignore[arg-type]
    with pytest.raises(UnknownName):
        test.chance_to_win().of("revenue", "other")


def test_skewed_values_of_few_users_have_no_chance() -> None:
    chance = np.random.default_rng(3)
    values = np.exp(2 * chance.standard_normal(240)) * (chance.random(240) < 0.5)
    frame = pd.DataFrame({"user_id": range(240), "variant": ["control", "new"] * 120, "watch": values})
    test = recdash.ab_test(sessions=frame)
    (row,) = [row for row in test.rows if not row.is_control]
    assert row.method == "permutation"
    (chances,) = test.chance_to_win().rows
    assert (chances.chance, chances.note) == (None, SKEWED)
