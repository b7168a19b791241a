"""The boxes that link the variants of an A/B test to runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from recdash.domain.records import OnlineTest, Run
from recdash.formatting import html
from recdash.formatting.names import same_names
from recdash.service import Workspace
from recdash.ui.components import widgets
from recdash.ui.components.actions import attempt

NOT_LINKED = ""


def link_form(workspace: Workspace, test: OnlineTest, runs: Sequence[Run]) -> None:
    """Draws a box per variant of the test for the run that it served, and a button that saves the links."""
    links = link_boxes(f"relink-{test.id}", runs, test.variants, test.links)
    if st.button("Save links", key=f"online-links-{test.id}", disabled=links == dict(test.links)):
        attempt(lambda: workspace.online_tests.link_variants(test.id, links))


def link_boxes(
    key: str, runs: Sequence[Run], variants: Sequence[str], links: Mapping[str, str]
) -> dict[str, str]:
    """Draws a box per variant for the run that it served, and returns {variant: run id} of the linked ones.

    Without ``links`` the runs that the variants are named like are suggested, and said not to be saved. An
    archived run is only offered if it is linked already, so that saving keeps the link.
    """
    linked = set(links.values())
    names = {NOT_LINKED: "not linked"}
    for run in runs:
        if run.archived is None:
            names[run.id] = run.name
        elif run.id in linked:
            names[run.id] = f"{run.name} (archived)"
    if not links:
        by_name = {run.name: run.id for run in runs if run.archived is None}
        links = {variant: by_name[run] for variant, run in same_names(variants, list(by_name)).items()}
        if links:
            st.caption("Suggested by their names, not saved yet:")
    chosen: dict[str, str] = {}
    with st.container(horizontal=True):
        for variant in variants:
            label, linked_run = f"{html.markdown(variant)} served", links.get(variant, NOT_LINKED)
            chosen[variant] = widgets.pick(label, names, linked_run, f"{key}_{variant}", width=260)
    return {variant: run_id for variant, run_id in chosen.items() if run_id != NOT_LINKED}
