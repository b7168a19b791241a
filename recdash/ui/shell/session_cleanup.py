"""Frees the files of people two minutes after they left, rather than when the next person comes.

Streamlit keeps a session that lost its connection for two minutes, so that it can be resumed. It drops it
only when another session is stored or ends, which can take days on a quiet server.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
from collections.abc import AsyncIterator
from typing import Any

from recdash.engines.allocator import release_freed_memory
from recdash.ui.app import current_user
from recdash.ui.app.streamlit_internals import Sessions, running_sessions
from recdash.ui.shell import warm_up
from recdash.web.api.uploads import last_uses
from recdash.web.received_files import received_files

logger = logging.getLogger(__name__)

LOOK_SECONDS = 20.0


def end_expired(sessions: Sessions) -> int:
    """Ends the expired sessions, frees their files, and returns their number."""
    n_expired = sessions.end_expired()
    if n_expired:
        gc.collect()  # sessions are in reference cycles, so only the collector frees their files
        release_freed_memory()
    return n_expired


def release_unneeded() -> None:
    """Frees cached answers about what was deleted, and connections to the database; to be called when no one
    is there, who would wait for the other answers and connections again.
    """
    current_user.full_workspace().release_unneeded()
    gc.collect()
    release_freed_memory()


async def watch_sessions() -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            _look()
        except Exception:  # one session that cannot be ended must not keep all later ones
            logger.exception("A session that expired was not ended")


def _look() -> None:
    sessions = running_sessions()
    if sessions is not None and end_expired(sessions) and not sessions.list_connected():
        release_unneeded()

    def is_open(session: str) -> bool:
        is_page = sessions is not None and (sessions.is_connected(session) or sessions.may_come_back(session))
        return is_page or last_uses.is_open(session)

    received_files.end_sessions(is_open)


@contextlib.asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Watches sessions while the server runs, and deletes their files when it ends."""
    warm_up.start()
    try:
        received_files.start()
    except OSError:  # an upload will say so
        logger.exception("The folder of uploaded files cannot be used")
    task = asyncio.create_task(watch_sessions())
    yield
    task.cancel()
    received_files.stop()
