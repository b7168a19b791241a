"""Pages inside another site's page, such as a wiki's: the short form of the frame."""

from __future__ import annotations

import streamlit as st

from recdash.formatting.html import html
from recdash.metrics.naming import metric_at
from recdash.ui.app import links
from recdash.ui.app.state import View
from recdash.ui.shell import scope_picker


def is_on() -> bool:
    """Returns whether this page is shown inside another site's page (``?embed=true``)."""
    return bool(st.context.is_embedded)


def show_heading(view: View) -> None:
    """Draws, in place of the frame, what is shown, for which users, and a link to the dashboard."""
    against = f" · against {view.baseline.name}" if view.baseline else ""
    subject = f"{metric_at(view.metric, view.k)}{against}"
    heading = '<div class="rd-embedded"><b><bdi>{name}</bdi></b><span>{subject}</span></div>'
    words = html(heading, name=view.experiment.name, subject=subject)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(words)
        st.space("stretch")
        st.link_button("Open in recdash ↗", links.url_of_view(view), type="tertiary", key="embed-open")
    scope_picker.show_words(view)
