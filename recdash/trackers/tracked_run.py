"""A run as an experiment tracker has it, in the words of recdash."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from recdash.errors import InputError, Problem
from recdash.formatting.sanitize import WORD_JOINER, is_visible, visible, visible_lines
from recdash.formatting.wording import cut_inside

ID_SHOWN = 8
"""Characters of a run's id that tell runs of the same name apart."""
LONGEST = 200
"""Largest number of characters of a name or a tag."""
MOST_PARAMS = 1_000
LONGEST_VALUE, DEEPEST = 6_000, 20
"""Largest number of characters of a nested parameter, and how deep it may be nested."""
MOST_FILES = 1_000
"""Largest number of artifacts of a run that are looked at."""
TABLE = re.compile(r"\.(csv|tsv|parquet|pq|jsonl|ndjson|table\.json)(\.gz|\.zip)?$", re.IGNORECASE)
"""Pattern of file names that are taken for tables if no artifact is named."""


@dataclass(frozen=True)
class TrackedFile:
    """An artifact: its path in the run, and the file in which it lies here."""

    path: str
    file: Path

    @property
    def sha256(self) -> str:
        with self.file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()


@dataclass(frozen=True)
class TrackedRun:
    """A run of a tracker: its id there, what its people wrote about it, and its tables.

    ``why_not`` says why it cannot be imported, "" if it can; ``remark`` is what is unknown about it.
    """

    tracker: str
    id: str
    name: str
    params: Mapping[str, str] = field(default_factory=dict)
    tags: Sequence[str] = ()
    note: str = ""
    files: Sequence[TrackedFile] = ()
    why_not: str = ""
    remark: str = ""


def name_of(text: str) -> str:
    """Returns a name or tag that recdash takes: on one line, with control and invisible characters written
    out; "" if nothing of it is visible.
    """
    clean = cut_inside(visible(text).replace(WORD_JOINER, "\\u2060").strip(), LONGEST)
    return clean if is_visible(clean) else ""


def tags_of(tags: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Returns tags with a value as ``name=value``, and those without one as ``name``."""
    texts = (name_of(f"{name}={value}" if value else name) for name, value in tags)
    return tuple(dict.fromkeys(filter(None, texts)))


def params_of(params: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns parameters with control characters written out, and no more than recdash takes."""
    pairs = islice(((visible(name).strip(), visible(value)) for name, value in params), MOST_PARAMS)
    return {name: value for name, value in pairs if is_visible(name)}


def chosen_paths(paths: Iterable[str], artifacts: Sequence[str]) -> list[str]:
    """Returns the paths that are those of ``artifacts`` or lie in folders of these names; without
    ``artifacts``, those that are named like a table.
    """
    if not artifacts:
        return [path for path in paths if TABLE.search(path)]
    wanted = [artifact.strip("/") for artifact in artifacts]
    return [
        path
        for path in paths
        if any(path == artifact or path.startswith(f"{artifact}/") for artifact in wanted)
    ]


def without_tables(artifacts: Sequence[str]) -> str:
    """Returns why a run without these artifacts is left out."""
    named = " or ".join(f"'{name}'" for name in artifacts)
    return f"it has no artifact {named}" if artifacts else "it has no table among its artifacts"


def with_own_names(runs: Sequence[TrackedRun], taken: Sequence[str] = ()) -> list[TrackedRun]:
    """Returns the runs, with the beginning of its id in the name of each whose name others have, or that is
    among those ``taken``.
    """
    names = [*(run.name for run in runs), *taken]
    return [
        replace(run, name=f"{cut_inside(run.name, LONGEST - ID_SHOWN - 3)} ({run.id[:ID_SHOWN]})".strip())
        if names.count(run.name) > 1 or not run.name
        else run
        for run in runs
    ]


def flattened(values: Any, before: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yields nested values as ``outer.inner`` and text, one by one: YAML may repeat a value in itself often.

    Raises ValueError for values that contain themselves, and for very deep ones.
    """
    if depth > DEEPEST:
        raise ValueError("too deep")
    if isinstance(values, Mapping) and values:
        for name, value in values.items():
            yield from flattened(value, f"{before}.{name}" if before else str(name), depth + 1)
    else:
        yield before, values if isinstance(values, str) else _as_json(values)


def _as_json(value: Any) -> str:
    text = ""
    for part in json.JSONEncoder(default=str, ensure_ascii=False).iterencode(value):
        text += part
        if len(text) > LONGEST_VALUE:
            return f"{text[:LONGEST_VALUE]}…"
    return text


def note_of(text: str) -> str:
    """Returns a note with control characters written out, and each line end as one character."""
    return visible_lines(text.replace("\r\n", "\n").replace("\t", "    "))


def bad_answer(tracker: str, what: str) -> InputError:
    """Returns the error for an answer or file that is not as the tracker writes it."""
    fix = f"Check that it was written by {tracker}."
    return InputError(Problem("bad-tracker-data", tracker, what, fix))
