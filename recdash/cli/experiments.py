"""``recdash add``, ``list`` and ``definitions``: what is kept in the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

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
    run_named,
    tell,
    uploads,
    workspace,
)
from recdash.cli.output import aligned, known_lines
from recdash.cli.terminal import say, say_lines
from recdash.errors import InputError, Problem

if TYPE_CHECKING:
    from recdash.domain.kinds import OnlineKind
    from recdash.domain.records import Replicated
    from recdash.evaluation.column_choice import ColumnChoice
    from recdash.service import AddedRun, PreparedRun, Setup, Workspace


ADDED_PREDICTIONS_HELP = "Predicted ratings of a candidate; without --run, of one that has no lists."


@click.command()
@click.option("--experiment", required=True, help="Name of the experiment; made if it is not there yet.")
@click.option("--truth", type=Path, help="Held-out rows; needed for a new experiment.")
@click.option("--run", "runs", multiple=True, type=NamedFile(), help=RUN_HELP)
@click.option("--replicates", type=click.Choice(["seeds", "folds"]), help=REPLICATES_HELP)
@click.option("--predictions", multiple=True, type=NamedFile(), help=ADDED_PREDICTIONS_HELP)
@click.option("--train", type=Path, help="Training rows.")
@click.option("--catalogue", type=Path, help="All items.")
@click.option("--user-attributes", type=Path, help="Users and their attributes, for slices.")
@click.option("--item-vectors", type=Path, help="A vector of each item, for diversity.")
@click.option("--item-similarity", type=Path, help="Pairs of items and how alike they are, for diversity.")
@columns_option
@click.option("--depth", type=int, help="Deepest cutoff (default: 100).")
@click.option("--relevance", help="Column of the truth, or 'none': every row is relevant.")
@click.option("--relevance-threshold", type=float, help="Least relevance that counts.")
@click.option(
    "--users", type=click.Choice(["truth", "both", "judged", "judged_both", "run"]), help=USERS_HELP
)
@click.option("--duplicates", type=click.Choice(["first", "keep"]), help=DUPLICATES_HELP)
@click.option("--accept-unknown-ids", is_flag=True, help=ACCEPT_HELP)
@click.option("--reference", "references", default="", help=REFERENCE_HELP)
@click.option("--tag", "tags", multiple=True, help="A tag for the runs; again for each.")
@click.option("--baseline", help="Name of the run that the others are compared with.")
@click.option("--sessions", type=NamedFile(), help="An A/B test's sessions, as NAME=FILE.")
@click.option("--aggregates", type=NamedFile(), help="An A/B test's summary, as NAME=FILE.")
@click.option("--control", help="The A/B test's control variant.")
@click.option("--link", "links", multiple=True, help="VARIANT=RUN: which candidate a variant served.")
def add(
    experiment: str,
    truth: Path | None,
    runs: Sequence[tuple[str, Path]],
    predictions: Sequence[tuple[str, Path]],
    tags: Sequence[str],
    baseline: str | None,
    **more: Any,
) -> None:
    """Score candidates and store them, for the dashboard to show.

    All files are read and scored before anything of a candidate is stored.
    """
    given = uploads(runs)
    check_names("--predictions", predictions)
    for name, _ in predictions if runs else ():
        run_named(dict.fromkeys((run for run, _ in runs), ""), name)
    given |= {name: None for name, _ in predictions if name not in given}
    space = workspace()
    choice = _choice(more, list(given))
    where = _where(space, experiment, truth, more, choice)
    prepared = _prepared(space, where, given, dict(predictions), more, choice)
    _check_names_known(space, where, prepared, baseline, more["links"])
    for kind in ONLINE:
        if more[kind] is not None:
            mappings = _mappings(choice, [kind])
            space.online_tests.try_online_test(
                {kind: more[kind][1]}, control=more["control"], mappings=mappings
            )
    choice.check_used()
    chosen = where if isinstance(where, str) else _stored(space, where)
    for one in space.runs.store_runs(chosen, prepared, {"tags": tuple(tags)}):
        tell(one.run.notices)
        _echo_added(one)
    by_name = {run.name: run.id for run in space.runs.all(chosen)}
    if baseline is not None:
        space.experiments.set_baseline(chosen, run_named(by_name, baseline))
    _add_online(space, chosen, by_name, more, choice)


def _choice(more: Mapping[str, Any], runs: Sequence[str]) -> ColumnChoice:
    """What ``--columns`` says of the tables that this command reads."""
    from recdash.evaluation.column_choice import read_column_choice
    from recdash.evaluation.reading import TABLES

    return read_column_choice(more["columns"], (*TABLES, *ONLINE), runs)


def _mappings(choice: ColumnChoice, kinds: Sequence[str]) -> dict[str, Mapping[str, str]]:
    from recdash.evaluation.column_choice import mappings_of

    return mappings_of(choice, kinds)


def _echo_added(one: AddedRun) -> None:
    say(f"{one.run.name}: {_became(one)}")
    for line in known_lines({one.run.name: one.run.overlap} if one.run.overlap else {}):
        say(f"note: {line}", err=True)


def _became(one: AddedRun) -> str:
    if not one.already_there:
        return "added"
    how = "Show archived on the Runs page of recdash serve, then Restore"
    return f"already there, but archived. To bring it back: {how}." if one.is_archived else "already there"


ONLINE: tuple[OnlineKind, ...] = ("sessions", "aggregates")
SETUP = (
    "train", "catalogue", "user_attributes", "item_vectors", "item_similarity", "depth", "relevance",
    "relevance_threshold", "users", "duplicates",
)  # fmt: skip


def _where(
    space: Workspace, name: str, truth: Path | None, more: Mapping[str, Any], choice: ColumnChoice
) -> str | Setup:
    """The id of the experiment; with a truth the set-up as read, not stored yet."""
    facts = {fact: more[fact] for fact in SETUP if more[fact] is not None}
    if truth is not None:
        mappings = _mappings(choice, ["truth", "train", "catalogue", "users", "vectors", "similarity"])
        return space.experiments.read_setup(name, truth, mappings=mappings, **facts)
    if facts:
        option = f"--{next(iter(facts)).replace('_', '-')}"
        fix = "The set-up of an experiment is fixed; give --truth for a new one."
        raise InputError(Problem("set-up-without-truth", option, "given without --truth", fix))
    return space.experiments.named(name).id


def _stored(space: Workspace, setup: Setup) -> str:
    """The id of the experiment made from the set-up, or of the one that is the same."""
    made = space.experiments.store_setup(setup)
    tell(Problem(**notice) for notice in made.settings["notices"])
    for twin in space.experiments.same_truth(made.id):
        say(f"note: experiment '{twin.name}' has the same truth.", err=True)
    return made.id


def _prepared(
    space: Workspace,
    where: str | Setup,
    uploads: Mapping[str, Any],
    rated: Mapping[str, Path],
    more: Mapping[str, Any],
    choice: ColumnChoice,
) -> list[PreparedRun]:
    references, how = more["references"], {name: more[name] for name in ("replicates", "accept_unknown_ids")}
    found = [
        one
        for name, files in uploads.items()
        for one in space.runs.prepare_runs(
            where,
            files,
            name=name,
            mapping=choice.of("run", name),
            predictions=rated.get(name),
            predictions_mapping=choice.of("predictions", name),
            **how,
        )
    ]
    found += space.runs.prepare_references(where, references) if references else []
    check_names("--run", [(one.run.name, Path()) for one in found])
    return found


def _check_names_known(
    space: Workspace,
    where: str | Setup,
    prepared: Sequence[PreparedRun],
    baseline: str | None,
    links: Sequence[str],
) -> None:
    known = next(
        (
            one.id
            for one in space.experiments.all()
            if where == one.id or getattr(where, "name", "") == one.name
        ),
        None,
    )
    names = [
        *(run.name for run in (space.runs.all(known) if known else [])),
        *(one.run.name for one in prepared),
    ]
    for name in [*([baseline] if baseline is not None else []), *(link.partition("=")[2] for link in links)]:
        run_named(dict.fromkeys(names, ""), name)


def _add_online(
    space: Workspace,
    experiment: str,
    by_name: Mapping[str, str],
    more: Mapping[str, Any],
    choice: ColumnChoice,
) -> None:
    links = {
        variant: run_named(by_name, run)
        for variant, _, run in (link.partition("=") for link in more["links"])
    }
    for kind in ONLINE:
        if more[kind] is not None:
            name, file = more[kind]
            test = space.online_tests.add_online_test(
                experiment,
                name,
                {kind: file},
                control=more["control"],
                links=links,
                mappings=_mappings(choice, [kind]),
            )
            tell(test.notices)
            say(f"{test.name}: added, control '{test.control}'")


@click.command("list")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_experiments(form: str) -> None:
    """The experiments and their runs."""
    space = workspace()
    found = [_experiment_facts(space, one) for one in space.experiments.all()]
    if form == "json":
        say(json.dumps({"experiments": found}, ensure_ascii=False))
    elif not found:
        say("No experiment yet. Try: recdash demo")
    for one in found if form == "text" else ():
        say(f"{one['name']} ({one['truth_users']:,} users, depth {one['depth']})")
        for run in one["runs"]:
            mark = ", baseline" if run["baseline"] else ""
            several = f"{run['replicates']['n']} {run['replicates']['noun']}s, " if run["replicates"] else ""
            missing = run["ledger"]["without_list"]
            say(f"  {run['name']} ({several}{missing:,} users without a list{mark})")


def _replicates_facts(replicated: Replicated | None) -> dict[str, Any] | None:
    return None if replicated is None else {"n": len(replicated.labels), **asdict(replicated)}


def _experiment_facts(space: Workspace, one: Any) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "created": one.created.isoformat(),
        "depth": one.settings["depth"],
        "truth_users": one.settings["truth_users"],
        "runs": [
            {
                "id": run.id,
                "name": run.name,
                "created": run.created.isoformat(),
                "tags": list(run.tags),
                "baseline": run.id == one.baseline,
                "ledger": dict(run.ledger),
                "known_ids": run.overlap.as_dict() if run.overlap else None,
                "replicates": _replicates_facts(run.replicated),
            }
            for run in space.runs.all(one.id)
        ],
        "online_tests": [test.name for test in space.online_tests.all(one.id)],
    }


@click.command()
@click.option("--experiment", required=True, help="Name of the experiment.")
@click.option("--run", "name", required=True, help="Name of the run.")
@click.option("--metric", default="ndcg@10", show_default=True, help="A metric with its cutoff.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def definitions(experiment: str, name: str, metric: str, form: str) -> None:
    """Show one run as every preset counts it, and what sets each of them apart.

    Parameters written in the metric win over the presets'.
    """
    from recdash.definitions.population_counts import ledger_lines
    from recdash.definitions.text import as_dict, as_tables
    from recdash.metrics import parse

    space, spec = workspace(), parse(metric)
    home = space.experiments.named(experiment)
    by_name = {run.name: run for run in space.runs.all(home.id)}
    run, depth = by_name[run_named(dict.fromkeys(by_name, name), name)], home.settings["depth"]
    asked = (run.id, spec.label, spec.k or depth)
    found = (
        space.definitions.under_presets(*asked),
        space.definitions.preset_causes(*asked),
        ledger_lines(run.ledger, home.settings["users"], depth, home.settings.get("duplicates", "first")),
        space.scores.tie_band(*asked),
    )
    if form == "json":
        facts = {"experiment": home.name, "run": run.name, "metric": spec.label, "k": asked[-1]}
        say(json.dumps({**facts, **as_dict(*found)}, ensure_ascii=False))
    else:
        say_lines("\n\n".join(aligned(rows, len(rows[0])) for rows in as_tables(*found)))
