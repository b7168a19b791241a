"""Off-policy: what another policy would have got, from a log that says how likely each item was."""

from __future__ import annotations

import streamlit as st

from recdash.ui import off_policy, state, widgets

title = st.container()
asked = off_policy.ask()
if asked is None:
    with title:
        off_policy.explain()
    state.stop()

found = off_policy.estimate(asked)
with title:
    st.html(off_policy.verdict_badges(found))
    widgets.title(off_policy.finding(found), off_policy.subtitle(found))
    off_policy.show_reasons(found)
off_policy.show_estimates(found)
off_policy.show_checks(found)
off_policy.show_weights(found)
off_policy.show_notices(found)
widgets.table_behind(off_policy.tidy(found), "off-policy")
