"""A comparison query: equal questions are equal values, and stored ones are read as they were written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from recdash.comparison import ComparisonQuery, Margin, Terms
from recdash.comparison.query import GUARD
from recdash.comparison.wording import guardrails_text
from recdash.domain.results import Scope
from recdash.errors import InputError, UnknownName
from recdash.metrics.naming import GUARDRAILS
from recdash.service.question import Question

QUERY = ComparisonQuery(("als", "ease"), "pop", "ndcg", 10)
STORED: dict[str, Any] = {
    "experiment": "e1",
    "runs": ["als", "ease"],
    "baseline": "pop",
    "metric": "ndcg",
    "k": 3,
    "scope": {"slice": "user_warmth=cold", "threshold": 4.0},
    "terms": {
        "margin": {"size": 0.002, "relative": False}, "guard": 0.2, "correction": "off", "level": 0.95,
    },
    "by": "user_warmth",
    "test": "t1",
    "online_metric": "watch_per_user",
}  # fmt: skip
"""As reports have stored their question since there are reports."""


def test_equal_questions_are_equal_values() -> None:
    assert ComparisonQuery(("pop", "als", "ease", "als"), "pop", "ndcg", 10) == QUERY
    written_out = ComparisonQuery(("als", "ease"), "pop", "ndcg(gain=linear)", 10)
    assert (written_out, hash(written_out)) == (QUERY, hash(QUERY))
    assert QUERY.shown == ("pop", "als", "ease")


def test_another_baseline_is_no_candidate() -> None:
    assert replace(QUERY, baseline="als").shown == ("als", "ease")
    assert replace(QUERY, metric="ndcg( gain = exp )").metric == "ndcg(gain=exp)"


@pytest.mark.parametrize(("change", "error"), [({"metric": "ndgc"}, UnknownName), ({"k": 0}, InputError)])
def test_what_cannot_be_asked_is_refused(change: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        replace(QUERY, **change)


def test_a_stored_question_is_read_and_written_to_the_letter() -> None:
    question = Question.of(STORED)
    assert question.query.scope == Scope("user_warmth=cold", 4.0)
    assert question.query.terms == Terms(margin=Margin(0.002, relative=False), correction="off")
    assert json.dumps(question.as_dict()) == json.dumps(STORED)


EACH = {"coverage": 0.1, "novelty": 0.3}


def test_guardrails_of_single_metrics_are_read_and_written_to_the_letter() -> None:
    stored = {**STORED, "terms": {**STORED["terms"], "guard": [["coverage", 0.1], ["novelty", 0.3]]}}
    question = Question.of(stored)
    assert question.query.terms.guards == EACH
    assert json.dumps(question.as_dict()) == json.dumps(stored)


def test_equal_guardrails_are_equal_terms() -> None:
    everywhere = Terms(guard=tuple((metric, GUARD) for metric in reversed(GUARDRAILS)))
    assert (everywhere, hash(everywhere)) == (Terms(), hash(Terms()))
    pairs = tuple(EACH.items())
    assert Terms(guard=pairs) == Terms(guard=pairs[::-1])
    assert Terms(guard=()).guards == {}


@pytest.mark.parametrize(
    ("guard", "text"),
    [
        (0.2, "a guardrail may lose 20 % of it"),
        (tuple(EACH.items()), "guardrails may lose 10 % (catalogue coverage) and 30 % (novelty) of it"),
        ((), "there are no guardrails"),
    ],
)
def test_what_guardrails_allow_is_said(guard: float | tuple[tuple[str, float], ...], text: str) -> None:
    assert guardrails_text(Terms(guard=guard)) == text
