"""A journal folded into reviews and decisions: what holds now follows from what was written, in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recdash.decisions import Review, State, decisions, last_decision, reviews
from recdash.domain.journal import Entry, EntryKind

ALS = {"id": "als", "name": "ALS v3"}
SUBJECT = {"run": ALS, "baseline": {"id": "pop", "name": "Popular"}, "metric": "ndcg", "k": 10, "others": []}
OFFLINE = {
    "subject": SUBJECT, "state": "ship", "headline": "Ship ALS v3", "sentences": [], "terms": "", "pairs": [],
    "metrics": [], "guardrails": [], "slices": [], "definitions": [], "warnings": [], "apart": {},
}  # fmt: skip
BEGIN = datetime(2026, 10, 9, 12, tzinfo=UTC)


def online(test: str) -> dict[str, Any]:
    return {
        "subject": SUBJECT, "test": {"id": test, "name": f"Test {test}"}, "variant": "new", "control": "old",
        "users": {}, "srm_p": 0.5, "blocked": False, "crossover": 0, "warnings": [], "lifts": [], "sides": [],
        "definitions": [], "rules": {},
    }  # fmt: skip


class Journal:
    """Entries with ids e1, e2 …, a minute apart."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, kind: EntryKind, about: str | None = None, text: str = "", **facts: Any) -> str:
        number = len(self.entries) + 1
        moment = BEGIN + timedelta(minutes=number)
        self.entries.append(Entry(f"e{number}", "films", moment, "Mary", kind, about, text, facts))
        return f"e{number}"

    def propose(self) -> str:
        return self.add("proposal", subject=SUBJECT)

    def decide(self, outcome: str, about: str | None = None, supersedes: str | None = None) -> str:
        return self.add("decision", about, "why", outcome=outcome, supersedes=supersedes, subject=SUBJECT)

    def review(self) -> Review:
        return reviews(self.entries)[0]


@pytest.fixture
def journal() -> Journal:
    return Journal()


def test_an_empty_journal_says_nothing(journal: Journal) -> None:
    assert (reviews(journal.entries), decisions(journal.entries)) == ([], [])
    assert last_decision(journal.entries) is None


# ── a review ─────────────────────────────────────────────────────────────────────────────────


def test_a_review_goes_from_proposed_over_offline_and_online_evidence_to_its_decision(
    journal: Journal,
) -> None:
    seen: list[tuple[State, str]] = []

    def note() -> None:
        review = journal.review()
        seen.append((review.state, review.missing))

    proposal = journal.propose()
    note()
    journal.add("offline evidence", proposal, offline=OFFLINE)
    note()
    journal.add("online evidence", proposal, online=[online("t")])
    note()
    journal.decide("ship", proposal)
    note()
    assert seen == [
        ("proposed", "Attach the offline evidence: the current numbers."),
        ("offline evidence", "Attach an A/B test in which a variant served ALS v3."),
        ("online evidence", "Approve or reject it."),
        ("approved", ""),
    ]


@pytest.mark.parametrize(
    ("outcome", "state", "is_open"),
    [
        ("ship", "approved", False),
        ("do not ship", "rejected", False),
        ("needs A/B", "proposed", True),
        ("inconclusive", "proposed", True),
    ],
)
def test_only_shipping_or_not_ends_a_review(
    journal: Journal, outcome: str, state: State, is_open: bool
) -> None:
    proposal = journal.propose()
    decision = journal.decide(outcome, proposal)
    review = journal.review()
    assert (review.state, review.is_open) == (state, is_open)
    assert review.decision is not None
    assert review.decision.id == decision


def test_an_approval_that_is_superseded_by_a_rejection_is_a_rejection(journal: Journal) -> None:
    proposal = journal.propose()
    first = journal.decide("ship", proposal)
    journal.decide("do not ship", proposal, supersedes=first)
    assert journal.review().state == "rejected"


def test_an_approval_that_is_superseded_by_needing_a_test_is_open_again(journal: Journal) -> None:
    proposal = journal.propose()
    first = journal.decide("ship", proposal)
    journal.decide("needs A/B", proposal, supersedes=first)
    assert journal.review().is_open


def test_a_review_stays_closed_when_a_decision_outside_it_takes_the_place_of_its_own(
    journal: Journal,
) -> None:
    proposal = journal.propose()
    first = journal.decide("ship", proposal)
    journal.decide("do not ship", supersedes=first)
    review = journal.review()
    assert review.state == "approved"
    assert review.decision is not None
    assert not review.decision.is_current


def test_evidence_that_is_attached_again_takes_the_place_of_the_old(journal: Journal) -> None:
    proposal = journal.propose()
    journal.add("offline evidence", proposal, offline=OFFLINE)
    again = journal.add("offline evidence", proposal, offline=OFFLINE | {"headline": "Keep Popular"})
    first = journal.add("online evidence", proposal, online=[online("a")])
    other = journal.add("online evidence", proposal, online=[online("b")])
    last = journal.add("online evidence", proposal, online=[online("a")])
    review = journal.review()
    assert [one.id for one in review.evidence] == [again, last, other]
    assert first not in [one.id for one in review.evidence]
    assert review.offline is not None
    assert review.offline.headline == "Keep Popular"
    assert [one.test.name for one in review.online] == ["Test a", "Test b"]


def test_each_review_has_its_own_evidence_comments_and_decisions(journal: Journal) -> None:
    first, second = journal.propose(), journal.propose()
    journal.add("offline evidence", first, offline=OFFLINE)
    journal.add("comment", second, "Why two?")
    journal.decide("ship", first)
    newest, oldest = reviews(journal.entries)
    assert (oldest.id, oldest.state, oldest.comments) == (first, "approved", ())
    assert (newest.id, newest.state) == (second, "proposed")
    assert [comment.text for comment in newest.comments] == ["Why two?"]


# ── decisions ────────────────────────────────────────────────────────────────────────────────


def test_decisions_stand_newest_first_and_say_what_superseded_them(journal: Journal) -> None:
    first = journal.decide("needs A/B")
    second = journal.decide("ship", supersedes=first)
    result = decisions(journal.entries)
    assert [(one.id, one.superseded_by, one.supersedes) for one in result] == [
        (second, None, first),
        (first, second, None),
    ]


def test_the_last_decision_is_the_newest_that_holds(journal: Journal) -> None:
    first = journal.decide("inconclusive")
    second = journal.decide("needs A/B")
    journal.decide("ship", supersedes=second)
    result = last_decision(journal.entries)
    assert result is not None
    assert (result.id, result.label) == ("e3", "Ship")
    journal.decide("do not ship", supersedes="e3")
    result = last_decision(journal.entries)
    assert result is not None
    assert result.label == "Don't ship"
    assert [decision.id for decision in decisions(journal.entries) if decision.is_current] == ["e4", first]


def test_a_decision_knows_whom_it_is_about_and_by_what(journal: Journal) -> None:
    journal.decide("ship")
    (result,) = decisions(journal.entries)
    assert (result.about, result.subject.where, result.author) == ("ALS v3", "nDCG@10", "Mary")
    assert (result.offline, result.online, result.checklist) == (None, (), ())


@pytest.mark.parametrize(
    ("outcome", "names", "headline"),
    [
        ("do not ship", ["sasrec"], "Don't ship sasrec"),
        ("do not ship", ["sasrec", "als"], "Don't ship sasrec or als"),
        ("do not ship", ["a", "b", "c"], "Don't ship a, b or c"),
        ("do not ship", ["a", "b", "c", "d"], "Don't ship any of 4 candidates"),
        ("inconclusive", ["sasrec", "als"], "Inconclusive on sasrec and als"),
        ("inconclusive", ["a", "b", "c", "d"], "Inconclusive on 4 candidates"),
        ("needs A/B", ["sasrec"], "sasrec needs an A/B test"),
        ("needs A/B", ["sasrec", "als"], "sasrec and als need an A/B test"),
        ("do not ship", [], "Don't ship"),
    ],
)
def test_the_headline_on_pages_names_the_candidates_that_a_decision_on_all_is_about(
    journal: Journal, outcome: str, names: list[str], headline: str
) -> None:
    others = [{"id": name, "name": name} for name in names]
    journal.add("decision", None, "why", outcome=outcome, subject=SUBJECT | {"run": None, "others": others})
    (decision,) = decisions(journal.entries)
    assert decision.named_headline == headline
    assert "sasrec" not in decision.headline  # as in stored reports


def test_the_headline_on_pages_names_the_run_of_a_decision_on_one(journal: Journal) -> None:
    journal.decide("do not ship")
    (decision,) = decisions(journal.entries)
    assert decision.named_headline == decision.headline == "Don't ship ALS v3"
