"""What people leave behind is let go when their session can no longer come back."""

from __future__ import annotations

import asyncio
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.session_manager import SessionInfo

from recdash.settings import settings
from recdash.ui.app.streamlit_internals import Sessions
from recdash.ui.shell import session_cleanup
from recdash.ui.shell.session_cleanup import end_expired
from recdash.web.received_files import received_files


class Session:
    """As a session of Streamlit: it stands in a circle with what it holds."""

    def __init__(self, name: str) -> None:
        self.id, self.files, self.circle = name, bytearray(1000), self
        self.session_state = {"upload": bytearray(1000)}

    def shutdown(self) -> None:
        self.files.clear()


def left(session: Any) -> SessionInfo:
    return SessionInfo(client=None, session=session)


def sessions_of(storage: MemorySessionStorage) -> Sessions:
    return Sessions(storage, lambda _: False, list)


def test_a_session_that_expired_is_let_go_without_another_one_coming() -> None:
    storage = MemorySessionStorage(ttl_seconds=0)
    session = Session("who left")
    storage.save(left(session))
    held, files = weakref.ref(session), session.files
    del session
    assert held() is not None
    assert end_expired(sessions_of(storage)) == 1
    assert held() is None
    assert not files


def test_what_a_session_held_goes_even_where_something_holds_the_session() -> None:
    storage = MemorySessionStorage(ttl_seconds=0)
    held = Session("who left")
    storage.save(left(held))
    assert end_expired(sessions_of(storage)) == 1
    assert held.session_state == {}


def test_a_session_that_may_come_back_is_kept() -> None:
    storage = MemorySessionStorage(ttl_seconds=120)
    storage.save(left(Session("who may come back")))
    assert end_expired(sessions_of(storage)) == 0
    assert storage.get("who may come back") is not None


def test_a_session_that_cannot_be_ended_keeps_none_that_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def look() -> None:
        looks.append("look")
        if len(looks) == 1:
            raise RuntimeError("cannot be ended")
        raise asyncio.CancelledError

    monkeypatch.setattr(session_cleanup, "LOOK_SECONDS", 0)
    monkeypatch.setattr(session_cleanup, "_look", look)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(session_cleanup.watch_sessions())
    assert len(looks) == 2


def test_files_go_with_sessions_that_can_no_longer_come_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RECDASH_DATABASE_URL", f"sqlite:///{tmp_path}/recdash.db")
    names = ("who is here", "who may come back", "who left")
    storage = MemorySessionStorage(ttl_seconds=120)
    storage.save(left(Session("who may come back")))
    running = SimpleNamespace(
        _session_mgr=SimpleNamespace(_session_storage=storage, list_sessions=list),
        is_active_session=lambda session: session == "who is here",
    )
    monkeypatch.setattr("streamlit.runtime.exists", lambda: True)
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: running)
    received_files.stop()
    for session in names:
        received_files.begin(session, "ada", "files", "als.csv", 0, settings())
    session_cleanup._look()
    kept = {session: len(received_files.complete(session, "files")) for session in names}
    received_files.stop()
    assert kept == {"who is here": 1, "who may come back": 1, "who left": 0}


@pytest.mark.parametrize("others", [[], ["who is here"]])
def test_what_is_not_needed_goes_when_no_one_is_there(
    monkeypatch: pytest.MonkeyPatch, others: list[str]
) -> None:
    storage = MemorySessionStorage(ttl_seconds=0)
    storage.save(left(Session("who left")))
    manager = SimpleNamespace(_session_storage=storage, list_sessions=lambda: others)
    running = SimpleNamespace(_session_mgr=manager, is_active_session=lambda _: False)
    monkeypatch.setattr("streamlit.runtime.exists", lambda: True)
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: running)
    calls: list[str] = []
    monkeypatch.setattr(session_cleanup, "release_unneeded", lambda: calls.append("release"))
    session_cleanup._look()
    assert calls == ([] if others else ["release"])
    session_cleanup._look()  # no one left since
    assert calls == ([] if others else ["release"])
