"""Free the files of people who left two minutes later, not when the next person comes.

Streamlit keeps a session that lost its connection for two minutes, so that it may come back, and lets go of
it when another session is stored or ends. On a quiet server that can take days.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
from collections.abc import AsyncIterator
from typing import Any

from streamlit import runtime
from streamlit.runtime.memory_session_storage import MemorySessionStorage

from recdash.engines.allocator import release_freed_memory
from recdash.ui.shell import warm_up

logger = logging.getLogger(__name__)

LOOK_SECONDS = 20.0


def end_expired(sessions: MemorySessionStorage) -> int:
    """End the sessions of this storage that expired and free their files; returns how many."""
    n_expired = _end(sessions)
    if n_expired:
        gc.collect()  # sessions are in reference cycles: what they hold is freed when they are collected
        release_freed_memory()
    return n_expired


def _end(sessions: MemorySessionStorage) -> int:
    """Returns how many expired. Its local names, which hold the sessions, end with it."""
    cache: Any = sessions._cache  # noqa: SLF001 it has no public way to look for what expired
    expired = cache.expire()
    for _, info in expired:
        info.session.shutdown()
        info.session.session_state.clear()  # its uploads stay where anything still holds the session
    return len(expired)


async def watch_sessions() -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            _look()
        except Exception:  # one session that cannot be ended must not keep those of all who come later
            logger.exception("A session that expired was not ended")


def _look() -> None:
    if runtime.exists():
        manager: Any = runtime.get_instance()._session_mgr  # noqa: SLF001
        end_expired(manager._session_storage)  # noqa: SLF001


@contextlib.asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """For as long as the server runs."""
    warm_up.start()
    task = asyncio.create_task(watch_sessions())
    yield
    task.cancel()
