"""API tokens give the role they were made with, until they expire or are revoked, and nothing else does."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from standing_clock import StandingClock

from recdash.domain.access import ROLES, AccessRole, Person
from recdash.errors import Forbidden, InputError
from recdash.service import Workspace
from recdash.service.access.tokens import TokenRefused
from recdash.store import open_store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock(NOON)


@pytest.fixture
def space(tmp_path: Path, clock: StandingClock) -> Iterator[Workspace]:
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    yield Workspace(store, person=Person("ann", "admin"), clock=clock)
    store.close()


def why_refused(space: Workspace, secret: str) -> str:
    with pytest.raises(TokenRefused) as refused:
        space.tokens.check(secret)
    return refused.value.reason


@pytest.mark.parametrize("role", ROLES)
def test_a_token_gives_its_role_under_a_name_that_says_whose_it_is(
    space: Workspace, role: AccessRole
) -> None:
    made = space.tokens.create("nightly", role)
    assert space.tokens.check(made.secret) == made.token
    assert made.token.holder == Person("nightly (token of ann)", role)


def test_the_store_does_not_know_the_secret(space: Workspace, tmp_path: Path) -> None:
    made = space.tokens.create("nightly")
    random_part = made.secret.removeprefix("recdash_").partition(".")[0]
    space.store.close()
    content = b"".join(file.read_bytes() for file in tmp_path.glob("recdash.db*"))
    assert made.token.id.encode() in content
    assert random_part.encode() not in content
    assert bytes.fromhex(random_part) not in content


def test_a_token_ends_when_its_days_do(space: Workspace, clock: StandingClock) -> None:
    secret = space.tokens.create("nightly", days=2).secret
    clock.now = NOON + timedelta(days=2) - timedelta(seconds=1)
    assert space.tokens.check(secret).expires == NOON + timedelta(days=2)
    clock.now = NOON + timedelta(days=2)
    assert why_refused(space, secret) == "expired"


def test_a_token_without_days_works_until_it_is_revoked(space: Workspace, clock: StandingClock) -> None:
    made = space.tokens.create("nightly", days=None)
    clock.now = NOON + timedelta(days=9999)
    assert space.tokens.check(made.secret).expires is None
    assert space.tokens.revoke(made.token.id).revoked == clock.now
    assert why_refused(space, made.secret) == "revoked"
    clock.now += timedelta(hours=1)
    assert space.tokens.revoke(made.token.id).revoked == NOON + timedelta(days=9999)


def test_what_recdash_did_not_make_is_unknown(space: Workspace) -> None:
    secret = space.tokens.create("nightly").secret
    forged = secret[:-1] + ("A" if secret[-1] != "A" else "B")
    link_like = space.sharing._tokens.new()[0]
    for text in (
        "",
        "recdash_",
        forged,
        secret.upper(),
        f"{secret}=",
        f"recdash_{link_like}",
        "é" * 50,
        "x" * 999,
    ):
        assert why_refused(space, text) == "unknown", text


def test_a_use_is_stored_every_ten_minutes_and_is_not_audited(space: Workspace, clock: StandingClock) -> None:
    made = space.tokens.create("nightly")
    before = space.store.audit.last()
    assert space.tokens.last_uses() == {}
    for minutes in (0, 9, 10, 15):
        clock.now = NOON + timedelta(minutes=minutes)
        space.tokens.note_use(made.token)
    assert space.tokens.last_uses() == {made.token.id: NOON + timedelta(minutes=10)}
    assert space.store.audit.last() == before


def test_creating_and_revoking_are_audited_without_the_secret(space: Workspace) -> None:
    made = space.tokens.create("nightly", "editor", days=1)
    space.tokens.revoke(made.token.id)
    revoked, added = space.audit.events(2)
    assert (added.action, added.who, added.target) == ("add API token", "ann", made.token.id)
    assert (added.details["label"], added.details["role"]) == ("nightly", "editor")
    assert (revoked.action, revoked.details["revoked"]) == ("change API token", NOON.isoformat())
    assert made.secret.partition(".")[0].removeprefix("recdash_") not in str(vars(added))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE api_token SET role = 'admin'",
        "UPDATE api_token SET revoked = NULL",
        "DELETE FROM api_token",
    ],
)
def test_a_token_changed_in_the_database_gives_no_access_and_is_reported(
    space: Workspace, tmp_path: Path, change: str
) -> None:
    made = space.tokens.create("nightly")
    space.tokens.revoke(made.token.id)
    with closing(sqlite3.connect(tmp_path / "recdash.db")) as database, database:
        database.execute(change)
    database.close()
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    again = Workspace(store, person=Person("ann", "admin"))
    with pytest.raises(Exception, match=r"damaged|unknown"):
        again.tokens.check(made.secret)
    assert [name.partition(" (")[0] for name in store.audit.altered()] == [f"API token {made.token.id}"]
    assert any(problem.place.startswith("API token") for problem in store.check())
    store.close()


@pytest.mark.parametrize(
    ("label", "role", "days", "code"),
    [
        ("", "viewer", 1, "no-label"),
        ("\u200b", "viewer", 1, "no-label"),
        ("x", "owner", 1, "bad-role"),
        ("x", "viewer", 0, "bad-days"),
        ("x", "viewer", 4000, "bad-days"),
        ("x", "viewer", float("nan"), "bad-days"),
        ("x" * 101, "viewer", 1, "text-too-long"),
    ],
)
def test_a_token_needs_a_label_a_role_and_reasonable_days(
    space: Workspace, label: str, role: AccessRole, days: float, code: str
) -> None:
    with pytest.raises(InputError) as refused:
        space.tokens.create(label, role, days=days)
    assert refused.value.problems[0].code == code
    assert space.tokens.all() == []


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_only_admins_create_list_and_revoke(space: Workspace, role: AccessRole) -> None:
    made = space.tokens.create("nightly")
    other = space.seen_by(Person("bob", role)).tokens
    calls = (lambda: other.create("mine"), other.all, other.last_uses, lambda: other.revoke(made.token.id))
    for call in calls:
        with pytest.raises(Forbidden):
            call()
    assert space.tokens.all() == [made.token]
