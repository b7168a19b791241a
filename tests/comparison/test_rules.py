"""Decision rules: presets, what is refused, and how they are stored."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from recdash.comparison import Margin, Terms
from recdash.comparison.rules import PRESETS, USUAL, DecisionRules, checked, read_share
from recdash.errors import InputError
from recdash.metrics.naming import GUARDRAILS

OWN = DecisionRules("0.002", {"novelty": 0.3, "coverage": 0.1}, "recall", 20, "Ann", two_people=True)


def test_the_usual_rules_judge_as_without_rules() -> None:
    assert USUAL.terms == Terms()
    assert (USUAL.preset, USUAL.metric, USUAL.k) == ("usual", None, None)


def test_own_rules_are_terms() -> None:
    assert OWN.terms == Terms(
        margin=Margin(0.002, relative=False), guard=(("coverage", 0.1), ("novelty", 0.3))
    )
    assert OWN.preset == "custom"


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_known_by_its_guardrails(preset: str) -> None:
    rules = replace(USUAL, guardrails=dict(PRESETS[preset]))
    assert rules.preset == preset
    assert rules.as_dict()["guardrails"] == preset


def test_presets_differ_by_what_a_guardrail_may_lose() -> None:
    assert {name: set(known.values()) for name, known in PRESETS.items()} == {
        "strict": {0.1}, "usual": {0.2}, "none": set(),
    }  # fmt: skip
    assert set(PRESETS["strict"]) == set(PRESETS["usual"]) == set(GUARDRAILS)


@pytest.mark.parametrize("rules", [USUAL, OWN, replace(OWN, guardrails={})])
def test_stored_rules_are_read_as_they_were_written(rules: DecisionRules) -> None:
    assert DecisionRules.of(json.loads(json.dumps(rules.as_dict()))) == rules


def test_rules_are_kept_in_canonical_spelling() -> None:
    written = DecisionRules(" 2% ", {"novelty": 1, "coverage": 0}, "ndcg(gain=linear)", 5, "  Ann ")
    kept = checked(written, depth=5)
    assert kept == DecisionRules("2%", {"coverage": 0.0, "novelty": 1.0}, "ndcg", 5, "Ann")
    assert list(kept.guardrails) == ["coverage", "novelty"]


def test_all_that_is_wrong_is_said_at_once() -> None:
    wrong = DecisionRules("1 percent", {"coverages": 0.1, "novelty": 1.5}, "ndgc", 9, "x" * 101)
    with pytest.raises(InputError) as refused:
        checked(wrong, depth=5)
    codes = [problem.code for problem in refused.value.problems]
    assert codes == [
        "bad-margin",
        "unknown-guardrail",
        "bad-guardrail",
        "unknown-metric",
        "beyond-depth",
        "text-too-long",
    ]


@pytest.mark.parametrize(("text", "share"), [("20%", 0.2), ("0.2", 0.2), (" 5 % ", 0.05), ("0", 0.0)])
def test_a_share_is_read(text: str, share: float) -> None:
    assert read_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "20", "-5%", "much", "nan", "101%"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="from 0% to 100%"):
        read_share(text)
