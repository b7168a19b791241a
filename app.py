"""Launcher: ``streamlit run app.py``.

The script of the UI lies in recdash/ui, away from pages/, so that a deep link on a fresh server never
runs a page without its frame.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

# Before numpy is loaded: its linear algebra would start a thread per core, which wait busily for each other.
# What pages multiply is small: ranks of 20 runs take 0.03 s with one thread, 0.5 s on two cores in use.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Before modules start threads: two settings of glibc's malloc, so that what an upload or a page needed for
# a moment goes back to the system. Other C libraries have no such function, or ignore it.
# - By default there are up to eight arenas per core. Streamlit runs each page in a new thread, and blocks
#   that stay in caches leave gaps in every arena. After 100 sessions and 50 uploads the gaps took 13 MB with
#   one arena, and 17 with two, for the same processor time; docs/reliability.md has more figures. Three
#   threads that watch Streamlit's settings have arenas by now, which the limit cannot take from them;
#   MALLOC_ARENA_MAX, which make, `recdash serve` and the container set, holds from the start of the process.
# - By default the size from which a block is mapped on its own grows up to 32 MB, so freed arrays stay as
#   gaps. Arrow's own allocator keeps what was freed, too. Storing a run of 21 million rows grew a process by
#   at most 260 MiB without the limit and without Arrow's use of malloc, by 207 with both, for some 2 s more
#   processor time than the 8 s before. With 128 KiB instead of 1 MiB a server took 6 MB less after 240
#   sessions and 60 uploads, and had grown by 1.6 MB since the 120th instead of 3.7, for 2 % more processor
#   time.
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
LEAST_MAPPED_BYTES, MOST_ARENAS = 1 << 17, 1
with suppress(OSError, AttributeError, TypeError):
    libc = ctypes.CDLL(None)
    libc.mallopt(M_ARENA_MAX, MOST_ARENAS)
    libc.mallopt(M_MMAP_THRESHOLD, LEAST_MAPPED_BYTES)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

import streamlit as st
from starlette.middleware import Middleware
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from recdash.ui.app import current_user
from recdash.ui.shell import session_cleanup, startup
from recdash.web import access_log
from recdash.web.base_url import TellAddress
from recdash.web.connection_limits import limit_headers
from recdash.web.middleware import AuthMiddleware
from recdash.web.routes import routes, server_error

SHELL = Path(startup.__file__).with_name("main.py")
auth = startup.auth_config()
access_log.start()
limit_headers(AutoHTTPProtocol)

app = st.App(
    SHELL,
    routes=routes(auth, current_user.full_workspace),
    middleware=[
        Middleware(AuthMiddleware, config=auth),
        Middleware(TellAddress, origins=auth.rules.embedders()),
    ],
    exception_handlers={500: server_error(auth)},
    lifespan=session_cleanup.lifespan,
)
