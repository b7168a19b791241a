"""``recdash add FILE …``: stores files whose kinds are recognised from their contents, as on the page Add
data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recdash.cli.options import linked_runs, run_ids, run_named, tell
from recdash.cli.terminal import say
from recdash.errors import InputError, Problem
from recdash.formatting.wording import listed

if TYPE_CHECKING:
    from recdash.ingest import Sheet
    from recdash.service import Workspace
    from recdash.service.catalog.intake import IntakePlan, IntakeResult, PlannedFile

OF_FILES = (
    "truth", "runs", "predictions", "train", "catalogue", "user_attributes", "item_vectors",
    "item_similarity", "columns", "engine", "master", "sessions", "aggregates", "interleaving",
)  # fmt: skip
"""Options that say what a file is. They cannot be combined with FILE arguments, whose kind is recognised."""

OPTIONS: Mapping[str, str] = {
    "truth": "--truth", "run": "--run", "train": "--train", "catalogue": "--catalogue",
    "users": "--user-attributes", "vectors": "--item-vectors", "similarity": "--item-similarity",
    "predictions": "--predictions", "sessions": "--sessions", "aggregates": "--aggregates",
    "interleaving": "--interleaving",
}  # fmt: skip
"""The option that says that a file is a table of this kind."""
NAME_EACH = "Say what each file is by an option instead of FILE arguments"
FIXES: Mapping[str, str] = {
    "several-tables": f"{NAME_EACH}, or leave all but one out.",
    "no-test-set": "Add it (what users actually chose later), or name the file by --truth FILE.",
    "same-name": "Rename the files, or say --replicates seeds or --replicates folds.",
    "missing-column": (
        f"{NAME_EACH}, such as --truth FILE --run NAME=FILE, and its columns by --columns user_id=…,item_id=…"
    ),
}
"""Repairs of problems whose own repair has words of the page, or an option that FILE arguments refuse."""


def add_files(
    workspace: Workspace, files: Sequence[Path | Sheet], options: Mapping[str, Any]
) -> IntakeResult:
    """Returns what was stored, after recognising and checking the files and printing what each was taken for.

    Raises InputError if an option that says what a file is was given too.
    """
    given = [name for name in OF_FILES if options[name]]
    if given:
        option = f"--{given[0].removesuffix('s') if given[0] == 'runs' else given[0].replace('_', '-')}"
        fix = "Give only files, which recdash recognises, or name each file by its option."
        raise InputError(Problem("files-and-options", option, "given together with FILE arguments", fix))
    plan = _plan(workspace, files, options)
    for file in plan.files:
        what = "left out" if file.left_out else "?" if file.kind is None else file.kind
        columns = ", ".join(f"{role} = '{column}'" for role, column in file.mapping.items())
        say(f"{file.file_name}: {' · '.join(filter(None, [what, columns]))}")
    if plan.relevance is not None and plan.relevance.threshold is not None:
        _say_threshold(plan)
    names = {name: name for name in (*plan.run_names, *_stored_names(workspace, plan))}
    if options["baseline"] is not None:
        run_named(names, options["baseline"])
    if options["links"]:
        plan = plan.with_settings(links=linked_runs(options["links"], names))
    else:
        _say_links(plan)
    _refuse(plan)
    tell(plan.inputs.notices)
    done = workspace.intake.commit(
        plan,
        references=options["references"],
        baseline=options["baseline"],
        completed=options["completed"],
    )
    tell(Problem(**notice) for notice in done.experiment.settings.get("notices", ()))
    return done


def _refuse(plan: IntakePlan) -> None:
    """Raises InputError with the problems of a plan, with repairs that name options of the command line.

    Returns if the plan has none of the problems whose repair the page words otherwise.
    """
    problems = [
        replace(problem, place=f"{file.file_name}, {problem.place}", fix=_fix(problem, file))
        for file in plan.used
        for problem in file.problems
    ]
    problems += [replace(problem, fix=_fix(problem)) for problem in plan.problems]
    if any(problem.code in (*FIXES, "what-is-it") for problem in problems):
        raise InputError([*problems, *plan.test_problems])


def _fix(problem: Problem, file: PlannedFile | None = None) -> str:
    """Returns the repair of a problem in words of the command line."""
    if problem.code != "what-is-it" or file is None:
        return FIXES.get(problem.code, problem.fix)
    kinds = filter(None, (file.sorted.kind, *file.sorted.alternatives))
    options = [OPTIONS[kind] for kind in kinds if kind in OPTIONS]
    this_one = f", this one by {listed(options, joint='or')}" if options else ""
    return f"{NAME_EACH}{this_one}; or leave it out."


def _plan(workspace: Workspace, files: Sequence[Path | Sheet], options: Mapping[str, Any]) -> IntakePlan:
    from recdash.service.catalog.intake import IntakeFile
    from recdash.service.files_to_add import FilesToAdd, plan_of

    same = ("relevance", "depth", "baseline", "replicates", "control", "refuse")
    chosen = {name: options[name] for name in ("users", "duplicates") if options[name] is not None}
    settings = {
        **{name: options[name] for name in same},
        **chosen,
        "threshold": options["relevance_threshold"],
    }
    given = [IntakeFile(str(file), file.name, file, folder=_folder(file)) for file in files]
    asked = FilesToAdd(
        options["experiment"],
        given,
        settings=settings,
        tags=options["tags"],
        accept_ids=options["accept_unknown_ids"],
    )
    return plan_of(workspace, asked)


def _folder(file: Path | Sheet) -> str:
    return str(file.absolute().parent) if isinstance(file, Path) else ""


def _stored_names(workspace: Workspace, plan: IntakePlan) -> list[str]:
    return list(run_ids(workspace, plan.experiment_id)) if plan.experiment_id else []


def _say_links(plan: IntakePlan) -> None:
    for variant, run in (plan.settings.links or {}).items():
        say(f"note: variant '{variant}' served the run '{run}', by its name. Choose with --link.", err=True)


def _say_threshold(plan: IntakePlan) -> None:
    relevance = plan.relevance
    assert relevance is not None  # noqa: S101
    assert relevance.threshold is not None  # noqa: S101
    kept = f"{relevance.kept_rows:,} of {relevance.rows:,} rows"
    users = f"{relevance.kept_users:,} of {relevance.users:,} users"
    rule = f"rows with {relevance.column} of {relevance.threshold:g} or more count as relevant"
    how = "Choose with --relevance-threshold, or --relevance none for all."
    say(f"note: {rule}: {kept}, {users}. {how}", err=True)
