"""Runs of Weights & Biases, from the files that it writes and exports."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from recdash.errors import InputError, Problem
from recdash.formatting.sanitize import visible
from recdash.trackers.tracked_run import (
    MOST_FILES,
    TABLE,
    TrackedFile,
    TrackedRun,
    bad_answer,
    chosen_paths,
    flattened,
    name_of,
    note_of,
    params_of,
    tags_of,
    without_tables,
)

WANDB = "wandb"
NAME = "Weights & Biases"
FOLDER = re.compile(r"(?:offline-)?run-\d{8}_\d{6}-(?P<id>.+)")
"""Pattern of the name of a run's folder."""
HISTORY = re.compile(rb'"?(?:[^\n"]*"?,"?)?_step"?[,\r\n]')
"""Pattern of the header of a run's history: what was logged at each step."""
LOGGED = re.compile(r"(?P<name>.+)_(?P<step>\d{1,18})_[0-9a-f]+\.table\.json")
"""Pattern of the path of a table that was logged at a step."""
CONFIG = "config.yaml"
NO_CONFIG = "it has no config.yaml, so its parameters are unknown"
MOST_BYTES = 2**24
"""Largest size of a file that describes runs."""


def read_runs(
    folders: Mapping[str, Path], artifacts: Sequence[str] = (), table: Path | None = None
) -> list[TrackedRun]:
    """Returns the runs of folders, given as {name: folder}, with their tables.

    ``table`` is the table of runs as Weights & Biases exports it, whose rows give names, tags and notes to
    the runs with the same ID or Name. Raises InputError for files that cannot be read.
    """
    rows = {} if table is None else _rows_of(table)
    runs = []
    for name, folder in folders.items():
        run = _run_of(name, folder, artifacts)
        runs.append(_described(run, rows.get(run.id) or rows.get(run.name)))
    return runs


def name_of_folder(folder: Path) -> str:
    """Returns the id of the run that a folder holds, else the name of the folder."""
    folder = folder.resolve()
    if folder.name == "files" and FOLDER.fullmatch(folder.parent.name):
        folder = folder.parent
    match = FOLDER.fullmatch(folder.name)
    return match["id"] if match else folder.name


def _run_of(name: str, folder: Path, artifacts: Sequence[str]) -> TrackedRun:
    if not folder.is_dir():
        fix = "Name the folder of a run, such as wandb/run-20260301_120000-3f1c0a2b."
        raise InputError(Problem("no-folder", f"'{visible(str(folder))}'", "it is no folder", fix))
    home = folder / "files" if (folder / "files").is_dir() else folder
    paths = _paths_in(home)
    tables = _tables_of_summary(home) or _newest_tables(paths)
    files = [
        TrackedFile(path, home / path)
        for path in chosen_paths(paths, artifacts)
        if artifacts or not _is_other(path, home / path, tables)
    ]
    return TrackedRun(
        WANDB,
        name_of_folder(folder),
        name_of(name),
        _params(home),
        files=_unaltered(files, tables),
        why_not="" if files else without_tables(artifacts),
        remark="" if (home / CONFIG).is_file() else NO_CONFIG,
    )


def _paths_in(home: Path) -> list[str]:
    paths: list[str] = []
    for parent, _, names in os.walk(home):
        paths += [(Path(parent) / name).relative_to(home).as_posix() for name in names]
        if len(paths) > MOST_FILES:
            fix = "Name the folder of one run, or its tables by --artifact in a smaller folder."
            finding = f"more than {MOST_FILES:,} files"
            raise InputError(Problem("many-artifacts", f"'{visible(str(home))}'", finding, fix))
    return sorted(paths)


def _is_other(path: str, file: Path, tables: Mapping[str, str]) -> bool:
    """Returns whether a table was logged at an earlier step than the newest, or is the history of a run."""
    if path.endswith(".table.json"):
        return bool(tables) and path not in tables
    with file.open("rb") as content:
        return HISTORY.match(content.readline(2**16)) is not None


def _tables_of_summary(home: Path) -> dict[str, str]:
    """Returns {path: sha256} of the tables that the summary of a run names."""
    file = home / "wandb-summary.json"
    if not file.is_file():
        return {}
    summary = _json(_text(file), file.name)
    if not isinstance(summary, dict):
        raise bad_answer(NAME, f"{file.name} is no JSON object")
    entries = [value for value in summary.values() if isinstance(value, dict) and "path" in value]
    return {
        str(value["path"]): str(value.get("sha256", ""))
        for value in entries
        if TABLE.search(str(value["path"])) and value.get("_type", "table-file") == "table-file"
    }


def _newest_tables(paths: Sequence[str]) -> dict[str, str]:
    """Returns {path: ""} of the newest table of each name by the steps in their names: a run that was logged
    offline has no summary.
    """
    newest: dict[str, tuple[int, str]] = {}
    for path in paths:
        match = LOGGED.fullmatch(path)
        step = int(match["step"]) if match else 0
        name = match["name"] if match else path
        newest[name] = max((step, path), newest.get(name, (-1, "")))
    return dict.fromkeys((path for _, path in newest.values() if path.endswith(".table.json")), "")


def _unaltered(files: Sequence[TrackedFile], tables: Mapping[str, str]) -> Sequence[TrackedFile]:
    """Returns the files. Raises InputError for a table with other bytes than the summary says."""
    for file in files:
        if tables.get(file.path) and file.sha256 != tables[file.path]:
            finding = "its sha256 is not that of wandb-summary.json"
            fix = "Download the files of the run again."
            raise InputError(Problem("altered-artifact", f"'{visible(file.path)}'", finding, fix))
    return files


def _params(home: Path) -> dict[str, str]:
    try:
        return params_of(_config(home))
    except ValueError:
        raise bad_answer(NAME, "config.yaml has values within themselves") from None


def _config(home: Path) -> Iterator[tuple[str, str]]:
    """Yields the parameters in ``config.yaml``: ``{name: {desc, value}}``."""
    import yaml

    file = home / CONFIG
    if not file.is_file():
        return
    try:
        config = yaml.safe_load(_text(file))
    except (yaml.YAMLError, RecursionError):
        raise bad_answer(NAME, f"{file.name} is no YAML") from None
    for name, entry in (config or {}).items() if isinstance(config, dict | None) else ():
        if name not in ("_wandb", "wandb_version"):
            value = entry["value"] if isinstance(entry, dict) and "value" in entry else entry
            yield from flattened(value, str(name))


def _rows_of(file: Path) -> dict[str, Mapping[str, str]]:
    """Returns {ID and Name: row} of an exported table of runs; a Name that several runs have is left out."""
    rows = list(csv.DictReader(io.StringIO(_text(file))))
    if not rows or "Name" not in rows[0]:
        fix = "Export the table of runs as CSV; it has the columns Name, Tags and Notes, and may have ID."
        raise InputError(Problem("no-runs-table", f"'{visible(file.name)}'", "it has no column Name", fix))
    names = [row["Name"] for row in rows]
    known: dict[str, Mapping[str, str]] = {row["Name"]: row for row in rows if names.count(row["Name"]) == 1}
    return known | {row["ID"]: row for row in rows if row.get("ID")}


def _described(run: TrackedRun, row: Mapping[str, str] | None) -> TrackedRun:
    """Returns a run with the name, tags and notes of its row."""
    if row is None:
        return run
    tags = tags_of((tag.strip(), "") for tag in (row.get("Tags") or "").split(","))
    note = note_of(row.get("Notes") or "")
    name = name_of(row.get("Name") or "") if run.name == run.id else run.name
    return replace(run, name=name or run.name, tags=tags, note="" if note == "-" else note)


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise bad_answer(NAME, f"{visible(file.name)} has more than {MOST_BYTES:,} bytes")
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise bad_answer(NAME, f"{visible(file.name)} cannot be read ({error})") from None


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise bad_answer(NAME, f"{name} is no JSON") from None
