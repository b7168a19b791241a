"""Launcher: ``streamlit run app.py``.

The script of the UI lies in recdash/ui, away from pages/, so that a deep link on a fresh server never
runs a page without its frame.
"""

from __future__ import annotations

import os
from pathlib import Path

# Before numpy is loaded: its linear algebra would start a thread per core, which wait busily for each other.
# What pages multiply is small: ranks of 20 runs take 0.03 s with one thread, 0.5 s on two cores in use.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

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

SHELL = Path(__file__).resolve().parent / "recdash" / "ui" / "shell" / "main.py"
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
