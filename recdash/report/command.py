"""The line for a terminal that makes the same report again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from recdash.domain.results import WHOLE
from recdash.report.context import ReportContext


def command(asked: ReportContext, blocks: Sequence[str], form: str = "html") -> str:
    """The line that makes this report again from the store."""
    one, terms = asked.question, asked.question.terms
    words = ["recdash", "report", f"--experiment={asked.experiment.name}", f"--baseline={asked.base}"]
    words += [f"--run={asked.names[run]}" for run in one.runs]
    at = f"@{one.k}" if "@" in asked.where else ""
    size = terms.margin.size
    margin = f"{100 * size:.12g}%" if terms.margin.relative else f"{size:.12g}"
    words += ["--metric", f"{one.metric}{at}", "--margin", margin, "--correction", terms.correction]
    words += ["--part", one.scope.slice] if one.scope.slice else []
    if one.scope != WHOLE and one.scope.threshold is not None:
        words += ["--relevance-threshold", f"{one.scope.threshold:g}"]
    words += ["--slice", one.by] if one.by else []
    words += [f"--test={asked.test.name}"] if asked.test else []
    words += ["--online-metric", one.online_metric] if asked.test and one.online_metric else []
    for block in blocks:
        words += ["--block", block]
    return shlex.join([*words, "-o", f"report.{form}"])
