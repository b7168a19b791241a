"""Lets editors add reference candidates: which can be computed, why others cannot, and the button."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from recdash.domain.records import Experiment
from recdash.errors import RecdashError
from recdash.service import ReferenceChoice, Workspace
from recdash.ui.app import cached
from recdash.ui.components import widgets

USUAL = ("popular", "random", "oracle")
"""The reference candidates selected by default: a floor, a non-personalised list, and a ceiling."""


def offer(workspace: Workspace, experiment: Experiment) -> None:
    """Draws check boxes and a button to add reference candidates; nothing if there are none to add, and for
    viewers.
    """
    choices = workspace.runs.reference_choices(experiment.id)
    left = [choice for choice in choices if not choice.is_there or choice.is_archived]
    possible = [choice for choice in left if not choice.lacks and not choice.is_archived]
    archived = [choice for choice in left if choice.is_archived]
    if not workspace.person.may("editor") or not (possible or archived):
        return
    st.space("small")
    widgets.section(
        "Reference candidates to add",
        "Computed from the experiment's own tables: a floor and a ceiling for every comparison.",
    )
    names = {run.name.casefold() for run in workspace.runs.all(experiment.id)}
    with st.container(horizontal=True, vertical_alignment="center"):
        wanted = []
        for choice in possible:
            key = f"reference-{choice.name}-{experiment.id}"
            is_usual = choice.name in USUAL and choice.name not in names
            if st.checkbox(choice.label, value=is_usual, key=key, help=choice.meaning):
                wanted.append(choice.name)
    for line in reasons(left):
        st.caption(line)
    key = f"references-{experiment.id}"
    if possible and st.button("Add reference candidates", key=key, disabled=not wanted):
        _add(workspace, experiment, wanted)


def reasons(choices: Sequence[ReferenceChoice]) -> list[str]:
    """Returns why some reference candidates cannot be added, such as ``Content-based needs the
    catalogue.``
    """
    archived = "is archived; unarchive it on the Runs page, under Show archived"
    return [
        f"{choice.label} {archived if choice.is_archived else f'needs {choice.lacks}'}."
        for choice in choices
        if choice.is_archived or choice.lacks
    ]


def _add(workspace: Workspace, experiment: Experiment, names: Sequence[str]) -> None:
    try:
        workspace.runs.add_references(experiment.id, names, cached.progress("Computing reference candidates"))
    except RecdashError as error:
        widgets.problems(error)
    else:
        st.rerun()
