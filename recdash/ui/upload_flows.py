"""The three things one can add, each from its files to the last step, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import streamlit as st

from recdash.domain import DEFAULT_DEPTH, Experiment, Run, TableKind
from recdash.errors import RecdashError, UploadError
from recdash.ui import data, escaping, frame, state, widgets
from recdash.ui.state import MOST_CANDIDATES
from recdash.ui.table_templates import TEMPLATES
from recdash.ui.upload_desk import Desk, Outcome, stem
from recdash.ui.upload_steps import (
    Candidate,
    CheckedFile,
    check_file,
    describe,
    one_file,
    refused,
    store_candidates,
    template_button,
)

GRADED, BINARY = "as graded", "every row is relevant"
NOT_LINKED = "not linked"


# ── what came of it ──────────────────────────────────────────────────────────────────────────


def show_outcomes(desk: Desk, workspace: Any) -> None:
    """One message per file of the last step, and the way to the numbers."""
    for outcome in desk.outcomes:
        _show(outcome)
    stored = [outcome for outcome in desk.outcomes if outcome.state != "refused"]
    if stored:
        _see_it(workspace, stored[-1], [run for outcome in stored for run in outcome.runs])


def _show(outcome: Outcome) -> None:
    name = escaping.markdown(outcome.name)
    if outcome.state == "refused":
        st.error(f"The {outcome.what} **{name}** was refused. Nothing of it was stored.")
        widgets.problems(UploadError(outcome.problems))
    elif outcome.state == "already":
        st.info(f"This file is already there, as **{name}**. Nothing was stored twice.")
    else:
        st.success(f"Stored the {outcome.what} **{name}**.")
        if outcome.problems:
            widgets.notices(outcome.problems)


def _see_it(workspace: Any, last: Outcome, runs: Sequence[str]) -> None:
    page = {"candidate": "leaderboard", "online test": "offline-online"}.get(last.what)
    if page is None:
        st.caption("Next: add its candidates below.")
    elif st.button("See it", type="primary", key="see-it"):
        state.show_experiment(str(last.experiment))
        if len(workspace.runs(last.experiment)) > MOST_CANDIDATES + 1:
            state.choose(c=state.SEPARATOR.join(runs[:MOST_CANDIDATES]) or None)
        frame.go(page)


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
            state.show_experiment(made.id)
            state.choose(add="candidates")
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
        st.info("There is no experiment yet. Add one first: the truth to score candidates against.")
        return None
    wanted = state.params().get("e")
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
        _add_online(desk, workspace, experiment, checked, fields, kind)


def _online_fields(
    desk: Desk, workspace: Any, experiment: Experiment, checked: CheckedFile, kind: TableKind
) -> dict[str, Any]:
    name = st.text_input("Name of the test", value=stem(checked.name), key=desk.key("online_name"), width=420)
    variants = workspace.variants(kind, checked.data, checked.name, mapping=checked.mapping)
    control = st.selectbox(
        "Control", variants, index=control_index(variants), key=desk.key("control"), width=420,
        help="The arm that the others are compared with.",
    )  # fmt: skip
    links = link_boxes(desk.key("link"), workspace.runs(experiment.id), variants, {})
    return {"name": name.strip(), "control": control, "links": links}


def control_index(variants: Sequence[str]) -> int:
    """The arm whose name says that it is the control, else the first."""
    usual = ("control", "baseline", "a", "0")
    named = [index for index, variant in enumerate(variants) if variant.strip().lower() in usual]
    return named[0] if named else 0


def link_boxes(
    key: str, runs: Sequence[Run], variants: Sequence[str], links: Mapping[str, str]
) -> dict[str, str]:
    """One box per variant: the run that it served, where that run is in the experiment."""
    names: dict[str | None, str] = {None: NOT_LINKED, **{run.id: run.name for run in runs}}
    options = list(names)
    by_name = {run.name.casefold(): run.id for run in runs}
    chosen: dict[str, str] = {}
    with st.container(horizontal=True):
        for variant in variants:
            guess = links.get(variant) or (None if links else by_name.get(variant.casefold()))
            run = st.selectbox(
                f"{escaping.markdown(variant)} served", options, format_func=names.__getitem__,
                index=options.index(guess) if guess in names else 0, key=f"{key}_{variant}", width=260,
            )  # fmt: skip
            if run is not None:
                chosen[variant] = run
    return chosen


def _add_online(
    desk: Desk, workspace: Any, experiment: Experiment, checked: CheckedFile, fields: Mapping[str, Any],
    kind: TableKind,
) -> None:  # fmt: skip
    with st.status("Computing the results of each variant", expanded=True):
        try:
            made = workspace.add_online_test(
                experiment.id, fields["name"], checked.data, kind=kind, mapping=checked.mapping,
                control=fields["control"], links=fields["links"],
            )  # fmt: skip
        except RecdashError as error:
            desk.outcomes.append(refused("online test", fields["name"], error, experiment.id))
        else:
            desk.outcomes.append(Outcome("stored", "online test", made.name, made.notices, experiment.id))
            desk.next_turn()
    st.rerun()


# ── shared ───────────────────────────────────────────────────────────────────────────────────


def _last_step(label: str, desk: Desk, parts: Iterable[CheckedFile | Candidate], is_named: bool) -> bool:
    """The button that stores; it stays closed, and says why, until everything above is in order."""
    broken = sum(not part.is_usable for part in parts)
    reason = _why_closed(broken, is_named)
    if reason:
        st.caption(reason)
    pressed = st.button(label, type="primary", key=desk.key("store"), disabled=bool(reason))
    if pressed:
        desk.outcomes.clear()
    return pressed


def _why_closed(broken: int, is_named: bool) -> str:
    if broken:
        return "Nothing is stored yet: solve the problems above, or remove the files that have them."
    return "" if is_named else "Give it a name first."


def demo(workspace: Any) -> None:
    """Load or remove the demo, and take away a file that the checks refuse."""
    widgets.section("Demo", "A small film service: five candidates, two of them tied, and an online test.")
    with st.container(horizontal=True):
        if workspace.has_demo():
            _remove_demo(workspace)
        elif st.button("Load the demo", key="upload-load-demo"):
            made = workspace.load_demo(progress=data.progress("Making the demo"))
            state.show_experiment(made.id)
            frame.go("overview")
        st.download_button(
            "A broken file", _broken_file, file_name="recdash-broken-run.csv", mime="text/csv",
            key="broken-file", on_click="ignore",
            help="Recommendations with common mistakes. Add it as a candidate to see the checks.",
        )  # fmt: skip


def _remove_demo(workspace: Any) -> None:
    if st.button("Remove the demo", key="upload-remove-demo"):
        workspace.remove_demo()
        state.choose(e=None, b=None, c=None, t=None)
        st.toast("The demo is removed.")
        st.rerun()


def _broken_file() -> bytes:
    from recdash import demo as film_service

    return film_service.make().broken_csv
