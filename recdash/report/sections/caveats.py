"""Data notes: comparability, problems in the data, and missing metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from recdash.comparison.headlines import merge_problems
from recdash.errors import Problem
from recdash.evaluation.known_ids import CAVEATS
from recdash.evaluation.relevance import notices_of
from recdash.formatting.wording import listed, named_number, plural
from recdash.metrics.naming import metric_title
from recdash.report.context import ReportContext
from recdash.report.document import Notice, Notices, Section

GONE = Problem(
    "no-test", "A/B test", "the A/B test of this report was deleted", "This report leaves out its numbers."
)


def caveats(context: ReportContext) -> Section:
    nothing = "No problem was found in the uploads, and the runs can be compared."
    return notes(merge_problems(list(_problems(context))), nothing, _missing(context))


def notes(problems: Iterable[Problem], nothing: str, missing: Iterable[Notice] = ()) -> Section:
    """Returns the section with a note on each problem, then those on ``missing`` metrics; with the sentence
    ``nothing`` if there are none.
    """
    notices = [Notice(problem.place, f"{problem.found.rstrip('.')}.", problem.fix) for problem in problems]
    items = (*notices, *missing)
    title = "No problem was found in the data"
    if items:
        title = f"{named_number(len(items))} {plural(len(items), 'note')} on the data"
    return Section("caveats", title, "", (Notices(items, nothing),))


def _problems(context: ReportContext) -> Iterator[Problem]:
    """Yields problems of comparability, then the notices of runs, of the experiment and of the A/B test."""
    shown, former = list(context.verdict_query.shown), not context.tells_equal_users
    for problem in context.workspace.scores.comparability(shown, former=former):
        if problem.code not in CAVEATS:  # these are also notices of the runs
            yield problem
    for run in context.runs:
        yield from run.notices
    yield from notices_of(context.experiment.settings)
    if context.test is not None:
        for problem in context.test.notices:
            yield replace(problem, place=f"{context.test.name}, {problem.place}")
    elif context.question.test is not None and context.has_tests:
        yield GONE


def _missing(context: ReportContext) -> list[Notice]:
    """Returns a notice of the metrics that a run lacks although another run has them, one for each run and
    reason.
    """
    missing: dict[tuple[str, str], list[str]] = {}
    scores, scope = context.workspace.scores, context.query.scope
    offered, gone = scores.metrics_of(context.query.shown), scores.gone_metrics(context.query.shown)
    for metric in (*offered, *gone):
        for run, why in scores.absences(context.query.shown, metric, scope).items():
            missing.setdefault((context.names[run], why), []).append(metric_title(metric))
    return [Notice(run, f"no {listed(metrics)}: {why}.") for (run, why), metrics in missing.items()]
