"""Runs: name, tags, notes, parameters, ledger and provenance; archive, restore and delete."""

from __future__ import annotations

from recdash.ui import reference_offer, run_forms, runs_view, state, widgets

workspace = state.workspace()
widgets.title("Runs", "Everything that was uploaded and scored, and where its numbers come from.")
run_forms.show_undo()
experiment, archived = runs_view.choose_experiment(workspace)
if experiment is None:
    widgets.empty("No experiment yet", "Add a truth and candidates under Upload, or load the demo there.")
    state.stop()
run_forms.experiment_panel(workspace, experiment)
runs = workspace.runs(experiment.id, archived=archived)
widgets.damaged(workspace.damaged(experiment.id))
if runs:
    runs_view.show_table(experiment, runs)
    runs_view.show_ledger(workspace, experiment, runs)
    runs_view.work_on_one(workspace, experiment, runs)
else:
    widgets.empty("This experiment has no runs", "Add candidates under Upload, or show the archived ones.")
reference_offer.offer(workspace, experiment)
run_forms.online_panel(workspace, experiment)
