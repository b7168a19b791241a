"""``recdash report`` and ``reproduce``: a report as a file, and whether its numbers hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.options import run_named, workspace
from recdash.cli.terminal import say, say_lines
from recdash.errors import InputError, Problem, UnknownName

if TYPE_CHECKING:
    from recdash.service import Workspace
    from recdash.service.question import Question


@click.command()
@click.option("--experiment", required=True, help="Name of the experiment.")
@click.option("-o", "--output", required=True, type=Path, help="FILE.html, .pdf, .md, .csv, .json or .tex.")
@click.option("--baseline", help="The run that the others must beat (default: the experiment's).")
@click.option("--run", "runs", multiple=True, help="A candidate; again for each (default: the first eight).")
@click.option("--metric", help="One offline metric with its cutoff (default: ndcg@10).")
@click.option("--k", type=int, help="The cutoff, where --metric names none.")
@click.option("--part", default="", help="Only some users or items, such as user_warmth=cold.")
@click.option("--relevance-threshold", type=float, help="Least relevance that counts.")
@click.option("--slice", "by", help="Slices to show, such as user_warmth (default: the first there is).")
@click.option("--margin", default="1%", show_default=True, help="What is too small to matter: 1% or 0.002.")
@click.option(
    "--correction",
    default="holm",
    show_default=True,
    type=click.Choice(["holm", "bh", "off"]),
    help="How several differences are judged together.",
)
@click.option("--test", help="Name of the A/B test beside it (default: the newest that is linked).")
@click.option("--online-metric", help="An online metric (default: the first that disagrees).")
@click.option("--title", default="", help="Title of the report.")
@click.option("--narrative", default="", help="Your own words, shown below the verdict; @FILE reads a file.")
@click.option("--block", "blocks", multiple=True, help="What to show, in this order; again for each.")
@click.option("--keep", is_flag=True, help="Keep the report in the store too, as a snapshot.")
def report(experiment: str, output: Path, *, title: str, narrative: str, **asked: Any) -> None:
    """Write what the stored runs say as one file, the verdict first.

    Blocks: defined, evidence, scores, curves, precision-recall, online, slices, changes, decisions, caveats,
    reproducing.
    """
    from recdash.report.formats.registry import form_of, write
    from recdash.report.reports import Reports

    form, space = form_of(output), workspace()
    question, prose, blocks = _question(space, experiment, **asked), _prose(narrative), asked["blocks"]
    if asked["keep"]:
        kept = Reports(space).make_report(question, blocks, title=title, narrative=prose)
        document = Reports(space).report_document(kept.id)
        say(f"kept as a snapshot: {kept.title} ({kept.id})", err=True)
    else:
        author = space.person.name
        document = Reports(space).report_content(
            question, blocks, title=title, narrative=prose, author=author
        )
    n_bytes = write(document, form, output)
    say(f"{document.lead.headline}. Written: {output} ({n_bytes:,} bytes)")


def _prose(given: str) -> str:
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        found = f"it cannot be read ({error})"
        raise InputError(Problem("no-narrative", given[1:], found, "Name a text file in UTF-8.")) from error


def _question(
    space: Workspace, experiment: str, *, baseline: str | None, runs: Sequence[str], **asked: Any
) -> Question:
    """Names as ids, and texts as what they mean."""
    from recdash.comparison import Terms, read_margin
    from recdash.domain.results import Scope
    from recdash.report.reports import Reports

    home = space.experiments.named(experiment)
    by_name = {run.name: run.id for run in space.runs.all(home.id, archived=True)}
    metric, k = _metric_and_k(asked["metric"], asked["k"])
    terms = Terms(margin=read_margin(asked["margin"]), correction=asked["correction"])
    return Reports(space).question(
        home.id, [run_named(by_name, name) for name in runs],
        run_named(by_name, baseline) if baseline is not None else None, metric, k,
        scope=Scope(asked["part"], asked["relevance_threshold"]), terms=terms, by=asked["by"],
        test=_test_of(space, home.id, asked["test"]), online_metric=asked["online_metric"],
    )  # fmt: skip


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


def _test_of(space: Workspace, experiment_id: str, name: str | None) -> str | None:
    if name is None:
        return None
    known = {test.name: test.id for test in space.online_tests.all(experiment_id, archived=True)}
    if name not in known:
        raise UnknownName("A/B test", name, list(known))
    return known[name]


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def reproduce(context: click.Context, file: Path, form: str) -> None:
    """Compute every number of a report (HTML or JSON) anew from the stored tables, and compare.

    Exits with 1 where the report says something else and where nobody can tell whether its page was changed,
    with 2 where its tables are not stored.
    """
    from recdash.report.reproduce.reproduce import reproduction

    found = reproduction(workspace(), file)
    say_lines(json.dumps(found.as_dict(), ensure_ascii=False, indent=2) if form == "json" else found.text)
    if not found.holds:
        context.exit(1)
