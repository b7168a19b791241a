"""Upload: files, columns with a preview, checks, names; storing is the last step."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import state
from recdash.ui.components import widgets
from recdash.ui.upload import online_test, page, steps
from recdash.ui.upload.state import UploadState

FLOWS = {
    "experiment": ("A new experiment", page.new_experiment),
    "candidates": ("Candidates for an experiment", page.candidates),
    "online": ("An online test", online_test.online_test),
}

upload = st.session_state.setdefault("recdash.upload", UploadState())
steps.expect_files()

widgets.title("Upload", "Nothing is stored before the last step.")
page.show_outcomes(upload)
first = "candidates" if state.workspace().experiments.all() else "experiment"
titles = {slug: title for slug, (title, _) in FLOWS.items()}
flow = widgets.choice("What do you add?", "add", titles, first)
FLOWS[flow][1](upload)
st.html('<hr class="rd-rule">')
page.demo()
