"""What the page Decision rules shows: the baseline that candidates are compared with."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import state
from recdash.ui.app.state import View
from recdash.ui.components import widgets


def show(view: View) -> None:
    """Draws the page."""
    widgets.title("Decision rules", "What the recommendation of this experiment goes by.")
    names = {run.id: run.name for run in view.runs}
    if not names:
        st.info("Add candidates first; then one of them can be the baseline.")
        return
    present = view.experiment.baseline if view.experiment.baseline in names else view.shown[0].id
    may_write = state.workspace().person.may("editor")
    box = widgets.titled(names) | {"index": list(names).index(present), "disabled": not may_write}
    chosen = st.selectbox("Baseline", **box, width=420, key=f"settings-baseline-{view.experiment.id}")
    if chosen != present:
        state.workspace().experiments.set_baseline(view.experiment.id, chosen)
        st.rerun()
