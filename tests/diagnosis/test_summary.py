"""All answers in a sentence: the strongest cause first, then what is ruled out and what can't be told."""

from __future__ import annotations

from recdash.diagnosis import CheckAnswer, summary
from recdash.diagnosis.answer import Finding, Strength


def answer(check: str, verdict: Finding, cause: str = "", strength: Strength = 0) -> CheckAnswer:
    return CheckAnswer(check, verdict, "", "", cause=cause, strength=strength)


def test_the_strongest_cause_comes_first_and_equal_ones_in_the_order_of_the_checks() -> None:
    told = summary(
        [
            answer("popularity", "supports", "it is popular", 1),
            answer("leakage", "supports", "it leaks", 3),
            answer("labels", "supports", "the labels differ", 2),
            answer("noise", "rules out"),
            answer("segments", "can't tell"),
        ]
    )
    assert told == (
        "Most likely: it leaks; also the labels differ; it is popular. "
        "Ruled out: noise. Inconclusive: segments."
    )


def test_of_many_causes_four_are_named() -> None:
    causes = [answer("noise", "supports", f"cause {n}", 1) for n in range(6)]
    assert summary(causes) == "Most likely: cause 0; also cause 1; cause 2; cause 3; and 2 more."


def test_where_no_cause_is_found_that_is_said() -> None:
    told = summary([answer("noise", "rules out"), answer("novelty", "can't tell")])
    assert told == "None of the twelve checks finds a cause. Ruled out: noise. Inconclusive: novelty."


def test_what_is_found_about_the_same_result_is_a_reason_for_doubt_and_no_cause() -> None:
    found = summary([answer("labels", "supports", "the labels differ", 2)], agreed=True)
    assert found == "Reason for doubt: the labels differ."
    assert summary([], agreed=True) == "None of the twelve checks finds a reason for doubt."
