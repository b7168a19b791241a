"""Users: which gain and lose against the baseline, and the lists of one of them side by side."""

from __future__ import annotations

import streamlit as st

from recdash.domain.access import NUMBERS_ONLY
from recdash.ui.app import state
from recdash.ui.components import comparability_banner, widgets
from recdash.ui.shell import frame
from recdash.ui.users import lists, overlap, page, picker

view = frame.show(scoped=True, with_lists=True)
if not page.has_values(view):
    state.stop()
gains = page.gather(view)
if gains:
    widgets.title(page.finding(view, gains), page.subtitle(view, gains))
    comparability_banner.banner(view, view.shown_ids)
    page.show_charts(view, gains)
    widgets.table_behind(gains.changes.drop(columns="run_id"), "users", "Users who gain and lose, in numbers")
    run_id = gains.run_id
else:
    run_id = page.show_alone(view)
    comparability_banner.banner(view, view.shown_ids)

st.html('<hr class="rd-rule">')
if state.person().numbers_only:
    st.caption(NUMBERS_ONLY)
elif picked := picker.pick(view, run_id):
    heading, choice = st.columns([1, 1.75], vertical_alignment="bottom")
    with heading:
        lists.heading(picked.user)
    with choice:
        picker.choose(view, picked)
    lists.show(view, picked.user, run_id)
overlap.show(view)
