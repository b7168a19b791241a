"""``recdash report`` and ``reproduce``: write a report, and compute its numbers again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.options import (
    correction_option,
    dashboard_address,
    experiment_option,
    form_option,
    margin_option,
    metric_and_k,
    open_workspace,
    run_ids,
    run_named,
    terms_given,
)
from recdash.cli.terminal import say, say_json, say_lines
from recdash.errors import InputError, Problem, UnknownName

if TYPE_CHECKING:
    from recdash.service import Workspace
    from recdash.service.question import Question


@click.command()
@experiment_option
@click.option("-o", "--output", required=True, type=Path, help="FILE.html, .pdf, .md, .csv, .json or .tex.")
@click.option("--baseline", help="Name of the baseline (default: the experiment's).")
@click.option(
    "--run", "runs", multiple=True, help="Name of a candidate; repeatable (default: the first eight)."
)
@click.option("--metric", help="One offline metric with its cutoff (default: the experiment's).")
@click.option("--k", type=int, help="The cutoff, if --metric names none.")
@click.option("--part", default="", help="Only a slice of users or items, such as user_warmth=cold.")
@click.option("--relevance-threshold", type=float, help="Smallest relevance that counts as relevant.")
@click.option("--slice", "by", help="Slices to show, such as user_warmth (default: the first available).")
@margin_option
@correction_option
@click.option("--test", help="Name of the A/B test to include (default: the newest that is linked).")
@click.option("--online-metric", help="An online metric (default: the first that disagrees).")
@click.option("--title", default="", help="Title of the report.")
@click.option(
    "--narrative", default="", help="Summary for readers, shown on the first page; @FILE reads a file."
)
@click.option("--block", "blocks", multiple=True, help="Section to include; repeatable, in this order.")
@click.option(
    "--dashboard",
    default="",
    callback=dashboard_address,
    help="Address of the dashboard, for a link to this view.",
)
@click.option("--keep", is_flag=True, help="Also store the report as a snapshot.")
def report(experiment: str, output: Path, *, title: str, narrative: str, **options: Any) -> None:
    """Write a report to one file: the decision or recommendation, then the appendix.

    Without stored runs it is about the newest A/B test, or the one that --test names.

    Blocks: evidence, scores, curves, precision-recall, defined, slices, online, changes, decisions, caveats,
    reproducing.
    """
    from recdash.report.formats.registry import form_of, write
    from recdash.report.reports import Reports

    form, workspace = form_of(output), open_workspace()
    reports, text = Reports(workspace), _prose(narrative)
    question, blocks = _question(workspace, experiment, **options), options["blocks"]
    home = options["dashboard"]
    if options["keep"]:
        snapshot = reports.make(question, blocks, title=title, narrative=text, home=home)
        document = reports.document(snapshot.id)
        say(f"stored as a snapshot: {snapshot.title} ({snapshot.id})", err=True)
    else:
        author = workspace.person.name
        document = reports.content(question, blocks, title=title, narrative=text, author=author, home=home)
    n_bytes = write(document, form, output)
    say(f"{document.lead.headline}. Written: {output} ({n_bytes:,} bytes)")


def _prose(text: str) -> str:
    """Returns the text; if it begins with @, the content of the file of that name. Raises InputError for an
    unreadable file.
    """
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        problem = f"it cannot be read ({reason})"
        raise InputError(Problem("no-narrative", text[1:], problem, "Name a text file in UTF-8.")) from error


def _question(
    workspace: Workspace, experiment: str, *, baseline: str | None, runs: Sequence[str], **options: Any
) -> Question:
    """Returns the question that the report answers, with ids for names and parsed texts."""
    from recdash.domain.results import Scope
    from recdash.report.reports import Reports

    stored = workspace.experiments.named(experiment)
    by_name = run_ids(workspace, stored.id, archived=True)
    metric, k = metric_and_k(options["metric"], options["k"])
    terms = terms_given(workspace.rules.of(stored.id), options["margin"], options["correction"])
    test = None
    if (name := options["test"]) is not None:
        tests = {test.name: test.id for test in workspace.online_tests.all(stored.id, archived=True)}
        if name not in tests:
            raise UnknownName("A/B test", name, list(tests))
        test = tests[name]
    query = None  # without runs, the report is about the A/B test alone
    if by_name or baseline or runs or metric:
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


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@form_option
@click.pass_context
def reproduce(context: click.Context, file: Path, form: str) -> None:
    """Recompute every number of a report (HTML or JSON) from the stored tables and compare.

    Exits with 1 if a number differs or the report's page cannot be checked for changes, with 2 if its tables
    are not stored or data of users were deleted from them.
    """
    from recdash.report.reproduce.reproduce import reproduction

    result = reproduction(open_workspace(), file)
    if form == "json":
        say_json(result.as_dict())
    else:
        say_lines(result.text)
    if not result.holds:
        context.exit(2 if result.deleted else 1)
