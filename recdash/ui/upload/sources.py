"""Fetches a table that an admin has named, as if its file had been dropped."""

from __future__ import annotations

from functools import partial

import streamlit as st

from recdash.errors import InputError, NotFound, Problem
from recdash.formatting.html import markdown
from recdash.service.catalog.turns import Turns, waits_for
from recdash.settings import settings
from recdash.ui.app.state import workspace
from recdash.ui.components import file_zone
from recdash.ui.upload.state import UploadState
from recdash.web.plain_pages import Refused
from recdash.web.received_files import received_files

FETCHES = Turns(2)
"""The tables that pages fetch at a time."""


def show(upload: UploadState) -> None:
    """Draws a choice of the named sources and a button below the drop zone; nothing if there are none."""
    names = workspace().sources.names()
    if not names:
        return
    with st.container(horizontal=True, vertical_alignment="bottom", key="named-sources"):
        name = st.selectbox(
            "Or fetch a table that an admin has named",
            names,
            index=None,
            placeholder="Choose a table",
            key=upload.key("source"),
        )
        if st.button("Fetch", key="fetch-source", disabled=name is None) and name is not None:
            _fetch(upload, name)
            st.rerun()


def _fetch(upload: UploadState, name: str) -> None:
    """Adds the file of a source to those of the drop zone, or keeps what is wrong with it."""
    upload.problems = ()
    place = st.empty()

    def wait(n_before: int) -> None:
        place.caption(waits_for(n_before))

    write = partial(workspace().sources.fetch, name)
    with FETCHES.taken(wait), st.spinner(f"Fetching {markdown(name)}"):
        place.empty()
        try:
            owner = workspace().person.name
            received_files.fetch(file_zone.session_id(), owner, upload.zone, write, settings())
        except InputError as error:
            upload.problems = error.problems
        except (NotFound, Refused) as error:
            upload.problems = (Problem("not-fetched", f"source '{name}'", str(error).rstrip("."), ""),)
