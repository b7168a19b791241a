"""The steps of an upload: files, columns with a preview, checks, names, and storing as the last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

from recdash.definitions.population_counts import known_truth_words, known_words
from recdash.domain.hits import IdOverlap
from recdash.domain.kinds import Replication, TableKind
from recdash.domain.records import Experiment
from recdash.errors import InputError, Problem, RecdashError, UploadError
from recdash.evaluation.known_ids import stopping
from recdash.formatting.html import Html, html, markdown
from recdash.formatting.tables import text_columns
from recdash.formatting.wording import capital
from recdash.ingest import Preview, get_ready
from recdash.service import AddedRun
from recdash.service.catalog.runs import FirstIds
from recdash.ui.app.state import workspace
from recdash.ui.components import widgets
from recdash.ui.components.parameters import params_from
from recdash.ui.components.templates import TEMPLATES, template_button
from recdash.ui.upload.state import Outcome, UploadState, stem

Progress = Callable[[float, str], object]
NOT_USED = ""
"""A role mapped to no column is left out, even where one would be guessed."""
FILE_ORDER = "\n"
"""Chosen in place of a score column where one is asked about; no column is called so."""
FURTHER: Mapping[TableKind, str] = {
    "exposures": "segment",
    "sessions": "segment or sum",
    "users": "attribute",
    "catalogue": "attribute",
}
"""What columns without a role are kept as."""


@dataclass(frozen=True)
class CheckedFile:
    """An uploaded file after the checks; ``mapping`` (role → column) is None where the guess stands."""

    name: str
    file: UploadedFile
    mapping: Mapping[str, str] | None
    preview: Preview

    @property
    def is_usable(self) -> bool:
        return not self.preview.problems

    @property
    def data(self) -> bytes:
        return self.file.getvalue()


@dataclass(frozen=True)
class Candidate:
    """One file of recommendations with what was written beside it; ``problems`` come from those fields.

    Of a candidate in several files, its folds or seeds (``kind``), ``others`` are the further ones. With
    ``is_rated`` the file holds rating predictions, and there are no lists.
    """

    checked: CheckedFile
    name: str
    tags: tuple[str, ...]
    note: str
    params: Mapping[str, str]
    predictions: CheckedFile | None
    problems: tuple[Problem, ...] = ()
    others: tuple[CheckedFile, ...] = ()
    labels: tuple[str, ...] = ()
    kind: Replication | None = None
    accept_unknown_ids: bool = False
    is_rated: bool = False

    @property
    def data(self) -> bytes | dict[str, bytes] | None:
        """The file of lists, or the files by label; None without lists."""
        if self.is_rated:
            return None
        if not self.others:
            return self.checked.data
        files = (self.checked, *self.others)
        return {label: file.data for label, file in zip(self.labels, files, strict=True)}

    @property
    def is_usable(self) -> bool:
        predictions = (self.predictions,) if self.predictions else ()
        files = (self.checked, *self.others, *predictions)
        return not self.problems and all(file.is_usable for file in files)


# ── files ────────────────────────────────────────────────────────────────────────────────────


def expect_files() -> None:
    """Start the process that reads files, while the visitor still looks for theirs."""
    get_ready()


# ── columns and checks ───────────────────────────────────────────────────────────────────────


def check_file(
    upload: UploadState, kind: TableKind, file: UploadedFile, *, zone: str | None = None
) -> CheckedFile:
    """A card of its own for ``file``: see :func:`show_file`."""
    with st.container(border=True, key=f"file_{kind}_{file.file_id}"):
        return show_file(upload, kind, file, zone=zone)


def show_file(
    upload: UploadState,
    kind: TableKind,
    file: UploadedFile,
    *,
    is_open: bool = True,
    zone: str | None = None,
) -> CheckedFile:
    """What was read from ``file``: format, columns (changeable), first rows, problems, notices."""
    guess = _preview(upload, kind, file, None, zone)
    widgets.section(f"{TEMPLATES[kind].title}: {file.name}", guess.format)
    mapping = _columns(guess, kind, file.file_id)
    preview = guess if mapping is None else _preview(upload, kind, file, mapping, zone)
    if preview.rows:
        with st.expander("First rows as read", expanded=is_open or bool(preview.problems)):
            st.html(rows_as_html(preview.columns, _read_as(preview), preview.rows))
    show_checks(preview.problems, preview.notices)
    return CheckedFile(file.name, file, mapping, preview)


def other_file(upload: UploadState, file: UploadedFile, mapping: Mapping[str, str] | None) -> CheckedFile:
    """A further file of a candidate, read with the columns of the first."""
    return CheckedFile(file.name, file, mapping, _preview(upload, "run", file, mapping))


def show_checks(problems: Sequence[Problem], notices: Sequence[Problem]) -> None:
    """All problems with place, found and fix; then the notices, or one line of good news."""
    if problems:
        widgets.problems(UploadError(problems))
    if notices or not problems:
        widgets.notices(notices, nothing="No problem found.")


def _preview(
    upload: UploadState,
    kind: TableKind,
    file: UploadedFile,
    mapping: Mapping[str, str] | None,
    zone: str | None = None,
) -> Preview:
    key = (kind, file.file_id, None if mapping is None else tuple(sorted(mapping.items())), zone)

    def read() -> Preview:
        with st.spinner("Reading the file"):
            return workspace().experiments.preview(
                kind, file.getvalue(), file.name, mapping=mapping, zone=zone
            )

    preview: Preview = upload.remembered(key, read)
    return preview


def _columns(preview: Preview, kind: TableKind, file_id: str) -> dict[str, str] | None:
    """One select box per role; None while they all show the guess."""
    if not preview.columns:
        return None
    roles = (*preview.required, *preview.optional)
    guess = {role: (preview.mapping or {}).get(role, NOT_USED) for role in roles}
    with st.container(horizontal=True, gap="small"):
        chosen = {
            role: _column_for(role, preview, guess[role], f"column_{kind}_{role}_{file_id}") for role in roles
        }
    if chosen == guess:
        return None
    return {role: NOT_USED if column == FILE_ORDER else column for role, column in chosen.items()}


def _column_for(role: str, preview: Preview, guess: str, key: str) -> str:
    required = role in preview.required
    reversible = preview.reversible if role == "score" else ()
    by_file = [FILE_ORDER] if role == "score" and _asks_for_scores(preview) else []
    options = [NOT_USED, *by_file, *(column for column in preview.columns if column), *reversible]
    nothing = "choose a column" if required else "not used"
    choice: str | None = st.selectbox(
        f"{role} (required)" if required else role,
        options,
        index=options.index(guess),
        key=key,
        width=190,
        format_func=lambda column: _column_name(column, reversible) or nothing,
        help=TEMPLATES[preview.kind].meaning(role),
    )
    return choice or NOT_USED


def _asks_for_scores(preview: Preview) -> bool:
    """Whether a column named like a score is unclear, so that the file may order the lists."""
    return any(problem.code == "unread-scores" for problem in preview.problems)


def _column_name(column: str, reversible: Sequence[str]) -> str:
    """The name of a column on the page: ``-distance`` reads as distance (least is best)."""
    if column == FILE_ORDER:
        return "none: the file orders the lists"
    return f"{column[1:]} (least is best)" if column in reversible else column


def _read_as(preview: Preview) -> dict[str, str]:
    """Column → what it is read as; those that are left out are not there."""
    left_out = {notice.place for notice in preview.notices if notice.code == "column-left-out"}
    further = FURTHER.get(preview.kind)
    read = {column: further for column in preview.columns if further and f"column '{column}'" not in left_out}
    for role, column in (preview.mapping or {}).items():
        name = column[1:] if column in preview.reversible else column  # -distance is the file's distance
        read[name] = role
    return read


def rows_as_html(columns: Sequence[str], roles: Mapping[str, str], rows: Sequence[Mapping[str, str]]) -> Html:
    """The first rows as a table; under each column's own name, what it is read as."""
    heads = []
    for column in columns:
        role = roles.get(column)
        read_as = widgets.toned(f"→ {role}", "same") if role else "not used"
        heads.append(html("{column}<br>{read_as}", column=column, read_as=read_as))
    cells = [[html("<bdi>{value}</bdi>", value=row.get(column, "")) for column in columns] for row in rows]
    return widgets.table_html(
        text_columns(*heads), cells, kind="rd-small", row_head=None, label="First rows as read"
    )


# ── ids ──────────────────────────────────────────────────────────────────────────────────────


def known_sentence(overlap: IdOverlap) -> str:
    """What the tables know of a run's ids, and the run of the truth's."""
    words = [known_words(overlap), known_truth_words(overlap)]
    return " ".join(f"{capital(text)}." for text in words if text)


def accepts_ids(upload: UploadState, experiment: str, checked: CheckedFile, name: str) -> bool:
    """Show how far the first rows' ids are those of the experiment; whether to score it all the same.

    Asked only where it would be refused, by what the first rows show or by what was found when it was scored.
    """
    key = ("ids", checked.file.file_id, experiment, tuple(sorted((checked.mapping or {}).items())))
    data, name_of, mapping = checked.data, checked.name, checked.mapping
    read = partial(workspace().runs.first_ids, experiment, data, name=name_of, mapping=mapping)
    first: FirstIds = upload.remembered(key, read)
    if first.overlap is not None:
        st.caption(f"In the first {first.rows:,} rows: {known_sentence(first.overlap)}")
    show_checks(first.problems, ())
    return _accepts(upload, name, checked.file.file_id, first.problems)


def _accepts(upload: UploadState, name: str, file_id: str, problems: Sequence[Problem] = ()) -> bool:
    """Whether unknown ids are accepted; asked only where problems are about ids."""
    before = [problem for outcome in upload.outcomes if outcome.name == name for problem in outcome.problems]
    if not stopping([*problems, *before]):
        return False
    label = "These ids are right: score it although they hardly meet truth, catalogue and train"
    return st.checkbox(label, key=f"accept_{file_id}")


# ── names, tags, parameters ──────────────────────────────────────────────────────────────────


def describe(
    upload: UploadState,
    file: UploadedFile,
    known_tags: Sequence[str],
    *,
    is_only: bool,
    name: str | None = None,
    experiment: str | None = None,
) -> Candidate:
    """One candidate's card: its file, then name, tags, note, parameters and rating predictions."""
    suggested, own = name or stem(file.name), "name" if name is None else "name_all"
    file_id = file.file_id
    with st.container(border=True, key=f"candidate_{file_id}"):
        checked = show_file(upload, "run", file, is_open=is_only)
        left, right = st.columns(2)
        name = left.text_input("Name", value=suggested, key=f"{own}_{file_id}", max_chars=200)
        tags = _tags(right, known_tags, file_id)
        with st.expander("Note, parameters, rating predictions"):
            note = st.text_area("Note", key=f"note_{file_id}", height=68)
            params, problems = _params(file_id)
            predictions = _predictions(upload, file_id)
        name = name.strip()
        accepts = False
        if experiment is not None and checked.is_usable:
            accepts = accepts_ids(upload, experiment, checked, name)
    filled_in = (checked, name, tags, note.strip(), params, predictions, problems)
    return Candidate(*filled_in, accept_unknown_ids=accepts)


def describe_rated(upload: UploadState, file: UploadedFile, known_tags: Sequence[str]) -> Candidate:
    """The card of a candidate that predicts ratings and has no lists: its file, name and tags."""
    file_id = file.file_id
    with st.container(border=True, key=f"rated_{file_id}"):
        checked = show_file(upload, "predictions", file)
        left, right = st.columns(2)
        name = left.text_input("Name", value=stem(file.name), key=f"name_{file_id}", max_chars=200).strip()
        tags = _tags(right, known_tags, file_id)
        accepts = _accepts(upload, name, file_id)
    return Candidate(checked, name, tags, "", {}, None, accept_unknown_ids=accepts, is_rated=True)


def _tags(place: DeltaGenerator, known: Sequence[str], file_id: str) -> tuple[str, ...]:
    key, placeholder = f"tags_{file_id}", "add tags"
    return tuple(place.multiselect("Tags", known, accept_new_options=True, key=key, placeholder=placeholder))


def _params(file_id: str) -> tuple[dict[str, str], tuple[Problem, ...]]:
    text = st.text_area(
        "Parameters",
        key=f"params_{file_id}",
        height=90,
        placeholder="factors = 64\nregularisation = 0.01",
        help="One per line: name = value.",
    )
    try:
        return params_from(text), ()
    except InputError as error:
        widgets.problems(error)
        return {}, error.problems


def _predictions(upload: UploadState, file_id: str) -> CheckedFile | None:
    file = st.file_uploader(
        "Rating predictions (optional)",
        key=f"predictions_{file_id}_{upload.turn}",
        help=TEMPLATES["predictions"].purpose,
    )
    template_button("predictions", file_id)
    return show_file(upload, "predictions", file) if file else None


# ── the last step ────────────────────────────────────────────────────────────────────────────


def last_step(
    label: str, upload: UploadState, parts: Iterable[CheckedFile | Candidate], is_named: bool
) -> bool:
    """The button that stores; it stays closed, and says why, until everything above is in order."""
    reason = "" if is_named else "Give it a name first."
    if any(not part.is_usable for part in parts):
        reason = "Nothing is stored yet: solve the problems above, or remove the files that have them."
    if reason:
        st.caption(reason)
    pressed = st.button(label, type="primary", key=upload.key("store"), disabled=bool(reason))
    if pressed:
        upload.outcomes.clear()
    return pressed


def store_candidates(upload: UploadState, experiment: Experiment, candidates: Sequence[Candidate]) -> None:
    """Score and store one after the other; each file stands or falls alone."""
    before = len(upload.outcomes)
    with st.status(f"Scoring {len(candidates)} candidates", expanded=True) as status:
        bar = st.progress(0.0)
        for number, candidate in enumerate(candidates):
            share = _share_of(bar, number, len(candidates))
            _store_candidate(upload, experiment, candidate, share)
            bar.progress((number + 1) / len(candidates))
        status.update(label="Done", state="complete")
    if any(outcome.state != "refused" for outcome in upload.outcomes[before:]):
        upload.next_turn()
    st.rerun()


def _share_of(bar: Any, number: int, n: int) -> Progress:
    """The part of ``bar`` that belongs to file ``number`` of ``n``."""
    return lambda fraction, text: bar.progress(min(1.0, (number + fraction) / n), text=text)


def _store_candidate(
    upload: UploadState, experiment: Experiment, candidate: Candidate, bar: Progress
) -> None:
    name = markdown(candidate.name)
    predictions = candidate.checked if candidate.is_rated else candidate.predictions

    def progress(fraction: float, text: str) -> None:
        bar(fraction, f"{name}: {text}")

    try:
        added = workspace().runs.add(
            experiment.id,
            candidate.data,
            name=candidate.name,
            mapping=None if candidate.is_rated else candidate.checked.mapping,
            predictions=predictions.data if predictions else None,
            predictions_mapping=predictions.mapping if predictions else None,
            tags=candidate.tags,
            note=candidate.note,
            params=candidate.params,
            replicates=candidate.kind,
            accept_unknown_ids=candidate.accept_unknown_ids,
            progress=progress,
        )
    except RecdashError as error:
        upload.outcomes.append(refused("candidate", candidate.name, error, experiment.id))
    else:
        upload.outcomes.extend(_added(run, experiment.id) for run in added)


def _added(added: AddedRun, experiment: str) -> Outcome:
    run = added.run
    if added.already_there:
        is_archived = run.archived is not None
        return Outcome("already", "candidate", run.name, (), experiment, (run.id,), is_archived)
    known = "" if run.overlap is None else known_sentence(run.overlap)
    return Outcome("stored", "candidate", run.name, run.notices, experiment, (run.id,), known=known)


def refused(what: str, name: str, error: RecdashError, experiment: str | None = None) -> Outcome:
    """An outcome that keeps every problem, or the error's one sentence where it has no parts."""
    problems = getattr(error, "problems", ()) or (Problem(type(error).__name__, what, str(error), ""),)
    return Outcome("refused", what, name, tuple(problems), experiment)
