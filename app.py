"""Launcher: ``streamlit run app.py``.

The script of the UI lies in recdash/ui, away from pages/, so that a deep link on a fresh server never
runs a page without its frame.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from recdash.ui.guard import Guard, TellAddress

SHELL = Path(__file__).resolve().parent / "recdash" / "ui" / "shell.py"

app = st.App(SHELL, middleware=[Middleware(Guard), Middleware(TellAddress)])
