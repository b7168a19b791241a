"""The files of people who left are let go two minutes later, not when the next person comes.

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

logger = logging.getLogger(__name__)

LOOK_SECONDS = 20.0


def let_go(sessions: MemorySessionStorage) -> int:
    """How many sessions of this storage expired; they are ended, and their files freed."""
    n_expired = _end_expired(sessions)
    if n_expired:
        gc.collect()  # a session stands in circles, and lets go of what it holds when it is collected
        release_freed_memory()
    return n_expired


def _end_expired(sessions: MemorySessionStorage) -> int:
    cache: Any = sessions._cache  # noqa: SLF001 it has no public way to look for what expired
    expired = cache.expire()
    for _, info in expired:
        info.session.shutdown()
        info.session.session_state.clear()  # its uploads stay where anything still holds the session
    return len(expired)


async def look_again_and_again() -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            _look()
        except Exception:  # one session that cannot be ended must not keep those of all who come later
            logger.exception("A session that expired was not ended")


def _look() -> None:
    if runtime.exists():
        manager: Any = runtime.get_instance()._session_mgr  # noqa: SLF001
        let_go(manager._session_storage)  # noqa: SLF001


@contextlib.asynccontextmanager
async def watched(_app: Any) -> AsyncIterator[None]:
    """For as long as the server runs."""
    task = asyncio.create_task(look_again_and_again())
    yield
    task.cancel()
