"""Upload: files, columns with a preview, checks, names; storing is the last step."""

from __future__ import annotations

import streamlit as st

from recdash.ui import state, upload_flows, upload_online, upload_steps, widgets
from recdash.ui.upload_desk import Desk

FLOWS = {
    "experiment": ("A new experiment", upload_flows.new_experiment),
    "candidates": ("Candidates for an experiment", upload_flows.candidates),
    "online": ("An online test", upload_online.online_test),
}

desk = st.session_state.setdefault("recdash.upload", Desk())
workspace = state.workspace()
upload_steps.expect_files()

st.html("<style>.rd-preview td{height:30px}</style>")
widgets.title("Upload", "Nothing is stored before the last step.")
upload_flows.show_outcomes(desk, workspace)
first = "candidates" if workspace.experiments() else "experiment"
titles = {slug: title for slug, (title, _) in FLOWS.items()}
flow = widgets.choice("What do you add?", "add", titles, first)
FLOWS[flow][1](desk, workspace)
st.html('<hr class="rd-rule">')
upload_flows.demo(workspace)
