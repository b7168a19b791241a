"""Experiments at a glance: what each asks, whom to ship, how far its review is, what changed last."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from app_pages import TRUTH, USERS, lists, store
from standing_clock import StandingClock

from recdash.comparison import ComparisonQuery
from recdash.domain.access import Person
from recdash.domain.defaults import FIRST_CANDIDATES, default_baseline
from recdash.errors import InputError, Problem
from recdash.report.digest.digest import Digests
from recdash.service import Workspace
from recdash.service.catalog.overview import question_of
from recdash.store import open_store
from recdash.store.connections import sqlite_driver

MORNING = datetime(2026, 10, 9, 8, tzinfo=UTC)


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock(MORNING)


@pytest.fixture
def space(tmp_path: Path, clock: StandingClock) -> Workspace:
    opened = open_store(f"sqlite:///{tmp_path / 'r.db'}", tmp_path / "artifacts")
    return Workspace(opened, person=Person("ann", "admin"), clock=clock)


@pytest.fixture
def films(space: Workspace) -> dict[str, str]:
    """Names → ids: the experiment, and the runs poor (no hit), good (rank 2), best (rank 1)."""
    return store(space, {"poor": lists(9), "good": lists(2), "best": lists(1)})


# ── what it says ─────────────────────────────────────────────────────────────────────────────


def test_a_card_says_what_is_asked_of_how_many(space: Workspace, films: dict[str, str]) -> None:
    (card,) = space.overview.cards()
    assert card.experiment.id == films["films"]
    assert card.question == "Test set of 20 users; lists to depth 5"
    assert [run.name for run in card.own_runs] == ["poor", "good", "best"]
    assert (card.decision, card.review) == (None, None)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "Test set of 6,040 users; lists to depth 50"),
        ({"graded": True}, "Test set of 6,040 users, by grade; lists to depth 50"),
        (
            {"relevance_threshold": 3.5, "graded": True},
            "Test set of 6,040 users, relevant from 3.5 on; lists to depth 50",
        ),
        (
            {"users": "both"},
            ("Test set of 6,040 users; lists to depth 50; only users with recommendations count"),
        ),
    ],
)
def test_the_question_names_whatever_moves_scores(more: dict[str, object], expected: str) -> None:
    assert question_of({"truth_users": 6040, "depth": 50, **more}) == expected


def test_the_verdict_is_the_one_that_the_overview_opens_with(space: Workspace, films: dict[str, str]) -> None:
    found = space.overview.verdict(films["films"])
    assert found.metric == "nDCG@5"
    assert found.query is not None
    assert found.query.baseline == films["poor"]
    assert found.verdict is not None
    assert found.verdict.headline == "Ship best"
    asked = (films["poor"], films["good"], films["best"])
    opened = space.comparisons.verdict(ComparisonQuery(tuple(asked), films["poor"], "ndcg", 5))
    assert opened.as_dict() == found.verdict.as_dict()
    assert opened.cases == found.verdict.cases


def test_a_row_is_kept_until_something_is_stored(
    space: Workspace, films: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (card,) = space.overview.cards()
    first = space.overview.today(card)
    assert first.verdict.verdict is not None
    assert first.verdict.verdict.headline == "Ship best"
    with monkeypatch.context() as patched:
        patched.setattr(space.comparisons, "recommendation", None)  # nothing is asked again
        assert space.overview.today(card).verdict is first.verdict
    space.experiments.set_baseline(films["films"], films["best"])
    (changed,) = space.overview.cards()
    after = space.overview.today(changed).verdict.verdict
    assert after is not None
    assert after.headline == "Keep best"


def test_a_database_restored_in_place_is_read_again(
    space: Workspace, films: dict[str, str], tmp_path: Path
) -> None:
    """After the restore another change has the number in the audit log that a lost one had."""

    driver = sqlite_driver()

    def copy(source: str, target: str) -> None:
        with (
            closing(driver.connect(tmp_path / source)) as old,
            closing(driver.connect(tmp_path / target)) as new,
        ):
            old.backup(new)

    def names() -> set[str]:
        (card,) = space.overview.cards()
        return set(card.names.values())

    copy("r.db", "backup.db")
    space.runs.rename(films["best"], "lost")
    assert "lost" in names()
    copy("backup.db", "r.db")
    space.runs.rename(films["best"], "restored")
    assert names() == {"poor", "good", "restored"}


def test_an_error_is_not_kept(
    space: Workspace, films: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise InputError(Problem("no-upload", "run 'best'", "its upload is not kept", "Upload it again."))

    (card,) = space.overview.cards()
    with monkeypatch.context() as patched:
        patched.setattr(space.comparisons, "recommendation", refused)
        assert "its upload is not kept" in space.overview.today(card).verdict.why_not
    again = space.overview.today(card).verdict.verdict
    assert again is not None
    assert again.run == films["best"]


def test_the_experiments_own_baseline_is_taken(space: Workspace, films: dict[str, str]) -> None:
    space.experiments.set_baseline(films["films"], films["good"])
    found = space.overview.verdict(films["films"])
    assert found.verdict is not None
    assert "above good" in found.verdict.text


def test_without_a_second_run_the_card_says_why_there_is_no_verdict(space: Workspace) -> None:
    made = space.experiments.create("films", TRUTH, depth=5)
    assert space.overview.verdict(made.id).why_not == "No run yet"
    space.runs.add(made.id, lists(1), name="only")
    assert space.overview.verdict(made.id).why_not == "One run, only: add another to compare"


def test_one_damaged_upload_hides_no_other_experiment(
    space: Workspace, films: dict[str, str], tmp_path: Path
) -> None:
    known = set((tmp_path / "artifacts").rglob("*.parquet"))
    space.runs.add(films["films"], lists(3), name="third")
    for kept in set((tmp_path / "artifacts").rglob("*.parquet")) - known:
        content = bytearray(kept.read_bytes())
        content[len(content) // 2] ^= 1
        kept.write_bytes(bytes(content))
    other = space.experiments.create("songs", TRUTH, depth=5)
    space.runs.add(other.id, lists(2), name="a")
    again = Workspace(open_store(f"sqlite:///{tmp_path / 'r.db'}", tmp_path / "artifacts"))
    assert ".parquet is damaged" in again.overview.verdict(films["films"]).why_not
    assert {one.name for one in Digests(again).digest().entries} == {"films", "songs"}


def test_a_verdict_that_cannot_be_had_says_why_in_the_errors_words(
    space: Workspace, films: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise InputError(Problem("no-upload", "run 'best'", "its upload is not kept", "Upload it again."))

    monkeypatch.setattr(space.comparisons, "recommendation", refused)
    assert (
        space.overview.verdict(films["films"]).why_not
        == "run 'best': its upload is not kept. Upload it again"
    )


def test_an_only_run_is_compared_with_the_best_known_reference(space: Workspace) -> None:
    made = space.experiments.create("films", TRUTH, train=TRUTH, depth=5)
    space.runs.add(made.id, lists(1), name="only")
    space.runs.add_references(made.id, "random,popular")
    assert default_baseline(made, space.runs.all(made.id)).reference == "popular"
    verdict = space.overview.verdict(made.id).verdict
    assert verdict is not None
    assert verdict.name == "only"


def test_no_more_candidates_than_a_page_draws_are_compared(space: Workspace) -> None:
    runs = {f"run {number}": lists(1, USERS[number:]) for number in range(FIRST_CANDIDATES + 3)}
    query = space.overview.verdict(store(space, runs)["films"]).query
    assert query is not None
    assert len(query.runs) == FIRST_CANDIDATES


# ── what happened ────────────────────────────────────────────────────────────────────────────


def test_what_was_done_is_told_the_newest_first_with_its_author(
    space: Workspace, films: dict[str, str], clock: StandingClock
) -> None:
    clock.wait(days=1)
    bob = space.seen_by(Person("bob", "editor"))
    review = bob.reviews.propose(films["films"], films["best"], text="It leads everywhere.")
    clock.wait(days=1)
    bob.decisions.decide(films["films"], "needs A/B", about=review.id, text="Four weeks on the home row.")
    (card,) = space.overview.cards()
    assert [str(one) for one in card.history] == [
        "bob decided: Needs A/B – best",
        "bob proposed best",
        "ann added three runs: poor, good and best",
        "ann created the experiment",
    ]
    assert card.last_change.when == MORNING + timedelta(days=2)
    assert card.decision is not None
    assert (card.decision.label, card.decision.about) == ("Needs A/B", "best")
    assert card.review is not None
    assert (card.review.about, card.review.state) == ("best", "proposed")


def test_changes_of_baseline_note_and_name_are_told(
    space: Workspace, films: dict[str, str], clock: StandingClock
) -> None:
    for change in (
        lambda: space.experiments.set_baseline(films["films"], films["good"]),
        lambda: space.experiments.set_note(films["films"], "split of September"),
        lambda: space.experiments.rename(films["films"], "movies"),
    ):
        clock.wait(hours=1)
        change()
    told = [str(one) for one in space.overview.card(films["films"]).history[:3]]
    assert [words.removeprefix("ann ") for words in told] == [
        "renamed the experiment", "changed the note", "changed the baseline",
    ]  # fmt: skip


def test_what_is_archived_restored_renamed_or_deleted_is_told(
    space: Workspace, films: dict[str, str], clock: StandingClock
) -> None:
    for change in (
        lambda: space.runs.archive(films["good"]),
        lambda: space.runs.unarchive(films["good"]),
        lambda: space.runs.rename(films["good"], "fine"),
        lambda: space.runs.archive(films["good"]),
        lambda: space.runs.delete(films["poor"], "poor"),
        lambda: space.experiments.archive(films["films"]),
    ):
        clock.wait(hours=1)
        change()
    card = space.overview.card(films["films"])
    assert [str(one).removeprefix("ann ") for one in card.history] == [
        "archived the experiment", "deleted the run poor", "archived the run fine", "renamed the run fine",
        "unarchived the run fine", "archived the run fine", "added two runs: fine and best",
        "created the experiment",
    ]  # fmt: skip
    assert [run.name for run in card.own_runs] == ["best"]


def test_many_runs_of_one_day_are_one_line(space: Workspace, clock: StandingClock) -> None:
    made = store(space, {f"run {number}": lists(1, USERS[number:]) for number in range(5)})
    clock.wait(days=1)
    space.runs.add(made["films"], lists(2), name="late")
    told = [one.what for one in space.overview.card(made["films"]).history]
    assert told[:2] == ["added the run late", "added five runs: run 0, run 1, run 2 and two more"]


def test_what_changed_last_stands_first(
    space: Workspace, films: dict[str, str], clock: StandingClock
) -> None:
    clock.wait(hours=1)
    space.experiments.create("songs", TRUTH, depth=3)
    assert [card.experiment.name for card in space.overview.cards()] == ["songs", "films"]
    clock.wait(hours=1)
    space.runs.add(films["films"], lists(3), name="third")
    assert [card.experiment.name for card in space.overview.cards()] == ["films", "songs"]


# ── search, archive, who reads ───────────────────────────────────────────────────────────────


def test_names_notes_and_tags_of_experiment_and_runs_are_searched(
    space: Workspace, films: dict[str, str]
) -> None:
    space.experiments.set_note(films["films"], "split of September")
    space.runs.set_note(films["best"], "for the home row")
    space.runs.set_tags(films["good"], ["weekly"])
    space.experiments.create("songs", TRUTH, depth=3)
    for words in ("FILM", "best", "films good", "home row", "weekly", "september"):
        assert [card.experiment.name for card in space.overview.cards(words)] == ["films"], words
    assert space.overview.cards("films songs") == []


def test_archived_experiments_are_listed_when_asked_for(space: Workspace, films: dict[str, str]) -> None:
    space.experiments.archive(films["films"])
    assert space.overview.cards() == []
    (card,) = space.overview.cards(archived=True)
    assert card.experiment.archived is not None


def test_a_guest_sees_the_card_of_one_experiment_and_not_who_uploaded(
    space: Workspace, films: dict[str, str]
) -> None:
    space.experiments.create("songs", TRUTH, depth=3)
    guest = space.seen_by(Person("guest of ann", "viewer", films["films"]))
    (card,) = guest.overview.cards()
    assert card.experiment.name == "films"
    assert [one.by for one in card.history] == ["", ""]
    space.runs.add(films["films"], lists(3), name="third")
    assert len(guest.overview.cards()[0].own_runs) == 4
