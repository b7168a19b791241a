"""Off-policy: what another policy would have got, from a log that says how likely each item was."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import state
from recdash.ui.components import widgets
from recdash.ui.off_policy import page

title = st.container()
request = page.ask()
if request is None:
    with title:
        page.explain()
    state.stop()

result = page.estimate(request)
with title:
    st.html(page.verdict_badges(result))
    widgets.title(page.finding(result), page.subtitle(result))
    page.show_reasons(result)
page.show_estimates(result)
page.show_slates(result)
page.show_checks(result)
page.show_weights(result)
page.show_notices(result)
page.keep(request, result)
widgets.table_behind(page.tidy(result), "off-policy")
