"""Runs: name, tags, notes, parameters, population counts and provenance; archive, restore and delete."""

from __future__ import annotations

from recdash.ui.app import state
from recdash.ui.components import actions, reference_offer, widgets
from recdash.ui.runs import forms, page

workspace = state.workspace()
widgets.title("Runs", "Everything that was uploaded and scored, and where its numbers come from.")
actions.show_undo()
experiment, archived = page.choose_experiment(workspace)
if experiment is None:
    widgets.empty("No experiment yet", "Add a truth and candidates under Upload, or load the demo there.")
    state.stop()
forms.experiment_panel(workspace, experiment)
runs = workspace.runs.all(experiment.id, archived=archived)
widgets.damaged(workspace.damaged(experiment.id))
if runs:
    page.show_table(experiment, runs)
    page.show_ledger(workspace, experiment, runs)
    page.work_on_one(workspace, experiment, runs)
else:
    widgets.empty("This experiment has no runs", "Add candidates under Upload, or show the archived ones.")
reference_offer.offer(workspace, experiment)
forms.online_panel(workspace, experiment)
