"""How changes relative to the baseline are written."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from recdash.comparison import relative
from recdash.comparison.candidate_case import CandidateCase, percent_of, rail_amount, relation
from recdash.comparison.guardrails import GuardrailResult
from recdash.comparison.pairs import Pair
from recdash.stats import Paired, judge
from recdash.stats.sparse import StudentT


def pair(base: float, mean: float, half: float) -> Pair:
    """Returns a difference of ``mean`` ± ``half`` from a baseline of ``base``."""
    method = StudentT(100, mean, half / 1.984217)  # 97.5 % of Student's t with 99 degrees of freedom
    paired = Paired(100, mean, 0.1, 0.001, wins=60, ties=20, losses=20, method=method)
    (judged,) = judge([paired], "off", margins=[0.0])
    return Pair("base", "als", base, base + mean, judged)


@pytest.mark.parametrize(
    ("values", "change", "bounds"),
    [
        ((0.2, 0.12, 0.02), "+60.0 %", "+50.0 to +70.0 %"),
        ((0.2, -0.12, 0.02), "−60.0 %", "−70.0 to −50.0 %"),
        ((0.2, -0.198, 0.02), "−99.0 %", "−100 to −89 %"),
        ((0.2, 0.248, 0.02), "×2.24", "×2.14 to ×2.34"),
        ((0.2, 0.196, 0.02), "+98.0 %", "+88 to +108 %"),
        ((0.001, 0.134, 0.02), "+0.134", "+0.114 to +0.154"),
        ((0.0, 0.134, 0.02), "+0.134", "+0.114 to +0.154"),
        ((-0.1, 0.3, 0.02), "+0.300", "+0.280 to +0.320"),
        ((-0.1, -0.02, 0.01), "−0.0200", "−0.0300 to −0.0100"),
    ],
)
def test_a_doubling_is_a_factor_and_a_gain_from_nearly_zero_is_absolute(
    values: tuple[float, float, float], change: str, bounds: str
) -> None:
    assert (relative.change(pair(*values)), relative.bounds(pair(*values), "ndcg")) == (change, bounds)


@pytest.mark.parametrize(
    ("value", "change", "risk"),
    [(0.2, "×2.00", "to 2.0 times that of base"), (0.15, "+50.0 %", "by 50 %"), (0.05, "−50.0 %", "by 50 %")],
)
def test_a_guardrail_that_doubles_is_a_factor_too(value: float, change: str, risk: str) -> None:
    rail = GuardrailResult("gini", value, 0.1, 0.2)
    assert relative.rail_change(rail) == change
    assert rail_amount(rail, "base") == risk


@pytest.mark.parametrize(
    ("value", "change"),
    [
        (0.100292, "+0.29 %"),
        (0.0999937, "−0.01 %"),
        (0.1000001, "0.00 %"),
        (0.1, "0.00 %"),
        (0.11, "+10.0 %"),
    ],
)
def test_a_guardrail_has_no_more_than_hundredths_of_a_percent(value: float, change: str) -> None:
    assert relative.rail_change(GuardrailResult("gini", value, 0.1, 0.2)) == change


@pytest.mark.parametrize(
    ("values", "words"),
    [((-0.1, 0.3, 0.02), "0.300 above base"), ((-0.1, -0.02, 0.01), "0.0200 below base")],
)
def test_a_difference_from_a_value_below_zero_is_in_units_of_the_metric(
    values: tuple[float, float, float], words: str
) -> None:
    evidence = SimpleNamespace(base="base")
    assert relation(CandidateCase(pair(*values), evidence)) == words  # type: ignore[arg-type]
    assert percent_of(pair(*values)) == words.split(maxsplit=1)[0]


@pytest.mark.parametrize(
    ("metric", "bounds"), [("ndcg", "−100 to −80 %"), ("mae", "−100 to −80 %"), ("r2", "−120 to −80 %")]
)
def test_only_a_metric_that_may_be_below_zero_loses_more_than_all(metric: str, bounds: str) -> None:
    assert relative.bounds(pair(0.2, -0.2, 0.04), metric) == bounds


def test_an_interval_entirely_below_a_loss_of_all_is_not_turned_round() -> None:
    assert relative.bounds(pair(0.05, -0.15, 0.01), "r2") == "−320 to −280 %"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((0.2, 0.12, 0.02), "60.0 % above base"),
        ((0.2, -0.12, 0.02), "60.0 % below base"),
        ((0.2, 0.248, 0.02), "2.24 times that of base"),
        ((0.0002, 0.146124, 0.02), "0.146 above base"),  # +73,062 %
        ((0.2, 0.0, 0.02), "equal to base"),
    ],
)
def test_a_difference_in_words_has_the_form_of_the_change(
    values: tuple[float, float, float], words: str
) -> None:
    assert relative.relation_to(pair(*values), "base") == words
