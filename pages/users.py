"""Users: who gains and who loses against the baseline, and the lists of one of them side by side."""

from __future__ import annotations

import streamlit as st

from recdash.ui import comparing, frame, likeness, state, user_lists, user_pick, users, widgets

view = frame.show(scoped=True, with_lists=True)
comparing.banner(view.shown_ids)
if not users.has_values(view):
    state.stop()
gains = users.gather(view)
if gains:
    widgets.title(users.finding(view, gains), users.subtitle(view, gains))
    users.show_charts(view, gains)
    widgets.table_behind(gains.changes.drop(columns="run_id"), "users")
run_id = gains.run_id if gains else users.show_alone(view)

st.html('<hr class="rd-rule">')
picked = user_pick.pick(view, run_id)
if picked:
    who, choice = st.columns([1, 1.75], vertical_alignment="bottom")
    with who:
        user_lists.heading(picked.user)
    with choice:
        user_pick.choose(view, run_id, picked)
    user_lists.show(view, picked.user, run_id)
likeness.show(view)
