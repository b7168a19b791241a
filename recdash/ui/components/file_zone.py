"""A place to drop files, which are kept on disk and not in memory."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from recdash.ui.app.streamlit_internals import script_session
from recdash.web.received_files import ReceivedFile, received_files

_ZONE = st.components.v2.component(
    "recdash.file_zone",
    js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"),
    isolate_styles=False,  # style.css has its looks
)


def show(label: str, key: str, *, multiple: bool = False) -> list[ReceivedFile]:
    """Draws the place and returns the files that have arrived, in the order in which they were chosen."""
    session = session_id()
    files = received_files.complete(session, key)
    _ZONE(
        key=key,
        data={
            "zone": key,
            "label": label,
            "multiple": multiple,
            "address": f"./uploads/{session}",
            "files": [{"id": file.id, "name": file.name, "size": file.size} for file in files],
        },
        on_changed_change=lambda: None,
    )
    return files


def clear(key: str) -> None:
    """Deletes the files that were dropped there."""
    received_files.clear(session_id(), key)


def session_id() -> str:
    """Returns the id of the page's session, which owns its files."""
    session = script_session()
    assert session is not None  # noqa: S101 - pages only run in a session
    return session
