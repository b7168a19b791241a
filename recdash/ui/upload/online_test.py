"""An online test from its files to the last step, and the boxes that link variants to runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from recdash.domain.kinds import OnlineKind, TableKind
from recdash.domain.records import Experiment, OnlineTest
from recdash.errors import InputError, Problem, RecdashError
from recdash.online import OnlineResults, OnlineRules
from recdash.online.users import Removed
from recdash.service import Workspace
from recdash.ui.components import widgets
from recdash.ui.components.variant_links import link_boxes
from recdash.ui.upload.online_rules import rules_form, split_boxes, zone_box
from recdash.ui.upload.page import choose_experiment, files_in_columns
from recdash.ui.upload.state import Outcome, UploadState, stem
from recdash.ui.upload.steps import CheckedFile, check_file, last_step, refused

KINDS: Mapping[OnlineKind, str] = {
    "sessions": "Sessions",
    "events": "Exposures and events",
    "aggregates": "Aggregates",
}
FILES: Mapping[OnlineKind, Mapping[TableKind, str]] = {
    "sessions": {"sessions": "Sessions", "exposures": "Exposures (optional)"},
    "events": {"exposures": "Exposures", "events": "Events", "served": "Served lists (optional)"},
    "aggregates": {"aggregates": "Aggregates"},
}
"""Which tables a test can be uploaded as; those that are not optional make it."""
Tables = Mapping[TableKind, CheckedFile]


@dataclass(frozen=True)
class OnlineForm:
    """What was filled in for a test; ``links`` are {variant: run id}."""

    tables: Tables
    rules: OnlineRules
    name: str
    control: str
    links: Mapping[str, str]


def online_test(desk: UploadState, workspace: Workspace) -> None:
    experiment = choose_experiment(desk, workspace)
    if experiment is None:
        return
    st.subheader("1 · Files")
    kind = _kind(desk)
    files = files_in_columns(desk, FILES[kind])
    if lacking := _lacking(kind, files):
        st.caption(lacking)
        return
    st.subheader("2 · Columns and checks")
    zone = zone_box(desk) if kind != "aggregates" else None
    tables = {name: check_file(desk, workspace, name, file, zone=zone) for name, file in files.items()}
    if not all(table.is_usable for table in tables.values()):
        return
    st.subheader("3 · Rules, name and variants")
    rules = rules_form(desk, kind, has_exposures="exposures" in tables, zone=zone)
    form = _form(desk, workspace, experiment, tables, rules)
    if form is None:
        return
    st.subheader("4 · Store")
    if last_step("Store the online test", desk, tables.values(), bool(form.name)):
        _store(desk, workspace, experiment, form)


def _form(
    desk: UploadState, workspace: Workspace, experiment: Experiment, tables: Tables, rules: OnlineRules
) -> OnlineForm | None:
    """What the results as they would be leave to say; None after showing what is wrong."""
    trial = _trial(desk, workspace, tables, rules)
    if trial is None:
        return None
    rules = replace(rules, split=split_boxes(desk, trial.variants))
    trial = _trial(desk, workspace, tables, rules) or trial
    if told := [*_not_said(trial, tables), *(_left_out(one, trial.variants) for one in trial.removed)]:
        widgets.notices(told)
    return _fields(desk, workspace, experiment, tables, rules, trial)


def _not_said(trial: OnlineResults, tables: Tables) -> list[Problem]:
    """The notices that no file's own checks have shown above."""
    said = {(one.code, one.place) for table in tables.values() for one in table.preview.notices}
    return [one for one in trial.notices if (one.code, one.place) not in said]


def _left_out(removed: Removed, variants: Sequence[str]) -> Problem:
    """What a rule leaves out, in each variant."""
    counts = ", ".join(f"{one} {removed.by_variant.get(one, 0):,}" for one in variants)
    found = f"{removed.count:,} {removed.unit} {removed.what} ({counts})"
    return Problem(removed.rule, "left out", found, "", removed.count)


def _kind(desk: UploadState) -> OnlineKind:
    chosen: OnlineKind = st.segmented_control(
        "What was logged", list(KINDS), format_func=KINDS.__getitem__, default="sessions", required=True,
        key=desk.key("online_kind"),
        help="Sessions that were added up already, the events they come from, or only a summary.",
    )  # fmt: skip
    return chosen


def _lacking(kind: OnlineKind, files: Mapping[TableKind, object]) -> str:
    """Which files are still to come; empty when the test can be read."""
    needed = [label for name, label in FILES[kind].items() if "optional" not in label and name not in files]
    return f"Still needed: {' and '.join(needed).lower()}." if needed else ""


def _trial(
    desk: UploadState, workspace: Workspace, tables: Tables, rules: OnlineRules
) -> OnlineResults | None:
    """The results as they would be, for the names of the variants; None after showing what is wrong."""
    files = tuple((one.file.file_id, tuple(sorted((one.mapping or {}).items()))) for one in tables.values())
    key = ("trial", files, json.dumps(rules.as_dict(), sort_keys=True))
    found: OnlineResults | InputError = desk.remembered(key, lambda: _results(workspace, tables, rules))
    if isinstance(found, InputError):
        widgets.problems(found)
        return None
    return found


def _results(workspace: Workspace, tables: Tables, rules: OnlineRules) -> OnlineResults | InputError:
    try:
        with st.spinner("Counting by these rules"):
            return workspace.online_tests.try_online_test(
                _data(tables), rules=rules, mappings=_mappings(tables)
            )
    except InputError as error:
        return error


def _data(tables: Tables) -> dict[str, bytes]:
    return {kind: one.data for kind, one in tables.items()}


def _mappings(tables: Tables) -> dict[str, Mapping[str, str]]:
    return {kind: one.mapping or {} for kind, one in tables.items()}


def _fields(
    desk: UploadState,
    workspace: Workspace,
    experiment: Experiment,
    tables: Tables,
    rules: OnlineRules,
    trial: OnlineResults,
) -> OnlineForm:
    first = next(iter(tables.values()))
    name = st.text_input("Name of the test", stem(first.name), key=desk.key("online_name"), width=420)
    control: str = st.selectbox(
        "Control", trial.variants, index=trial.variants.index(trial.control), key=desk.key("control"),
        width=420, help="The variant that the others are compared with.",
    )  # fmt: skip
    links = link_boxes(desk.key("link"), workspace.runs.all(experiment.id), trial.variants, None)
    return OnlineForm(tables, rules, name.strip(), control, links)


def _stored(made: OnlineTest) -> Outcome:
    runs = tuple(made.links.values())
    return Outcome("stored", "online test", made.name, made.notices, made.experiment, runs, test=made.id)


def _store(desk: UploadState, workspace: Workspace, experiment: Experiment, form: OnlineForm) -> None:
    with st.status("Computing the results of each variant", expanded=True):
        try:
            made = workspace.online_tests.add_online_test(
                experiment.id, form.name, _data(form.tables), control=form.control, rules=form.rules,
                mappings=_mappings(form.tables), links=form.links,
            )  # fmt: skip
        except RecdashError as error:
            desk.outcomes.append(refused("online test", form.name, error, experiment.id))
        else:
            desk.outcomes.append(_stored(made))
            desk.next_turn()
    st.rerun()
