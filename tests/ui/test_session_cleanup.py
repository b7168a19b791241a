"""What people leave behind is let go when their session can no longer come back."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

import pytest
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.session_manager import SessionInfo
from streamlit.runtime.state.session_state import SessionState

from recdash.ui.shell import session_cleanup
from recdash.ui.shell.session_cleanup import end_expired


class Session:
    """As a session of Streamlit: it stands in a circle with what it holds."""

    def __init__(self, name: str) -> None:
        self.id, self.files, self.circle = name, bytearray(1000), self
        self.session_state = {"upload": bytearray(1000)}

    def shutdown(self) -> None:
        self.files.clear()


def left(session: Any) -> SessionInfo:
    return SessionInfo(client=None, session=session)


def test_a_session_that_expired_is_let_go_without_another_one_coming() -> None:
    storage = MemorySessionStorage(ttl_seconds=0)
    session = Session("who left")
    storage.save(left(session))
    held, files = weakref.ref(session), session.files
    del session
    assert held() is not None
    assert end_expired(storage) == 1
    assert held() is None
    assert not files


def test_what_a_session_held_goes_even_where_something_holds_the_session() -> None:
    storage = MemorySessionStorage(ttl_seconds=0)
    held = Session("who left")
    storage.save(left(held))
    assert end_expired(storage) == 1
    assert held.session_state == {}


def test_sessions_of_streamlit_have_what_is_called() -> None:
    assert callable(AppSession.shutdown)
    assert isinstance(AppSession.session_state, property)
    assert callable(SessionState.clear)


def test_a_session_that_may_come_back_is_kept() -> None:
    storage = MemorySessionStorage(ttl_seconds=120)
    storage.save(left(Session("who may come back")))
    assert end_expired(storage) == 0
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
