"""Several files as the folds or seeds of one candidate, on the Upload page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from recdash.domain.kinds import Replication
from recdash.evaluation.uploads import labels_of, shared_name
from recdash.formatting import html
from recdash.ui.components import widgets
from recdash.ui.upload.state import UploadState, stem
from recdash.ui.upload.steps import Candidate, describe, other_file, show_checks

Meaning = Literal["each", "seeds", "folds"]
MEANINGS: dict[Meaning, str] = {
    "each": "one candidate each",
    "seeds": "seeds of one candidate",
    "folds": "folds of one candidate",
}
HELP = (
    "Seeds serve the same users again: the candidate is their mean, user by user. Folds divide the users: "
    "each file has lists for users of its own. Either way the spread over the files is shown."
)


def meaning(upload: UploadState, n_files: int) -> Meaning:
    """What several files are to each other; asked only where there are several."""
    if n_files < 2:
        return "each"
    chosen: Meaning = widgets.one_of("These files are", MEANINGS, "each", upload.key("meaning"), HELP)
    return chosen


def describe_all(
    upload: UploadState,
    files: Sequence[UploadedFile],
    known_tags: Sequence[str],
    experiment: str | None = None,
) -> list[Candidate]:
    """A card per candidate: one for each file, or one for all of them."""
    kind = meaning(upload, len(files))
    if kind == "each":
        only = len(files) == 1
        return [describe(upload, file, known_tags, is_only=only, experiment=experiment) for file in files]
    return [_together(upload, files, known_tags, kind, experiment)]


def _together(
    upload: UploadState,
    files: Sequence[UploadedFile],
    known_tags: Sequence[str],
    kind: Replication,
    experiment: str | None = None,
) -> Candidate:
    """The first file's columns are those of all; the others are checked with them."""
    names = [stem(file.name) for file in files]
    shared = shared_name(names) or names[0]
    candidate = describe(upload, files[0], known_tags, is_only=True, name=shared, experiment=experiment)
    labels, others = labels_of([file.name for file in files]), []
    with st.container(border=True, key=f"others_{files[0].file_id}"):
        st.caption(f"The other {kind}, read with the columns of the first:")
        for label, file in zip(labels[1:], files[1:], strict=True):
            checked = other_file(upload, file, candidate.checked.mapping)
            where, title = html.markdown(file.name), html.markdown(label)
            st.markdown(f"**{kind[:-1]} {title}**: {where}")
            show_checks(checked.preview.problems, checked.preview.notices)
            others.append(checked)
    return replace(candidate, others=tuple(others), labels=tuple(labels), kind=kind)
