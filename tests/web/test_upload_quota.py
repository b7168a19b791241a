"""Files are taken from editors only, each into a page of their own, and no more bytes than agreed."""

from __future__ import annotations

from threading import Thread

import pytest
from web_requests import Answer, ask, door

from recdash.domain.access import AccessRole, Person
from recdash.web.sessions import new_session
from recdash.web.upload_quota import MOST_SESSIONS, UploadQuota

PATH = "/uploads/session-1/file-1"
MARA = Person("key holder", "admin", named=False)
PART = 2**20
BUDGET = 2 * PART


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def put(
    desk: UploadQuota,
    *chunks: bytes,
    path: str = PATH,
    method: str = "PUT",
    length: str = "",
    key: str = "the-key",
) -> Answer:
    session = ("cookie", f"recdash_key_8501={new_session(key)}")
    headers = [session, *([("content-length", length)] if length else [])]
    here = door(auth="key", upload_budget_bytes=BUDGET)
    return ask(here, path, headers=headers, method=method, body=list(chunks) or [b""], desk=desk)


@pytest.fixture
def desk() -> UploadQuota:
    """Of one editor, who has session-1."""
    found = UploadQuota(Clock())
    found.record_session("session-1", MARA)
    return found


# ── who ──────────────────────────────────────────────────────────────────────────────────────


def test_an_editor_sends_a_file_into_the_own_page(desk: UploadQuota) -> None:
    asked = put(desk, b"user_id,", b"item_id")
    assert (asked.status, asked.read) == (200, 15)


@pytest.mark.parametrize("method", ["PUT", "POST", "PATCH", "DELETE", "GET"])
@pytest.mark.parametrize(
    "path",
    [
        "/uploads/session-2/file-1",
        "/uploads/session-1/",
        "/uploads/session-1/../session-2/file",
        "/uploads//file-1",
        "/uploads/",
    ],
)
def test_into_nobody_elses_page_goes_nothing(desk: UploadQuota, path: str, method: str) -> None:
    asked = put(desk, b"rows", path=path, method=method)
    assert (asked.status, asked.passed) == (403, False)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_without_the_key_goes_nothing(desk: UploadQuota, method: str) -> None:
    assert put(desk, b"rows", key="another", method=method).status == 403


@pytest.mark.parametrize(
    "person",
    [
        Person("key holder", "viewer"),
        Person("key holder", "viewer", "films"),
        Person("another", "editor"),
        None,
    ],
    ids=["a viewer", "a guest", "another editor", "nobody"],
)
def test_a_page_that_somebody_else_reads_takes_no_file(desk: UploadQuota, person: Person | None) -> None:
    desk.record_session("session-1", person)
    assert put(desk, b"rows").status == 403


def test_an_editor_who_turned_guest_sends_nothing(desk: UploadQuota) -> None:
    """A share link that was opened in the same browser counts for every request of it."""
    guest = door(lambda _: Person("guest of mara", "viewer", "films"), auth="key")
    headers = {"cookie": f"recdash_key_8501={new_session('the-key')}; recdash_share_8501=alive"}
    assert ask(guest, PATH, headers=headers, method="PUT", desk=desk).status == 403


@pytest.mark.parametrize(("role", "has_a_seat"), [("viewer", False), ("editor", True), ("admin", True)])
def test_editors_have_a_seat(role: AccessRole, *, has_a_seat: bool) -> None:
    desk, person = UploadQuota(), Person("kim", role)
    desk.record_session("session-1", person)
    assert desk.has_session("session-1", person) is has_a_seat


def test_the_oldest_of_too_many_sessions_is_forgotten(desk: UploadQuota) -> None:
    for number in range(MOST_SESSIONS):
        desk.record_session(f"later-{number}", MARA)
    assert not desk.has_session("session-1", MARA)
    assert desk.has_session("later-0", MARA)


# ── how much ─────────────────────────────────────────────────────────────────────────────────


def test_a_request_that_says_it_is_too_large_is_not_read(desk: UploadQuota) -> None:
    asked = put(desk, b"x" * 10, length=str(BUDGET + 1))
    assert (asked.status, asked.passed) == (429, False)


@pytest.mark.parametrize("length", ["", "10", "-5", "many", "9" * 40])
def test_a_request_that_does_not_say_how_large_it_is_is_cut_off(desk: UploadQuota, length: str) -> None:
    asked = put(desk, *[b"x" * (PART // 2)] * 6, length=length)
    assert asked.status == 429
    assert asked.read == BUDGET


def test_more_than_the_hours_bytes_are_not_taken(desk: UploadQuota) -> None:
    chunk = b"x" * PART
    assert [put(desk, chunk).status for _ in range(3)] == [200, 200, 429]
    assert desk.sent("key holder") == BUDGET
    assert "continue in the next hour" in put(desk, b"x").text


def test_the_next_hour_has_a_budget_of_its_own() -> None:
    clock = Clock()
    desk = UploadQuota(clock)
    desk.record_session("session-1", MARA)
    desk.count("key holder", BUDGET)
    assert put(desk, b"x").status == 429
    clock.now = 3600
    assert put(desk, b"x").status == 200
    assert desk.sent("key holder") == 1


def test_each_person_has_a_budget_of_their_own(desk: UploadQuota) -> None:
    desk.count("another", BUDGET)
    assert put(desk, b"x").status == 200


def test_a_session_is_that_of_its_editor_also_while_its_page_runs_again(desk: UploadQuota) -> None:
    page = Thread(target=lambda: [desk.record_session("session-1", MARA) for _ in range(50_000)])
    page.start()
    answers = {desk.has_session("session-1", MARA)}
    while page.is_alive():
        answers.add(desk.has_session("session-1", MARA))
    assert answers == {True}
