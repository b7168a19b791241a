"""Runs: name, tags, notes, parameters, population counts and provenance; archive, unarchive and delete."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import links, state
from recdash.ui.components import actions, fallback_offer, reference_offer, widgets
from recdash.ui.runs import forms, page
from recdash.ui.shell import first_run

workspace = state.workspace()
heading = st.container()
actions.show_undo()
if not workspace.experiments.all(archived=True):
    first_run.show()
    state.stop()
experiment, archived = page.choose_experiment(workspace)
if experiment is None:
    widgets.empty("No active experiment", "Show the archived ones, or add data.")
    state.stop()
runs = workspace.runs.all(experiment.id, archived=archived)
with heading:
    if runs:
        widgets.title(page.finding(experiment, runs), page.SUBTITLE)
    else:
        has_archived = bool(workspace.runs.all(experiment.id, archived=True))
        hint = f"Add candidates{', or show the archived ones' * has_archived}."
        widgets.empty("This experiment has no runs", hint)
        links.page_button("Add data", "upload")
forms.experiment_panel(workspace, experiment)
widgets.damaged(workspace.damaged(experiment.id))
if runs:
    page.show_table(experiment, runs)
    page.show_ledger(workspace, experiment, runs)
    active = [run.id for run in runs if run.archived is None]
    if experiment.truth is not None and active:
        fallback_offer.offer(active, workspace.queries.of(experiment.id))
    page.work_on_one(workspace, experiment, runs)
if experiment.truth is not None:
    reference_offer.offer(workspace, experiment)
forms.online_panel(workspace, experiment)
