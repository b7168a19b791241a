"""Share links open what they were made for, until they expire or are revoked, and nothing else does."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest
from standing_clock import StandingClock

from recdash.domain.access import Person
from recdash.domain.journal import LinkUse, Report
from recdash.errors import Forbidden, InputError, NameTaken, NotFound
from recdash.report.reports import Reports
from recdash.service import LinkDead, Workspace
from recdash.store import OneExperiment, open_store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TRUTH = pd.DataFrame({"user_id": ["u"], "item_id": ["a"]})


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock(NOON)


@pytest.fixture
def space(tmp_path: Path, clock: StandingClock) -> Iterator[Workspace]:
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    yield Workspace(store, person=Person("ann", "editor"), clock=clock)
    store.close()


@pytest.fixture
def films(space: Workspace) -> str:
    return space.experiments.create("films", TRUTH).id


def why_dead(space: Workspace, token: str) -> str:
    with pytest.raises(LinkDead) as dead:
        space.sharing.shared(token)
    return dead.value.reason


def test_a_link_opens_its_experiment_for_reading(space: Workspace, films: str) -> None:
    made = space.sharing.share(films, label="for the board")
    link = space.sharing.shared(made.token)
    assert (link, link.label, link.author) == (made.link, "for the board", "ann")
    guest = space.seen_by(space.sharing.guest_of(link))
    assert [one.id for one in guest.experiments.all()] == [films]
    assert guest.person == Person("guest of ann", "viewer", films)
    with pytest.raises(Forbidden):
        guest.experiments.set_note(films, "mine now")


def test_a_link_is_over_when_its_days_are(space: Workspace, films: str, clock: StandingClock) -> None:
    token = space.sharing.share(films, days=2).token
    clock.now = NOON + timedelta(days=2) - timedelta(seconds=1)
    assert space.sharing.shared(token).expires == NOON + timedelta(days=2)
    clock.now = NOON + timedelta(days=2)
    assert why_dead(space, token) == "expired"


def test_a_revoked_link_is_dead_at_once_and_stays_so(
    space: Workspace, films: str, clock: StandingClock
) -> None:
    made = space.sharing.share(films)
    clock.now = NOON + timedelta(hours=1)
    assert space.sharing.revoke(made.link.id).revoked == clock.now
    assert why_dead(space, made.token) == "revoked"
    clock.now = NOON + timedelta(hours=2)
    assert space.sharing.revoke(made.link.id).revoked == NOON + timedelta(hours=1)


def test_a_link_dies_with_its_experiment(space: Workspace, films: str) -> None:
    token = space.sharing.share(films).token
    space.experiments.delete(films, "films")
    assert why_dead(space, token) == "unknown"


def test_a_link_to_a_report_is_for_that_report_of_that_experiment(space: Workspace, films: str) -> None:
    other = space.experiments.create("songs", TRUTH)
    report = space.store.reports.add(Report("r1", films, NOON, "ann", "Spring"))
    link = space.sharing.shared(space.sharing.share(films, report_id=report.id).token)
    assert link.report == "r1"
    with pytest.raises(LinkDead):  # what opens one report makes nobody a guest of the experiment
        space.sharing.guest_of(link)
    with pytest.raises(NotFound):
        space.sharing.share(other.id, report_id=report.id)
    space.store.reports.delete(report.id)
    assert space.sharing.links(films) == []


def test_what_was_put_away_is_not_opened_by_its_links(space: Workspace, films: str) -> None:
    space.store.reports.add(Report("r1", films, NOON, "ann", "Spring"))
    to_report, to_films = (space.sharing.share(films, report_id=one).token for one in ("r1", None))
    Reports(space).archive("r1")
    assert why_dead(space, to_report) == "archived"
    Reports(space).unarchive("r1")
    assert space.sharing.shared(to_report).report == "r1"
    space.experiments.archive(films)
    assert {why_dead(space, token) for token in (to_report, to_films)} == {"archived"}
    space.experiments.unarchive(films)
    assert space.sharing.shared(to_films).experiment == films


def test_none_of_a_thousand_tampered_links_opens_anything(
    space: Workspace, films: str, tmp_path: Path
) -> None:
    tokens = [space.sharing.share(films).token for _ in range(20)]
    elsewhere = open_store(f"sqlite:///{tmp_path}/other.db", tmp_path / "other")
    foreign = Workspace(elsewhere, person=Person("eve", "admin"))
    home = foreign.experiments.create("films", TRUTH).id
    forged = [foreign.sharing.share(home).token for _ in range(50)]
    forged += list(tampered(tokens, 1_000, random.Random(7)))
    assert len(forged) == 1_050
    assert not set(forged) & set(tokens)
    assert {why_dead(space, token) for token in forged} == {"unknown"}
    assert all(space.sharing.shared(token) for token in tokens)
    elsewhere.close()


def tampered(tokens: list[str], n: int, rng: random.Random) -> Iterator[str]:
    """One character changed, left out, doubled or swapped; the parts of two tokens joined; parts cut off."""
    alphabet = string.ascii_letters + string.digits + "-_.=% \u00e9"
    while n:
        one, other = rng.sample(tokens, 2)
        at = rng.randrange(len(one))
        value, _, signature = one.partition(".")
        found = rng.choice(
            [
                one[:at] + rng.choice(alphabet) + one[at + 1 :],
                one[:at] + one[at + 1 :],
                one[:at] + one[at] + one[at:],
                one.swapcase(),
                f"{value}.{other.partition('.')[2]}",
                f"{value}.",
                f".{signature}",
                one[: at + 1] if at < len(one) - 1 else one + "A",
                one[:-1] + rng.choice(alphabet),  # the last character holds bits that no signature needs
                f" {one}",
                f"{one}\n",
                f"{value.upper()}.{signature}",
            ]
        )
        if found not in tokens:
            n -= 1
            yield found


def test_the_use_of_a_link_is_stored_when_it_is_opened_and_then_once_an_hour(
    space: Workspace, films: str, clock: StandingClock
) -> None:
    link = space.sharing.share(films, numbers_only=True).link
    assert (link.numbers_only, link.guest.numbers_only, space.sharing.uses(films)) == (True, True, {})
    space.sharing.note_use(link, opened=True)
    uses = []
    for minutes in (59, 60, 61):
        clock.now = NOON + timedelta(minutes=minutes)
        space.sharing.note_use(link, opened=False)
        uses.append(space.sharing.uses(films)[link.id])
    hour = NOON + timedelta(hours=1)
    assert uses == [LinkUse(NOON, 1), LinkUse(hour, 1), LinkUse(hour, 1)]
    clock.now = NOON + timedelta(minutes=62)
    space.sharing.note_use(link, opened=True)
    assert space.sharing.uses(films) == {link.id: LinkUse(clock.now, 2)}


def test_a_use_that_cannot_be_stored_keeps_nobody_out(
    space: Workspace, films: str, caplog: pytest.LogCaptureFixture
) -> None:
    link = space.sharing.share(films).link
    assert (link.numbers_only, link.guest.numbers_only) == (None, False)
    space.seen_by(Person("vi", "viewer")).sharing.note_use(link, opened=True)  # a store that is read-only
    assert "could not be stored" in caplog.text
    assert space.sharing.uses(films) == {}


def test_what_is_stored_of_a_link_does_not_make_one(space: Workspace, films: str) -> None:
    made = space.sharing.share(films)
    assert re.fullmatch(r"[0-9a-f]{64}", made.link.id)
    carried = made.token.partition(".")[0]
    assert carried not in made.link.id
    assert why_dead(space, made.link.id) == "unknown"
    told = [str(deed.details) + deed.target for deed in space.store.audit.events()]
    assert not any(carried in line or made.token in line for line in told)


def test_the_secret_is_made_once_and_for_this_user_only(space: Workspace, films: str, tmp_path: Path) -> None:
    token = space.sharing.share(films).token
    file = tmp_path / "artifacts" / "secret.key"
    assert file.stat().st_mode & 0o777 == 0o600
    again = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    assert Workspace(again, clock=lambda: NOON).sharing.shared(token).experiment == films
    again.close()


@pytest.mark.parametrize("days", [0, -1, 366.1, float("nan"), float("inf")])
def test_days_that_mean_nothing_are_refused(space: Workspace, films: str, days: float) -> None:
    with pytest.raises(InputError, match="at most 366 days"):
        space.sharing.share(films, days=days)
    assert space.sharing.links(films) == []


def test_a_label_is_short(space: Workspace, films: str) -> None:
    with pytest.raises(InputError, match="201 characters"):
        space.sharing.share(films, label="x" * 201)


# ── saved views ──────────────────────────────────────────────────────────────────────────────


def test_a_saved_view_is_found_by_its_name(space: Workspace, films: str) -> None:
    saved = space.sharing.save_view(films, "weekly-check", "metric-vs-k", {"m": "recall", "k": "20"})
    assert (
        space.sharing.saved_view("weekly-check")
        == saved
        == space.sharing.save_view(films, "weekly-check", "metric-vs-k", {"m": "recall", "k": "20"})
    )
    assert (saved.page, saved.params, saved.author) == ("metric-vs-k", {"m": "recall", "k": "20"}, "ann")
    space.sharing.forget_view(saved.id)
    with pytest.raises(NotFound, match="weekly-check"):
        space.sharing.saved_view("weekly-check")


def test_two_views_never_share_a_name(space: Workspace, films: str) -> None:
    songs = space.experiments.create("songs", TRUTH).id
    space.sharing.save_view(films, "main", "overview", {})
    for home, page in ((films, "users"), (songs, "overview")):
        with pytest.raises(NameTaken, match="'main'"):
            space.sharing.save_view(home, "main", page, {})


@pytest.mark.parametrize("name", ["", "Weekly", "a b", "-a", "a-", "x" * 41, "ä", "a/b", "a\n"])
def test_a_name_that_does_not_fit_an_address_is_refused(space: Workspace, films: str, name: str) -> None:
    with pytest.raises(InputError, match="a to z"):
        space.sharing.save_view(films, name, "overview", {})


def test_a_guest_reaches_nothing_that_was_not_written_for_guests(space: Workspace, films: str) -> None:
    narrowed = OneExperiment(space.store, films)
    for name in ("audit", "share_links", "check", "secret", "close", "anything"):
        with pytest.raises(Forbidden):
            getattr(narrowed, name)
    for part, name in (
        (narrowed.artifacts, "put"), (narrowed.artifacts, "put_file"), (narrowed.artifacts, "collect"),
        (narrowed.experiments, "update"), (narrowed.runs, "add"), (narrowed.runs, "delete"),
        (narrowed.journal, "add"), (narrowed.reports, "delete"), (narrowed.saved_views, "anything"),
    ):  # fmt: skip
        with pytest.raises(Forbidden):
            getattr(part, name)
