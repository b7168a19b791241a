"""Off-policy: what another policy would have got, from a log that says how likely each item was."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import state
from recdash.ui.components import widgets
from recdash.ui.off_policy import page

title = st.container()
asked = page.ask()
if asked is None:
    with title:
        page.explain()
    state.stop()

found = page.estimate(asked)
with title:
    st.html(page.verdict_badges(found))
    widgets.title(page.finding(found), page.subtitle(found))
    page.show_reasons(found)
page.show_estimates(found)
page.show_checks(found)
page.show_weights(found)
page.show_notices(found)
widgets.table_behind(page.tidy(found), "off-policy")
