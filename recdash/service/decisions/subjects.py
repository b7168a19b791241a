"""What reviews and decisions are about: a run, its baseline and the metric, with the current names of
runs; or a variant of an A/B test.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from recdash.comparison import ComparisonQuery
from recdash.decisions import Named, Subject
from recdash.decisions.snapshot import Variant
from recdash.domain.defaults import DEFAULT_METRIC, FIRST_CANDIDATES, default_k
from recdash.domain.records import OnlineTest
from recdash.errors import InputError, NotFound, Problem, UnknownName
from recdash.metrics import check_k
from recdash.service.context import ServiceContext
from recdash.service.online.tests import OnlineTests
from recdash.service.queries import Queries


class Subjects:
    def __init__(self, context: ServiceContext, queries: Queries, online_tests: OnlineTests) -> None:
        self._context, self._queries, self._online_tests = context, queries, online_tests
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

    def of_variant(self, experiment_id: str, name: str, test_id: str | None) -> Subject:
        """Returns the subject of a review or decision about a variant of an A/B test, which has no baseline.

        ``test_id`` is by default the newest test. Raises NotFound for an unknown test, UnknownName for an
        unknown variant, and InputError for the control and for a variant that served a run.
        """
        test = self._test_wanted(experiment_id, test_id)
        if name not in test.variants:
            raise UnknownName("variant", name, test.variants)
        if name == test.control:
            problem = f"'{name}' is the control, so there is no lift"
            fix = "Name another variant; 'do not ship' keeps the control."
            raise InputError(Problem("is-control", f"test '{test.name}'", problem, fix))
        run = self._served_by(test, name)
        if run is not None:
            problem = f"'{name}' served the run '{run.name}'"
            fix = f"Name the run '{run.name}' instead of the variant."
            raise InputError(Problem("linked-variant", f"test '{test.name}'", problem, fix))
        depth = self._store.experiments.get(experiment_id).settings["depth"]
        variant = Variant(Named(test.id, test.name), name)
        return Subject(None, None, DEFAULT_METRIC, default_k(depth), variant=variant)

    def again(self, experiment_id: str, before: Subject, query: ComparisonQuery | None) -> Subject:
        """Returns the subject of a decision that replaces one on ``before``.

        That is the same run or variant; the run that the variant served, if it was linked to one since. If
        what it is about was deleted, returns ``before``.
        """
        if self.gone(replace(before, baseline=None)):
            return before
        if before.variant is None:
            return self.subject(experiment_id, before.run.id if before.run else None, query)
        test = self._store.online_tests.get(before.variant.test.id)
        run = self._served_by(test, before.variant.name)
        return before if run is None else self.subject(experiment_id, run.id, query)

    def tests_of(self, experiment_id: str, subject: Subject) -> list[OnlineTest]:
        """Returns the A/B test of a variant; of a run those in which a variant other than control served
        it.
        """
        if subject.variant is not None:
            test = self._test_of_variant(subject.variant)
            return [test] if test is not None else []
        run, tests = subject.run, self._online_tests.all(experiment_id)
        return [test for test in tests if run is not None and run.id in test.served]

    def _test_of_variant(self, variant: Variant) -> OnlineTest | None:
        """Returns the A/B test of a variant; None if it was deleted."""
        with suppress(NotFound):
            return self._store.online_tests.get(variant.test.id)
        return None

    def _test_wanted(self, experiment_id: str, test_id: str | None) -> OnlineTest:
        """Returns the experiment's A/B test with this id, by default the newest."""
        if test_id is None:
            return self._online_tests.named(experiment_id)
        known = {test.id: test for test in self._online_tests.all(experiment_id)}
        if test_id not in known:
            raise NotFound(f"No A/B test has the id '{test_id}' in this experiment.")
        return known[test_id]

    def _served_by(self, test: OnlineTest, variant: str) -> Named | None:
        """Returns the run that a variant served; None if it is linked to no run that exists."""
        with suppress(KeyError, NotFound):
            run = self._store.runs.get(test.links[variant])
            return Named(run.id, run.name)
        return None

    def named_now(self, subject: Subject) -> Subject:
        """Returns the subject with the current names of its runs, without other runs that were deleted.

        Raises InputError if its run, its baseline or its A/B test was deleted.
        """
        self.refuse_gone(subject)
        names = self.names(subject)
        run, baseline = (
            named and Named(named.id, names[named.id]) for named in (subject.run, subject.baseline)
        )
        others = tuple(Named(named.id, names[named.id]) for named in subject.others if named.id in names)
        return replace(subject, run=run, baseline=baseline, others=others)

    def refuse_gone(self, subject: Subject) -> None:
        """Raises InputError if the subject's run, baseline or A/B test was deleted."""
        gone = self.gone(subject)
        if gone:
            fix = "Its numbers can no longer be computed; earlier records stay."
            raise InputError([Problem("run-gone", place, "it was deleted", fix) for place in gone])

    def gone(self, subject: Subject) -> list[str]:
        """Returns which of the subject's run, baseline and A/B test were deleted, such as ``run 'ALS'``;
        empty if all exist.
        """
        names = self.names(subject)
        runs = [named for named in (subject.run, subject.baseline) if named and named.id not in names]
        places = [f"run '{run.name}'" for run in runs]
        if subject.variant is not None and self._test_of_variant(subject.variant) is None:
            places.append(f"test '{subject.variant.test.name}'")
        return places

    def names(self, subject: Subject) -> dict[str, str]:
        """Returns {run id: current name} of the subject's runs that still exist."""
        names: dict[str, str] = {}
        for named in filter(None, (subject.run, subject.baseline, *subject.others)):
            with suppress(NotFound):
                names[named.id] = self._store.runs.get(named.id).name
        return names
