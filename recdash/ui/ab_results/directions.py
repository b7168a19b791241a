"""Shows above the results which direction of each proposed metric is better; editors can change it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import streamlit as st

from recdash.formatting.html import html
from recdash.formatting.wording import listed, lowered
from recdash.online import OnlineMetric
from recdash.ui.ab_results.page import AbTest
from recdash.ui.ab_results.settings import save
from recdash.ui.app import state


def show(ab_test: AbTest) -> None:
    """Draws the directions with a form to change them; nothing for a test with standard metrics only, whose
    directions are known.
    """
    own = ab_test.own_metrics
    if not own:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(html('<span class="rd-muted">{text}</span>', text=in_words(own.values())), width="content")
        if state.workspace().person.may("editor"):
            with st.popover("Change directions"):
                _form(ab_test, own)


def in_words(metrics: Iterable[OnlineMetric]) -> str:
    """Returns the directions, such as ``Higher is better: orders. Lower is better: refunds.``"""
    titles: dict[str, list[str]] = {"up": [], "down": []}
    for metric in metrics:
        titles[metric.direction].append(lowered(metric.title))
    names = (("Higher is better", titles["up"]), ("Lower is better", titles["down"]))
    return " ".join(f"{name}: {listed(some)}." for name, some in names if some)


def with_lower(metrics: Iterable[OnlineMetric], lower: Collection[str]) -> tuple[OnlineMetric, ...]:
    """Returns the metrics, of which those named in ``lower`` are better the lower they are."""
    return tuple(replace(metric, direction="down" if metric.name in lower else "up") for metric in metrics)


def _form(ab_test: AbTest, own: dict[str, OnlineMetric]) -> None:
    test_id = ab_test.test.id
    now = [name for name, metric in own.items() if metric.direction == "down"]
    with st.form(f"ab-directions-{test_id}", border=False):
        lower = st.multiselect(
            "Lower is better",
            list(own),
            default=now,
            format_func=lambda name: own[name].title,
            key=f"ab-lower-{test_id}",
            help="Such as skips, complaints or refunds. For all other metrics, higher is better.",
        )
        if st.form_submit_button("Save directions", key=f"ab-directions-save-{test_id}"):
            changed = with_lower(own.values(), lower)
            source = state.workspace().online_analysis
            save(test_id, lambda: source.set_own_metrics(test_id, changed), [in_words(changed)])
