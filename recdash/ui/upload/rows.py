"""A row per file: what it is, its columns, and whether it can be used; with details in which all can be
changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from recdash.definitions.population_counts import known_truth_words, known_words
from recdash.domain.hits import IdOverlap
from recdash.errors import InputError, Problem
from recdash.formatting.html import Html, as_label, html, markdown
from recdash.formatting.tables import text_columns
from recdash.formatting.wording import capital
from recdash.service.catalog.intake import KINDS, LISTS, FileChoice, PlannedFile
from recdash.ui.app.state import workspace
from recdash.ui.components import widgets
from recdash.ui.components.notice_words import role_name
from recdash.ui.components.parameters import params_from
from recdash.ui.components.templates import TEMPLATES
from recdash.ui.upload import words
from recdash.ui.upload.state import UploadState

NOT_READ = ""
"""The column of a role that must not be read, even if a column could be detected for it."""
FILE_ORDER = "\n"
"""The choice of the file's order in place of a score column; no column can have this name."""
SIGNS = {"good": ("✓", "better", "ok"), "bad": ("!", "worse", "problem"), "open": ("?", "worse", "unknown"),
         "unused": ("–", "muted", "not used")}  # fmt: skip
MOST_PROBLEMS = 3


def show(upload: UploadState, files: Sequence[PlannedFile]) -> None:
    """Draws a row per file with its problems, and the details of at most one file."""
    with st.container(border=True, gap=None, key="files"):
        for file in files:
            with st.container(gap=None, key=f"file_{file.key}"):
                _show_row(upload, file)
                if file.problems and not file.left_out:
                    _show_problems(file)
                if upload.opened == file.key:
                    _show_details(upload, file)


def _show_row(upload: UploadState, file: PlannedFile) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(row_html(file, upload.about(file)), width="stretch")
        with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
            _choose_kind(upload, file)
            label = "Hide" if upload.opened == file.key else "Details"
            about = f"Columns, first rows and more of {markdown(file.file_name)}"
            st.button(
                label,
                type="tertiary",
                key=f"open_{file.key}",
                help=about,
                on_click=upload.open,
                args=(file.key,),
            )


def row_html(file: PlannedFile, about: str) -> Html:
    """Returns the sign and name of a file, and below them ``about``."""
    sign, tone, word = SIGNS[words.state_of(file)]
    template = (
        '<div class="rd-file"><b class="rd-{tone}" role="img" aria-label="{word}">{sign}</b>'
        '<div><b title="{name}"><bdi>{name}</bdi></b><small>{about}</small></div></div>'
    )
    return html(template, tone=tone, word=word, sign=sign, name=file.file_name, about=about)


def _choose_kind(upload: UploadState, file: PlannedFile) -> None:
    titles: dict[str, str] = {str(kind): title for kind, title in KINDS.items()}
    titles[words.NOT_USED] = "Not used"
    if file.kind is None:
        titles = {words.UNKNOWN: "Choose …", **titles}
    elif file.kind not in titles:  # such as a log for the page Off-policy
        titles = {file.kind: TEMPLATES[file.kind].title, **titles}
    key = f"kind_{file.key}"
    st.session_state[key] = words.NOT_USED if file.left_out else file.kind or words.UNKNOWN

    def apply() -> None:
        chosen = st.session_state[key]
        if chosen == words.NOT_USED:
            upload.choose(file.key, left_out=True)
        elif chosen != words.UNKNOWN:
            upload.choose_kind(file.key, chosen)

    st.selectbox(
        f"What {as_label(file.file_name)} is",
        **widgets.titled(titles),
        key=key,
        on_change=apply,
        width=210,
        label_visibility="collapsed",
    )


def _show_problems(file: PlannedFile) -> None:
    lines = widgets.problem_list(map(words.for_page, file.problems[:MOST_PROBLEMS]))
    more = len(file.problems) - MOST_PROBLEMS
    st.error(lines + (f"\n- and {more} more: see Details" if more > 0 else ""))


# ── details ──────────────────────────────────────────────────────────────────────────────────


def _show_details(upload: UploadState, file: PlannedFile) -> None:
    with st.container(gap="small", key=f"details_{file.key}"):
        if file.sorted.reasons and not file.is_chosen:
            st.caption(" ".join(markdown(reason) for reason in file.sorted.reasons))
        if len(file.sheets) > 1:
            box = _bound(f"sheet_{file.key}", file.sheet, lambda value: upload.choose(file.key, sheet=value))
            st.selectbox("Sheet", file.sheets, **box, width=260)
        _choose_columns(upload, file)
        _show_first_rows(file)
        if len(file.problems) > MOST_PROBLEMS:
            st.error(widgets.problem_list(map(words.for_page, file.problems)))
        if notices := [words.noted(notice) for notice in file.notices if notice.code != "columns-guessed"]:
            widgets.notices(notices)
            st.caption("To refuse files with a notice: *Refuse files with* under *Advanced*.")
        if file.kind is not None and not file.left_out and upload.plan is not None:
            intake = workspace().intake
            widgets.download(
                "Download rejected rows",
                lambda: intake.rejects(upload.plan, file.key) if upload.plan else "",
                f"{file.run or file.file_name} rejected rows.csv",
                "text/csv",
                f"rejects_{file.key}",
                help="Rows that are not read, with their numbers and why, as CSV.",
            )
        if file.kind in LISTS and not file.left_out:
            _describe_candidate(upload, file)


def _bound(key: str, value: Any, change: Callable[[Any], None]) -> dict[str, Any]:
    """Returns the arguments of a widget that shows ``value``, and calls ``change`` with a new value."""
    st.session_state[key] = value
    return {"key": key, "on_change": lambda: change(st.session_state[key])}


def _choose_columns(upload: UploadState, file: PlannedFile) -> None:
    """Draws a select box per role; a change stores the mapping of all roles."""
    preview = file.preview
    if preview is None or not preview.columns or file.left_out:
        return
    roles = (*preview.required, *preview.optional)
    now = {role: file.mapping.get(role, NOT_READ) for role in roles}

    def change(role: str, column: str | None) -> None:
        mapping = {**now, role: NOT_READ if column in (None, FILE_ORDER) else str(column)}
        upload.choose(file.key, kind=file.kind, mapping=mapping)

    with st.container(horizontal=True, gap="small"):
        for role in roles:
            _column_of(file, role, now[role], partial(change, role))


def _column_of(file: PlannedFile, role: str, now: str, change: Callable[[Any], None]) -> None:
    preview = file.preview
    assert preview is not None  # noqa: S101 - drawn only with a preview
    required = role in preview.required
    reversible = preview.reversible if role == "score" else ()
    asked = role == "score" and any(problem.code == "unread-scores" for problem in preview.problems)
    options = [NOT_READ, *([FILE_ORDER] if asked else []), *filter(None, preview.columns), *reversible]
    if now not in options:  # a range of columns, such as rec_1 … rec_9
        options.append(now)
    nothing = "choose a column" if required else "not used"
    name = capital(role_name(role))
    st.selectbox(
        f"{name} (required)" if required else name,
        options,
        width=190,
        format_func=lambda column: column_name(column, reversible) or nothing,
        help=TEMPLATES[preview.kind].meaning(role),
        **_bound(f"column_{file.kind}_{role}_{file.key}", now, change),
    )


def column_name(column: str, reversible: Sequence[str]) -> str:
    """Returns the name of a column on the page; for ``-distance`` (least is best) it is distance with a
    remark.
    """
    if column == FILE_ORDER:
        return "none: the file orders the lists"
    return f"{column[1:]} (least is best)" if column in reversible else column


def _show_first_rows(file: PlannedFile) -> None:
    if file.preview is not None and file.preview.rows and not file.left_out:
        st.html(rows_as_html(file.preview.columns, read_as(file), file.preview.rows))


def read_as(file: PlannedFile) -> dict[str, str]:
    """Returns {column: what it is read as}, without columns that are left out; empty without a preview."""
    preview = file.preview
    if preview is None:
        return {}
    left_out = {notice.place for notice in file.notices if notice.code == "column-left-out"}
    further = words.FURTHER.get(preview.kind, "")
    read = {column: further for column in preview.columns if further and f"column '{column}'" not in left_out}
    read |= dict.fromkeys(file.segments or (), "segment")
    for role, column in file.mapping.items():
        read[words.column_read(column, preview.reversible)] = role_name(role)
    return read


def rows_as_html(columns: Sequence[str], roles: Mapping[str, str], rows: Sequence[Mapping[str, str]]) -> Html:
    """Returns the first rows as a table; below each column's name is what it is read as."""
    heads = []
    for column in columns:
        role = roles.get(column)
        read = widgets.toned(f"→ {role}", "same") if role else "not used"
        heads.append(html("{column}<br>{read}", column=column, read=read))
    cells = [[html("<bdi>{value}</bdi>", value=row.get(column, "")) for column in columns] for row in rows]
    return widgets.table_html(
        text_columns(*heads), cells, kind="rd-small", row_head=None, label="First rows as read"
    )


# ── a candidate ──────────────────────────────────────────────────────────────────────────────


def _describe_candidate(upload: UploadState, file: PlannedFile) -> None:
    """Draws name, tags, note and parameters of a candidate, and what is known about its ids."""
    choice = upload.plan.choice(file.key) if upload.plan else FileChoice()
    key = file.key
    with st.container(horizontal=True, gap="small"):
        named = _bound(f"name_{key}", file.run, lambda text: upload.choose(key, run=text.strip() or None))
        hint = (
            "Files of one name are folds or seeds of one candidate; predictions join the lists of their name."
        )
        st.text_input("Candidate", max_chars=200, width=330, help=hint, **named)
        tagged = _bound(f"tags_{key}", list(choice.tags), lambda tags: upload.choose(key, tags=tuple(tags)))
        known = sorted({*_known_tags(upload), *choice.tags})
        st.multiselect("Tags", known, accept_new_options=True, placeholder="add tags", width=330, **tagged)
    with st.container(horizontal=True, gap="small"):
        noted = _bound(f"note_{key}", choice.note, lambda text: upload.choose(key, note=text.strip()))
        st.text_area("Note", height=90, width=330, **noted)
        _fill_in_params(upload, file, choice)
    if file.first_ids is not None and file.first_ids.overlap is not None:
        said = known_sentence(file.first_ids.overlap)
        st.caption(f"In the first {file.first_ids.rows:,} rows: {said}")
    if file.asks_ids or choice.accept_ids:
        accepted = _bound(f"accept_{key}", choice.accept_ids, lambda yes: upload.choose(key, accept_ids=yes))
        st.checkbox("These ids are right: evaluate it although few of them are in the test set", **accepted)


def _known_tags(upload: UploadState) -> set[str]:
    experiment = upload.plan.experiment_id if upload.plan else None
    runs = workspace().runs.all(experiment, archived=True) if experiment else []
    return {tag for run in runs for tag in run.tags}


def _fill_in_params(upload: UploadState, file: PlannedFile, choice: FileChoice) -> None:
    key = f"params_{file.key}"
    st.session_state.setdefault(key, "\n".join(f"{name} = {value}" for name, value in choice.params.items()))

    def apply() -> None:
        try:
            params = params_from(st.session_state[key])
        except InputError as error:
            upload.form_problems[key] = error.problems
        else:
            upload.form_problems.pop(key, None)
            upload.choose(file.key, params=params)

    st.text_area(
        "Parameters",
        key=key,
        on_change=apply,
        height=90,
        width=330,
        placeholder="factors = 64\nregularisation = 0.01",
        help="One per line: name = value.",
    )
    problems: Sequence[Problem] = upload.form_problems.get(key, ())
    if problems:
        widgets.problems(InputError(problems))


def known_sentence(overlap: IdOverlap) -> str:
    """Returns sentences on how many of the run's ids the tables know, and how many of the test set's the run
    has.
    """
    sentences = [known_words(overlap), known_truth_words(overlap)]
    return " ".join(f"{capital(text)}." for text in sentences if text)
