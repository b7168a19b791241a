"""Finds the analysis plan of a stored A/B test in the journal of its experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from recdash.domain.journal import Entry
from recdash.domain.records import OnlineTest
from recdash.online.analysis.plan_check import (
    PlanCheck,
    PlannedTest,
    applied_version,
    begin_of,
    check_plan,
)
from recdash.online.analysis.results import OnlineResults
from recdash.online.analysis.sample import SampleSummary
from recdash.online.plan import AnalysisPlan, PlanHistory, PlanVersion
from recdash.online.rules import OnlineRules
from recdash.store import Store


class PlanKey(NamedTuple):
    """Everything about the plan of a test that can change: the ids of its versions, which look the test is,
    and when the first data of the plan were stored.
    """

    versions: tuple[str, ...]
    look: int
    stored: datetime


class AppliedPlan(NamedTuple):
    """The version of a plan that applies to a test, and whether it was made before the test had data."""

    plan: AnalysisPlan
    is_before_data: bool


@dataclass(frozen=True)
class PlanOfTest:
    """The plan that is for a test, with which look the test is and when the first data were stored."""

    history: PlanHistory
    look: int
    stored: datetime

    @property
    def key(self) -> PlanKey:
        return PlanKey(tuple(version.id for version in self.history.versions), self.look, self.stored)

    def applied(self, sample: SampleSummary | None) -> AppliedPlan:
        """Returns the version that applies to the test with this sample."""
        version, is_before_data = applied_version(self.history, begin_of(sample, self.stored))
        return AppliedPlan(version.plan, is_before_data)

    def check(
        self,
        results: OnlineResults,
        rules: OnlineRules,
        sample: SampleSummary | None,
        covariates: Mapping[str, str] | None = None,
    ) -> PlanCheck:
        """Returns the test, given its results, compared with the plan; ``covariates`` as in
        ``PlannedTest``.
        """
        test = PlannedTest(results, rules, sample, self.stored, self.look, covariates or {})
        return check_plan(self.history, test)


def histories(entries: Sequence[Entry]) -> list[PlanHistory]:
    """Returns the plans among the entries of a journal, which are the oldest first, with their changes."""
    versions: dict[str, list[PlanVersion]] = {}
    for entry in entries:
        if entry.kind == "plan":
            plan = AnalysisPlan.of_facts(entry.facts["plan"])
            version = PlanVersion(entry.id, plan, entry.created, entry.author, entry.text)
            versions.setdefault(entry.about or entry.id, []).append(version)
    return [PlanHistory(_first_first(plan_id, of_plan)) for plan_id, of_plan in versions.items()]


def _first_first(plan_id: str, versions: Sequence[PlanVersion]) -> tuple[PlanVersion, ...]:
    """Returns the versions with the first one, whose id is that of the plan, at the front: entries of the
    same moment are in any order.
    """
    return tuple(sorted(versions, key=lambda version: version.id != plan_id))


def plan_for(test: OnlineTest, plans: Sequence[PlanHistory]) -> PlanHistory | None:
    """Returns the plan of a test; None if there is none. ``plans`` are the oldest first.

    It is the one with the longest name with which the name of the test begins; else the last one without a
    name that was made before the test was stored. A plan that was made later applies only by its name.
    """
    name = test.name.casefold()
    named = [
        plan for plan in plans if plan.current.plan.test and begins(name, plan.current.plan.test.casefold())
    ]
    if named:
        return max(named, key=lambda plan: len(plan.current.plan.test))
    unnamed = [plan for plan in plans if not plan.current.plan.test and plan.first.created <= test.created]
    return unnamed[-1] if unnamed else None


def begins(name: str, beginning: str) -> bool:
    """Returns whether a name is the beginning of another, also with further words: ``march week 2`` begins
    with ``march``.
    """
    rest = name.removeprefix(beginning)
    return name.startswith(beginning) and not rest[:1].isalnum()


def plan_of_test(store: Store, test: OnlineTest, moment: datetime | None = None) -> PlanOfTest | None:
    """Returns the plan of a stored test as it was at ``moment`` (None: now); None if there was none."""
    plans = histories(store.journal.of_experiment(test.experiment))
    if moment is not None:
        plans = [known for plan in plans if (known := plan.until(moment)) is not None]
    history = plan_for(test, plans) if plans else None
    if history is None:
        return None
    tests = store.online_tests.of_experiment(test.experiment, archived=True)
    own = [
        other for other in tests if not other.is_interleaved and _id_of(plan_for(other, plans)) == history.id
    ]
    earlier = [other.created for other in own if other.created < test.created]
    return PlanOfTest(history, len(earlier) + 1, min([*earlier, test.created]))


def plans_without_test(store: Store, experiment_id: str) -> list[PlanHistory]:
    """Returns the plans that no stored A/B test of the experiment has yet, the newest plan first."""
    plans = histories(store.journal.of_experiment(experiment_id))
    tests = store.online_tests.of_experiment(experiment_id, archived=True)
    with_test = {_id_of(plan_for(test, plans)) for test in tests if not test.is_interleaved}
    return [plan for plan in reversed(plans) if plan.id not in with_test]


def planned_pair_users(store: Store, test: OnlineTest, results: OnlineResults, variant: str) -> int | None:
    """Returns the users, control and variant together, that count towards a planned sample size: those of the
    primary metric of the test's plan, else of the first goal. None if the metrics of the test do not count
    different users.
    """
    if not results.health.populations:
        return None
    known = plan_of_test(store, test)
    return results.users_of_pair(variant, known.applied(None).plan.primary if known else None)


def _id_of(plan: PlanHistory | None) -> str | None:
    return None if plan is None else plan.id


def history_of(store: Store, test: OnlineTest, key: PlanKey) -> PlanOfTest:
    """Returns the plan with the versions of a key."""
    entries = store.journal.of_experiment(test.experiment)
    (history,) = histories([entry for entry in entries if entry.id in key.versions])
    return PlanOfTest(history, key.look, key.stored)
