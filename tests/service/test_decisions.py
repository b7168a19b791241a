"""Decisions and reviews in a workspace: what is frozen stays, what cannot be is refused in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from app_pages import TRUTH, lists
from decision_worlds import RUNS, checkout, films, home_page, sessions

from recdash.comparison.wording import plain
from recdash.decisions import Decision
from recdash.decisions.changes_since import Changed
from recdash.domain.access import Person
from recdash.domain.journal import Report
from recdash.domain.records import OnlineTest
from recdash.errors import Forbidden, InputError, NotFound, UnknownName
from recdash.online.rules import OnlineRules
from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.service.access.maintenance import restore
from recdash.store import open_store

MARY, ADMIN = Person("Mary", "editor"), Person("Ann", "admin")
BEGIN = datetime(2026, 10, 9, 12, tzinfo=UTC)


class Clock:
    """A moment later each time that somebody looks."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> datetime:
        self.wait(milliseconds=1)
        return self.now

    def wait(self, **some: float) -> None:
        self.now += timedelta(**some)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str], str]:
    """A store with the films and their A/B test, made once and copied for each test."""
    folder = tmp_path_factory.mktemp("films")
    space = open_at(folder)
    ids = films(space)
    test = home_page(space, ids)
    space.store.close()
    return folder, ids, test.id


def open_at(
    folder: Path, person: Person | None = None, clock: Callable[[], datetime] | None = None
) -> Workspace:
    store = open_store(f"sqlite:///{folder}/recdash.db", folder / "artifacts")
    return Workspace(store, person=person, **({"clock": clock} if clock else {}))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def space(stored: tuple[Path, dict[str, str], str], tmp_path: Path, clock: Clock) -> Workspace:
    """Mary's, who edits."""
    import shutil

    shutil.copytree(stored[0], tmp_path / "copy")
    return open_at(tmp_path / "copy", MARY, clock)


@pytest.fixture
def ids(stored: tuple[Path, dict[str, str], str]) -> dict[str, str]:
    return stored[1]


@pytest.fixture
def test(stored: tuple[Path, dict[str, str], str], space: Workspace) -> OnlineTest:
    return space.store.online_tests.get(stored[2])


def ship(space: Workspace, ids: dict[str, str], **options: Any) -> Decision:
    return space.decisions.decide(
        ids["films"], "ship", **{"run_id": ids["als"], "text": "It is better.", **options}
    )


# ── the way of a candidate ───────────────────────────────────────────────────────────────────


def test_a_candidate_is_proposed_backed_with_evidence_and_approved(
    space: Workspace, ids: dict[str, str], test: OnlineTest
) -> None:
    review = space.reviews.propose(ids["films"], ids["als"], text="Trains in minutes.")
    assert (review.state, review.about, review.subject.where) == ("proposed", "als", "nDCG@3")
    review = space.reviews.add_offline_evidence(review.id, "Clear gain.")
    assert review.state == "offline evidence"
    review = space.reviews.add_online_evidence(review.id, test.id)
    assert review.state == "online evidence"
    assert [(one.name, one.state) for one in review.checklist] == [
        ("Gain", "holds"), ("Guardrails", "holds"), ("Split of users", "holds"), ("Slices", "holds"),
        ("Agreement", "holds"),
    ]  # fmt: skip
    decision = space.decisions.decide(ids["films"], "ship", about=review.id, text="Ship it.")
    assert space.journal.review(review.id).state == "approved"
    assert (decision.review, decision.about, decision.author) == (review.id, "als", "Mary")
    assert space.journal.last_decision(ids["films"]) == decision
    assert [one.kind for one in space.journal.entries(ids["films"])] == [
        "decision", "online evidence", "offline evidence", "proposal",
    ]  # fmt: skip


def test_only_tests_in_which_a_variant_served_the_candidate_can_be_attached(
    space: Workspace, ids: dict[str, str], test: OnlineTest
) -> None:
    als, ease = (space.reviews.propose(ids["films"], ids[name]) for name in ("als", "ease"))
    assert [one.name for one in space.reviews.tests_for(als.id)] == ["home page"]
    assert space.reviews.tests_for(ease.id) == []
    with pytest.raises(InputError, match="no variant of it is linked to 'ease'"):
        space.reviews.add_online_evidence(ease.id, test.id)


def test_the_control_is_no_evidence(space: Workspace, ids: dict[str, str], test: OnlineTest) -> None:
    review = space.reviews.propose(
        ids["films"], ids["popular"], space.queries.of(ids["films"], baseline=ids["ease"])
    )
    with pytest.raises(InputError, match="'popular' was served by the control"):
        space.reviews.add_online_evidence(review.id, test.id)


def test_a_test_with_a_broken_split_leaves_little_known(space: Workspace, ids: dict[str, str]) -> None:
    table = sessions({"control": 80, "new": 140})
    few = table[(table["variant"] == "control") | (table.index % 2 == 0)]
    links = {"control": ids["popular"], "new": ids["als"]}
    broken = space.online_tests.add(ids["films"], "broken", {"sessions": few}, links=links)
    review = space.reviews.propose(ids["films"], ids["als"])
    space.reviews.add_offline_evidence(review.id)
    found = {one.name: one.state for one in space.reviews.add_online_evidence(review.id, broken.id).checklist}
    assert found == {
        "Gain": "not known yet", "Guardrails": "not known yet", "Split of users": "fails", "Slices": "holds",
        "Agreement": "not known yet",
    }  # fmt: skip


def test_who_lost_online_has_no_gain_and_is_shown_to_contradict_itself(
    space: Workspace, ids: dict[str, str]
) -> None:
    """Better offline, 20 engaged against 80 online."""
    lost = home_page(space, ids, new=20, name="lost")
    review = space.reviews.propose(ids["films"], ids["als"])
    space.reviews.add_offline_evidence(review.id)
    found = {one.name: one for one in space.reviews.add_online_evidence(review.id, lost.id).checklist}
    assert (found["Gain"].state, found["Gain"].reason) == (
        "fails", "Offline better than popular; online it lost engagement rate and session watch time.",
    )  # fmt: skip
    assert "won offline, lost online" in found["Agreement"].numbers[0]


# ── an approval says why ─────────────────────────────────────────────────────────────────────


def test_approving_what_does_not_hold_takes_a_reason(space: Workspace, ids: dict[str, str]) -> None:
    review = space.reviews.propose(ids["films"], ids["als"])
    space.reviews.add_offline_evidence(review.id)
    with pytest.raises(
        InputError, match="split of users in the A/B test and agreement of offline and online are not known"
    ):
        space.decisions.decide(ids["films"], "ship", about=review.id, text="Ship it.")
    assert space.journal.review(review.id).is_open
    found = space.decisions.decide(
        ids["films"], "ship", about=review.id, text="Ship it.", although="No time to test."
    )
    assert (found.although, space.journal.review(review.id).state) == ("No time to test.", "approved")


@pytest.mark.parametrize("outcome", ["do not ship", "needs A/B", "inconclusive"])
def test_other_outcomes_need_no_reason_beside_the_prose(
    space: Workspace, ids: dict[str, str], outcome: str
) -> None:
    review = space.reviews.propose(ids["films"], ids["als"])
    assert (
        space.decisions.decide(ids["films"], outcome, about=review.id, text="See above.").outcome == outcome
    )


def test_a_decision_without_a_review_shows_what_was_not_known(space: Workspace, ids: dict[str, str]) -> None:
    found = ship(space, ids, run_id=ids["ease"])
    assert {one.name: one.state for one in found.checklist}["Split of users"] == "not known yet"


# ── frozen numbers ───────────────────────────────────────────────────────────────────────────


def test_the_numbers_of_every_pair_stand_in_a_decision(space: Workspace, ids: dict[str, str]) -> None:
    """als finds the item of 70 of 80 users first, popular that of the other 10, ease that of 30."""
    offline = ship(space, ids).offline
    assert offline is not None
    rows = {
        (offline.name(one.candidate), offline.name(one.baseline)): (
            one.value, one.base_value, one.difference, one.n, one.wins, one.losses, one.word
        )
        for one in offline.pairs
    }  # fmt: skip
    assert rows == {
        ("als", "popular"): (7 / 8, 1 / 8, 6 / 8, 80, 70, 10, "better"),
        ("ease", "popular"): (3 / 8, 1 / 8, 2 / 8, 80, 20, 0, "better"),
        ("ease", "als"): (3 / 8, 7 / 8, -4 / 8, 80, 10, 50, "worse"),
    }
    assert (offline.state, offline.headline) == ("ship", "Ship als")
    assert offline.sentences[0].startswith("It won offline and online: nDCG@3 is 7.0 times that of popular")
    assert offline.own is not None
    assert offline.own.low is not None
    assert offline.own.low > 0.5


def test_guardrails_and_slices_are_those_of_the_run_and_not_of_the_leader(
    space: Workspace, ids: dict[str, str]
) -> None:
    offline = ship(space, ids, run_id=ids["ease"]).offline
    assert offline is not None
    assert offline.headline == "Ship als"
    assert {one.part: (one.value, one.n) for one in offline.slices} == {
        "known users (with train rows)": (3 / 8, 40),
        "users new to the service (no train rows)": (3 / 8, 40),
    }
    assert [one.title for one in offline.guardrails] == ["Novelty@3", "Personalization@3"]
    assert [one.value for one in offline.metrics] == [3 / 8, 3 / 24, 3 / 8, 3 / 8, 3 / 8]


def test_each_metric_has_its_definition(space: Workspace, ids: dict[str, str]) -> None:
    offline = ship(space, ids).offline
    assert offline is not None
    first = offline.definitions[0]
    assert (first.spec, first.title) == ("ndcg", "nDCG")
    assert first.formula.startswith(r"\frac{\sum_{r_j \le k}")
    assert first.counted == "all users with a relevant item count; one without recommendations counts as 0"
    assert [one.spec for one in offline.definitions] == [
        "ndcg", "recall", "precision", "hit_rate", "map", "mrr", "novelty", "personalization",
    ]  # fmt: skip


def test_the_numbers_of_an_ab_test_stand_beside_them(space: Workspace, ids: dict[str, str]) -> None:
    """140 of 201 sessions engaged against 80 of 201: +75 %."""
    (online,) = ship(space, ids).online
    lifts = {one.metric: one for one in online.lifts}
    engaged = lifts["engagement_rate"]
    assert (engaged.numerator, engaged.denominator, engaged.n, engaged.control_n) == (
        140, pytest.approx(201), 200, 200,
    )  # fmt: skip
    assert (engaged.value, engaged.control_value) == (pytest.approx(140 / 201), pytest.approx(80 / 201))
    assert (engaged.lift, engaged.role, engaged.word) == (pytest.approx(0.75), "goal", "better")
    assert (online.variant, online.control, online.users) == ("new", "control", {"control": 200, "new": 200})
    assert (online.srm_p, online.blocked) == (1.0, False)
    assert {one.formula for one in online.definitions} >= {"engaged_sessions / sessions"}


def test_where_the_numbers_come_from_is_kept(space: Workspace, ids: dict[str, str], test: OnlineTest) -> None:
    from recdash import __version__

    told = str(ship(space, ids).provenance)
    experiment = space.experiments.get(ids["films"])
    uploads = [space.store.runs.get(ids[name]).upload for name in RUNS]
    for one in (experiment.truth, experiment.train, *uploads, test.upload, __version__):
        assert one in told
    assert "2026-10-09T12:00:00+00:00" in told


def test_nothing_that_happens_later_changes_a_decision(
    space: Workspace, ids: dict[str, str], test: OnlineTest
) -> None:
    then = ship(space, ids)
    space.runs.rename(ids["als"], "als again")
    space.online_tests.set_rules(test.id, OnlineRules(bot_clicks=None, bot_sessions=None, winsorise=0.9))
    space.runs.delete(ids["ease"], "ease")
    now = space.journal.decision(then.id)
    assert (now.about, now.offline, now.online, now.provenance) == (
        "als", then.offline, then.online, then.provenance,
    )  # fmt: skip


def test_a_decision_says_how_it_differs_from_today(space: Workspace, ids: dict[str, str]) -> None:
    then = ship(space, ids)
    assert space.decisions.since(then.id) == []
    space.runs.rename(ids["als"], "als again")
    space.runs.delete(ids["ease"], "ease")
    found = space.decisions.since(then.id)
    assert found[:2] == [
        Changed("als", "als", "now called als again"),
        Changed("ease", "one of the runs", "deleted"),
    ]
    assert Changed("Recommendation", "Ship als", "Ship als again") in found


def test_evidence_says_how_it_differs_from_today(
    space: Workspace, ids: dict[str, str], test: OnlineTest
) -> None:
    review = space.reviews.propose(ids["films"], ids["als"])
    review = space.reviews.add_online_evidence(review.id, test.id)
    (entry,) = review.evidence
    assert space.decisions.since(entry.id) == []
    space.online_tests.set_rules(test.id, OnlineRules(split={"control": 2, "new": 1}))
    found = space.decisions.since(entry.id)
    assert found[0] == Changed("Split of users", "even, no planned split is given", "broken")
    assert found[1] == Changed("Engagement rate", "0.697 (+75.0 %, better)", "0.697 (+75.0 %, not judged)")
    space.online_tests.link_variants(test.id, {"control": ids["popular"], "new": ids["ease"]})
    assert space.decisions.since(entry.id) == [
        Changed("home page", "new served the run", "linked to another run")
    ]


def test_a_decision_about_a_run_that_is_gone_keeps_its_numbers(
    space: Workspace, ids: dict[str, str], test: OnlineTest
) -> None:
    then = ship(space, ids)
    space.runs.delete(ids["als"], "als")
    assert space.journal.decision(then.id).offline == then.offline
    assert space.decisions.since(then.id)[0] == Changed("als", "one of the runs", "deleted")
    space.online_tests.delete(test.id, "home page")
    assert Changed("home page", "an A/B test", "deleted") in space.decisions.since(then.id)


def test_a_review_of_a_run_that_is_gone_can_be_rejected_and_not_approved(
    space: Workspace, ids: dict[str, str]
) -> None:
    review = space.reviews.propose(ids["films"], ids["als"])
    space.reviews.add_offline_evidence(review.id)
    space.runs.delete(ids["als"], "als")
    with pytest.raises(InputError, match="run 'als': it was deleted"):
        space.reviews.add_offline_evidence(review.id)
    with pytest.raises(InputError, match="run 'als': it was deleted"):
        space.decisions.decide(ids["films"], "ship", about=review.id, text="Yes.", although="Why not.")
    assert space.decisions.decide(ids["films"], "do not ship", about=review.id, text="Gone.").about == "als"


# ── superseded, never edited ─────────────────────────────────────────────────────────────────


def test_a_decision_is_superseded_once(space: Workspace, ids: dict[str, str]) -> None:
    first = ship(space, ids)
    second = space.decisions.decide(
        ids["films"], "do not ship", text="It breaks search.", supersedes=first.id
    )
    assert second.about == "als"
    assert [(one.id, one.superseded_by) for one in space.journal.decisions(ids["films"])] == [
        (second.id, None),
        (first.id, second.id),
    ]
    with pytest.raises(InputError, match="it was already replaced by another"):
        ship(space, ids, supersedes=first.id)


def test_of_two_who_decide_at_once_one_is_told_of_the_other(
    space: Workspace, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bob rejects while Mary's approval, checked already, is about to be written."""
    review = space.reviews.propose(ids["films"], ids["als"])
    bob, writes = space.seen_by(Person("Bob", "editor")), space.journal.add

    def after_bob(*words: Any, **more: Any) -> Any:
        monkeypatch.undo()
        bob.decisions.decide(ids["films"], "do not ship", about=review.id, text="No.")
        return writes(*words, **more)

    monkeypatch.setattr(space.journal, "add", after_bob)
    with pytest.raises(InputError, match="review of 'als': it was rejected"):
        space.decisions.decide(ids["films"], "ship", about=review.id, text="Yes.", although="Why not.")
    assert [one.author for one in space.journal.decisions(ids["films"])] == ["Bob"]


def test_of_two_who_supersede_at_once_one_is_told_of_the_other(
    space: Workspace, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ship(space, ids)
    bob, writes = space.seen_by(Person("Bob", "editor")), space.journal.add

    def after_bob(*words: Any, **more: Any) -> Any:
        monkeypatch.undo()
        bob.decisions.decide(ids["films"], "inconclusive", supersedes=first.id, text="Who knows.")
        return writes(*words, **more)

    monkeypatch.setattr(space.journal, "add", after_bob)
    with pytest.raises(InputError, match="it was already replaced by another"):
        space.decisions.decide(ids["films"], "do not ship", supersedes=first.id, text="No.")
    assert [one.author for one in space.journal.decisions(ids["films"])] == ["Bob", "Mary"]


def test_superseding_what_closed_a_review_decides_the_review_anew(
    space: Workspace, ids: dict[str, str]
) -> None:
    review = space.reviews.propose(ids["films"], ids["als"])
    first = space.decisions.decide(ids["films"], "do not ship", about=review.id, text="No.")
    with pytest.raises(InputError, match="review of 'als': it was rejected"):
        space.decisions.decide(ids["films"], "ship", about=review.id, text="Yes.", although="I say so.")
    second = space.decisions.decide(
        ids["films"], "ship", text="Yes.", supersedes=first.id, although="Search is mended."
    )
    assert (second.review, space.journal.review(review.id).state) == (review.id, "approved")


def test_another_run_takes_the_place_without_deciding_the_review_of_the_first(
    space: Workspace, ids: dict[str, str]
) -> None:
    review = space.reviews.propose(ids["films"], ids["als"])
    first = space.decisions.decide(ids["films"], "ship", about=review.id, text="Yes.", although="Why not.")
    found = ship(space, ids, run_id=ids["ease"], supersedes=first.id)
    assert (found.about, found.review, space.journal.review(review.id).state) == ("ease", None, "approved")


def test_a_closed_review_takes_no_more_evidence(
    space: Workspace, ids: dict[str, str], test: OnlineTest
) -> None:
    review = space.reviews.propose(ids["films"], ids["als"])
    space.decisions.decide(ids["films"], "do not ship", about=review.id, text="No.")
    for attach in (lambda: space.reviews.add_offline_evidence(review.id),
                   lambda: space.reviews.add_online_evidence(review.id, test.id)):  # fmt: skip
        with pytest.raises(InputError, match="Replace its decision, or propose the candidate again"):
            attach()


# ── who, and how often ───────────────────────────────────────────────────────────────────────


def test_viewers_read_and_change_nothing(space: Workspace, ids: dict[str, str], test: OnlineTest) -> None:
    review = space.reviews.propose(ids["films"], ids["als"])
    decision = ship(space, ids)
    viewer = space.seen_by(Person("Vera", "viewer"))
    assert viewer.journal.last_decision(ids["films"]) == decision
    assert viewer.journal.reviews(ids["films"])[0].id == review.id
    assert viewer.decisions.since(decision.id) == []
    writes: list[Callable[[], Any]] = [
        lambda: viewer.reviews.propose(ids["films"], ids["als"]),
        lambda: viewer.reviews.add_offline_evidence(review.id),
        lambda: viewer.reviews.add_online_evidence(review.id, test.id),
        lambda: viewer.decisions.decide(ids["films"], "ship", run_id=ids["als"], text="Yes."),
        lambda: viewer.journal.comment(ids["films"], decision.id, "Hm."),
    ]
    for write in writes:
        with pytest.raises(Forbidden):
            write()
    assert len(space.journal.entries(ids["films"])) == 2


def test_a_guest_sees_the_decisions_of_one_experiment(space: Workspace, ids: dict[str, str]) -> None:
    other = films(space, "other films")
    here, there = ship(space, ids), space.decisions.decide(other["films"], "inconclusive", text="Who knows.")
    guest = space.seen_by(Person("guest of Mary", "viewer", ids["films"]))
    assert guest.journal.decision(here.id) == here
    asked: list[Callable[[], Any]] = [
        lambda: guest.journal.decision(there.id),
        lambda: guest.decisions.since(there.id),
        lambda: guest.journal.decisions(other["films"]),
        lambda: guest.journal.reviews(other["films"]),
        lambda: guest.journal.entries(other["films"]),
        lambda: guest.journal.last_decision(other["films"]),
    ]
    for ask in asked:
        with pytest.raises(NotFound):
            ask()


def test_a_checked_name_is_the_author_and_no_other(space: Workspace, ids: dict[str, str]) -> None:
    assert ship(space, ids, author="Mary").author == "Mary"
    with pytest.raises(InputError, match="'Bob', but Mary is signed in"):
        ship(space, ids, author="Bob", text="As Bob says.")


def test_a_name_that_nobody_checked_can_be_given(space: Workspace, ids: dict[str, str]) -> None:
    here = space.seen_by(Person("root", "editor", named=False))
    assert ship(here, ids, author=" Bob ").author == "Bob"
    assert ship(here, ids, text="It is.").author == "root"


def test_nothing_that_is_written_moves_a_terminal(space: Workspace, ids: dict[str, str]) -> None:
    here = space.seen_by(Person("root", "editor", named=False))
    found = ship(here, ids, author="A\nB\x1b[31m\x9bm", text="One.\r\nTwo\x1b[2J\u202e\n\nThree.\x07")
    assert (found.author, found.text) == ("A B [31m m", "One.\nTwo [2J\n\nThree.")
    assert ship(here, ids, author="\u200b", text="Yes.").author == "root"


def test_a_form_that_is_sent_twice_writes_one_entry(
    space: Workspace, ids: dict[str, str], clock: Clock
) -> None:
    first = ship(space, ids, key="form 1")
    clock.wait(hours=1)
    assert ship(space, ids, key="form 1") == first
    assert ship(space, ids, key="form 2").id != first.id
    again = space.decisions.decide(
        ids["films"], "inconclusive", text="No.", supersedes=first.id, key="form 3"
    )
    assert (
        space.decisions.decide(ids["films"], "inconclusive", text="No.", supersedes=first.id, key="form 3")
        == again
    )


def test_without_a_form_each_call_writes_what_it_is_told(space: Workspace, ids: dict[str, str]) -> None:
    home = ids["films"]
    query = space.queries.of(home, [ids["ease"]])
    alone = space.reviews.propose(home, ids["als"], replace(query, runs=()))
    beside = space.reviews.propose(home, ids["als"], query)
    assert [[run.name for run in one.subject.others] for one in (alone, beside)] == [[], ["ease"]]
    assert (
        space.journal.comment(home, alone.id, "Good.").id != space.journal.comment(home, alone.id, "Good.").id
    )
    space.reviews.add_offline_evidence(alone.id)
    space.runs.rename(ids["als"], "als 2")
    found = space.reviews.add_offline_evidence(alone.id).offline
    assert found is not None
    assert found.subject.run is not None
    assert found.subject.run.name == "als 2"


def test_everything_stands_in_the_audit_log(space: Workspace, ids: dict[str, str]) -> None:
    ship(space, ids)
    last = space.seen_by(Person("Ada", "admin")).audit.events(limit=1)[-1]
    assert (last.who, last.role) == ("Mary", "editor")


# ── comments ─────────────────────────────────────────────────────────────────────────────────


def test_what_is_said_stands_beside_what_it_is_said_of(space: Workspace, ids: dict[str, str]) -> None:
    home, decision = ids["films"], ship(space, ids)
    review = space.reviews.propose(home, ids["als"])
    report = Report("report1", home, BEGIN, "Mary", "October")
    space.store.reports.add(report)
    for about in (decision.id, review.id, report.id):
        space.journal.comment(home, about, f"about {about}")
    assert [one.text for one in space.journal.decision(decision.id).comments] == [f"about {decision.id}"]
    assert [one.text for one in space.journal.review(review.id).comments] == [f"about {review.id}"]
    assert space.journal.entries(home)[0].about == report.id


# ── what cannot be ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"outcome": "maybe"}, "No outcome is called 'maybe'"),
        ({"text": "  "}, "reason: the text is empty"),
        ({"text": " \u200b\u2060\u3164 "}, "reason: the text is empty"),
        ({"text": "x" * 10_001}, "reason: 10,001 characters"),
        ({"although": "x" * 10_001}, "although: 10,001 characters"),
        ({"author": "x" * 201}, "author: 201 characters"),
        ({"run_id": "nobody"}, "No run is called 'nobody'"),
        ({"baseline": "nobody"}, "No run is called 'nobody'"),
        ({"run_id": None}, "run: no run is named"),
        ({"metric": "moon"}, "No metric is called 'moon'"),
        ({"metric": "coverage"}, "no value per user"),
        ({"k": 0}, "k"),
        ({"k": 4}, "k"),
    ],
)
def test_a_decision_that_cannot_be_is_refused_in_words(
    space: Workspace, ids: dict[str, str], asked: dict[str, Any], words: str
) -> None:
    query = space.queries.of(ids["films"])
    wanted = {"outcome": "ship", "run_id": ids["als"], "text": "Yes.", **asked}
    of_query = {name: wanted.pop(name) for name in ("baseline", "metric", "k") if name in wanted}

    def decide() -> Decision:
        outcome, by = wanted.pop("outcome"), replace(query, **of_query)
        return space.decisions.decide(ids["films"], outcome, query=by, **wanted)

    with pytest.raises(InputError, match=words):
        decide()
    assert space.journal.entries(ids["films"]) == []


def test_unknown_reviews_decisions_and_tests_are_not_found(space: Workspace, ids: dict[str, str]) -> None:
    home, review = ids["films"], space.reviews.propose(ids["films"], ids["als"])
    decision = ship(space, ids)
    wrong: list[Callable[[], Any]] = [
        lambda: space.journal.review("nothing"),
        lambda: space.journal.review(decision.id),
        lambda: space.journal.decision(review.id),
        lambda: space.reviews.add_online_evidence(review.id, "nothing"),
        lambda: ship(space, ids, about="nothing"),
        lambda: ship(space, ids, supersedes="nothing"),
        lambda: space.journal.comment(home, "nothing", "Hm."),
        lambda: space.journal.decisions("nothing"),
    ]
    for ask in wrong:
        with pytest.raises(NotFound):
            ask()


def test_what_belongs_to_another_experiment_is_not_found(
    space: Workspace, ids: dict[str, str], test: OnlineTest
) -> None:
    other = films(space, "other films")
    review, decision = space.reviews.propose(other["films"], other["als"]), ship(space, other)
    home = ids["films"]
    wrong: list[Callable[[], Any]] = [
        lambda: space.reviews.add_online_evidence(review.id, test.id),
        lambda: ship(space, ids, about=review.id),
        lambda: ship(space, ids, supersedes=decision.id),
        lambda: space.journal.comment(home, decision.id, "Hm."),
    ]
    for ask in wrong:
        with pytest.raises(NotFound):
            ask()
    with pytest.raises(UnknownName):
        ship(space, ids, run_id=other["als"])


def test_the_baseline_is_no_candidate(space: Workspace, ids: dict[str, str]) -> None:
    with pytest.raises(InputError, match="it is the baseline itself"):
        space.reviews.propose(ids["films"], ids["popular"])


def test_the_review_of_one_run_decides_no_other(space: Workspace, ids: dict[str, str]) -> None:
    review = space.reviews.propose(ids["films"], ids["als"])
    with pytest.raises(InputError, match=r"the review is about another run\. The review is about 'als'"):
        ship(space, ids, about=review.id, run_id=ids["ease"], although="Why not.")


def test_a_decision_need_not_be_about_a_single_run(space: Workspace, ids: dict[str, str]) -> None:
    found = space.decisions.decide(ids["films"], "inconclusive", text="All are alike to us.")
    assert (found.about, found.subject.run, found.online, found.checklist) == ("", None, (), ())
    assert found.offline is not None
    assert len(found.offline.pairs) == 3


# ── two people ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def two_people(space: Workspace, ids: dict[str, str]) -> None:
    admin = space.seen_by(Person("Ada", "admin"))
    admin.rules.change(ids["films"], lambda rules: replace(rules, two_people=True))


@pytest.mark.usefixtures("two_people")
def test_only_an_admin_changes_how_many_people_decide(space: Workspace, ids: dict[str, str]) -> None:
    with pytest.raises(Forbidden):
        space.rules.change(ids["films"], lambda rules: replace(rules, two_people=False))
    assert space.rules.of(ids["films"]).two_people
    assert space.rules.change(ids["films"], lambda rules: replace(rules, owner="Ann")).owner == "Ann"
    admin = space.seen_by(Person("Ada", "admin"))
    assert not admin.rules.change(ids["films"], lambda rules: replace(rules, two_people=False)).two_people


@pytest.mark.usefixtures("two_people")
def test_another_person_than_proposed_decides(space: Workspace, ids: dict[str, str]) -> None:
    review = space.reviews.propose(ids["films"], ids["als"])
    for outcome in ("ship", "inconclusive", "needs A/B"):
        with pytest.raises(InputError, match="Mary proposed the candidate"):
            space.decisions.decide(ids["films"], outcome, about=review.id, text="Mine.", although="So.")
    bob = space.seen_by(Person("Bob", "editor"))
    first = bob.decisions.decide(ids["films"], "ship", about=review.id, text="Yes.", although="So.")
    assert first.author == "Bob"
    for outcome in ("ship", "do not ship"):
        with pytest.raises(InputError, match="Mary proposed the candidate"):
            space.decisions.decide(ids["films"], outcome, supersedes=first.id, text="Mine.", although="So.")


@pytest.mark.usefixtures("two_people")
def test_who_proposed_withdraws_the_open_proposal(space: Workspace, ids: dict[str, str]) -> None:
    review = space.reviews.propose(ids["films"], ids["als"])
    withdrawn = space.decisions.decide(ids["films"], "do not ship", about=review.id, text="Mistaken.")
    assert (withdrawn.author, space.journal.review(review.id).is_open) == ("Mary", False)
    with pytest.raises(InputError, match="Mary proposed the candidate"):
        space.decisions.decide(ids["films"], "ship", supersedes=withdrawn.id, text="Mine.", although="So.")


@pytest.mark.usefixtures("two_people")
def test_no_decision_without_a_review_ships(space: Workspace, ids: dict[str, str]) -> None:
    with pytest.raises(InputError, match="one proposes, another decides"):
        ship(space, ids)
    first = space.decisions.decide(ids["films"], "do not ship", run_id=ids["als"], text="Not yet.")
    with pytest.raises(InputError, match="one proposes, another decides"):
        ship(space, ids, supersedes=first.id)


def test_one_person_proposes_and_decides_by_default(space: Workspace, ids: dict[str, str]) -> None:
    review = space.reviews.propose(ids["films"], ids["als"])
    assert space.decisions.decide(ids["films"], "do not ship", about=review.id, text="No.").author == "Mary"


@pytest.mark.usefixtures("two_people")
def test_the_log_says_who_asked_for_two_people(space: Workspace, ids: dict[str, str]) -> None:
    event = space.store.audit.events()[-1]
    assert (event.who, event.target) == ("Ada", ids["films"])
    assert event.details["settings"]["rules"]["two_people"] is True


# ── a variant of an A/B test without runs ────────────────────────────────────────────────────


@pytest.fixture
def shop(tmp_path: Path) -> tuple[Workspace, OnlineTest]:
    space = open_at(tmp_path, MARY, Clock())
    return space, checkout(space)


def run_served_by_b(space: Workspace, test: OnlineTest) -> str:
    """Adds a test set and the runs that the variants served, and returns the id of that of variant B."""
    space.experiments.add_test_set(test.experiment, TRUTH)
    pop, als = (space.runs.add(test.experiment, lists(hit), name=f"r{hit}")[0].run.id for hit in (2, 1))
    space.online_tests.link_variants(test.id, {"A": pop, "B": als})
    return als


def test_a_decision_is_about_a_variant_where_no_run_is_stored(shop: tuple[Workspace, OnlineTest]) -> None:
    space, test = shop
    made = space.decisions.decide(test.experiment, "ship", variant="B", text="More watch time.")
    assert (made.headline, made.subject.where, made.offline) == ("Ship B", "A/B test checkout", None)
    (frozen,) = made.online
    assert (frozen.test.id, frozen.variant, frozen.control) == (test.id, "B", "A")
    assert made.provenance["tests"][0]["id"] == test.id
    assert space.decisions.since(made.id) == []
    later = space.decisions.decide(test.experiment, "do not ship", text="Too slow.", supersedes=made.id)
    assert (later.headline, space.journal.last_decision(test.experiment)) == ("Don't ship B", later)
    card = next(card for card in space.overview.cards() if card.experiment.id == test.experiment)
    assert card.decision == later
    assert [change.what for change in card.history[:2]] == ["decided: Don't ship – B", "decided: Ship – B"]
    assert space.overview.today(card).standing is None


def test_what_happens_to_the_test_of_a_decided_variant_is_said(shop: tuple[Workspace, OnlineTest]) -> None:
    space, test = shop
    made = space.decisions.decide(test.experiment, "ship", variant="B", test=test.id, text="More.")
    space.online_tests.set_rules(test.id, OnlineRules(winsorise=0.5))
    assert space.decisions.since(made.id)
    space.online_tests.delete(test.id, "checkout")
    assert space.decisions.since(made.id) == [Changed("checkout", "an A/B test", "deleted")]
    assert space.journal.decision(made.id).headline == "Ship B"


def test_a_decision_on_a_variant_that_is_the_control_now_can_be_withdrawn(
    shop: tuple[Workspace, OnlineTest],
) -> None:
    space, test = shop
    made = space.decisions.decide(test.experiment, "ship", variant="B", text="More.")
    space.online_tests.count_again(test.id, control="B")
    assert space.decisions.since(made.id) == [Changed("checkout", "control A", "B is now the control")]
    later = space.decisions.decide(test.experiment, "do not ship", text="No.", supersedes=made.id)
    assert (later.headline, space.journal.last_decision(test.experiment)) == ("Don't ship B", later)


def test_a_later_decision_on_the_run_of_a_decided_variant_stands_on_top(
    shop: tuple[Workspace, OnlineTest],
) -> None:
    space, test = shop
    made = space.decisions.decide(test.experiment, "ship", variant="B", text="More.")
    als = run_served_by_b(space, test)
    found = space.overview.standing(test.experiment)
    assert found is not None
    assert (found.decision.id, found.agrees) != (made.id, None), found.because
    later = space.decisions.decide(test.experiment, "do not ship", run_id=als, text="It costs too much.")
    card = space.overview.card(test.experiment)
    assert card.decision == later
    reports = Reports(space)
    lead = reports.content(reports.question(test.experiment)).lead
    assert lead.headline == later.headline


VARIANT_CHECKS = ["Lift", "Online guardrails", "Split of users", "Sample size", "Novelty effect"]


def test_a_variant_is_proposed_backed_with_its_test_and_approved(
    shop: tuple[Workspace, OnlineTest],
) -> None:
    space, test = shop
    home = test.experiment
    review = space.reviews.propose(home, variant="B", text="More watch time.")
    assert (review.state, review.about, review.subject.where) == ("proposed", "B", "A/B test checkout")
    assert review.missing == "Attach the results of checkout."
    assert [one.id for one in space.reviews.tests_for(review.id)] == [test.id]
    assert {one.state for one in review.checklist} == {"not known yet"}
    with pytest.raises(InputError, match="a variant without a run has no offline results"):
        space.reviews.add_offline_evidence(review.id)
    review = space.reviews.add_online_evidence(review.id, test.id)
    assert (review.state, review.missing) == ("online evidence", "Approve or reject it.")
    assert [one.name for one in review.checklist] == VARIANT_CHECKS
    with pytest.raises(InputError, match="not known yet"):
        space.decisions.decide(home, "ship", about=review.id, text="Ship it.")
    made = space.decisions.decide(home, "ship", about=review.id, text="Ship it.", although="We planned it.")
    assert (made.review, made.about, made.online) == (review.id, "B", review.online)
    assert made.checklist == review.checklist
    assert space.journal.review(review.id).state == "approved"
    later = space.decisions.decide(home, "do not ship", text="Too slow.", supersedes=made.id)
    assert (later.review, space.journal.review(review.id).state) == (review.id, "rejected")


def test_a_review_of_a_variant_takes_no_other_subject(shop: tuple[Workspace, OnlineTest]) -> None:
    space, test = shop
    review = space.reviews.propose(test.experiment, variant="B")
    tables = {"sessions": sessions({"A": 60, "C": 120})}
    other = space.online_tests.add(test.experiment, "second", tables, control="A")
    with pytest.raises(InputError, match="'B' is a variant of 'checkout'"):
        space.reviews.add_online_evidence(review.id, other.id)
    with pytest.raises(InputError, match="the review is about another variant"):
        space.decisions.decide(test.experiment, "do not ship", about=review.id, variant="C", text="No.")
    made = space.decisions.decide(test.experiment, "do not ship", about=review.id, variant="B", text="No.")
    assert [one.test.name for one in made.online] == ["checkout"], "the numbers of today"


def test_a_review_of_a_variant_takes_no_other_test(shop: tuple[Workspace, OnlineTest]) -> None:
    space, test = shop
    tables = {"sessions": sessions({"A": 60, "B": 120})}
    second = space.online_tests.add(test.experiment, "second", tables, control="A")
    review = space.reviews.propose(test.experiment, variant="B", test=test.id)
    decide = partial(space.decisions.decide, test.experiment, "do not ship", about=review.id, text="No.")
    for variant in ("B", None):
        with pytest.raises(InputError, match="the review is about another A/B test"):
            decide(variant=variant, test=second.id)
    assert decide(variant="B", test=test.id).review == review.id


def test_a_decision_after_a_review_is_replaced_by_one_on_another_variant(
    shop: tuple[Workspace, OnlineTest],
) -> None:
    space, test = shop
    tables = {"sessions": sessions({"A": 60, "B": 120, "C": 120})}
    second = space.online_tests.add(test.experiment, "second", tables, control="A")
    review = space.reviews.propose(test.experiment, variant="B", test=test.id)
    made = space.decisions.decide(test.experiment, "do not ship", about=review.id, text="No.")
    replace_it = partial(space.decisions.decide, test.experiment, "do not ship", text="No.")
    of_c = replace_it(variant="C", test=second.id, supersedes=made.id)
    assert (of_c.headline, of_c.review, of_c.supersedes) == ("Don't ship C", None, made.id)


@pytest.mark.parametrize("how", [{}, {"run_id": "x", "variant": "B"}, {"variant": "A"}])
def test_what_is_not_one_candidate_is_not_proposed(
    shop: tuple[Workspace, OnlineTest], how: dict[str, str]
) -> None:
    space, test = shop
    with pytest.raises(InputError):
        space.reviews.propose(test.experiment, **how)


def test_a_review_of_a_variant_of_a_deleted_test_can_only_be_rejected(
    shop: tuple[Workspace, OnlineTest],
) -> None:
    space, test = shop
    review = space.reviews.propose(test.experiment, variant="B")
    space.online_tests.delete(test.id, "checkout")
    assert space.reviews.tests_for(review.id) == []
    with pytest.raises(InputError, match="test 'checkout': it was deleted"):
        space.decisions.decide(test.experiment, "ship", about=review.id, text="Yes.", although="So.")
    assert space.decisions.decide(test.experiment, "do not ship", about=review.id, text="Gone.").about == "B"


def test_where_two_people_decide_another_decides_on_a_variant_than_proposed_it(
    shop: tuple[Workspace, OnlineTest],
) -> None:
    space, test = shop
    admin = Workspace(space.store, person=ADMIN)
    admin.rules.change(test.experiment, lambda rules: replace(rules, two_people=True))
    with pytest.raises(InputError, match="Propose the candidate for a review"):
        space.decisions.decide(test.experiment, "ship", variant="B", text="More.")
    review = space.reviews.propose(test.experiment, variant="B")
    with pytest.raises(InputError, match="Mary proposed the candidate"):
        space.decisions.decide(test.experiment, "ship", about=review.id, text="Yes.", although="So.")
    made = admin.decisions.decide(test.experiment, "ship", about=review.id, text="Yes.", although="So.")
    assert (made.author, made.about) == ("Ann", "B")


@pytest.mark.parametrize(
    ("how", "code"),
    [({"variant": "A"}, "is-control"), ({"variant": "B", "run_id": "x"}, "run-and-variant")],
)
def test_the_control_and_a_run_beside_a_variant_are_refused(
    shop: tuple[Workspace, OnlineTest], how: dict[str, str], code: str
) -> None:
    space, test = shop
    with pytest.raises(InputError) as caught:
        space.decisions.decide(test.experiment, "ship", text="Why not?", **how)
    assert [problem.code for problem in caught.value.problems] == [code]


def test_an_unknown_variant_or_test_is_refused(shop: tuple[Workspace, OnlineTest]) -> None:
    space, test = shop
    with pytest.raises(UnknownName):
        space.decisions.decide(test.experiment, "ship", variant="Z", text="Why not?")
    with pytest.raises(NotFound):
        space.decisions.decide(test.experiment, "ship", variant="B", test="gone", text="Why not?")


def test_a_variant_that_served_a_run_is_decided_as_that_run(space: Workspace, ids: dict[str, str]) -> None:
    with pytest.raises(InputError, match="'new' served the run 'als'") as caught:
        space.decisions.decide(ids["films"], "ship", variant="new", text="More watch time.")
    (problem,) = caught.value.problems
    assert (problem.code, problem.fix) == ("linked-variant", "Name the run 'als' instead of the variant.")


def test_a_decision_on_a_variant_is_replaced_by_one_on_the_run_that_it_serves_now(
    shop: tuple[Workspace, OnlineTest],
) -> None:
    space, test = shop
    made = space.decisions.decide(test.experiment, "ship", variant="B", text="More.")
    run_served_by_b(space, test)
    later = space.decisions.decide(test.experiment, "do not ship", text="No.", supersedes=made.id)
    assert (later.about, later.subject.variant, later.supersedes) == ("r1", None, made.id)


def test_a_variant_needs_no_further_test(shop: tuple[Workspace, OnlineTest]) -> None:
    space, test = shop
    made = space.decisions.decide(test.experiment, "ship", variant="B", text="More.")
    for how in ({"variant": "B"}, {"supersedes": made.id}):
        with pytest.raises(InputError, match="'B' is in an A/B test already"):
            space.decisions.decide(test.experiment, "needs A/B", text="Why not?", **how)


def test_a_decision_on_a_deleted_run_can_be_replaced(space: Workspace, ids: dict[str, str]) -> None:
    made = ship(space, ids)
    space.runs.delete(ids["als"], "als")
    with pytest.raises(InputError, match="it was deleted"):
        space.decisions.decide(ids["films"], "ship", text="Still.", supersedes=made.id)
    later = space.decisions.decide(ids["films"], "do not ship", text="It is gone.", supersedes=made.id)
    assert (later.headline, later.offline, later.online, later.checklist) == ("Don't ship als", None, (), ())
    assert space.journal.last_decision(ids["films"]) == later
    again = space.decisions.decide(ids["films"], "inconclusive", text="Who knows?", supersedes=later.id)
    assert again.headline == "Inconclusive on als"


def test_a_decision_after_a_review_of_a_deleted_run_can_be_replaced(
    space: Workspace, ids: dict[str, str]
) -> None:
    review = space.reviews.propose(ids["films"], ids["als"])
    made = ship(space, ids, run_id=None, about=review.id, although="No time.")
    space.runs.delete(ids["als"], "als")
    later = space.decisions.decide(ids["films"], "do not ship", text="It is gone.", supersedes=made.id)
    assert (later.review, space.journal.review(review.id).state) == (review.id, "rejected")


def test_a_decision_on_a_variant_of_a_deleted_test_can_be_replaced(
    shop: tuple[Workspace, OnlineTest],
) -> None:
    space, test = shop
    made = space.decisions.decide(test.experiment, "ship", variant="B", text="More.")
    space.online_tests.delete(test.id, "checkout")
    with pytest.raises(InputError, match="it was deleted"):
        space.decisions.decide(test.experiment, "ship", text="Still.", supersedes=made.id)
    later = space.decisions.decide(test.experiment, "do not ship", text="It is gone.", supersedes=made.id)
    assert (later.headline, later.online, later.provenance) == ("Don't ship B", (), {})
    assert space.decisions.since(later.id) == []
    assert space.journal.last_decision(test.experiment) == later


def test_a_purge_changes_the_test_and_keeps_the_decision_on_its_variant(
    shop: tuple[Workspace, OnlineTest],
) -> None:
    space, test = shop
    made = space.decisions.decide(test.experiment, "ship", variant="B", text="More watch time.")
    admin = Workspace(space.store, person=ADMIN)
    done = admin.purge.user("B-0")
    assert (done.mentioned, done.left) == ((), "")
    kept = space.journal.decision(made.id)
    assert (kept.headline, kept.online) == ("Ship B", made.online)
    assert space.decisions.since(made.id), "the numbers are those of one user less"
    assert admin.audit.check() == []


def test_a_decision_on_a_variant_is_in_a_backup(shop: tuple[Workspace, OnlineTest], tmp_path: Path) -> None:
    space, test = shop
    made = space.decisions.decide(test.experiment, "ship", variant="B", text="More watch time.")
    done = Workspace(space.store, person=ADMIN).maintenance.back_up(tmp_path / "kept.tar")
    there = tmp_path / "there"
    restore(done.path, f"sqlite:///{there}/recdash.db", there / "artifacts", person=ADMIN)
    restored = open_at(there, ADMIN)
    kept = restored.journal.decision(made.id)
    assert (kept.headline, kept.online, kept.author) == ("Ship B", made.online, "Mary")
    assert restored.decisions.since(made.id) == []
    assert restored.audit.check() == []


def test_lifts_against_another_run_name_that_run(space: Workspace, ids: dict[str, str]) -> None:
    """The test of als against popular, seen from ease as the baseline."""
    lifts = space.comparisons.lifts_elsewhere(ids["als"], ids["ease"])
    assert {(lift.control, lift.control_run) for lift in lifts} == {("popular", ids["popular"])}
    assert any(lift.is_won for lift in lifts)
    assert space.comparisons.lifts_elsewhere(ids["als"], ids["popular"]) == []


def test_tests_against_another_run_are_those_of_variants_and_of_their_control(
    space: Workspace, ids: dict[str, str]
) -> None:
    """The test of als against popular, seen from ease as the baseline and from popular."""
    (of_als,) = space.comparisons.tests_elsewhere(ids["als"], ids["ease"])
    (of_popular,) = space.comparisons.tests_elsewhere(ids["popular"], ids["ease"])
    assert (of_als.control, of_als.control_run, of_als.is_valid) == ("popular", ids["popular"], True)
    assert (of_als.is_control, of_popular.is_control) == (False, True)
    assert space.comparisons.tests_elsewhere(ids["als"], ids["popular"]) == []


def test_decision_and_online_agree_on_a_candidate_that_lost_to_another_control(tmp_path: Path) -> None:
    """als is the best offline, and 20 of 200 users engaged with it, 80 of 200 with ease."""
    space = open_at(tmp_path, MARY)
    ids = films(space)
    table = sessions({"control": 80, "new": 20})
    links = {"control": ids["ease"], "new": ids["als"]}
    test = space.online_tests.add(ids["films"], "April", {"sessions": table}, links=links)
    headline, _ = space.online_tests.next_steps(test.id)
    assert headline == "Roll back als"
    today = space.comparisons.recommendation(space.queries.of(ids["films"], metric="ndcg", k=3))
    assert today.headline == "Ship ease"
    assert "als scores higher offline, but cut engagement rate by 75 % in the A/B test April" in today.text


@pytest.mark.parametrize(
    ("engaged", "online", "headline", "told"),
    [
        ({"control": 80, "new": 20}, "Roll back popular", "Ship ease", "engagement rate rose by 300 %"),
        ({"control": 20, "new": 80}, "Ship popular", "Run an A/B test of als", "cut engagement rate by 75 %"),
    ],
)
def test_decision_and_online_agree_on_a_test_in_which_the_baseline_was_the_variant(
    tmp_path: Path, engaged: dict[str, int], online: str, headline: str, told: str
) -> None:
    """ease served control; of 200 users each, so many engaged."""
    space = open_at(tmp_path, MARY)
    ids = films(space)
    links = {"control": ids["ease"], "new": ids["popular"]}
    test = space.online_tests.add(ids["films"], "April", {"sessions": sessions(engaged)}, links=links)
    assert space.online_tests.next_steps(test.id)[0].startswith(online)
    today = space.comparisons.recommendation(space.queries.of(ids["films"], metric="ndcg", k=3))
    assert today.headline == headline
    ease = today.case_of(ids["ease"])
    assert ease is not None
    assert told in today.text or told in plain(ease.risks[0])
