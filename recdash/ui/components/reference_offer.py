"""One click adds reference candidates: which can be computed, why others cannot, and the button."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from recdash.domain.records import Experiment
from recdash.errors import RecdashError
from recdash.service import ReferenceChoice, Workspace
from recdash.ui.app import cached
from recdash.ui.components import widgets

USUAL = ("popular", "random", "oracle")
"""Chosen at first: the floor, what everybody could do, and the ceiling."""


def offer(workspace: Workspace, experiment: Experiment) -> None:
    """Check boxes and the button; nothing where all are in sight already, and for viewers."""
    left = [
        one for one in workspace.runs.reference_choices(experiment.id) if not one.is_there or one.is_archived
    ]
    possible = [one for one in left if not one.lacks and not one.is_archived]
    archived = [one for one in left if one.is_archived]
    if not workspace.person.may("editor") or not (possible or archived):
        return
    st.space("small")
    widgets.section(
        "Reference candidates",
        "Computed from the experiment's own tables: a floor and a ceiling for every comparison.",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        wanted = [one.name for one in possible if _box(experiment, one)]
    for line in reasons(left):
        st.caption(line)
    if possible and st.button(
        "Add reference candidates", key=f"references-{experiment.id}", disabled=not wanted
    ):
        _add(workspace, experiment, wanted)


def _box(experiment: Experiment, one: ReferenceChoice) -> bool:
    key = f"reference-{one.name}-{experiment.id}"
    return st.checkbox(one.label, value=one.name in USUAL, key=key, help=one.meaning)


def reasons(choices: Sequence[ReferenceChoice]) -> list[str]:
    """Why some cannot be added: ``Content-based needs the catalogue.``"""
    archived = "is archived; restore it on the Runs page, under Show archived"
    return [
        f"{one.label} {archived if one.is_archived else f'needs {one.lacks}'}."
        for one in choices
        if one.is_archived or one.lacks
    ]


def _add(workspace: Workspace, experiment: Experiment, names: Sequence[str]) -> None:
    try:
        workspace.runs.add_references(experiment.id, names, cached.progress("Computing reference candidates"))
    except RecdashError as error:
        widgets.problems(error)
    else:
        st.rerun()
