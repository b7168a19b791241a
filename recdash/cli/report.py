"""``recdash report`` and ``reproduce``: a report as a file, and whether its numbers hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.options import (
    correction_option,
    experiment_option,
    form_option,
    open_workspace,
    run_ids,
    run_named,
)
from recdash.cli.terminal import say, say_json, say_lines
from recdash.domain.defaults import DEFAULT_SPEC
from recdash.errors import InputError, Problem, UnknownName

if TYPE_CHECKING:
    from recdash.service import Workspace
    from recdash.service.question import Question


@click.command()
@experiment_option
@click.option("-o", "--output", required=True, type=Path, help="FILE.html, .pdf, .md, .csv, .json or .tex.")
@click.option("--baseline", help="The run that the others must beat (default: the experiment's).")
@click.option("--run", "runs", multiple=True, help="A candidate; again for each (default: the first eight).")
@click.option("--metric", help=f"One offline metric with its cutoff (default: {DEFAULT_SPEC}).")
@click.option("--k", type=int, help="The cutoff, where --metric names none.")
@click.option("--part", default="", help="Only some users or items, such as user_warmth=cold.")
@click.option("--relevance-threshold", type=float, help="Least relevance that counts.")
@click.option("--slice", "by", help="Slices to show, such as user_warmth (default: the first there is).")
@click.option("--margin", default="1%", show_default=True, help="What is too small to matter: 1% or 0.002.")
@correction_option
@click.option("--test", help="Name of the A/B test beside it (default: the newest that is linked).")
@click.option("--online-metric", help="An online metric (default: the first that disagrees).")
@click.option("--title", default="", help="Title of the report.")
@click.option("--narrative", default="", help="Your own words, shown below the verdict; @FILE reads a file.")
@click.option("--block", "blocks", multiple=True, help="What to show, in this order; again for each.")
@click.option("--keep", is_flag=True, help="Keep the report in the store too, as a snapshot.")
def report(experiment: str, output: Path, *, title: str, narrative: str, **options: Any) -> None:
    """Write what the stored runs say as one file, the verdict first.

    Blocks: defined, evidence, scores, curves, precision-recall, online, slices, changes, decisions, caveats,
    reproducing.
    """
    from recdash.report.formats.registry import form_of, write
    from recdash.report.reports import Reports

    form, workspace = form_of(output), open_workspace()
    reports, text = Reports(workspace), _prose(narrative)
    question, blocks = _question(workspace, experiment, **options), options["blocks"]
    if options["keep"]:
        snapshot = reports.make(question, blocks, title=title, narrative=text)
        document = reports.document(snapshot.id)
        say(f"kept as a snapshot: {snapshot.title} ({snapshot.id})", err=True)
    else:
        author = workspace.person.name
        document = reports.content(question, blocks, title=title, narrative=text, author=author)
    n_bytes = write(document, form, output)
    say(f"{document.lead.headline}. Written: {output} ({n_bytes:,} bytes)")


def _prose(text: str) -> str:
    """The text itself, or that of the file after an @. Raises InputError for a file that cannot be read."""
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = f"it cannot be read ({error})"
        raise InputError(Problem("no-narrative", text[1:], problem, "Name a text file in UTF-8.")) from error


def _question(
    workspace: Workspace, experiment: str, *, baseline: str | None, runs: Sequence[str], **options: Any
) -> Question:
    """The question of the report: names as ids, texts parsed."""
    from recdash.comparison import Terms, read_margin
    from recdash.domain.results import Scope
    from recdash.report.reports import Reports

    stored = workspace.experiments.named(experiment)
    by_name = run_ids(workspace, stored.id, archived=True)
    metric, k = _metric_and_k(options["metric"], options["k"])
    terms = Terms(margin=read_margin(options["margin"]), correction=options["correction"])
    test = None
    if (name := options["test"]) is not None:
        tests = {test.name: test.id for test in workspace.online_tests.all(stored.id, archived=True)}
        if name not in tests:
            raise UnknownName("A/B test", name, list(tests))
        test = tests[name]
    query = workspace.queries.of(
        stored.id,
        [run_named(by_name, name) for name in runs],
        run_named(by_name, baseline) if baseline is not None else None,
        metric,
        k,
        scope=Scope(options["part"], options["relevance_threshold"]),
        terms=terms,
    )
    beside = {"by": options["by"], "test": test, "online_metric": options["online_metric"]}
    return Reports(workspace).question(stored.id, query, **beside)


def _metric_and_k(metric: str | None, k: int | None) -> tuple[str | None, int | None]:
    """``ndcg@10`` → ndcg, 10. Raises InputError for two cutoffs that differ."""
    from recdash.metrics import parse

    if metric is None:
        return None, k
    spec = parse(metric)
    if k is not None and spec.k not in {None, k}:
        fix = "Write the cutoff once."
        raise InputError(Problem("two-cutoffs", "--k", f"{k}, but --metric is {metric}", fix))
    return spec.label, k if spec.k is None else spec.k


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@form_option
@click.pass_context
def reproduce(context: click.Context, file: Path, form: str) -> None:
    """Compute every number of a report (HTML or JSON) anew from the stored tables, and compare.

    Exits with 1 if the report differs or if its page cannot be checked for changes, with 2 if its tables are
    not stored.
    """
    from recdash.report.reproduce.reproduce import reproduction

    result = reproduction(open_workspace(), file)
    if form == "json":
        say_json(result.as_dict())
    else:
        say_lines(result.text)
    if not result.holds:
        context.exit(1)
