"""Runs: name, tags, notes, parameters, population counts and provenance; archive, unarchive and delete."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import state
from recdash.ui.components import actions, fallback_offer, reference_offer, widgets
from recdash.ui.runs import forms, page

workspace = state.workspace()
heading = st.container()
actions.show_undo()
experiment, archived = page.choose_experiment(workspace)
if experiment is None:
    widgets.empty("No experiment yet", "Add a test set and candidates, or load the demo, under Add data.")
    state.stop()
runs = workspace.runs.all(experiment.id, archived=archived)
with heading:
    if runs:
        widgets.title(page.finding(experiment, runs), page.SUBTITLE)
    else:
        hint = "Add candidates under Add data, or show the archived ones."
        widgets.empty("This experiment has no runs", hint)
forms.experiment_panel(workspace, experiment)
widgets.damaged(workspace.damaged(experiment.id))
if runs:
    page.show_table(experiment, runs)
    page.show_ledger(workspace, experiment, runs)
    if experiment.truth is not None:
        fallback_offer.offer_one([run.id for run in runs if run.archived is None])
    page.work_on_one(workspace, experiment, runs)
if experiment.truth is not None:
    reference_offer.offer(workspace, experiment, ticked=False)
forms.online_panel(workspace, experiment)
