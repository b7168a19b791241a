"""Catalogue: what the lists show of it, and how their slots fall on the values of an attribute."""

from __future__ import annotations

import streamlit as st

from recdash.evaluation.comparability import LISTS_MISSING
from recdash.ui.catalogue import page
from recdash.ui.components import comparability_banner, widgets
from recdash.ui.shell import frame

view = frame.show()
title = st.container()
attribute = page.choose_attribute(view)
distribution = page.gather(view, attribute) if attribute else None
with title:
    if distribution:
        widgets.title(page.finding(view, distribution), page.subtitle(view, distribution))
    else:
        page.show_nothing(view)
    comparability_banner.banner(view, view.shown_ids, without=[LISTS_MISSING])

st.html(page.measures_table(view, distribution))
st.html(page.footnote(view))
if distribution:
    page.show_distribution(view, distribution)
    widgets.table_behind(page.tidy(distribution), "catalogue", "All shares in full precision")
