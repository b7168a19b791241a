"""The line for a terminal that makes the same report again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from recdash.domain.results import WHOLE
from recdash.report.context import ReportContext


def command(context: ReportContext, blocks: Sequence[str], form: str = "html") -> str:
    """The line that makes this report again from the store."""
    question, terms = context.question, context.question.terms
    words = ["recdash", "report", f"--experiment={context.experiment.name}", f"--baseline={context.base}"]
    words += [f"--run={context.names[run]}" for run in question.runs]
    cutoff = f"@{question.k}" if "@" in context.where else ""
    size = terms.margin.size
    margin = f"{100 * size:.12g}%" if terms.margin.relative else f"{size:.12g}"
    words += ["--metric", f"{question.metric}{cutoff}", "--margin", margin, "--correction", terms.correction]
    words += ["--part", question.scope.slice] if question.scope.slice else []
    if question.scope != WHOLE and question.scope.threshold is not None:
        words += ["--relevance-threshold", f"{question.scope.threshold:g}"]
    words += ["--slice", question.by] if question.by else []
    words += [f"--test={context.test.name}"] if context.test else []
    words += ["--online-metric", question.online_metric] if context.test and question.online_metric else []
    for block in blocks:
        words += ["--block", block]
    return shlex.join([*words, "-o", f"report.{form}"])
