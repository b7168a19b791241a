"""The steps of an upload: files, columns with a preview, checks, names, and storing as the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from recdash.domain import Experiment, TableKind
from recdash.errors import InputError, Problem, RecdashError, UploadError
from recdash.ui import escaping, widgets
from recdash.ui.escaping import Html, html, join
from recdash.ui.table_templates import TEMPLATES
from recdash.ui.upload_desk import Desk, Outcome, params_from, stem

GUESS, NO_RELEVANCE = "guess", "none"


@dataclass(frozen=True)
class CheckedFile:
    """An uploaded file after the checks; ``mapping`` (role → column) is None where the guess stands."""

    name: str
    file: UploadedFile
    mapping: Mapping[str, str] | None
    preview: Any

    @property
    def is_usable(self) -> bool:
        return not self.preview.problems

    @property
    def data(self) -> bytes:
        return self.file.getvalue()


@dataclass(frozen=True)
class Candidate:
    """One file of recommendations with what was written beside it; ``problems`` come from those fields."""

    checked: CheckedFile
    name: str
    tags: tuple[str, ...]
    note: str
    params: Mapping[str, str]
    predictions: CheckedFile | None
    problems: tuple[Problem, ...] = ()

    @property
    def is_usable(self) -> bool:
        files = (self.checked, self.predictions) if self.predictions else (self.checked,)
        return not self.problems and all(file.is_usable for file in files)


# ── files ────────────────────────────────────────────────────────────────────────────────────


def template_button(kind: str, key: str) -> None:
    template = TEMPLATES[kind]
    st.download_button(
        f"↓ Template: {template.title.lower()}",
        template.text,
        file_name=template.file_name,
        mime="text/csv",
        key=f"template_{key}_{kind}",
        type="tertiary",
        on_click="ignore",
        help="A small CSV with the columns and a few rows. Opens in any spreadsheet.",
    )


def one_file(desk: Desk, kind: TableKind, label: str) -> UploadedFile | None:
    with st.container(gap="xsmall"):
        file = st.file_uploader(label, key=desk.key(kind), help=TEMPLATES[kind].purpose)
        template_button(kind, "one")
    return file


# ── columns and checks ───────────────────────────────────────────────────────────────────────


def check_file(desk: Desk, workspace: Any, kind: TableKind, file: UploadedFile) -> CheckedFile:
    """Show what was read from ``file``: format, columns (changeable), first rows, problems, notices."""
    with st.container(border=True, key=f"file_{kind}_{file.file_id}"):
        guess = _preview(desk, workspace, kind, file, None)
        widgets.section(f"{TEMPLATES[kind].title}: {file.name}", guess.format)
        mapping = _columns(guess, kind, file.file_id)
        preview = guess if mapping is None else _preview(desk, workspace, kind, file, mapping)
        if preview.rows:
            st.html(rows_as_html(preview.columns, preview.mapping, preview.rows))
        show_checks(preview.problems, preview.notices)
    return CheckedFile(file.name, file, mapping, preview)


def show_checks(problems: Sequence[Problem], notices: Sequence[Problem]) -> None:
    """All problems with place, found and fix; then the notices, or one line of good news."""
    if problems:
        widgets.problems(UploadError(problems))
    if notices or not problems:
        widgets.notices(notices, nothing="No problem found.")


def _preview(
    desk: Desk, workspace: Any, kind: TableKind, file: UploadedFile, mapping: Mapping[str, str] | None
) -> Any:
    key = (kind, file.file_id, None if mapping is None else tuple(sorted(mapping.items())))
    return desk.remembered(key, lambda: workspace.preview(kind, file.getvalue(), file.name, mapping=mapping))


def _columns(preview: Any, kind: TableKind, file_id: str) -> dict[str, str] | None:
    """One select box per role; None while they all show the guess."""
    if not preview.columns:
        return None
    chosen: dict[str, str] = {}
    with st.container(horizontal=True, gap="small"):
        for role in (*preview.required, *preview.optional):
            column = _column_for(role, preview, f"column_{kind}_{role}_{file_id}")
            if column is not None:
                chosen[role] = column
    return None if chosen == dict(preview.mapping) else chosen


def _column_for(role: str, preview: Any, key: str) -> str | None:
    required = role in preview.required
    options: list[str | None] = [None, *preview.columns]
    choice: str | None = st.selectbox(
        f"{role} (required)" if required else role,
        options,
        index=options.index(preview.mapping.get(role)) if preview.mapping.get(role) in options else 0,
        format_func=lambda column: column or ("choose a column" if required else "not used"),
        key=key,
        width=190,
    )
    return choice


def rows_as_html(
    columns: Sequence[str], mapping: Mapping[str, str], rows: Sequence[Mapping[str, str]]
) -> Html:
    """The first rows as a table; under each column's own name, what it is read as."""
    roles = {column: role for role, column in mapping.items()}
    head = join([_head(column, roles.get(column)) for column in columns])
    body = join([_row([row.get(column, "") for column in columns]) for row in rows])
    return html(
        '<div class="rd-scroll" tabindex="0" role="region" aria-label="First rows as read">'
        '<table class="rd-table rd-preview"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>',
        head=head, body=body,
    )  # fmt: skip


def _head(column: str, role: str | None) -> Html:
    read_as = html('<span class="rd-same">→ {role}</span>', role=role) if role else html("not used")
    return html("<th>{column}<br>{read_as}</th>", column=column, read_as=read_as)


def _row(values: Sequence[object]) -> Html:
    cells = join([html("<td><bdi>{value}</bdi></td>", value=value) for value in values])
    return html("<tr>{cells}</tr>", cells=cells)


# ── names, tags, parameters ──────────────────────────────────────────────────────────────────


def describe(desk: Desk, workspace: Any, checked: CheckedFile, known_tags: Sequence[str]) -> Candidate:
    """Name, tags, note, parameters and rating predictions of one file."""
    file_id = checked.file.file_id
    with st.container(border=True, key=f"describe_{file_id}"):
        widgets.section(checked.name)
        left, right = st.columns(2)
        name = left.text_input("Name", value=stem(checked.name), key=f"name_{file_id}", max_chars=200)
        tags = right.multiselect(
            "Tags", known_tags, accept_new_options=True, key=f"tags_{file_id}", placeholder="add tags"
        )
        with st.expander("Note, parameters, rating predictions"):
            note = st.text_area("Note", key=f"note_{file_id}", height=68)
            params, problems = _params(file_id)
            predictions = _predictions(desk, workspace, file_id)
    return Candidate(checked, name.strip(), tuple(tags), note.strip(), params, predictions, problems)


def _params(file_id: str) -> tuple[dict[str, str], tuple[Problem, ...]]:
    text = st.text_area(
        "Parameters", key=f"params_{file_id}", height=90, placeholder="factors = 64\nregularisation = 0.01",
        help="One per line: name = value.",
    )  # fmt: skip
    try:
        return params_from(text), ()
    except InputError as error:
        widgets.problems(error)
        return {}, error.problems


def _predictions(desk: Desk, workspace: Any, file_id: str) -> CheckedFile | None:
    file = st.file_uploader(
        "Rating predictions (optional)",
        key=f"predictions_{file_id}_{desk.turn}",
        help=TEMPLATES["predictions"].purpose,
    )
    template_button("predictions", file_id)
    return check_file(desk, workspace, "predictions", file) if file else None


# ── the last step ────────────────────────────────────────────────────────────────────────────


def store_candidates(
    desk: Desk, workspace: Any, experiment: Experiment, candidates: Sequence[Candidate]
) -> None:
    """Score and store one after the other; each file stands or falls alone."""
    before = len(desk.outcomes)
    with st.status(f"Scoring {len(candidates)} candidates", expanded=True) as status:
        bar = st.progress(0.0)
        for number, candidate in enumerate(candidates):
            _store_candidate(desk, workspace, experiment, candidate, bar, number / len(candidates))
            bar.progress((number + 1) / len(candidates))
        status.update(label="Done", state="complete")
    if any(outcome.state != "refused" for outcome in desk.outcomes[before:]):
        desk.next_turn()
    st.rerun()


def _store_candidate(
    desk: Desk, workspace: Any, experiment: Experiment, candidate: Candidate, bar: Any, start: float
) -> None:
    shown = escaping.markdown(candidate.name)
    predictions = candidate.predictions

    def progress(fraction: float, text: str) -> None:
        bar.progress(min(1.0, start + fraction * (1.0 - start)), text=f"{shown}: {text}")

    try:
        added = workspace.add_runs(
            experiment.id,
            candidate.checked.data,
            name=candidate.name,
            mapping=candidate.checked.mapping,
            predictions=predictions.data if predictions else None,
            tags=candidate.tags,
            note=candidate.note,
            params=candidate.params,
            progress=progress,
        )
    except RecdashError as error:
        desk.outcomes.append(refused("candidate", candidate.name, error, experiment.id))
    else:
        desk.outcomes.extend(_added(one, experiment.id) for one in added)


def _added(added: Any, experiment: str) -> Outcome:
    run = added.run
    if added.already_there:
        return Outcome("already", "candidate", run.name, experiment=experiment, runs=(run.id,))
    return Outcome("stored", "candidate", run.name, run.notices, experiment, (run.id,))


def refused(what: str, name: str, error: RecdashError, experiment: str | None = None) -> Outcome:
    """An outcome that keeps every problem, or the error's one sentence where it has no parts."""
    problems = getattr(error, "problems", ()) or (Problem(type(error).__name__, what, str(error), ""),)
    return Outcome("refused", what, name, tuple(problems), experiment)
