"""The decision on top of an experiment, and whether today's recommendation agrees with it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from verdict_table import BASE, CLEAR, LOSS, UNSURE, Table

from recdash.comparison import ComparisonQuery, compare
from recdash.comparison.recommendation import Recommendation, recommend
from recdash.comparison.wording import Piece, plain
from recdash.decisions import Decision
from recdash.decisions.standing import decision_on_top, outcome_for, standing
from recdash.domain.journal import Entry
from recdash.domain.results import OnlineLift
from recdash.errors import Problem

CUT = OnlineLift("Homepage", "Watch time", -0.122, -0.157, -0.086)
OPEN = OnlineLift("Homepage", "Watch time", 0.01, -0.02, 0.04)


def entry(number: int, outcome: str, run: str | None, supersedes: str | None = None) -> Entry:
    named = {"id": run, "name": run} if run else None
    subject = {"run": named, "baseline": {"id": "Popular", "name": "Popular"}, "metric": "ndcg", "k": 10}
    facts = {"outcome": outcome, "supersedes": supersedes, "subject": subject}
    when = datetime(2026, 10, 9, tzinfo=UTC) + timedelta(days=number)
    return Entry(f"e{number}", "films", when, "Mary", "decision", None, "Because.", facts)


def on_variant(number: int, outcome: str) -> Entry:
    """A decision on variant b of the A/B test t."""
    made = entry(number, outcome, None)
    subject = {**made.facts["subject"], "variant": {"test": {"id": "t", "name": "Checkout"}, "name": "b"}}
    return replace(made, facts={**made.facts, "subject": subject})


def today(table: Table) -> Recommendation:
    runs = tuple(name for name in table.of if name != "Popular")
    return recommend(table, compare(table, ComparisonQuery(runs, "Popular", "ndcg", 10)))


SHIP = Table({"Popular": BASE, "ALS": CLEAR})
KEEP = Table({"Popular": BASE, "ALS": LOSS})
TEST = Table({"Popular": BASE, "ALS": CLEAR}, tests=[OPEN])
COLLECT = Table({"Popular": BASE, "ALS": UNSURE})
KEEP_UNSURE = Table({"Popular": BASE, "ALS": 2 * BASE - UNSURE})
LOST = Table({"Popular": BASE, "ALS": CLEAR}, tests=[CUT])
APART = Table(
    {"Popular": BASE, "ALS": CLEAR},
    between=[Problem("different-truth", "comparison", "the runs have two truths", "Score again.")],
)
NOW_KEEP = "the recommendation is now “Keep Popular”"


@pytest.mark.parametrize(
    ("outcome", "run", "table", "agrees", "because"),
    [
        ("ship", "ALS", SHIP, True, ""),
        ("ship", "ALS", KEEP, False, f"ALS is worse offline: nDCG@10 is 10 % below Popular; {NOW_KEEP}"),
        ("ship", "ALS", LOST, False, f"ALS cut watch time by 12 % in the A/B test; {NOW_KEEP}"),
        ("ship", "Popular", KEEP, True, ""),
        ("ship", "Popular", SHIP, False, "the recommendation is now “Ship ALS”"),
        ("ship", "BPR", SHIP, None, "BPR is not among the candidates"),
        ("ship", "ALS", APART, None, "the runs cannot be compared: the runs have two truths"),
        ("do not ship", "ALS", KEEP, True, ""),
        ("do not ship", "ALS", SHIP, False, "the recommendation is now “Ship ALS”"),
        ("do not ship", None, COLLECT, True, ""),
        ("needs A/B", "ALS", TEST, True, ""),
        ("needs A/B", "ALS", SHIP, False, "the recommendation is now “Ship ALS”"),
        ("inconclusive", None, COLLECT, True, ""),
        ("inconclusive", "ALS", SHIP, False, "the recommendation is now “Ship ALS”"),
    ],
)
def test_a_decision_agrees_with_today_or_says_why_not(
    outcome: str, run: str | None, table: Table, agrees: bool | None, because: str
) -> None:
    result = standing(Decision(entry(1, outcome, run)), today(table))
    assert (result.agrees, result.because) == (agrees, because)


def test_a_run_that_was_deleted_is_called_so() -> None:
    decision = Decision(entry(1, "ship", "BPR"))
    assert standing(decision, today(SHIP), stored={"ALS", "Popular"}).because == "BPR was deleted"
    assert standing(decision, None, stored=set()).because == "BPR was deleted"
    is_left_out = standing(decision, today(SHIP), stored={"ALS", "BPR", "Popular"})
    assert is_left_out.because == "BPR is not among the candidates"


def test_the_words() -> None:
    decision = Decision(entry(1, "ship", "ALS"))
    assert standing(decision, today(SHIP)).text == "Evidence today: agrees."
    assert standing(decision, today(KEEP)).text.startswith("Evidence today: no longer agrees, because ALS ")
    overruled = overruling(today(LOST))
    although = "the recommendation is “Keep Popular”."
    assert standing(overruled, today(LOST)).text == (
        "Evidence today: unchanged; decided although ALS cut watch time by 12 % in the A/B test; " + although
    )
    assert standing(overruled, today(SHIP)).text == "Evidence today: agrees."
    assert standing(decision, None).text == "Evidence today: not known, because there is nothing to compare."


def overruling(against: Recommendation, *, with_facts: bool = True) -> Decision:
    """Returns the decision to ship ALS, made when the recommendation was the one given; an older one without
    its facts.
    """
    decided = entry(1, "ship", "ALS")
    sentences = [plain(sentence) for sentence in against.sentences]
    offline = {"state": against.action, "sentences": sentences, "terms": "", "pairs": []}
    offline |= {"headline": against.headline, "subject": decided.facts["subject"]}
    offline |= {"run": against.run, "facts": against.facts} if with_facts else {}
    return Decision(replace(decided, facts={**decided.facts, "offline": offline}))


def test_other_words_for_the_same_reasons_change_nothing() -> None:
    lost = today(LOST)
    reworded = replace(lost, headline="Leave Popular", why=((Piece("ALS made users leave."),),))
    unchanged = "Evidence today: unchanged; decided although "
    assert standing(overruling(reworded), lost).text.startswith(unchanged)
    assert standing(overruling(lost, with_facts=False), lost).text.startswith(unchanged)
    assert not standing(overruling(reworded, with_facts=False), lost).text.startswith(unchanged)


@pytest.mark.parametrize("with_facts", [True, False])
def test_a_reason_that_came_later_is_not_called_unchanged(with_facts: bool) -> None:
    """The headline stays, but the A/B test was lost only after the decision."""
    result = standing(overruling(today(KEEP_UNSURE), with_facts=with_facts), today(LOST))
    assert result.text == (
        "Evidence today: does not agree, because ALS cut watch time by 12 % in the A/B test; "
        "the recommendation is still “Keep Popular”."
    )


@pytest.mark.parametrize(
    ("entries", "top"),
    [
        ([], None),
        ([entry(1, "ship", "ALS"), entry(2, "do not ship", "Tower")], "e1"),
        ([entry(1, "ship", "ALS"), entry(2, "do not ship", "ALS")], "e2"),
        ([entry(1, "ship", "ALS"), entry(2, "ship", "Tower")], "e2"),
        ([entry(1, "ship", "ALS"), entry(2, "inconclusive", None, supersedes="e1")], "e2"),
        ([entry(1, "needs A/B", "ALS"), entry(2, "inconclusive", "Tower")], "e2"),
    ],
)
def test_which_decision_stands(entries: list[Entry], top: str | None) -> None:
    """One to ship stays on top of later ones about other runs; the last word on a run holds."""
    decision = decision_on_top(entries)
    assert (decision.id if decision else None) == top


@pytest.mark.parametrize(
    ("table", "outcome"),
    [
        (SHIP, "ship"), (KEEP, "do not ship"), (LOST, "do not ship"), (TEST, "needs A/B"),
        (COLLECT, "inconclusive"), (APART, None),
    ],
)  # fmt: skip
def test_the_form_to_decide_begins_with_the_outcome_that_is_recommended(
    table: Table, outcome: str | None
) -> None:
    assert outcome_for("ALS", today(table)) == outcome
    assert outcome_for("BPR", today(table)) is None
    assert outcome_for("ALS", None) is None


def test_a_decision_on_a_variant_that_served_a_run_is_one_on_that_run() -> None:
    shipped, stopped = on_variant(1, "ship"), entry(2, "do not ship", "ALS")
    served = {("t", "b"): "ALS"}
    top = decision_on_top([shipped, stopped], links=served)
    assert top is not None
    assert top.id == "e2"
    decision = Decision(shipped)
    assert standing(decision, today(SHIP), served).agrees
    assert standing(decision, today(KEEP), served).agrees is False
    without = standing(decision, today(SHIP))
    assert (without.agrees, without.because) == (
        None,
        "offline evidence says nothing of a variant without a run",
    )
