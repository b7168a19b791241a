"""``recdash compare``: which candidate to ship."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.fast_start import start_light
from recdash.cli.options import (
    PREDICTIONS_HELP,
    REPLICATES_HELP,
    RUN_HELP,
    NamedFile,
    check_names,
    columns_option,
    how_to_count,
    run_named,
    tell,
    uploads,
    workspace,
)
from recdash.cli.output import aligned, known_lines
from recdash.cli.terminal import say_lines
from recdash.errors import InputError, Problem
from recdash.formatting import numbers

if TYPE_CHECKING:
    from recdash.comparison import Comparison, Terms
    from recdash.comparison.result import Compared
    from recdash.domain.results import Scope
    from recdash.stats import Correction


@click.command()
@click.option("--truth", type=Path, help="Held-out rows: user, item, and a relevance or rating.")
@click.option("--experiment", help="Compare stored runs of this experiment in place of files.")
@click.option("--run", "runs", multiple=True, type=NamedFile(), help=RUN_HELP)
@click.option("--replicates", type=click.Choice(["seeds", "folds"]), help=REPLICATES_HELP)
@click.option("--predictions", multiple=True, type=NamedFile(), help=PREDICTIONS_HELP)
@click.option("--baseline", required=True, help="The name of the run that the others must beat.")
@click.option("--metric", help="One spec with its cutoff (default: ndcg@10; of predictions alone, rmse).")
@click.option("--margin", default="1%", show_default=True, help="What is too small to matter: 1% or 0.002.")
@click.option(
    "--correction",
    default="holm",
    show_default=True,
    type=click.Choice(["holm", "bh", "off"]),
    help="How several differences are judged together.",
)
@click.option("--slice", "part", help="Only some users or items of an experiment, such as user_warmth=cold.")
@click.option("--train", type=Path, help="Training rows, for novelty and for new users.")
@click.option("--catalogue", type=Path, help="All items, for coverage.")
@click.option("--user-attributes", type=Path, help="Users and their attributes, for slices.")
@columns_option
@how_to_count
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def compare(
    truth: Path | None,
    experiment: str | None,
    runs: Sequence[tuple[str, Path]],
    predictions: Sequence[tuple[str, Path]],
    *,
    baseline: str,
    metric: str | None,
    margin: str,
    correction: Correction,
    part: str | None,
    form: str,
    **question: Any,
) -> None:
    """Which candidate to ship: every pair with its evidence, and a verdict in plain words."""
    start_light()
    from recdash.comparison import Terms, read_margin
    from recdash.domain.results import Scope

    terms = Terms(margin=read_margin(margin), correction=correction)
    _check_where(truth, experiment, [*runs, *predictions], part)
    check_names("--predictions", predictions)
    metric = metric or ("rmse" if predictions and not runs else "ndcg@10")
    if experiment:
        _check_no_predictions(predictions)
        scope = Scope(slice=part or "", threshold=question.pop("relevance_threshold"))
        _check_stored(runs, question)
        found = _compare_stored(experiment, [name for name, _ in runs], baseline, metric, terms, scope)
    else:
        question["predictions"] = dict(predictions)
        found = _compare_files(runs, truth, baseline, metric, terms, question)
    tell(found.verdict.evidence.problems)
    say_lines(json.dumps(found.as_dict(), indent=2) if form == "json" else comparison_text(found))


def _check_where(truth: Path | None, experiment: str | None, runs: Sequence[Any], part: str | None) -> None:
    if (truth is None) == (experiment is None):
        found = "neither --truth nor --experiment" if truth is None else "both --truth and --experiment"
        fix = "Give --truth with --run NAME=FILE for each candidate, or --experiment NAME."
        raise InputError(Problem("no-source", "recdash compare", found, fix))
    if truth is not None and not runs:
        raise InputError(Problem("no-run", "recdash compare", "no candidate", "Add --run NAME=FILE."))
    if truth is not None and part:
        fix = "Store the runs with recdash add, then compare with --experiment."
        raise InputError(Problem("no-slice", "--slice", "with files", fix))


def _compare_files(
    runs: Sequence[tuple[str, Path]], truth: Any, baseline: str, metric: str, terms: Terms, question: Any
) -> Compared:
    from recdash.comparison.guardrails import GUARDRAILS
    from recdash.evaluation import evaluate as score

    found = score(uploads(runs), truth, metrics=[metric, *GUARDRAILS], **question)
    _check_candidates([run.name for run in found.runs], baseline)
    return found.compare(metric, baseline, terms)


def _compare_stored(
    experiment: str, names: Sequence[str], baseline: str, metric: str, terms: Terms, scope: Scope
) -> Compared:
    from recdash.comparison.result import cutoff_of
    from recdash.metrics import parse

    space, spec = workspace(), parse(metric)
    stored = space.runs.all(space.experiments.named(experiment).id)
    ids = {run.name: run.id for run in stored}
    own = [run.name for run in stored if not run.reference]
    wanted = [run_named(ids, name) for name in names or own]
    _check_candidates(names or own, baseline)
    return space.comparisons.compare(
        wanted, run_named(ids, baseline), spec.label, cutoff_of(spec), terms, scope
    )


def comparison_text(found: Compared) -> str:
    """The verdict, then one line per pair."""
    names, head = found.comparison.names, "candidate,baseline,difference,CI,p,finding,users"
    lines = [head.split(",")]
    for pair in found.comparison.pairs:
        mean, ends = pair.paired.mean, (pair.judged.corrected.low, pair.judged.corrected.high)
        digits = numbers.places([mean, *ends])
        how = [numbers.signed(mean, digits), numbers.interval(*ends, digits), numbers.p_value(pair.judged.p)]
        who = [names[pair.candidate], names[pair.baseline]]
        lines.append([*who, *how, pair.judged.word, numbers.count(pair.paired.n)])
    how = _how_judged(found.comparison)
    apart = [f"{reason}." for reason in found.comparison.apart.values()]
    known = known_lines({names[run]: overlap for run, overlap in found.known_ids().items()})
    return "\n".join([found.verdict.text, "", aligned(lines, texts=2), "", *known, *how, *apart])


def _check_candidates(names: Iterable[str], baseline: str) -> None:
    """Raises InputError where nothing would be compared."""
    if not set(names) - {baseline}:
        fix = "Add a candidate with --run."
        raise InputError(Problem("no-candidate", "recdash compare", f"nothing beside '{baseline}'", fix))


def _how_judged(found: Comparison) -> list[str]:
    """Which intervals and p are corrected, and over how many."""
    names = {"holm": "Holm", "bh": "Benjamini and Hochberg"}
    families = {"differences to the baseline": len(found.against), "other pairs": len(found.among)}
    told = [f"over {count} {what}" for what, count in families.items() if count > 1]
    if found.terms.correction not in names or not told:
        return []
    return [f"\nCI and p are corrected after {names[found.terms.correction]} {' and '.join(told)}."]


def _check_no_predictions(predictions: Sequence[tuple[str, Path]]) -> None:
    if predictions:
        fix = "A stored run has the predictions that it was added with; name it by --run NAME."
        raise InputError(Problem("not-for-stored", "--predictions", "with --experiment", fix))


def _check_stored(runs: Sequence[tuple[str, Path]], question: Mapping[str, Any]) -> None:
    """Stored runs were scored once: what belongs to the scoring of files is refused, not passed over."""
    unused = [name for name, value in question.items() if value not in (None, "default", False, {})]
    options = [f"--{name.replace('_', '-')}" for name in unused]
    options += [f"--run {name}={file}" for name, file in runs if str(file) != name]
    if options:
        fix = "The experiment's own rules hold; name runs as --run NAME, parts as --slice."
        raise InputError(Problem("not-for-stored", ", ".join(options), "with --experiment", fix))
