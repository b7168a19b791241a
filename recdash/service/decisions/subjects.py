"""What reviews and decisions are about: a run, its baseline and the metric, with the current names of
runs.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from recdash.comparison import ComparisonQuery
from recdash.decisions import Named, Subject
from recdash.decisions.snapshot import Variant
from recdash.domain.defaults import DEFAULT_METRIC, FIRST_CANDIDATES, default_k
from recdash.errors import InputError, NotFound, Problem, UnknownName
from recdash.metrics import check_k
from recdash.service.context import ServiceContext
from recdash.service.queries import Queries


class Subjects:
    def __init__(self, context: ServiceContext, queries: Queries) -> None:
        self._context, self._queries = context, queries
        self._store = context.store

    def subject(self, experiment_id: str, run_id: str | None, query: ComparisonQuery | None) -> Subject:
        """Returns the subject of a decision: a run (None for all) and a comparison, by default the
        experiment's own.

        Without a query and without an active run, the subject has no baseline. Raises InputError for a run
        that is not in the experiment, and for a k beyond the depth.
        """
        experiment = self._store.experiments.get(experiment_id)
        runs = {run.id: run for run in self._store.runs.of_experiment(experiment_id, archived=True)}
        active = [run.name for run in runs.values() if run.archived is None]
        for asked in (run_id, *(query.shown if query else ())):
            if asked is not None and asked not in runs:
                raise UnknownName("run", asked, active)
        named = {run.id: Named(run.id, run.name) for run in runs.values()}
        run, depth = named.get(run_id or ""), experiment.settings["depth"]
        if query is None and not active:
            return Subject(run, None, DEFAULT_METRIC, default_k(depth))
        if query is None:
            query = self._queries.of(experiment_id)
            most = FIRST_CANDIDATES - (run is not None)
            others = [other for other in query.runs if other != run_id][:most]
        else:
            check_k(query.k, depth)
            others = [other for other in query.runs if other != run_id]
        beside = tuple(named[other] for other in others)
        return Subject(run, named[query.baseline], query.metric, query.k, beside)

    def of_variant(self, experiment_id: str, variant: Variant) -> Subject:
        """Returns the subject of a decision about a variant of an A/B test, which has no baseline."""
        depth = self._store.experiments.get(experiment_id).settings["depth"]
        return Subject(None, None, DEFAULT_METRIC, default_k(depth), variant=variant)

    def named_now(self, subject: Subject) -> Subject:
        """Returns the subject with the current names of its runs, without other runs that were deleted.

        Raises InputError if its run or baseline was deleted.
        """
        self.refuse_gone(subject)
        names = self.names(subject)
        run, baseline = (
            named and Named(named.id, names[named.id]) for named in (subject.run, subject.baseline)
        )
        others = tuple(Named(named.id, names[named.id]) for named in subject.others if named.id in names)
        return replace(subject, run=run, baseline=baseline, others=others)

    def refuse_gone(self, subject: Subject) -> None:
        """Raises InputError if the subject's run or baseline was deleted."""
        gone = self.gone(subject)
        if gone:
            fix = "Its numbers can no longer be computed; earlier records stay."
            raise InputError([Problem("run-gone", f"run '{name}'", "it was deleted", fix) for name in gone])

    def gone(self, subject: Subject) -> list[str]:
        """Returns the names of the subject's run and baseline as far as they were deleted; empty if both
        exist.
        """
        names = self.names(subject)
        return [named.name for named in (subject.run, subject.baseline) if named and named.id not in names]

    def names(self, subject: Subject) -> dict[str, str]:
        """Returns {run id: current name} of the subject's runs that still exist."""
        names: dict[str, str] = {}
        for named in filter(None, (subject.run, subject.baseline, *subject.others)):
            with suppress(NotFound):
                names[named.id] = self._store.runs.get(named.id).name
        return names
