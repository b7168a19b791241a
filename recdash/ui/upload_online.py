"""An online test from its file to the last step, and the boxes that link variants to runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from recdash.domain import Experiment, OnlineKind, Run
from recdash.errors import InputError, RecdashError
from recdash.online import OnlineResults
from recdash.service import Workspace
from recdash.ui import escaping, widgets
from recdash.ui.table_templates import TEMPLATES
from recdash.ui.upload_desk import Desk, Outcome, stem
from recdash.ui.upload_flows import choose_experiment
from recdash.ui.upload_steps import CheckedFile, check_file, last_step, one_file, refused

NOT_LINKED = ""


@dataclass(frozen=True)
class OnlineForm:
    """What was filled in for a test; ``links`` are {variant: run id}."""

    kind: OnlineKind
    checked: CheckedFile
    name: str
    control: str
    links: Mapping[str, str]


def online_test(desk: Desk, workspace: Workspace) -> None:
    experiment = choose_experiment(desk, workspace)
    if experiment is None:
        return
    st.subheader("1 · File")
    kind = _kind(desk)
    file = one_file(desk, kind, TEMPLATES[kind].title)
    if file is None:
        return
    st.subheader("2 · Columns and checks")
    checked = check_file(desk, workspace, kind, file)
    trial = _trial(desk, workspace, kind, checked) if checked.is_usable else None
    if trial is None:
        return
    st.subheader("3 · Name and variants")
    form = _fields(desk, workspace, experiment, checked, kind, trial)
    st.subheader("4 · Store")
    if last_step("Store the online test", desk, [checked], bool(form.name)):
        _store(desk, workspace, experiment, form)


def _kind(desk: Desk) -> OnlineKind:
    purposes = " · ".join(TEMPLATES[kind].purpose for kind in ("sessions", "aggregates"))
    kinds: tuple[OnlineKind, ...] = ("sessions", "aggregates")
    chosen: OnlineKind = st.segmented_control(
        "What the table holds",
        kinds,
        default="sessions",
        required=True,
        key=desk.key("online_kind"),
        help=purposes,
    )
    return chosen


def _trial(desk: Desk, workspace: Workspace, kind: OnlineKind, checked: CheckedFile) -> OnlineResults | None:
    """The results as they would be, for the names of the variants; None after showing what is wrong."""
    mapping = tuple(sorted((checked.mapping or {}).items()))
    key = ("trial", kind, checked.file.file_id, mapping)
    found: OnlineResults | InputError = desk.remembered(key, lambda: _results(workspace, kind, checked))
    if isinstance(found, InputError):
        widgets.problems(found)
        return None
    if found.notices:
        widgets.notices(found.notices)
    return found


def _results(workspace: Workspace, kind: OnlineKind, checked: CheckedFile) -> OnlineResults | InputError:
    try:
        return workspace.try_online_test({kind: checked.data}, mappings={kind: checked.mapping or {}})
    except InputError as error:
        return error


def _fields(
    desk: Desk,
    workspace: Workspace,
    experiment: Experiment,
    checked: CheckedFile,
    kind: OnlineKind,
    trial: OnlineResults,
) -> OnlineForm:
    name = st.text_input("Name of the test", stem(checked.name), key=desk.key("online_name"), width=420)
    control: str = st.selectbox(
        "Control", trial.variants, index=trial.variants.index(trial.control), key=desk.key("control"),
        width=420, help="The variant that the others are compared with.",
    )  # fmt: skip
    links = link_boxes(desk.key("link"), workspace.runs(experiment.id), trial.variants, None)
    return OnlineForm(kind, checked, name.strip(), control, links)


def link_boxes(
    key: str, runs: Sequence[Run], variants: Sequence[str], links: Mapping[str, str] | None
) -> dict[str, str]:
    """One box per variant: the run that it served. Without ``links`` yet, runs of the same name.

    An archived run is offered only where it is linked already, so that saving keeps the link.
    """
    linked = set((links or {}).values())
    offered = {run.id: _called(run) for run in runs if run.archived is None or run.id in linked}
    names = {NOT_LINKED: "not linked", **offered}
    by_name = {run.name.casefold(): run.id for run in runs if run.archived is None}
    guess = {variant: by_name.get(variant.casefold(), NOT_LINKED) for variant in variants}
    shown = guess if links is None else links
    with st.container(horizontal=True):
        chosen = {one: _link_box(f"{key}_{one}", one, names, shown.get(one, NOT_LINKED)) for one in variants}
    return {variant: run for variant, run in chosen.items() if run != NOT_LINKED}


def _called(run: Run) -> str:
    return run.name if run.archived is None else f"{run.name} (archived)"


def _link_box(key: str, variant: str, names: Mapping[str, str], shown: str) -> str:
    options = list(names)
    run: str = st.selectbox(
        f"{escaping.markdown(variant)} served", options, format_func=names.__getitem__,
        index=options.index(shown) if shown in names else 0, key=key, width=260,
    )  # fmt: skip
    return run


def _store(desk: Desk, workspace: Workspace, experiment: Experiment, form: OnlineForm) -> None:
    with st.status("Computing the results of each variant", expanded=True):
        try:
            made = workspace.add_online_test(
                experiment.id, form.name, {form.kind: form.checked.data}, control=form.control,
                mappings={form.kind: form.checked.mapping or {}}, links=form.links,
            )  # fmt: skip
        except RecdashError as error:
            desk.outcomes.append(refused("online test", form.name, error, experiment.id))
        else:
            desk.outcomes.append(Outcome("stored", "online test", made.name, made.notices, experiment.id))
            desk.next_turn()
    st.rerun()
