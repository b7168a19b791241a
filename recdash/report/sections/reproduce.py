"""The section on how to recompute every number: hashes of the tables, versions, and commands."""

from __future__ import annotations

import shlex

from recdash.domain.results import WHOLE
from recdash.formatting.tables import Cell, Column, Number, RunName, Table
from recdash.report.context import ReportContext
from recdash.report.document import Command, Paragraph, Part, Section
from recdash.report.sections.interleaving import interleaving_tests

RECOMPUTES = "Recomputes every number of this report from the stored tables and names each that differs."
HAS_HEAD = "Compares the store with its audit log, and the log with its last line at the time of this report."


def reproducing(context: ReportContext) -> Section:
    made_with = ", ".join(f"{name} {number}" for name, number in context.versions.items())
    parts: list[Part] = [
        Command("recdash reproduce FILE", RECOMPUTES),
        Command(_command(context), "Writes this report again."),
        *([Command(f"recdash verify --head={context.head}", HAS_HEAD)] if context.head else []),
        _tables(context),
        Paragraph(f"Made with {made_with}.", "muted"),
    ]
    note = "Tables are identified by their sha256: the same files give the same numbers."
    return Section("reproducing", "Reproduce this report", note, tuple(parts))


def _command(context: ReportContext) -> str:
    """Returns the command that makes this report again from the store."""
    question = context.question
    words = ["recdash", "report", f"--experiment={context.experiment.name}"]
    words += _comparison(context) if context.is_about_runs else []
    words += [f"--test={context.test.name}"] if context.test else []
    words += ["--online-metric", question.online_metric] if context.test and question.online_metric else []
    for block in context.blocks:
        words += ["--block", block]
    return shlex.join([*words, "-o", "report.html"])


def _comparison(context: ReportContext) -> list[str]:
    """Returns the options that name the comparison of runs."""
    query, terms = context.query, context.query.terms
    words = [f"--baseline={context.base}", *(f"--run={context.names[run]}" for run in query.runs)]
    cutoff = f"@{query.k}" if "@" in query.where else ""
    size = terms.margin.size
    margin = f"{100 * size:.12g}%" if terms.margin.relative else f"{size:.12g}"
    words += [
        "--metric",
        f"{query.metric}{cutoff}",
        "--margin",
        margin,
        "--correction",
        terms.correction,
    ]
    words += ["--part", query.scope.slice] if query.scope.slice else []
    if query.scope != WHOLE and query.scope.threshold is not None:
        words += ["--relevance-threshold", f"{query.scope.threshold:g}"]
    return words + (["--slice", context.question.by] if context.question.by else [])


def _tables(context: ReportContext) -> Table:
    """Returns a table with the hash of every table from which numbers were computed."""
    experiment, test = context.experiment, context.test
    rows: list[tuple[Cell, ...]] = [
        (kind, experiment.name, sha) for kind, sha in experiment.all_tables.items() if sha
    ]
    for run in context.all_runs.values():
        if context.is_about_runs and run.id in context.query.shown:
            upload: Cell = run.upload or Number(None, why="its upload was not kept")
            rows.append(("recommendations", RunName(run.id), upload))
            if predictions := run.hits.get("predictions"):
                rows.append(("predictions", RunName(run.id), predictions))
    if test is not None:
        rows.append((test.kind, test.name, test.upload))
        rows += [(kind, test.name, sha) for kind, sha in test.tables.items()]
    rows += [(stored.kind, stored.name, stored.upload) for stored in interleaving_tests(context)]
    return Table("Tables by hash", (Column("Table"), Column("Of"), Column("sha256")), tuple(rows))
