"""The three flows of an upload, each from its files to the last step, and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from recdash.definitions.conventions import POPULATION
from recdash.domain.defaults import FIRST_CANDIDATES
from recdash.domain.kinds import DEFAULT_DEPTH, Duplicates, TableKind, Users
from recdash.domain.records import Experiment
from recdash.errors import Problem, RecdashError
from recdash.formatting import html
from recdash.ui.app import cached as data
from recdash.ui.app import links, state
from recdash.ui.app.state import workspace
from recdash.ui.components import widgets
from recdash.ui.components.templates import TEMPLATES, template_button
from recdash.ui.upload.replicates import describe_all
from recdash.ui.upload.state import Outcome, UploadState, stem
from recdash.ui.upload.steps import (
    CheckedFile,
    check_file,
    describe_rated,
    last_step,
    refused,
    store_candidates,
)

REPEATED_ITEMS: Mapping[Duplicates, str] = {
    "first": "first: it counts once, at its better place",
    "keep": "keep: it counts at each place",
}
MAIN: Mapping[TableKind, str] = {
    "truth": "Truth",
    "train": "Train (optional)",
    "catalogue": "Catalogue (optional)",
}
FURTHER: tuple[TableKind, ...] = ("users", "vectors", "similarity")


@dataclass(frozen=True)
class ExperimentForm:
    """What was filled in; ``relevance`` "none" makes every row of the truth relevant."""

    name: str
    note: str
    depth: int
    relevance: str | None
    threshold: float | None
    users: Users
    duplicates: Duplicates


# ── what came of it ──────────────────────────────────────────────────────────────────────────


def show_outcomes(upload: UploadState) -> None:
    """One message per file of the last step, and the way to the numbers."""
    for outcome in upload.outcomes:
        _show(outcome)
    stored = [outcome for outcome in upload.outcomes if outcome.state != "refused"]
    if stored:
        _see_it(stored[-1], [run for outcome in stored for run in outcome.runs])


def _show(outcome: Outcome) -> None:
    name = html.markdown(outcome.name)
    if outcome.state == "refused":
        lines = "\n".join(f"- {widgets.problem_text(problem)}" for problem in outcome.problems)
        st.error(f"The {outcome.what} **{name}** was refused. Nothing of it was stored.\n\n{lines}")
    elif outcome.state == "already":
        where = " It is archived; restore it under Runs." if outcome.is_archived else ""
        st.info(f"This {outcome.what} is already there, as **{name}**. Nothing was stored twice.{where}")
    else:
        st.success(f"Stored the {outcome.what} **{name}**. {outcome.known}".rstrip())
        if outcome.problems:
            widgets.notices(outcome.problems)


def _see_it(last: Outcome, runs: Sequence[str]) -> None:
    experiment = str(last.experiment)
    if last.what == "experiment":
        st.caption("Next: add its candidates below.")
    elif last.what == "online test":
        with st.container(horizontal=True):
            page = "ab-results" if st.button("See A/B results", type="primary", key="see-ab-results") else ""
            if last.runs and st.button("See Offline vs online", key="see-offline-online"):
                page = "offline-online"
        if page:
            state.show_experiment(experiment)
            state.choose(t=last.test)
            links.go(page)
    elif st.button("See it", type="primary", key="see-it"):
        state.show_experiment(experiment)
        if len(workspace().runs.all(experiment)) > FIRST_CANDIDATES + 1:
            state.choose(c=state.SEPARATOR.join(runs[:FIRST_CANDIDATES]) or None)
        links.go("leaderboard")


# ── a new experiment ─────────────────────────────────────────────────────────────────────────


def new_experiment(upload: UploadState) -> None:
    st.subheader("1 · Files")
    files = files_in_columns(upload, MAIN)
    with st.expander("Further tables (optional): user attributes, item vectors, item similarities"):
        files |= files_in_columns(upload, {kind: TEMPLATES[kind].title for kind in FURTHER})
    if "truth" not in files:
        st.caption("Start with the truth: the rows that were held out.")
        return
    st.subheader("2 · Columns and checks")
    checked = {kind: check_file(upload, kind, file) for kind, file in files.items()}
    st.subheader("3 · Name and definitions")
    form = _experiment_form(upload, checked["truth"])
    st.subheader("4 · Store")
    if last_step("Create the experiment", upload, checked.values(), bool(form.name)):
        _create(upload, checked, form)


def files_in_columns(upload: UploadState, labels: Mapping[TableKind, str]) -> dict[TableKind, UploadedFile]:
    """One uploader per kind, up to three side by side."""
    files: dict[TableKind, UploadedFile] = {}
    for column, (kind, label) in zip(st.columns(3), labels.items(), strict=False):
        with column, st.container(gap="xsmall"):
            file = st.file_uploader(label, key=upload.key(kind), help=TEMPLATES[kind].purpose)
            template_button(kind, "one")
        if file is not None:
            files[kind] = file
    return files


def _experiment_form(upload: UploadState, truth: CheckedFile) -> ExperimentForm:
    left, middle, right = st.columns(3)
    name = left.text_input(
        "Name of the experiment", value=stem(truth.name), key=upload.key("experiment_name")
    )
    note = left.text_input("Note", key=upload.key("experiment_note"))
    with middle:
        relevance, threshold = _relevance(upload, truth)
    depth = right.number_input(
        "Depth",
        min_value=1,
        max_value=10_000,
        value=DEFAULT_DEPTH,
        step=10,
        key=upload.key("depth"),
        help="The longest cutoff k that is kept.",
    )
    with st.expander("Advanced settings: who counts, repeated items"):
        users = st.selectbox(
            "Users who count",
            **widgets.titled({rule: f"{rule}: {meaning}" for rule, meaning in POPULATION.items()}),
            key=upload.key("users_rule"),
            help="For accuracy. The rule of an experiment is fixed.",
        )
        duplicates = st.selectbox(
            "An item that a list repeats",
            **widgets.titled(REPEATED_ITEMS),
            key=upload.key("duplicates_rule"),
        )
    return ExperimentForm(name.strip(), note.strip(), int(depth), relevance, threshold, users, duplicates)


def _relevance(upload: UploadState, truth: CheckedFile) -> tuple[str | None, float | None]:
    """How rows of the truth count: (None for the mapped column, or "none"; the least relevance)."""
    column = (truth.preview.mapping or {}).get("relevance")
    titles = {"column": f"by {html.markdown(column)}"} if column else {}
    titles |= {"none": "every row is relevant"}
    hint = "By a column: its values are the gains of nDCG, and rows above 0 are relevant."
    key = f"{upload.key('relevance')}_{column}"
    chosen = widgets.one_of("Relevance", titles, next(iter(titles)), key, hint)
    threshold = st.number_input(
        "Relevant from (optional)",
        value=None,
        key=upload.key("threshold"),
        disabled=chosen == "none",
        placeholder="above 0",
        help="Rows with at least this relevance count as relevant.",
    )
    return ("none", None) if chosen == "none" else (None, threshold)


def _create(
    upload: UploadState,
    checked: Mapping[TableKind, CheckedFile],
    fields: ExperimentForm,
) -> None:
    data = {kind: file.data for kind, file in checked.items()}
    known = {experiment.id for experiment in workspace().experiments.all(archived=True)}
    with st.status("Reading and storing the tables", expanded=True):
        try:
            experiment = workspace().experiments.create(
                fields.name,
                data["truth"],
                train=data.get("train"),
                catalogue=data.get("catalogue"),
                user_attributes=data.get("users"),
                item_vectors=data.get("vectors"),
                item_similarity=data.get("similarity"),
                relevance=fields.relevance,
                relevance_threshold=fields.threshold,
                depth=fields.depth,
                users=fields.users,
                duplicates=fields.duplicates,
                note=fields.note,
                mappings={kind: file.mapping for kind, file in checked.items() if file.mapping is not None},
            )
        except RecdashError as error:
            upload.outcomes.append(refused("experiment", fields.name, error))
        else:
            upload.outcomes.append(_created(experiment, already=experiment.id in known))
            upload.next_turn()
            state.show_experiment(experiment.id)
            state.choose(add="candidates")
    st.rerun()


def _created(experiment: Experiment, *, already: bool) -> Outcome:
    """The outcome of creating an experiment; ``already``: one of the same name and content was there."""
    outcome = Outcome("stored", "experiment", experiment.name, experiment=experiment.id)
    if already:
        return replace(outcome, state="already", is_archived=experiment.archived is not None)
    notices = experiment.settings.get("notices", ())
    return replace(outcome, problems=tuple(Problem(**notice) for notice in notices))


# ── candidates ───────────────────────────────────────────────────────────────────────────────


def candidates(upload: UploadState) -> None:
    experiment = choose_experiment(upload)
    if experiment is None:
        return
    st.subheader("1 · Files")
    files = st.file_uploader(
        "Recommendations, one file per candidate, fold or seed",
        accept_multiple_files=True,
        key=upload.key("run"),
    )
    template_button("run", "many")
    with st.expander("Candidates that predict ratings and have no lists"):
        rated = st.file_uploader(
            "Rating predictions, one file per candidate",
            accept_multiple_files=True,
            key=upload.key("rated"),
            help=TEMPLATES["predictions"].purpose,
        )
        template_button("predictions", "many")
    if not files and not rated:
        return
    st.subheader("2 · Columns, checks, names")
    tags = sorted({tag for run in workspace().runs.all(experiment.id, archived=True) for tag in run.tags})
    described = describe_all(upload, files, tags, experiment.id) if files else []
    described += [describe_rated(upload, file, tags) for file in rated]
    st.subheader("3 · Score")
    n = len(described)
    label = "Score and store the candidate" if n == 1 else f"Score and store {n} candidates"
    if last_step(label, upload, described, all(candidate.name for candidate in described)):
        store_candidates(upload, experiment, described)


def choose_experiment(upload: UploadState) -> Experiment | None:
    experiments = {experiment.id: experiment for experiment in workspace().experiments.all()}
    names = {experiment.id: experiment.name for experiment in experiments.values()}
    if not experiments:
        st.info("There is no experiment yet. Add one first: the truth to score candidates against.")
        return None
    wanted, key = state.params().get("e"), upload.key("for_experiment")
    return experiments[widgets.pick("Experiment", names, wanted, key, width=420)]


# ── demo ─────────────────────────────────────────────────────────────────────────────────────


def demo() -> None:
    """Load or remove the demo, and take away a file that the checks refuse."""
    widgets.section("Demo", "A small film service: five candidates, two of them tied, and an online test.")
    with st.container(horizontal=True):
        if workspace().demo.exists():
            if st.button("Remove the demo", key="upload-remove-demo"):
                workspace().demo.remove()
                state.choose(e=None, b=None, c=None, t=None)
                st.toast("The demo is removed.")
                st.rerun()
        elif st.button("Load the demo", key="upload-load-demo"):
            experiment = workspace().demo.load(progress=data.progress("Making the demo"))
            state.show_experiment(experiment.id)
            links.go("overview")
        hint = "Recommendations with common mistakes. Add it as a candidate to see the checks."
        name = "recdash-broken-run.csv"
        widgets.download("A broken file", _broken_file, name, "text/csv", "broken-file", help=hint)


def _broken_file() -> bytes:
    from recdash.demo import film_service

    return film_service.make().broken_csv
