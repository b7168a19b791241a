"""``recdash compare``: recommends which candidate to ship."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.fast_start import start_light
from recdash.cli.input_file import InputFile
from recdash.cli.options import (
    PREDICTIONS_HELP,
    REPLICATES_HELP,
    RUN_HELP,
    NamedFile,
    check_names,
    columns_option,
    correction_option,
    form_option,
    how_to_count,
    margin_option,
    open_experiment,
    tell,
    terms_given,
    uploads,
)
from recdash.cli.output import known_lines
from recdash.cli.terminal import say, say_lines
from recdash.domain.defaults import DEFAULT_RATING_METRIC, DEFAULT_SPEC, baseline_by_name
from recdash.errors import InputError, Problem
from recdash.formatting import numbers
from recdash.formatting.text_table import text_table
from recdash.formatting.wording import CORRECTIONS

if TYPE_CHECKING:
    from recdash.comparison import Terms
    from recdash.comparison.candidate_case import CandidateCase
    from recdash.comparison.result import Compared
    from recdash.domain.results import Scope
    from recdash.ingest import Sheet
    from recdash.stats import Correction

BASELINE_HELP = (
    "The run to compare the others with (default: the experiment's; of files one whose name says so, such as "
    "popular or production)."
)
METRIC_HELP = (
    f"One metric with its cutoff (default: the experiment's; of files {DEFAULT_SPEC}, and with predictions "
    f"only {DEFAULT_RATING_METRIC})."
)


@click.command()
@click.option("--truth", type=InputFile(), help="Test set: user, item, and a relevance or rating.")
@click.option("--experiment", help="Compare stored runs of this experiment instead of files.")
@click.option("--run", "runs", multiple=True, type=NamedFile(), help=RUN_HELP)
@click.option("--replicates", type=click.Choice(["seeds", "folds"]), help=REPLICATES_HELP)
@click.option("--predictions", multiple=True, type=NamedFile(), help=PREDICTIONS_HELP)
@click.option("--baseline", help=BASELINE_HELP)
@click.option("--metric", help=METRIC_HELP)
@margin_option
@correction_option
@click.option(
    "--slice", "part", help="Only a slice of an experiment's users or items, such as user_warmth=cold."
)
@click.option("--train", type=InputFile(), help="Training data, for novelty and for slices of new users.")
@click.option("--catalogue", type=InputFile(), help="The catalogue (all items), for coverage.")
@click.option("--user-attributes", type=InputFile(), help="Users and their attributes, for slices.")
@columns_option
@how_to_count
@form_option
def compare(
    truth: Path | Sheet | None,
    experiment: str | None,
    runs: Sequence[tuple[str, Path | Sheet]],
    predictions: Sequence[tuple[str, Path | Sheet]],
    *,
    baseline: str | None,
    metric: str | None,
    margin: str | None,
    correction: Correction,
    part: str | None,
    form: str,
    **question: Any,
) -> None:
    """Compare candidates in pairs and say in plain words which one to ship.

    Exits with 0 whatever the result is; use recdash gate to fail a pipeline.
    """
    start_light()
    from recdash.comparison.rules import USUAL
    from recdash.domain.results import Scope

    _check_where(truth, experiment, [*runs, *predictions], part)
    check_names("--predictions", predictions)
    if experiment:
        scope = Scope(slice=part or "", threshold=question.pop("relevance_threshold"))
        _check_stored(runs, predictions, question)
        names = [name for name, _ in runs]
        result = _compare_stored(experiment, names, baseline, metric, scope, (margin, correction))
    else:
        question["predictions"] = dict(predictions)
        metric = metric or (DEFAULT_RATING_METRIC if predictions and not runs else DEFAULT_SPEC)
        terms = terms_given(USUAL, margin, correction)
        result = _compare_files(runs, truth, baseline, metric, terms, question)
    tell(result.verdict.evidence.problems)
    say_lines(json.dumps(result.as_dict(), indent=2) if form == "json" else comparison_text(result))


def _check_where(
    truth: Path | Sheet | None, experiment: str | None, runs: Sequence[Any], part: str | None
) -> None:
    if (truth is None) == (experiment is None):
        sources = "neither --truth nor --experiment" if truth is None else "both --truth and --experiment"
        fix = "Give --truth with --run NAME=FILE for each candidate, or --experiment NAME."
        raise InputError(Problem("no-source", "recdash compare", sources, fix))
    if truth is not None and not runs:
        raise InputError(Problem("no-run", "recdash compare", "no candidate", "Add --run NAME=FILE."))
    if truth is not None and part:
        fix = "Store the runs with recdash add, then compare with --experiment."
        raise InputError(Problem("no-slice", "--slice", "with files", fix))


def _compare_files(
    runs: Sequence[tuple[str, Path | Sheet]],
    truth: Any,
    baseline: str | None,
    metric: str,
    terms: Terms,
    question: Any,
) -> Compared:
    from recdash.evaluation import evaluate as score
    from recdash.metrics.naming import GUARDRAILS

    evaluation = score(uploads(runs), truth, metrics=[metric, *GUARDRAILS], **question)
    names = [run.name for run in evaluation.runs]
    baseline = _suggested(names) if baseline is None else baseline
    _check_candidates(names, baseline)
    return evaluation.compare(metric, baseline, terms)


def _compare_stored(
    experiment: str,
    names: Sequence[str],
    baseline: str | None,
    metric: str | None,
    scope: Scope,
    judged: tuple[str | None, Correction],
) -> Compared:
    """Returns the comparison of stored runs; options that are None follow the experiment's rules.

    ``judged`` is (margin, correction); a margin of None is that of the rules.
    """
    from recdash.service.plain_answers import NamedQuery, compared

    workspace, home = open_experiment(experiment)
    return compared(workspace, home, NamedQuery(names, baseline, metric, *judged, scope=scope))


def _suggested(names: Sequence[str]) -> str:
    """Returns the name that suggests a baseline, and prints a note on it. Raises InputError if no name
    does.
    """
    baseline = baseline_by_name(names)
    if baseline is None:
        fix = f"Add --baseline NAME, one of {', '.join(names)}."
        raise InputError(Problem("no-baseline", "recdash compare", "no baseline", fix))
    say(f"note: '{baseline}' is the baseline because of its name; --baseline names another.", err=True)
    return baseline


def comparison_text(result: Compared) -> str:
    """Returns the recommendation, the offline evidence on its candidate, and tables with one line per
    candidate and per pair.
    """
    from recdash.comparison.wording import plain

    comparison = result.comparison
    names, families = comparison.names, []
    rule = CORRECTIONS.get(comparison.query.terms.correction)
    corrected_p = [f"p, {rule}"] if rule else []
    lines = [["candidate", "baseline", "difference", "CI", "p", *corrected_p, "finding", "users"]]
    for pair in comparison.pairs:
        mean, ends = pair.paired.mean, pair.interval
        digits = numbers.places([mean, *ends])
        difference = [numbers.signed(mean, digits), numbers.interval(*ends, digits)]
        p_values = [numbers.p_value(p) for p in (pair.paired.p, pair.judged.p)]
        finding = [
            *(p_values if rule else p_values[:1]),
            pair.words,
            numbers.count(pair.paired.n),
        ]
        lines.append([names[pair.candidate], names[pair.baseline], *difference, *finding])
    notes = list(known_lines({names[run]: overlap for run, overlap in result.known_ids().items()}))
    if len(comparison.against) > 1:
        families.append(f"over {len(comparison.against)} differences from the baseline")
    if len(comparison.among) > 1:
        families.append(f"over {len(comparison.among)} other pairs")
    method = CORRECTIONS.get(comparison.query.terms.correction)
    if method and families:
        notes.append(f"\nCI and the second p are corrected by {method} {' and '.join(families)}.")
    notes += [f"{reason}." for reason in comparison.apart.values()]
    cases = [["candidate", "case"], *([case.name, _case_text(case)] for case in result.verdict.cases)]
    evidence = ["", *map(plain, result.verdict.offline.sentences)] if result.verdict.cases else []
    tables = [text_table(cases, texts=2), "", text_table(lines, texts=2)] if result.verdict.cases else []
    return "\n".join([result.verdict.text, *evidence, "", *tables, "", *notes])


def _case_text(case: CandidateCase) -> str:
    """Returns the candidate's case in words, with its risks."""
    from recdash.comparison.candidate_case import correction_note
    from recdash.comparison.wording import plain

    note = correction_note(case)
    return "; ".join([case.words, *([note] if note else []), *map(plain, case.risks)])


def _check_candidates(names: Iterable[str], baseline: str | None) -> None:
    """Raises InputError if there is no candidate besides the baseline."""
    if not set(names) - {baseline}:
        fix = "Add a candidate with --run."
        raise InputError(
            Problem("no-candidate", "recdash compare", f"no candidate besides '{baseline}'", fix)
        )


def _check_stored(
    runs: Sequence[tuple[str, Path | Sheet]],
    predictions: Sequence[tuple[str, Path | Sheet]],
    question: Mapping[str, Any],
) -> None:
    """Raises InputError for options that decide how files are scored, because stored runs are scored
    already.
    """
    if predictions:
        fix = "A stored run keeps the predictions that were added with it; select it with --run NAME."
        raise InputError(Problem("not-for-stored", "--predictions", "with --experiment", fix))
    unused = [name for name, value in question.items() if value not in (None, "default", False, {}, ())]
    options = [f"--{name.replace('_', '-')}" for name in unused]
    options += [f"--run {name}={file}" for name, file in runs if str(file) != name]
    if options:
        fix = (
            "Stored runs follow the experiment's own rules. Select runs with --run NAME and slices with "
            "--slice."
        )
        raise InputError(Problem("not-for-stored", ", ".join(options), "with --experiment", fix))
