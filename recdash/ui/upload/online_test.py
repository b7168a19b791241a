"""An online test from its files to the last step, and the boxes that link variants to runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from recdash.domain.kinds import OnlineKind, TableKind
from recdash.domain.records import Experiment
from recdash.errors import InputError, Problem, RecdashError
from recdash.online import OnlineResults, OnlineRules
from recdash.online.users import Removed
from recdash.ui.app.state import workspace
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


def online_test(upload: UploadState) -> None:
    experiment = choose_experiment(upload)
    if experiment is None:
        return
    st.subheader("1 · Files")
    hint = "Sessions that were added up already, the events they come from, or only a summary."
    key = upload.key("online_kind")
    kind: OnlineKind = widgets.one_of("What was logged", KINDS, "sessions", key, hint)
    files = files_in_columns(upload, FILES[kind])
    missing = [label for name, label in FILES[kind].items() if "optional" not in label and name not in files]
    if missing:
        st.caption(f"Still needed: {' and '.join(missing).lower()}.")
        return
    st.subheader("2 · Columns and checks")
    zone = zone_box(upload) if kind != "aggregates" else None
    tables = {name: check_file(upload, name, file, zone=zone) for name, file in files.items()}
    if not all(table.is_usable for table in tables.values()):
        return
    st.subheader("3 · Rules, name and variants")
    rules = rules_form(upload, kind, has_exposures="exposures" in tables, zone=zone)
    form = _form(upload, experiment, tables, rules)
    if form is None:
        return
    st.subheader("4 · Store")
    if last_step("Store the online test", upload, tables.values(), bool(form.name)):
        _store(upload, experiment, form)


def _form(
    upload: UploadState, experiment: Experiment, tables: Tables, rules: OnlineRules
) -> OnlineForm | None:
    """The rest of the form, after a trial run; None after showing what is wrong."""
    trial = _trial(upload, tables, rules)
    if trial is None:
        return None
    rules = replace(rules, split=split_boxes(upload, trial.variants))
    trial = _trial(upload, tables, rules) or trial
    of_tables = {(notice.code, notice.place) for table in tables.values() for notice in table.preview.notices}
    notices = [notice for notice in trial.notices if (notice.code, notice.place) not in of_tables]
    if notices := [*notices, *(_left_out(removed, trial.variants) for removed in trial.removed)]:
        widgets.notices(notices)
    first = next(iter(tables.values()))
    name = st.text_input("Name of the test", stem(first.name), key=upload.key("online_name"), width=420)
    control: str = st.selectbox(
        "Control",
        trial.variants,
        index=trial.variants.index(trial.control),
        key=upload.key("control"),
        width=420,
        help="The variant that the others are compared with.",
    )
    links = link_boxes(upload.key("link"), workspace().runs.all(experiment.id), trial.variants, None)
    return OnlineForm(tables, rules, name.strip(), control, links)


def _left_out(removed: Removed, variants: Sequence[str]) -> Problem:
    """What a rule leaves out, in each variant."""
    counts = ", ".join(f"{variant} {removed.by_variant.get(variant, 0):,}" for variant in variants)
    text = f"{removed.count:,} {removed.unit} {removed.what} ({counts})"
    return Problem(removed.rule, "left out", text, "", removed.count)


def _trial(upload: UploadState, tables: Tables, rules: OnlineRules) -> OnlineResults | None:
    """The results as they would be, for the names of the variants; None after showing what is wrong."""

    def results() -> OnlineResults | InputError:
        try:
            with st.spinner("Counting by these rules"):
                data, mappings = _data(tables), _mappings(tables)
                return workspace().online_tests.preview(data, rules=rules, mappings=mappings)
        except InputError as error:
            return error

    files = [(table.file.file_id, tuple(sorted((table.mapping or {}).items()))) for table in tables.values()]
    key = ("trial", tuple(files), json.dumps(rules.as_dict(), sort_keys=True))
    trial: OnlineResults | InputError = upload.remembered(key, results)
    if isinstance(trial, InputError):
        widgets.problems(trial)
        return None
    return trial


def _data(tables: Tables) -> dict[str, bytes]:
    return {kind: table.data for kind, table in tables.items()}


def _mappings(tables: Tables) -> dict[str, Mapping[str, str]]:
    return {kind: table.mapping or {} for kind, table in tables.items()}


def _store(upload: UploadState, experiment: Experiment, form: OnlineForm) -> None:
    with st.status("Computing the results of each variant", expanded=True):
        try:
            test = workspace().online_tests.add(
                experiment.id,
                form.name,
                _data(form.tables),
                control=form.control,
                rules=form.rules,
                mappings=_mappings(form.tables),
                links=form.links,
            )
        except RecdashError as error:
            upload.outcomes.append(refused("online test", form.name, error, experiment.id))
        else:
            about = (test.name, test.notices, test.experiment, tuple(test.links.values()))
            upload.outcomes.append(Outcome("stored", "online test", *about, test=test.id))
            upload.next_turn()
    st.rerun()
