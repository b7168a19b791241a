"""How changes relative to the baseline are written."""

from __future__ import annotations

import pytest

from recdash.comparison import relative
from recdash.comparison.candidate_case import rail_amount
from recdash.comparison.guardrails import GuardrailResult
from recdash.comparison.pairs import Pair
from recdash.stats import Paired, judge


def pair(base: float, mean: float, half: float) -> Pair:
    """Returns a difference of ``mean`` ± ``half`` from a baseline of ``base``."""
    paired = Paired(100, mean, 0.1, mean - half, mean + half, 0.001, wins=60, ties=20, losses=20)
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
    ],
)
def test_a_doubling_is_a_factor_and_a_gain_from_nearly_zero_is_absolute(
    values: tuple[float, float, float], change: str, bounds: str
) -> None:
    assert (relative.change(pair(*values)), relative.bounds(pair(*values))) == (change, bounds)


@pytest.mark.parametrize(
    ("value", "change", "risk"),
    [(0.2, "×2.00", "to 2.0 times that of base"), (0.15, "+50.0 %", "by 50 %"), (0.05, "−50.0 %", "by 50 %")],
)
def test_a_guardrail_that_doubles_is_a_factor_too(value: float, change: str, risk: str) -> None:
    rail = GuardrailResult("gini", value, 0.1, 0.2)
    assert relative.rail_change(rail) == change
    assert rail_amount(rail, "base") == risk
