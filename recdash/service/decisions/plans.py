"""Stores analysis plans of A/B tests in the journal of their experiment, and compares tests with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from recdash.domain.journal import Entry
from recdash.domain.records import OnlineTest
from recdash.errors import InputError, NotFound, Problem
from recdash.evaluation.column_choice import ColumnsGiven
from recdash.ingest.moment_columns import EARLIER
from recdash.online.analysis.plan_check import PlanCheck
from recdash.online.analysis.sample import SampleSummary
from recdash.online.plan import AnalysisPlan, PlanHistory
from recdash.online.plan_baseline import MetricBaselines, baselines_of, read_baselines
from recdash.service.context import ServiceContext
from recdash.service.decisions.journal import Journal, prose
from recdash.service.online.analysis import OnlineAnalysis
from recdash.service.online.planned import histories, plan_of_test, plans_without_test
from recdash.service.online.tests import OnlineTests

FIRST = "Made."
"""The reason of a plan's first version if none is given."""


class Plans:
    """The service for analysis plans.

    A plan and its changes are entries of the journal, which are never edited: each has its time, person and
    reason. A plan with a name is for the tests of the experiment whose names begin with it; one without a
    name for the tests that are stored after it, until the next plan. Several uploads of a test are looks at
    it.
    """

    def __init__(
        self, context: ServiceContext, journal: Journal, online_tests: OnlineTests, analysis: OnlineAnalysis
    ) -> None:
        self._context, self._journal = context, journal
        self._online_tests, self._analysis = online_tests, analysis

    def all(self, experiment_id: str) -> list[PlanHistory]:
        """Returns the experiment's plans with their changes, the newest plan first."""
        entries = [entry for entry in self._journal.entries(experiment_id) if entry.kind == "plan"]
        return histories(entries[::-1])[::-1]

    def without_test(self, experiment_id: str) -> list[PlanHistory]:
        """Returns the plans that no stored A/B test of the experiment has yet, the newest plan first."""
        return plans_without_test(self._context.store, experiment_id)

    def get(self, experiment_id: str, plan_id: str) -> PlanHistory:
        """Returns the plan with this id. Raises NotFound if the experiment has none."""
        plan = next((plan for plan in self.all(experiment_id) if plan.id == plan_id), None)
        if plan is None:
            raise NotFound(f"No plan has the id '{plan_id}'.")
        return plan

    def add(
        self, experiment_id: str, plan: AnalysisPlan, reason: str = "", *, author: str = "", key: str = ""
    ) -> PlanHistory:
        """Stores a new plan, and returns it.

        ``author`` and ``key`` are as for all entries of the journal. Raises InputError for an impossible
        plan, if another plan of the experiment has its name, and for an archived experiment.
        """
        self._must_be_open(experiment_id)
        plan.check()
        writing = self._journal.writing(author, key, "plan", experiment_id, plan.as_dict(), reason)
        experiment_id = self._context.store.experiments.get(experiment_id).id

        def is_new(entries: Sequence[Entry]) -> None:
            names = [known.current.plan.test.casefold() for known in histories(entries)]
            if plan.test and plan.test.casefold() in names:
                fix = "Change that plan, or name another test."
                raise InputError(Problem("plan-exists", "plan", f"'{plan.test}' has one already", fix))

        facts = {"plan": plan.as_dict()}
        text = prose("reason", reason) if reason.strip() else FIRST
        entry = self._journal.add(writing, experiment_id, "plan", text, facts, check=is_new)
        return self.get(experiment_id, entry.about or entry.id)

    def change(
        self,
        experiment_id: str,
        plan_id: str,
        plan: AnalysisPlan,
        reason: str,
        *,
        author: str = "",
        key: str = "",
    ) -> PlanHistory:
        """Stores a change of a plan with its reason, and returns the plan; a plan without changes stays as it
        is.

        Raises InputError for an impossible plan, without a reason, and for an archived experiment.
        """
        self._must_be_open(experiment_id)
        plan.check()
        writing = self._journal.writing(author, key, "plan", experiment_id, plan_id, plan.as_dict(), reason)
        known = self.get(experiment_id, plan_id)
        if known.current.plan == plan:
            return known
        facts = {"plan": plan.as_dict()}
        self._journal.add(writing, experiment_id, "plan", prose("reason", reason), facts, plan_id)
        return self.get(experiment_id, plan_id)

    def _must_be_open(self, experiment_id: str) -> None:
        """Raises Forbidden unless the person is an editor, and InputError for an archived experiment."""
        self._context.must_be_editor()
        experiment = self._context.store.experiments.get(experiment_id)
        if experiment.archived is not None:
            fix = "Unarchive it to plan its tests."
            raise InputError(Problem("archived", f"experiment '{experiment.name}'", "it is archived", fix))

    def baselines(self, test_id: str) -> MetricBaselines:
        """Returns mean, deviation and users per day of the control of an earlier test, per metric, for a
        sample size.
        """
        sample = self._sample(self._context.ab_test(test_id))
        return baselines_of(self._analysis.results(test_id), sample)

    def read_baselines(
        self, table: Any, control: str | None = None, columns: ColumnsGiven | None = None
    ) -> MetricBaselines:
        """Returns the same of a file or table, which is not stored; see ``read_baselines``.

        Raises InputError with the problems of the table, and UnknownName for a control that is not in it.
        """
        return read_baselines(table, control, columns, self._context.limits)

    # ── tests and their plans ────────────────────────────────────────────────────────────────

    def of_test(self, test_id: str, moment: datetime | None = None) -> PlanHistory | None:
        """Returns the plan that is for a test, as it was at ``moment`` (None: now); None if there is none."""
        known = plan_of_test(self._context.store, self._context.ab_test(test_id), moment)
        return known.history if known else None

    def check(self, test_id: str, moment: datetime | None = None) -> PlanCheck | None:
        """Returns a test compared with its plan, as that was at ``moment`` (None: now); None without a
        plan.
        """
        test = self._context.ab_test(test_id)
        known = plan_of_test(self._context.store, test, moment)
        if known is None:
            return None
        sample = self._sample(test)
        results, rules = self._online_tests.results(test_id), self._online_tests.rules(test_id)
        return known.check(results, rules, sample, self._covariates(test_id, sample))

    def _sample(self, test: OnlineTest) -> SampleSummary | None:
        return None if test.kind == "aggregates" else self._online_tests.sample(test.id)

    def _covariates(self, test_id: str, sample: SampleSummary | None) -> dict[str, str]:
        """Returns {metric: the column before the test that adjusts its lift}.

        Earlier sessions, which have no column, are left out: a plan may call them as it likes.
        """
        # a derived metric's numerator has another name
        own = {metric.name: metric for metric in self._analysis.own_metrics(test_id)}
        metrics = {**self._analysis.definitions(test_id), **own}
        if sample is not None and sample.has_sessions:
            return {
                name: metric.covariate for name, metric in metrics.items() if metric.covariate is not None
            }
        return {name: metric.covariate or f"{EARLIER}{metric.numerator}" for name, metric in metrics.items()}
