"""Stores runs of an experiment tracker, with what is known about them there."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal

from recdash.domain.arguments import check_type, paths_of, texts_of
from recdash.errors import InputError, Problem, check_known
from recdash.ingest.limits import UNLIMITED
from recdash.service.catalog.intake import KINDS, LISTS, IntakeFile, IntakePlan, IntakeSettings
from recdash.service.files_to_add import RULES, FilesToAdd, check_rules, plan_of
from recdash.trackers import wandb
from recdash.trackers.mlflow import Mlflow
from recdash.trackers.tracked_run import (
    TrackedFile,
    TrackedRun,
    chosen_paths,
    with_own_names,
    without_tables,
)

if TYPE_CHECKING:
    from recdash.domain.records import Experiment, Run
    from recdash.service import Workspace

State = Literal["added", "already stored", "left out"]
NO_RUN = "Name the artifacts with the recommendations by --artifact, or log them as CSV or Parquet."


@dataclass(frozen=True)
class ImportedRun:
    """What became of a run of the tracker, and why, or what is unknown about it; ``tracked`` is its id
    there.
    """

    name: str
    tracked: str
    state: State
    why: str = ""


@dataclass(frozen=True)
class Imported:
    """What an import stored; ``experiment`` is its name, and ``notices`` are about the files."""

    experiment: str
    runs: tuple[ImportedRun, ...]
    notices: tuple[Problem, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment,
            "runs": [
                {"name": run.name, "tracked": run.tracked, "state": run.state, "why": run.why}
                for run in self.runs
            ],
            "notices": [
                {"code": notice.code, "place": notice.place, "finding": notice.found, "fix": notice.fix}
                for notice in self.notices
            ],
        }


def import_mlflow(
    workspace: Workspace,
    experiment: str,
    tracking_uri: str,
    *,
    files: Sequence[str | os.PathLike[str]] = (),
    artifacts: Sequence[str] = (),
    only: str = "",
    into: str = "",
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> Imported:
    """Stores the finished runs of an MLflow experiment in the experiment of the same name, or ``into``.

    ``artifacts`` are paths of tables in the runs, or of folders with them; without them, all artifacts that
    are named like tables. ``files`` are stored with them, such as the test set. ``only`` is a filter in the
    words of MLflow. ``options`` are fields of ``IntakeSettings``, and ``accept_ids``. A run that is stored
    with the same bytes is left as it is. Raises InputError with all problems; nothing is stored then.
    """
    workspace.person.must_be("editor")
    check_type("tracking_uri", tracking_uri, str, "Give the address of the tracking server.")
    artifacts = _artifacts(experiment, artifacts)
    server = Mlflow(tracking_uri, os.environ if environment is None else environment)
    tracked_runs = server.runs(server.experiment(experiment), only)
    with TemporaryDirectory(prefix="recdash-") as folder:
        most = (workspace.limits or UNLIMITED).upload_bytes
        runs = []
        for number, run in enumerate(tracked_runs):
            tracked = run.as_tracked()
            if not run.why_not:
                home = Path(folder, str(number))
                tracked = _with_files(tracked, server, artifacts, home, most)
            runs.append(tracked)
        return _import_runs(workspace, into or experiment, runs, files, options)


def _with_files(
    run: TrackedRun, server: Mlflow, artifacts: Sequence[str], home: Path, most: int | None
) -> TrackedRun:
    """Returns the run with its tables, which are downloaded into a folder."""
    files = []
    for number, path in enumerate(chosen_paths(server.artifacts(run.id), artifacts)):
        target = home / str(number) / _path_here(path)
        target.parent.mkdir(parents=True)
        server.download(run.id, path, target, most)
        files.append(TrackedFile(path, target))
    return replace(run, files=files, why_not="" if files else without_tables(artifacts))


def _path_here(path: str) -> Path:
    """Returns the last folder and the name of an artifact as they can be written in a file system."""
    parts = [re.sub(r"[^\w. -]", "_", part)[-100:].strip(". ") for part in path.split("/")]
    return Path(*[part or "_" for part in parts[-2:]])


def import_wandb(
    workspace: Workspace,
    experiment: str,
    folders: Mapping[str, str | os.PathLike[str]] | Sequence[str | os.PathLike[str]],
    *,
    files: Sequence[str | os.PathLike[str]] = (),
    artifacts: Sequence[str] = (),
    table: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Imported:
    """Stores the runs of Weights & Biases whose folders are given; a mapping is {name: folder}.

    ``table`` is the table of runs as it is exported there, for names, tags and notes. The others are those of
    ``import_mlflow``.
    """
    workspace.person.must_be("editor")
    artifacts = _artifacts(experiment, artifacts)
    check_type("table", table, (str, os.PathLike, NoneType), "Give the path of a table.")
    if not isinstance(folders, Mapping):
        paths = paths_of("folders", folders)
        folders = {wandb.name_of_folder(Path(folder)): folder for folder in paths}
    for name, folder in folders.items():
        check_type("folders, name", name, str, "Give the name of a run.")
        check_type(f"folders, {name}", folder, (str, os.PathLike), "Give the path of the folder of a run.")
    named = {name: Path(folder) for name, folder in folders.items()}
    runs = wandb.read_runs(named, artifacts, None if table is None else Path(table))
    return _import_runs(workspace, experiment, runs, files, options)


def _artifacts(experiment: object, artifacts: object) -> list[str]:
    """Returns the names of artifacts, of which one or several are given. Raises InputError for anything else,
    and for an experiment whose name is no text.
    """
    check_type("experiment", experiment, str, "Give the name of the experiment.")
    return texts_of("artifacts", () if artifacts is None else artifacts, "lists.csv")


# ── what both do ─────────────────────────────────────────────────────────────────────────────


def _import_runs(
    workspace: Workspace,
    experiment: str,
    runs: Sequence[TrackedRun],
    files: Sequence[str | os.PathLike[str]],
    options: Mapping[str, Any],
) -> Imported:
    home = _experiment(workspace, experiment)
    stored = _stored(workspace, home)
    states = {run.id: ImportedRun(run.name or run.id, run.id, "left out", run.why_not) for run in runs}
    if all(run.why_not for run in runs):
        whys = "; ".join(dict.fromkeys(run.why_not for run in runs)) or "the experiment has no run"
        raise InputError(Problem("nothing-to-import", f"experiment '{experiment}'", whys, NO_RUN))
    new = []
    for run in (run for run in runs if not run.why_not):
        known = stored.get((run.tracker, run.id))
        if known is None:
            new.append(run)
            continue
        _must_be_the_same(run, known)
        states[run.id] = ImportedRun(known.name, run.id, "already stored")
    if not new:
        return Imported(experiment, tuple(states.values()))
    taken = [run.name for run in workspace.runs.all(home.id, archived=True)] if home else []
    new = with_own_names(new, taken)
    plan = _planned(workspace, home, new, files, {**options, "name": experiment})
    done = workspace.intake.commit(plan, baseline=options.get("baseline"))
    stored = _stored(workspace, done.experiment)
    for run in new:
        is_added = (run.tracker, run.id) in stored
        states[run.id] = (
            ImportedRun(run.name, run.id, "added", run.remark)
            if is_added
            else ImportedRun(run.name, run.id, "already stored", "another run has the same lists")
        )
    notices = [*plan.inputs.notices, *(notice for added in done.runs for notice in added.run.notices)]
    return Imported(done.experiment.name, tuple(states.values()), tuple(notices))


def _experiment(workspace: Workspace, name: str) -> Experiment | None:
    known = {experiment.name: experiment for experiment in workspace.experiments.all(archived=True)}
    return known.get(name)


def _stored(workspace: Workspace, home: Experiment | None) -> dict[tuple[str, str], Run]:
    """Returns {tracker and id there: run} of the imported runs of an experiment."""
    runs = workspace.runs.all(home.id, archived=True) if home else []
    return {(str(run.source["tracker"]), str(run.source["run"])): run for run in runs if run.source}


def _must_be_the_same(run: TrackedRun, stored: Run) -> None:
    """Raises InputError unless the artifacts with which a run was stored have the same bytes now."""
    now = {file.path: file.sha256 for file in run.files}
    changed = [path for path, sha256 in stored.source["artifacts"].items() if now.get(path) != sha256]
    if changed:
        finding = f"it was imported before with another '{changed[0]}'"
        fix = "Delete the stored run to import it again, or log the lists in a new run."
        raise InputError(Problem("changed-since-import", f"run '{stored.name}'", finding, fix))


def _planned(
    workspace: Workspace,
    home: Experiment | None,
    runs: Sequence[TrackedRun],
    files: Sequence[str | os.PathLike[str]],
    options: Mapping[str, Any],
) -> IntakePlan:
    """Returns how the files of runs, and those beside them, are stored. Tables that are no lists, such as a
    test set, are read once if several runs have the same.
    """
    own = {f"{n}.{m}": (run, file) for n, run in enumerate(runs) for m, file in enumerate(run.files)}
    beside = [
        IntakeFile(f"file.{number}", file.name, file, folder=str(file.parent))
        for number, file in enumerate(map(Path, paths_of("files", files)))
    ]
    of_runs = [
        IntakeFile(
            key,
            f"{run.name.replace('/', '_')}/{file.path}",
            file.file,
            folder=f"{run.id}/{file.path.rpartition('/')[0]}",
        )
        for key, (run, file) in own.items()
    ]
    left_out = ("name", "accept_ids")
    settings = {name: value for name, value in options.items() if name not in left_out and value is not None}
    known = [part.name for part in fields(IntakeSettings) if part.name not in left_out]
    check_known("option", settings, [*known, "accept_ids"])
    if home is not None:
        check_rules(home, settings)
        settings = {name: home.settings[name] for name in RULES if home.settings.get(name)} | settings
    plan = plan_of(workspace, FilesToAdd(str(options["name"]), [*beside, *of_runs], settings=settings))
    lists = {key for file in plan.of_kind(*LISTS) for key in _given_keys(file.key)}
    plan = plan.with_files(_each_table_once(plan.inputs.given, own, lists))
    if home is not None and home.truth is not None:
        plan = _without_stored_tables(workspace, plan, home)
    choices = {}
    for planned in plan.of_kind(*LISTS):
        key, *_ = _given_keys(planned.key)
        if key in own:
            run = own[key][0]
            of_run = [file for other, (of, file) in own.items() if of is run and other in lists]
            choices[planned.key] = {**_facts(run, of_run), "accept_ids": bool(options.get("accept_ids"))}
    _refuse_without_lists(runs, choices, plan)
    return plan.with_choices(choices)


def _facts(run: TrackedRun, lists: Sequence[TrackedFile]) -> dict[str, Any]:
    """Returns the fields of ``FileChoice`` that a run gives its lists."""
    artifacts = {file.path: file.sha256 for file in lists}
    return {
        "run": run.name,
        "tags": tuple(run.tags),
        "note": run.note,
        "params": dict(run.params),
        "source": {"tracker": run.tracker, "run": run.id, "artifacts": artifacts},
    }


def _given_keys(key: str) -> list[str]:
    """Returns the keys of the given files of which a table was made: it may be one of an archive, or its
    parts may be several files.
    """
    return key.partition("/")[0].split("+")


def _refuse_without_lists(
    runs: Sequence[TrackedRun], choices: Mapping[str, Mapping[str, Any]], plan: IntakePlan
) -> None:
    """Raises InputError for runs whose tables hold no lists, unless the plan says what is wrong with them."""
    named = {choice["run"] for choice in choices.values()}
    without = [run for run in runs if run.name not in named]
    if without and not plan.all_problems:
        finding = "none of its tables holds recommendations"
        raise InputError(Problem("no-lists", f"run '{run.name}'", finding, NO_RUN) for run in without)


def _each_table_once(
    given: Sequence[IntakeFile], own: Mapping[str, tuple[TrackedRun, TrackedFile]], lists: set[str]
) -> list[IntakeFile]:
    """Returns the given files, without those that are no lists and have the bytes of an earlier one."""
    seen: set[str] = set()
    kept = []
    for file in given:
        if file.key in own and file.key not in lists:
            sha256 = own[file.key][1].sha256
            if sha256 in seen:
                continue
            seen.add(sha256)
        kept.append(file)
    return kept


def _without_stored_tables(workspace: Workspace, plan: IntakePlan, home: Experiment) -> IntakePlan:
    """Returns the plan for adding to a stored experiment, without the tables that this has already.

    Raises InputError for another table than the stored one.
    """
    if plan.setup is None:
        return plan
    given = workspace.experiments.store_tables(plan.setup)
    others = [kind for kind, sha256 in given.items() if home.all_tables.get(kind) != sha256]
    if others:
        finding = f"the files have another {KINDS[others[0]]} than this experiment"
        fix = "Import the runs into another experiment."
        raise InputError(Problem("other-tables", f"experiment '{home.name}'", finding, fix))
    stored = {key for file in plan.of_kind(*given) for key in _given_keys(file.key)}
    kept = [file for file in plan.inputs.given if file.key not in stored]
    return plan.with_files(kept).with_experiment(home.id)
