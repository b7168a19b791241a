"""The forms for an experiment, a run or an A/B test: edit it, archive it with an undo, delete it by its
name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.formatting import html
from recdash.formatting.tables import number_columns, text_columns
from recdash.formatting.wording import moment
from recdash.service import Workspace
from recdash.ui.app import state
from recdash.ui.components import widgets
from recdash.ui.components.actions import attempt, delete_form, offer_undo
from recdash.ui.components.notice_words import of_stored
from recdash.ui.components.parameters import params_as_text, params_from
from recdash.ui.components.variant_links import link_form
from recdash.ui.runs.table import experiment_rows, ledger_names, ledger_row, ledger_title, provenance_rows

# ── a run ────────────────────────────────────────────────────────────────────────────────────


def run_panel(workspace: Workspace, experiment: Experiment, run: Run, known_tags: Sequence[str]) -> None:
    widgets.section(run.name, f"Added {moment(run.created)}")
    edit, notices, provenance, remove = st.tabs(["Edit", "Notices", "Provenance", "Archive and delete"])
    with edit:
        _edit_run(workspace, experiment, run, known_tags)
    with notices:
        widgets.notices(of_stored(run.notices), nothing="No problem was found in this upload.")
    with provenance:
        widgets.table(text_columns("Property", "Value"), provenance_rows(run))
        _replicates(workspace, run)
    with remove:
        _archive_run(workspace, run)
        delete_form("run", run.name, run.id, partial(workspace.runs.delete, run.id))


def _replicates(workspace: Workspace, run: Run) -> None:
    """Draws a table of how many users count in each fold or seed; nothing for a run without them."""
    below = workspace.replicates.of(run.id)
    if below:
        widgets.section(str(run.replicated).capitalize(), "Each was scored by itself as well.")
        names = ledger_names(below)
        columns = [*text_columns("Label"), *number_columns(*map(ledger_title, names))]
        widgets.table(columns, [[replicate.name, *ledger_row(replicate, names)] for replicate in below])


def _edit_run(workspace: Workspace, experiment: Experiment, run: Run, known_tags: Sequence[str]) -> None:
    with st.form(f"edit-{run.id}", border=False):
        left, right = st.columns(2)
        name = left.text_input("Name", run.name, key=f"run-name-{run.id}", max_chars=200)
        offered, key = sorted({*known_tags, *run.tags}), f"run-tags-{run.id}"
        tags = left.multiselect(
            "Tags", offered, list(run.tags), accept_new_options=True, key=key, placeholder="Add tags"
        )
        note = left.text_area("Note", run.note, key=f"run-note-{run.id}", height=90)
        params = right.text_area(
            "Parameters",
            params_as_text(run.params),
            key=f"run-params-{run.id}",
            height=212,
            help="One per line: name = value.",
        )
        if st.form_submit_button("Save", type="primary", key=f"run-save-{run.id}"):
            attempt(lambda: _save_run(workspace, run, name.strip(), tags, note.strip(), params))
    if experiment.baseline == run.id:
        st.caption("This run is the baseline.")
    elif st.button("Make this the baseline", key=f"run-baseline-{run.id}", disabled=run.archived is not None):
        attempt(lambda: _set_baseline(workspace, experiment, run), "Changed the baseline.")


def _save_run(workspace: Workspace, run: Run, name: str, tags: Sequence[str], note: str, params: str) -> None:
    """Saves the fields that changed. Parameters are read first, so that an error in them changes nothing."""
    read = params_from(params)
    if name != run.name:
        workspace.runs.rename(run.id, name)
    if tuple(tags) != run.tags:
        workspace.runs.set_tags(run.id, tuple(tags))
    if note != run.note:
        workspace.runs.set_note(run.id, note)
    if read != dict(run.params):
        workspace.runs.set_params(run.id, read)


def _set_baseline(workspace: Workspace, experiment: Experiment, run: Run) -> None:
    workspace.experiments.set_baseline(experiment.id, run.id)
    state.choose(b=None, c=None)


def _archive_run(workspace: Workspace, run: Run) -> None:
    if run.archived is not None:
        if st.button("Unarchive", key=f"run-unarchive-{run.id}"):
            attempt(lambda: workspace.runs.unarchive(run.id), "Unarchived.")
    elif st.button("Archive", key=f"run-archive-{run.id}", help="Hides the run; you can unarchive it."):
        workspace.runs.archive(run.id)
        offer_undo(f"Archived the run {run.name}.", lambda: workspace.runs.unarchive(run.id))
        st.rerun()


# ── an experiment ────────────────────────────────────────────────────────────────────────────


def experiment_panel(workspace: Workspace, experiment: Experiment) -> None:
    with st.expander("This experiment: set-up, rename, archive or delete"):
        widgets.table(text_columns("Property", "Value"), experiment_rows(experiment))
        with st.form(f"rename-{experiment.id}", border=False):
            name = st.text_input("Name", experiment.name, key=f"experiment-name-{experiment.id}", width=420)
            if st.form_submit_button("Rename", key=f"experiment-rename-{experiment.id}"):
                attempt(lambda: workspace.experiments.rename(experiment.id, name.strip()))
        _archive_experiment(workspace, experiment)

        def delete(typed: str) -> None:
            workspace.experiments.delete(experiment.id, typed)
            state.choose(e=None, b=None, c=None, t=None)

        delete_form("experiment", experiment.name, experiment.id, delete)


def _archive_experiment(workspace: Workspace, experiment: Experiment) -> None:
    if experiment.archived is not None:
        if st.button("Unarchive", key=f"experiment-unarchive-{experiment.id}"):
            attempt(lambda: workspace.experiments.unarchive(experiment.id), "Unarchived.")
    elif st.button("Archive", key=f"experiment-archive-{experiment.id}"):
        workspace.experiments.archive(experiment.id)
        state.choose(e=None, b=None, c=None, t=None)
        undo = partial(workspace.experiments.unarchive, experiment.id)
        offer_undo(f"Archived the experiment {experiment.name}.", undo)
        st.rerun()


# ── online tests ─────────────────────────────────────────────────────────────────────────────


def online_panel(workspace: Workspace, experiment: Experiment) -> None:
    tests = [*workspace.online_tests.all(experiment.id), *workspace.interleaving.all(experiment.id)]
    runs = workspace.runs.all(experiment.id, archived=True)
    title = "A/B and interleaving tests" if any(test.is_interleaved for test in tests) else "A/B tests"
    widgets.section(title, "Link each variant to the run it served." if tests and runs else "")
    if not tests:
        st.caption("No A/B test yet. Add one under Add data.")
    for test in tests:
        with st.expander(f"{html.markdown(test.name)} (control group: {html.markdown(test.control)})"):
            _online_test(workspace, test, runs)


def _online_test(workspace: Workspace, test: OnlineTest, runs: Sequence[Run]) -> None:
    link_form(workspace, test, runs)
    if test.notices:
        widgets.notices(of_stored(test.notices))
    delete = partial(workspace.online_tests.delete, test.id)
    delete_form("interleaving test" if test.is_interleaved else "A/B test", test.name, test.id, delete)
