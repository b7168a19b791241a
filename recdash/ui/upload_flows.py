"""The three things one can add, each from its files to the last step, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from recdash.domain import DEFAULT_DEPTH, Experiment, TableKind
from recdash.errors import RecdashError
from recdash.ui import escaping
from recdash.ui.table_templates import TEMPLATES
from recdash.ui.upload_desk import Desk, Outcome, stem
from recdash.ui.upload_steps import (
    CheckedFile,
    check_file,
    describe,
    one_file,
    refused,
    store_candidates,
    template_button,
)
from recdash.ui.widgets import problem_list

GRADED, BINARY = "as graded", "every row is relevant"
NOT_LINKED = "not linked"


# ── what came of it ──────────────────────────────────────────────────────────────────────────


def show_outcomes(desk: Desk) -> None:
    """One message per file of the last step, and the way to the numbers."""
    for outcome in desk.outcomes:
        _show(outcome)
    stored = [outcome for outcome in desk.outcomes if outcome.state != "refused"]
    runs = [run for outcome in stored for run in outcome.runs]
    if runs:
        query = {"e": str(stored[-1].experiment), "c": "~".join(runs[:8])}
        st.page_link("pages/leaderboard.py", label="See it on the leaderboard", query_params=query)


def _show(outcome: Outcome) -> None:
    name = escaping.markdown(outcome.name)
    if outcome.state == "refused":
        st.error(f"Nothing of **{name}** was stored.", title=f"The {outcome.what} was refused")
        problem_list(outcome.problems)
    elif outcome.state == "already":
        st.info(f"This file is already there, as **{name}**. Nothing was stored twice.")
    else:
        st.success(f"Stored the {outcome.what} **{name}**.")
        problem_list((), outcome.problems)


# ── a new experiment ─────────────────────────────────────────────────────────────────────────


def new_experiment(desk: Desk, workspace: Any) -> None:
    st.subheader("1 · Files")
    files = _experiment_files(desk)
    if "truth" not in files:
        st.caption("Start with the truth: the rows that were held out.")
        return
    st.subheader("2 · Columns and checks")
    checked = {kind: check_file(desk, workspace, kind, file) for kind, file in files.items()}
    st.subheader("3 · Name and definitions")
    fields = _experiment_fields(desk, checked["truth"])
    st.subheader("4 · Store")
    if _last_step("Create the experiment", desk, checked.values(), bool(fields["name"])):
        _create(desk, workspace, checked, fields)


def _experiment_files(desk: Desk) -> dict[TableKind, Any]:
    labels: dict[TableKind, str] = {
        "truth": "Truth", "train": "Train (optional)", "catalogue": "Catalogue (optional)",
    }  # fmt: skip
    found: dict[TableKind, Any] = {}
    for column, (kind, label) in zip(st.columns(3), labels.items(), strict=True):
        with column:
            file = one_file(desk, kind, label)
        if file is not None:
            found[kind] = file
    return found


def _experiment_fields(desk: Desk, truth: CheckedFile) -> dict[str, Any]:
    left, middle, right = st.columns(3)
    name = left.text_input("Name of the experiment", value=stem(truth.name), key=desk.key("experiment_name"))
    graded = "relevance" in (truth.mapping or truth.preview.mapping)
    relevance = middle.selectbox(
        "Relevance", [GRADED, BINARY] if graded else [BINARY], key=desk.key("relevance"),
        help="As graded uses the column mapped to relevance: gains for nDCG, and rows above 0 are relevant.",
    )  # fmt: skip
    threshold = middle.number_input(
        "Relevant from (optional)", value=None, key=desk.key("threshold"), disabled=relevance == BINARY,
        placeholder="above 0", help="Rows with at least this relevance count as relevant.",
    )  # fmt: skip
    depth = right.number_input(
        "Depth", min_value=1, max_value=10_000, value=DEFAULT_DEPTH, step=10, key=desk.key("depth"),
        help="The longest cutoff k that is kept.",
    )  # fmt: skip
    note = left.text_input("Note", key=desk.key("experiment_note"))
    return {
        "name": name.strip(), "note": note.strip(), "depth": int(depth),
        "relevance": "none" if relevance == BINARY else None,
        "relevance_threshold": None if relevance == BINARY else threshold,
    }  # fmt: skip


def _create(
    desk: Desk, workspace: Any, checked: Mapping[TableKind, CheckedFile], fields: Mapping[str, Any]
) -> None:
    optional = {kind: checked[kind].data for kind in ("train", "catalogue") if kind in checked}
    mappings = {kind: file.mapping for kind, file in checked.items() if file.mapping is not None}
    with st.status("Reading and storing the tables", expanded=True):
        try:
            made = workspace.create_experiment(
                fields["name"], checked["truth"].data, mappings=mappings, **optional,
                **{key: value for key, value in fields.items() if key != "name"},
            )  # fmt: skip
        except RecdashError as error:
            desk.outcomes.append(refused("experiment", fields["name"], error))
        else:
            desk.outcomes.append(Outcome("stored", "experiment", made.name, experiment=made.id))
            desk.next_turn()
    st.rerun()


# ── candidates ───────────────────────────────────────────────────────────────────────────────


def candidates(desk: Desk, workspace: Any) -> None:
    experiment = choose_experiment(desk, workspace)
    if experiment is None:
        return
    st.subheader("1 · Files")
    files = st.file_uploader(
        "Recommendations, one file per candidate", accept_multiple_files=True, key=desk.key("run")
    )
    template_button("run", "many")
    if not files:
        return
    st.subheader("2 · Columns and checks")
    checked = [check_file(desk, workspace, "run", file) for file in files]
    st.subheader("3 · Names, tags, parameters")
    tags = sorted({tag for run in workspace.runs(experiment.id, archived=True) for tag in run.tags})
    described = [describe(desk, workspace, one, tags) for one in checked if one.is_usable]
    st.subheader("4 · Score")
    parts = [*checked, *described]
    if _last_step(_score_label(len(checked)), desk, parts, all(one.name for one in described)):
        store_candidates(desk, workspace, experiment, described)


def _score_label(n: int) -> str:
    return "Score and store the candidate" if n == 1 else f"Score and store {n} candidates"


def choose_experiment(desk: Desk, workspace: Any) -> Experiment | None:
    experiments = {experiment.id: experiment for experiment in workspace.experiments()}
    if not experiments:
        st.info("There is no experiment yet. Add one first: the truth that the candidates are scored against.")
        return None
    wanted = st.query_params.get("e")
    ids = list(experiments)
    chosen = st.selectbox(
        "Experiment", ids, index=ids.index(wanted) if wanted in experiments else 0,
        format_func=lambda one: experiments[one].name, key=desk.key("for_experiment"), width=420,
    )  # fmt: skip
    return experiments[chosen]


# ── an online test ───────────────────────────────────────────────────────────────────────────


def online_test(desk: Desk, workspace: Any) -> None:
    experiment = choose_experiment(desk, workspace)
    if experiment is None:
        return
    st.subheader("1 · File")
    kind = st.segmented_control(
        "What the table holds", ["sessions", "aggregates"], default="sessions", required=True,
        key=desk.key("online_kind"),
        help=f"{TEMPLATES['sessions'].purpose} {TEMPLATES['aggregates'].purpose}",
    )  # fmt: skip
    file = one_file(desk, kind, TEMPLATES[kind].title)
    if file is None:
        return
    st.subheader("2 · Columns and checks")
    checked = check_file(desk, workspace, kind, file)
    if not checked.is_usable:
        return
    st.subheader("3 · Name and variants")
    fields = _online_fields(desk, workspace, experiment, checked, kind)
    st.subheader("4 · Store")
    if _last_step("Store the online test", desk, [checked], bool(fields["name"])):
        _add_online(desk, workspace, experiment, checked, kind, fields)
