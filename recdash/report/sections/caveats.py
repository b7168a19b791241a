"""What to know before believing: comparability, what was noticed in the data, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from recdash.comparison.headlines import merge_problems
from recdash.domain.results import WHOLE
from recdash.errors import Problem
from recdash.evaluation.known_ids import CAVEATS
from recdash.formatting.wording import listed, named_number
from recdash.metrics.naming import metric_name
from recdash.report.context import ReportContext
from recdash.report.document import Notice, Notices, Section

GONE = Problem("no-test", "A/B test", "the A/B test of this report was deleted", "Its numbers are not told.")


def caveats(asked: ReportContext) -> Section:
    found = [*_between(asked), *_of_runs(asked), *_of_setup(asked), *_of_tests(asked)]
    notices = [Notice(one.place, f"{one.found.rstrip('.')}.", one.fix) for one in merge_problems(found)]
    items = (*notices, *_missing(asked))
    many = len(items)
    title = (
        "Nothing stands against these numbers"
        if not items
        else f"{named_number(many)} {'thing' if many == 1 else 'things'} to know"
    )
    nothing = "Nothing was noticed in the uploads, and nothing stands between the runs."
    return Section("caveats", title, "", (Notices(items, nothing),))


def _between(asked: ReportContext) -> Iterable[Problem]:
    found = asked.space.scores.comparability(list(asked.contenders))
    return (one for one in found if one.code not in CAVEATS)  # their runs' notices say these


def _of_runs(asked: ReportContext) -> Iterable[Problem]:
    return (notice for run in asked.runs for notice in run.notices)


def _of_setup(asked: ReportContext) -> Iterable[Problem]:
    return (Problem(**notice) for notice in asked.experiment.settings.get("notices", ()))


def _of_tests(asked: ReportContext) -> Iterable[Problem]:
    if asked.test is None:
        return [GONE] if asked.question.test is not None and asked.question.scope == WHOLE else []
    return [replace(one, place=f"{asked.test.name}, {one.place}") for one in asked.test.notices]


def _missing(asked: ReportContext) -> list[Notice]:
    """Metrics that a run lacks although another has them, with the reason, once for all alike."""
    said: dict[tuple[str, str], list[str]] = {}
    for metric in asked.space.scores.metrics_of(asked.shown):
        for run, why in asked.space.scores.absences(asked.shown, metric, asked.question.scope).items():
            said.setdefault((asked.names[run], why), []).append(metric_name(metric))
    return [Notice(run, f"no {listed(metrics)}: {why}.") for (run, why), metrics in said.items()]
