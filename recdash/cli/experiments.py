"""``recdash add``, ``list`` and ``definitions``: store and show experiments and runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.input_file import InputFile
from recdash.cli.options import (
    ACCEPT_HELP,
    DUPLICATES_HELP,
    REFERENCE_HELP,
    REPLICATES_HELP,
    RUN_HELP,
    USERS_HELP,
    NamedFile,
    check_names,
    columns_option,
    engine_given,
    engine_options,
    experiment_option,
    form_option,
    linked_runs,
    open_experiment,
    open_workspace,
    refuse_option,
    run_named,
    tell,
    uploads,
)
from recdash.cli.output import known_lines
from recdash.cli.terminal import say, say_lines
from recdash.domain.defaults import DEFAULT_SPEC
from recdash.errors import InputError, Problem
from recdash.formatting.text_table import text_table
from recdash.formatting.wording import many

if TYPE_CHECKING:
    from recdash.domain.kinds import OnlineKind
    from recdash.domain.records import Experiment
    from recdash.evaluation.column_choice import ColumnChoice
    from recdash.ingest import Sheet
    from recdash.service import AddedRun, PreparedRun, Setup, Workspace


FALLBACK_HELP = (
    "Add a candidate with the lists of this run, and the most popular items of the training data for users "
    "without one; repeatable."
)
ADDED_PREDICTIONS_HELP = "Predicted ratings of a candidate; without --run, the candidate has no lists."


@click.command()
@click.argument("sorted_files", nargs=-1, type=InputFile(), metavar="[FILE]...")
@click.option("--experiment", required=True, help="Name of the experiment; created if it does not exist.")
@click.option("--truth", type=InputFile(), help="Test set; required for a new experiment with runs.")
@engine_options()
@click.option("--run", "runs", multiple=True, type=NamedFile(), help=RUN_HELP)
@click.option("--replicates", type=click.Choice(["seeds", "folds"]), help=REPLICATES_HELP)
@click.option("--predictions", multiple=True, type=NamedFile(), help=ADDED_PREDICTIONS_HELP)
@click.option("--train", type=InputFile(), help="Training data.")
@click.option("--catalogue", type=InputFile(), help="The catalogue (all items).")
@click.option("--user-attributes", type=InputFile(), help="Users and their attributes, for slices.")
@click.option("--item-vectors", type=InputFile(), help="One vector per item, for diversity.")
@click.option("--item-similarity", type=InputFile(), help="Similarities of pairs of items, for diversity.")
@columns_option
@click.option("--depth", type=int, help="Deepest cutoff (default: 100).")
@click.option("--relevance", help="Relevance column of the test set, or 'none' if every row is relevant.")
@click.option("--relevance-threshold", type=float, help="Smallest relevance that counts as relevant.")
@click.option(
    "--users", type=click.Choice(["truth", "both", "judged", "judged_both", "run"]), help=USERS_HELP
)
@click.option("--duplicates", type=click.Choice(["first", "keep"]), help=DUPLICATES_HELP)
@click.option("--accept-unknown-ids", is_flag=True, help=ACCEPT_HELP)
@refuse_option
@click.option("--reference", "references", default="", help=REFERENCE_HELP)
@click.option("--fallback-for", "completed", multiple=True, metavar="RUN", help=FALLBACK_HELP)
@click.option("--tag", "tags", multiple=True, help="A tag for the runs; repeatable.")
@click.option("--baseline", help="Name of the baseline run.")
@click.option("--sessions", type=NamedFile(), help="Sessions of an A/B test, as NAME=FILE.")
@click.option("--aggregates", type=NamedFile(), help="Aggregated results of an A/B test, as NAME=FILE.")
@click.option("--interleaving", type=NamedFile(), help="An interleaving test of two rankings, as NAME=FILE.")
@click.option("--control", help="Control variant of the A/B test, or ranking of the interleaving test.")
@click.option("--link", "links", multiple=True, help="Which run a variant served, as VARIANT=RUN.")
def add(
    sorted_files: Sequence[Path | Sheet],
    experiment: str,
    truth: Path | Sheet | None,
    runs: Sequence[tuple[str, Path | Sheet]],
    predictions: Sequence[tuple[str, Path | Sheet]],
    tags: Sequence[str],
    **more: Any,
) -> None:
    """Score candidates and store them for the dashboard.

    FILE arguments are recognised by their columns and values: test set, runs, training data, catalogue,
    users, A/B test, interleaving test. The command prints what it took each file for; if that is wrong, name
    the file by its option. Of a zip file, each table is recognised. One file may be "-", standard input.
    FILE.xlsx#SHEET names a sheet of a workbook,
    and s3://…, https://… or 'sql:URL QUERY' a table that is elsewhere.

    All files are read and scored before any candidate is stored. An A/B test alone needs no test set; --truth
    adds one later.
    """
    if sorted_files:
        named = {"experiment": experiment, "truth": truth, "runs": runs, "predictions": predictions}
        _add_sorted(sorted_files, {**named, "tags": tags, **more})
        return
    baseline: str | None = more["baseline"]
    from recdash.evaluation.column_choice import TITLES, mappings_of, read_column_choice
    from recdash.evaluation.reading import TABLES
    from recdash.evaluation.relevance import every_row_notice
    from recdash.service.catalog.additions import Addition
    from recdash.service.online.tests import NewTest

    files: dict[str, Any] = uploads(runs)
    check_names("--predictions", predictions)
    for name, _ in predictions if runs else ():
        run_named(dict.fromkeys(files, ""), name)
    files |= {name: None for name, _ in predictions if name not in files}
    workspace = open_workspace()
    choice = read_column_choice(more["columns"], (*TABLES, *ONLINE), list(files))
    options = {**more, "truth": truth, "run": runs or None, "predictions": predictions or None}
    given = [kind for kind in (*TABLES, *ONLINE) if options.get(TITLES.get(kind, kind)) is not None]
    choice.check_given([*given, *files])
    tests = {kind: more[kind] for kind in ONLINE if more[kind] is not None}
    is_test_alone = bool(tests) and not files and not more["references"]
    target = _target(workspace, experiment, truth, more, choice, is_test_alone=is_test_alone)
    prepared = _prepared(workspace, target, files, dict(predictions), more, choice)
    wanted = [*([] if baseline is None else [baseline]), *more["completed"]]
    names = _names_of_runs(workspace, target, prepared)
    for name in wanted:
        run_named(names, name)
    links = linked_runs(more["links"], names)
    new_tests = [
        NewTest(name, {kind: file}, more["control"], mappings=mappings_of(choice, [kind]), links=links)
        for kind, (name, file) in tests.items()
    ]
    choice.check_used()
    added = workspace.additions.store(
        Addition(
            target if isinstance(target, str) else None,
            None if isinstance(target, str) else target,
            prepared,
            [{"tags": tuple(tags)}] * len(prepared),
            baseline or "",
            replaces_baseline=baseline is not None,
            tests=new_tests,
            completed=more["completed"],
            refuse=more["refuse"],
        )
    )
    if not isinstance(target, str):
        _tell_setup(workspace, added.experiment)
        tell(every_row_notice(target.reference.truth) if target.reference else ())
    for run in added.runs:
        tell(run.run.notices)
        _echo_added(run)
    for test in added.tests:
        tell(test.notices)
        say(f"{test.name}: added, control '{test.control}'")
    for run in added.completed:
        _echo_added(run)


def _add_sorted(files: Sequence[Path | Sheet], options: Mapping[str, Any]) -> None:
    """Stores files that were given without options, and the reference candidates and fallbacks that were
    requested.
    """
    from recdash.cli.intake import add_files

    workspace = open_workspace()
    done = add_files(workspace, files, options)
    for added in done.runs:
        tell(added.run.notices)
        _echo_added(added)
    for test in done.tests:
        tell(test.notices)
        say(f"{test.name}: added, control '{test.control}'")
    for added in done.completed:
        _echo_added(added)


def _echo_added(added: AddedRun) -> None:
    state = "already stored" if added.already_there else "added"
    if added.already_there and added.is_archived:
        state = "already stored, but archived. To show it again: recdash unarchive, or Runs, Show archived."
    say(f"{added.run.name}: {state}")
    for line in known_lines({added.run.name: added.run.overlap} if added.run.overlap else {}):
        say(f"note: {line}", err=True)


ONLINE: tuple[OnlineKind, ...] = ("sessions", "aggregates", "interleaving")
SETUP = (
    "train", "catalogue", "user_attributes", "item_vectors", "item_similarity", "depth", "relevance",
    "relevance_threshold", "users", "duplicates",
)  # fmt: skip


def _target(
    workspace: Workspace,
    name: str,
    truth: Path | Sheet | None,
    more: Mapping[str, Any],
    choice: ColumnChoice,
    *,
    is_test_alone: bool,
) -> str | Setup:
    """Returns the id of a stored experiment, or a set-up that is read but not stored yet: if ``truth`` is
    given, and for an A/B test alone in a new experiment.

    Raises InputError for options of the set-up without ``truth``.
    """
    from recdash.evaluation.column_choice import mappings_of

    facts = {fact: more[fact] for fact in SETUP if more[fact] is not None}
    if truth is not None:
        mappings = mappings_of(choice, ["truth", "train", "catalogue", "users", "vectors", "similarity"])
        return workspace.experiments.read_setup(name, truth, mappings=mappings, **facts)
    if facts:
        option = f"--{next(iter(facts)).replace('_', '-')}"
        fix = "The set-up of an experiment is fixed when it is created. Give --truth to create a new one."
        raise InputError(Problem("set-up-without-truth", option, "given without --truth", fix))
    if is_test_alone and name not in [stored.name for stored in workspace.experiments.all(archived=True)]:
        return workspace.experiments.read_setup(name)
    return workspace.experiments.named(name).id


def _tell_setup(workspace: Workspace, experiment: Experiment) -> None:
    tell(Problem(**notice) for notice in experiment.settings["notices"])
    for twin in workspace.experiments.same_truth(experiment.id):
        say(f"note: experiment '{twin.name}' has the same test set.", err=True)


def _prepared(
    workspace: Workspace,
    target: str | Setup,
    uploads: Mapping[str, Any],
    rated: Mapping[str, Path | Sheet],
    more: Mapping[str, Any],
    choice: ColumnChoice,
) -> list[PreparedRun]:
    prepared: list[PreparedRun] = []
    engine = engine_given(more["engine"], more["master"])
    for name, files in uploads.items():
        prepared += workspace.runs.prepare(
            target,
            files,
            name=name,
            mapping=choice.of("run", name),
            predictions=rated.get(name),
            predictions_mapping=choice.of("predictions", name),
            replicates=more["replicates"],
            accept_unknown_ids=more["accept_unknown_ids"],
            engine=engine,
        )
    if more["references"]:
        prepared += workspace.runs.prepare_references(target, more["references"])
    check_names("--run", [(candidate.run.name, Path()) for candidate in prepared])
    return prepared


def _names_of_runs(
    workspace: Workspace, target: str | Setup, prepared: Sequence[PreparedRun]
) -> dict[str, str]:
    """Returns {name: name} of the runs that are stored and of those to be added."""
    names = [candidate.run.name for candidate in prepared]
    for experiment in workspace.experiments.all():
        if target == experiment.id or getattr(target, "name", "") == experiment.name:
            names = [*(run.name for run in workspace.runs.all(experiment.id)), *names]
            break
    return {name: name for name in names}


@click.command("list")
@form_option
def list_experiments(form: str) -> None:
    """List the experiments and their runs."""
    from recdash.service.plain_answers import experiments_facts

    facts = experiments_facts(open_workspace())
    experiments = facts["experiments"]
    if form == "json":
        say(json.dumps(facts, ensure_ascii=False))
    elif not experiments:
        say("No experiment yet. Try: recdash demo")
    for experiment in experiments if form == "text" else ():
        depth, users = experiment["depth"], experiment["truth_users"]
        tests = many(len(experiment["online_tests"]), "A/B test")
        size = f"{users:,} users, depth {depth}" if users else f"no test set, {tests}"
        say(f"{experiment['name']} ({size})")
        for run in experiment["runs"]:
            mark = ", baseline" if run["baseline"] else ""
            several = f"{run['replicates']['n']} {run['replicates']['noun']}s, " if run["replicates"] else ""
            missing = run["ledger"]["without_list"]
            say(f"  {run['name']} ({several}{missing:,} users without recommendations{mark})")


@click.command()
@experiment_option
@click.option("--run", "name", required=True, help="Name of the run.")
@click.option("--metric", default=DEFAULT_SPEC, show_default=True, help="A metric with its cutoff.")
@form_option
def definitions(experiment: str, name: str, metric: str, form: str) -> None:
    """Score one run under every preset and show how the presets' definitions differ.

    Parameters written in the metric override those of the presets.
    """
    from recdash.definitions.text import as_tables
    from recdash.service.plain_definitions import definitions_of

    workspace, stored = open_experiment(experiment)
    answer = definitions_of(workspace, stored, name, metric)
    if form == "json":
        say(json.dumps(answer.as_dict(), ensure_ascii=False))
    else:
        say_lines("\n\n".join(text_table(rows, len(rows[0])) for rows in as_tables(*answer.parts)))
