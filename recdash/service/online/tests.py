"""Stores A/B tests with their logs and rules, links them to runs, and compares them with offline results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from recdash.comparison import ComparisonQuery, Terms
from recdash.domain.access import without_ids
from recdash.domain.records import OnlineTest
from recdash.engines.allocator import release_freed_memory
from recdash.errors import InputError, NotFound, Problem, UnknownName, other_notices
from recdash.evaluation.column_choice import ColumnsGiven
from recdash.formatting.records import Row, records
from recdash.ingest.notice_rules import check_refused, read_codes
from recdash.metrics import check_k, define, naming
from recdash.online import OnlineMetric, OnlineResults, OnlineRow
from recdash.online.ab_test import OnlineTables, counted_test, read_logs, users_of, with_standard_metrics
from recdash.online.agreement.agreement import DISAGREE
from recdash.online.analysis.aggregate_tables import MomentTable, SummaryTable, aggregate_table
from recdash.online.analysis.health import is_control_guessed
from recdash.online.analysis.next_step import NextStep, headline, next_steps
from recdash.online.analysis.results import of_summaries, of_users
from recdash.online.analysis.sample import SampleSummary, summarise
from recdash.online.derived import Needs, needs_of, with_totals
from recdash.online.offers import MetricOffers, activations_of, offers_of
from recdash.online.plan import AnalysisPlan
from recdash.online.proposals import NO_CHOICE, MetricChoices
from recdash.online.rules import BEFORE, RULES_OF_READING, RULES_OF_SESSIONS, USUAL, OnlineRules
from recdash.online.users import OnlineUsers, Removed
from recdash.service.context import ServiceContext
from recdash.service.offline.comparisons import Comparisons
from recdash.service.offline.scores import Scores
from recdash.service.online.planned import PlanKey, PlanOfTest, history_of, plan_of_test
from recdash.service.staging import store_with_files
from recdash.service.validation import check_typed, clean_name
from recdash.store import new_id

if TYPE_CHECKING:
    import pandas as pd

    from recdash.stats import Correction


@dataclass(frozen=True)
class NewTest:
    """An A/B test to be read, counted and stored.

    ``tables`` are {kind: table}; ``columns`` maps roles to columns as in ``recdash.ab_test``, ``mappings`` do
    so for one kind. ``links`` are {variant: the run that it served}, by name or by id. ``choices`` are what
    is chosen about the metrics.
    """

    name: str
    tables: Mapping[str, Any]
    control: str | None = None
    rules: OnlineRules = USUAL
    metrics: Sequence[OnlineMetric] = ()
    mappings: Mapping[str, Mapping[str, str]] | None = None
    columns: ColumnsGiven | None = None
    links: Mapping[str, str] = field(default_factory=dict)
    choices: MetricChoices = NO_CHOICE


@dataclass(frozen=True)
class StagedTest:
    """An A/B test with its results, whose files are stored, and whose row is not.

    ``links`` are those of the ``NewTest``. ``notices`` are those of the test, and what its rules exclude.
    ``by_control`` is {variant: the test with this control}, of the
    variants that served a run, where the test's own control is only the first variant by name.
    ``asked_users`` is the planned sample size that was asked for; the test's rules may have that of a plan.
    """

    test: OnlineTest
    links: Mapping[str, str]
    by_control: Mapping[str, OnlineTest]
    notices: tuple[Problem, ...]
    asked_users: int | None = None


@dataclass(frozen=True, repr=False)
class PreviewedTest(OnlineResults):
    """The results that a test would have, its plan, and what can be chosen about its metrics before it is
    stored.
    """

    offers: MetricOffers = field(kw_only=True)
    plan: AnalysisPlan | None = field(kw_only=True)


class ServedRuns(NamedTuple):
    """Everything about a stored A/B test that can change.

    ``reference`` is the run that control served (else the baseline), ``runs`` are (id, name) of all linked
    runs, and ``state`` is a text that changes with the rules, metrics and links.
    """

    reference: str | None
    runs: tuple[tuple[str, str], ...]
    state: str


class OnlineTests:
    """The service for A/B tests: store, find, count, link and compare them."""

    def __init__(self, context: ServiceContext, scores: Scores, comparisons: Comparisons) -> None:
        self._context, self._scores, self._comparisons = context, scores, comparisons
        self._store = context.store
        self._users = context.sized_cache(self._read_users, least=2)
        self._aggregates = context.cached(self._read_aggregates, most=16)
        self._joined = context.cached(self._join, most=256)
        self._steps = context.cached(self._read_steps, most=512)

    def all(self, experiment_id: str, archived: bool = False) -> list[OnlineTest]:
        """Returns the experiment's A/B tests, the newest first; archived ones only if ``archived``."""
        return self._context.ab_tests(experiment_id, archived)

    def named(self, experiment_id: str, name: str | None = None) -> OnlineTest:
        """Returns the A/B test with this name; without a name, the newest.

        Raises NotFound if the experiment has no test, and UnknownName for an unknown name.
        """
        tests = self.all(experiment_id)
        self._context.must_be_of_kind(experiment_id, name, interleaved=False)
        if not tests:
            home = self._store.experiments.get(experiment_id).name
            raise NotFound(
                f"'{home}' has no A/B test yet. Add one with recdash add, or on the page Add data."
            )
        if name is None:
            return tests[0]
        by_name = {test.name: test for test in tests}
        if name not in by_name:
            raise UnknownName("A/B test", name, list(by_name))
        return by_name[name]

    def add(
        self,
        experiment_id: str,
        name: str,
        tables: Mapping[str, Any],
        *,
        control: str | None = None,
        rules: OnlineRules = USUAL,
        metrics: Sequence[OnlineMetric] = (),
        mappings: Mapping[str, Mapping[str, str]] | None = None,
        links: Mapping[str, str] | None = None,
        columns: ColumnsGiven | None = None,
        refuse: str | Sequence[str] = (),
        choices: MetricChoices = NO_CHOICE,
    ) -> OnlineTest:
        """Reads an A/B test's tables, computes its results and stores both.

        ``tables`` are {kind: table}: sessions; or exposures, events and optionally served; or aggregates.
        ``links`` are {variant: run id}. If the same test is stored already, it gets the links, and is
        unarchived if it was archived; it keeps its control. ``columns`` maps roles to columns as in
        ``recdash.ab_test``, ``refuse`` has codes of notices that are problems; ``choices`` are goals, primary
        metric and covariates. Raises InputError for unusable
        tables, NameTaken if another test has the name.
        """
        refused_codes = read_codes(refuse)
        new = NewTest(name, tables, control, rules, metrics, mappings, columns, links or {}, choices=choices)
        return store_with_files(
            self._context.writable_store(),
            lambda: self._stage_unless_refused(new, experiment_id, refused_codes),
            lambda staged: self.store_staged(experiment_id, staged, staged.links),
        )

    def _stage_unless_refused(
        self, new: NewTest, experiment_id: str, refused_codes: Sequence[str]
    ) -> StagedTest:
        staged = self.stage(new, experiment_id)
        check_refused(staged.notices, refused_codes)
        return staged

    def stage(self, new: NewTest, experiment_id: str | None = None) -> StagedTest:
        """Returns an A/B test with its results, whose files are stored already, and whose row is not.

        It belongs to no experiment and is linked to no run until ``store_staged``. If the experiment in which
        it will be stored has a plan for it, its sample size, primary metric and guardrails are used where
        none were chosen. Only the transaction knows which of the runs is the baseline, so the results are
        computed here with each variant that served a run as control.
        """
        self._context.must_be_editor()
        rules, choices = new.rules, new.choices
        logs = read_logs(new.tables, rules, new.mappings, self._context.limits, new.columns)
        library = choices.of_library(self._library())
        users = self._users_in(logs, rules, [*new.metrics, *library])
        planned = self.planned(experiment_id, new.name) if experiment_id is not None else None
        if planned is not None:
            plan, is_before_data = planned.applied(_sample(users))
            choices = replace(choices, plan=plan)
            if is_before_data:
                rules = replace(rules, planned_users=plan.users or rules.planned_users)
        counted = counted_test(logs, rules, new.metrics, choices, users=users, library=library)

        def facts(results: OnlineResults) -> dict[str, Any]:
            notices = (*logs.notices, *results.notices)
            return {"control": results.control, "results": results.records(), "notices": notices}

        results = counted.results(new.control)
        test = OnlineTest(
            id=new_id(),
            experiment="",
            name=clean_name(new.name),
            created=self._context.now(),
            kind=logs.kind,
            upload=self._store.artifacts.put(logs.table),
            tables={kind: self._store.artifacts.put(table) for kind, table in logs.further_tables.items()},
            rules=rules.as_dict(),
            metrics=[metric.facts() for metric in counted.own],
            removed=[asdict(removed) for removed in logs.removed],
            links={},
            **facts(results),
        )
        served = new.links if is_control_guessed(test.notices) else {}
        controls = [variant for variant in test.variants if variant in served]
        by_control = {control: replace(test, **facts(counted.results(control))) for control in controls}
        release_freed_memory()
        needs = needs_of(own_metrics_of(test))
        if users is not None and needs == needs_of([*new.metrics, *library]):
            # the test's page will need the users next
            self._users.remember(users, *_counted_by(test))
        noticed = (*logs.notices, *results.noticed())
        return StagedTest(test, new.links, by_control, noticed, new.rules.planned_users)

    def planned(self, experiment_id: str, name: str) -> PlanOfTest | None:
        """Returns the plan that an experiment has for a test with this name.

        If such a test is stored, it is the plan as it was then: the same upload has the same metrics whatever
        was planned later.
        """
        name = clean_name(name)
        known = self._store.online_tests.of_experiment(experiment_id, archived=True)
        stored = next((test for test in known if test.name == name), None)
        if stored is not None:
            return plan_of_test(self._store, stored, stored.created)
        test = OnlineTest("", experiment_id, name, self._context.now(), "sessions", "", "")
        return plan_of_test(self._store, test)

    def store_staged(self, experiment_id: str, staged: StagedTest, links: Mapping[str, str]) -> OnlineTest:
        """Stores the row of a staged A/B test, within the caller's transaction; ``links`` are {variant: run
        id}.

        A guessed control gives way to the variant that served the baseline. If the same test is stored
        already, it is linked and unarchived.
        """
        self._context.must_be_editor()
        self._check_links(experiment_id, links, staged.test.variants)
        same = self._same_test(experiment_id, staged)
        if same is None:
            baseline = self._store.experiments.get(experiment_id).baseline
            served = next((variant for variant, run_id in links.items() if run_id == baseline), "")
            test = staged.by_control.get(served, staged.test)
            return self._store.online_tests.add(replace(test, experiment=experiment_id, links=dict(links)))
        if same.archived is not None:
            same = self.unarchive(same.id)
        return self.link_variants(same.id, links) if links else same

    def _same_test(self, experiment_id: str, staged: StagedTest) -> OnlineTest | None:
        """Returns the stored test with the same name, tables, rules, metrics and control; None if there is
        none.

        A guessed control does not count: it was not asked for, and links may have given the stored test
        another one. Nor does a planned sample size that was not asked for: tests stored before did not take
        it from their plan. Nor do rules that tests stored before did not have.
        """
        is_guessed = is_control_guessed(staged.test.notices)

        def identity(test: OnlineTest) -> tuple[Any, ...]:
            rules = replace(OnlineRules.of_stored(test.rules), **BEFORE, planned_users=None)
            control = None if is_guessed else test.control
            return test.name, test.upload, dict(test.tables), rules, own_metrics_of(test), control

        def has_size(test: OnlineTest) -> bool:
            sizes = (staged.asked_users, staged.test.rules.get("planned_users"))
            return staged.asked_users is None or test.rules.get("planned_users") in sizes

        known = self._store.online_tests.of_experiment(experiment_id, archived=True)
        same = (stored for stored in known if identity(stored) == identity(staged.test) and has_size(stored))
        return next(same, None)

    def preview(
        self,
        tables: Mapping[str, Any],
        *,
        control: str | None = None,
        rules: OnlineRules = USUAL,
        mappings: Mapping[str, Mapping[str, str]] | None = None,
        columns: ColumnsGiven | None = None,
        choices: MetricChoices = NO_CHOICE,
        planned: PlanOfTest | None = None,
    ) -> PreviewedTest:
        """Returns the results that the tables would have, with the notices of reading them, and what can be
        chosen about the metrics; stores nothing. ``planned`` is the plan of the test.
        """
        logs = read_logs(tables, rules, mappings, self._context.limits, columns)
        library = self._library() if self._context.person.may("editor") else ()
        users = self._users_in(logs, rules, choices.of_library(library))
        plan = planned.applied(_sample(users)).plan if planned else None
        choices = replace(choices, plan=plan)
        counted = counted_test(logs, rules, choices=choices, users=users, library=library)
        results = counted.results(control)
        facts = {part.name: getattr(results, part.name) for part in fields(OnlineResults)}
        facts["notices"] = (*logs.notices, *results.notices)
        offers = offers_of(logs, users, counted.source.aggregates, library)
        return PreviewedTest(**facts, offers=offers, plan=plan)

    def _library(self) -> tuple[OnlineMetric, ...]:
        """Returns the metrics of the store's library."""
        return tuple(OnlineMetric(**facts) for facts in self._store.metric_library.all())

    @staticmethod
    def _users_in(
        logs: OnlineTables, rules: OnlineRules, metrics: Sequence[OnlineMetric]
    ) -> OnlineUsers | None:
        """Returns the users of a test's logs; None for aggregated tables."""
        if logs.kind == "aggregates":
            return None
        return users_of(logs.table, logs.further_tables, rules, needs_of(metrics))

    # ── how a stored test is counted ─────────────────────────────────────────────────────────

    def rules(self, test_id: str) -> OnlineRules:
        return OnlineRules.of_stored(self._context.ab_test(test_id).rules)

    def set_rules(self, test_id: str, rules: OnlineRules) -> OnlineTest:
        """Changes the counting rules of a test, and counts its logs again.

        Raises InputError for a rule that only applies while logs are read: to change it, upload the logs
        again.
        """
        self._context.must_be_editor()
        rules.check()
        test = self._context.ab_test(test_id)
        fixed = (*RULES_OF_READING, *(RULES_OF_SESSIONS if test.kind == "events" else ()))
        current = OnlineRules.of_stored(test.rules)
        changed = [name for name in fixed if getattr(rules, name) != getattr(current, name)]
        if changed:
            problem = f"the logs of '{test.name}' were read with another value of this rule"
            fix = "Upload them again with the new rules."
            raise InputError([Problem("fixed-rule", f"rule '{name}'", problem, fix) for name in changed])
        return self.count_again(test_id, rules=rules.as_dict())

    def count_again(self, test_id: str, **changed: Any) -> OnlineTest:
        """Stores changed fields of a test with its new results; if these cannot be computed, stores nothing
        and raises.
        """
        self._context.must_be_editor()
        fields = self.recounted(self._context.ab_test(test_id), **changed)
        return self._store.online_tests.update(test_id, **fields)

    def recounted(self, test: OnlineTest, **changed: Any) -> dict[str, Any]:
        """Returns the changed fields of a stored test with its new results and notices; stores nothing."""
        before = self.results_of(test).notices
        results = self.results_of(replace(test, **changed))
        kept = other_notices(test.notices, before)
        return {**changed, "results": results.records(), "notices": (*kept, *results.notices)}

    # ── results of a stored test ─────────────────────────────────────────────────────────────

    def results(self, test_id: str, correction: Correction = "holm") -> OnlineResults:
        """Returns health, values, lifts and findings of a stored test.

        ``correction`` is the correction for multiple comparisons over its goals.
        """
        return self.results_of(self._context.ab_test(test_id), correction)

    def results_of(self, test: OnlineTest, correction: Correction = "holm") -> OnlineResults:
        """Returns the results of a test, as its rules and metrics say; the test may be changed and not stored
        yet.
        """
        rules, own = OnlineRules.of_stored(test.rules), [OnlineMetric(**facts) for facts in test.metrics]
        if test.kind == "aggregates":
            return of_summaries(self._aggregates(test.upload), test.control, rules, own, correction)
        results = of_users(
            with_totals(self._users(*_counted_by(test)), own),
            test.control,
            rules,
            with_standard_metrics(own),
            correction,
        )
        removed = (*(Removed(**facts) for facts in test.removed), *results.removed)
        is_limited = self._context.person.numbers_only
        notices = tuple(map(without_ids, results.notices)) if is_limited else results.notices
        return replace(results, removed=removed, notices=notices)

    def next_steps(
        self,
        test_id: str,
        *,
        former: bool = False,
        moment: datetime | None = None,
        planned: bool = True,
        all_roles: bool = False,
    ) -> tuple[str, tuple[NextStep, ...]]:
        """Returns what to do after the A/B test: a headline, and the steps for each variant.

        They follow the test's analysis plan as it was at ``moment`` (None: now); with ``planned=False`` none.
        ``former=True`` gives the headline of older reports, ``all_roles=True`` lets metrics for information
        decide, as in reports of wording 13 and older.
        """
        test = self._context.ab_test(test_id)
        served = self._context.runs_of(list(test.links.values()))
        names = {run.id: run.name for run in served}
        how: dict[str, Any] = {"former": former, "planned": planned, "all_roles": all_roles}
        return self.next_steps_of(test, names, moment=moment, **how)

    def next_steps_of(
        self,
        test: OnlineTest,
        names: Mapping[str, str],
        *,
        former: bool = False,
        moment: datetime | None = None,
        planned: bool = True,
        all_roles: bool = False,
    ) -> tuple[str, tuple[NextStep, ...]]:
        """Returns ``next_steps`` of a test that was read already; cached. ``names`` are {run id: name}."""
        plan = plan_of_test(self._store, test, moment) if planned else None
        results, steps, days = self._steps(
            test.id, test.counting, plan.key if plan else None, all_roles=all_roles
        )
        served = {variant: names[run_id] for variant, run_id in test.links.items() if run_id in names}
        return headline(results, steps, served, days, former=former), steps

    def _read_steps(
        self,
        test_id: str,
        state: str,  # noqa: ARG002 - for the cache
        plan_key: PlanKey | None,
        *,
        all_roles: bool,
    ) -> tuple[OnlineResults, tuple[NextStep, ...], int]:
        """Returns the test's results, the next steps, and the number of days that it has run (0 if
        unknown).
        """
        test = self._context.ab_test(test_id)
        results, rules = self.results_of(test), OnlineRules.of_stored(test.rules)
        sample = None if test.kind == "aggregates" else self.sample(test_id)
        plan = None
        if plan_key is not None:
            plan = history_of(self._store, test, plan_key).check(results, rules, sample).binding
        steps = next_steps(results, rules, sample, plan, all_roles=all_roles)
        return results, steps, sample.days if sample else 0

    def sample(self, test_id: str) -> SampleSummary:
        """Returns how many users the test has, and how they were counted. Raises NotFound as ``users``."""
        return summarise(self.users(test_id))

    def users(self, test_id: str) -> OnlineUsers:
        """Returns the users of a test with their totals.

        Raises NotFound for a test with aggregated data only.
        """
        test = self._context.ab_test(test_id)
        if test.kind == "aggregates":
            raise NotFound(f"'{test.name}' has aggregated data only, no data per user.")
        return with_totals(self._users(*_counted_by(test)), own_metrics_of(test))

    def activations(self, test_id: str) -> list[str]:
        """Returns the totals by which the users of a test can be limited to activated ones.

        Some users of each variant have any, and others do not. Empty for a test with aggregated data only.
        """
        test = self._context.ab_test(test_id)
        if test.kind == "aggregates":
            return []
        rules = replace(OnlineRules.of_stored(test.rules), activated_by=None)
        users = self._users(*_counted_by(replace(test, rules=rules.as_dict())))
        return activations_of(users, own_metrics_of(test))

    def aggregate_table(self, test_id: str) -> SummaryTable | MomentTable:
        """Returns the metrics of a test with aggregated data.

        Raises NotFound for a test with data per user.
        """
        test = self._context.ab_test(test_id)
        if test.kind != "aggregates":
            raise NotFound(f"'{test.name}' has data per user, no aggregated data.")
        return self._aggregates(test.upload)

    def _read_aggregates(self, upload: str) -> SummaryTable | MomentTable:
        return aggregate_table(self._store.artifacts.table(upload))

    def _read_users(self, upload: str, exposures: str | None, rules: str, needs: Needs) -> OnlineUsers:
        beside = {"exposures": self._store.artifacts.table(exposures)} if exposures else {}
        table = self._store.artifacts.table(upload)
        return users_of(table, beside, OnlineRules.of_stored(json.loads(rules)), needs)

    def link_variants(self, test_id: str, links: Mapping[str, str]) -> OnlineTest:
        """Stores the run that each variant served.

        ``links`` are {variant: run id} and replace the stored ones.
        """
        self._context.must_be_editor()
        test = self._store.online_tests.get(test_id)
        called = "ranking" if test.is_interleaved else "variant"
        self._check_links(test.experiment, links, test.variants, called)
        return self._store.online_tests.update(test_id, links=dict(links))

    def _check_links(
        self, experiment_id: str, links: Mapping[str, str], variants: Sequence[str], called: str = "variant"
    ) -> None:
        known = {run.id for run in self._store.runs.of_experiment(experiment_id, archived=True)}
        for variant, run_id in links.items():
            if variant not in variants:
                raise UnknownName(called, variant, sorted(set(variants)))
            if run_id not in known:
                place = f"{called.capitalize()} '{variant}'"
                raise NotFound(f"{place} is linked to a run that is not in this experiment.")

    def archive(self, test_id: str) -> OnlineTest:
        return self._context.writable_store().online_tests.update(test_id, archived=self._context.now())

    def unarchive(self, test_id: str) -> OnlineTest:
        return self._context.writable_store().online_tests.update(test_id, archived=None)

    def delete(self, test_id: str, typed_name: str) -> None:
        self._context.must_be_editor()
        check_typed(typed_name, self._store.online_tests.name_of(test_id))
        self._context.writable_store().online_tests.delete(test_id)

    def result_frame(self, test_id: str) -> pd.DataFrame:
        """Returns the results as a frame with one row per metric and variant.

        Columns: the fields of ``OnlineRow``, and run_id, the run that the variant served (NaN if it is not
        linked).
        """
        import pandas as pd

        test = self._context.ab_test(test_id)
        frame = pd.DataFrame([asdict(OnlineRow(**row)) for row in test.results])
        frame.insert(4, "run_id", frame["variant"].map(dict(test.links)))
        return frame

    def offline_online(
        self,
        test_id: str,
        metric: str,
        k: int,
        online_metric: str,
        correction: Correction = "holm",
        *,
        former: bool = False,
    ) -> pd.DataFrame:
        """Returns a frame with one row per linked variant and the columns of
        ``recdash.online.agreement.join``.

        The offline difference is paired with the run that control served (else the baseline), and corrected
        over the variants. ``former``: metrics of predicted ratings such as RMSE are not compared, as in
        older reports.
        """
        test = self._context.ab_test(test_id)
        check_k(k)
        served = self._served_runs(test)
        joined = self._joined(test_id, metric, k, online_metric, served, correction, former=former)
        return joined.copy()

    def disagreements(self, experiment_id: str, metric: str, k: int) -> list[tuple[OnlineTest, Row]]:
        """Returns (test, row of ``offline_online``) for each run that won offline and lost online, or the
        reverse.

        It considers all online metrics of the experiment's tests; empty if there is none.
        """
        check_k(k)
        contradictions = []
        for test in self.all(experiment_id):
            served = self._served_runs(test)
            for online_metric in dict.fromkeys(str(row["metric"]) for row in test.results):
                joined = self._joined(test.id, metric, k, online_metric, served, "holm", former=False)
                rows = records(joined)
                contradictions += [(test, row) for row in rows if row["quadrant"] in DISAGREE]
        return contradictions

    def disagreeing_metrics(
        self, test_id: str, metric: str, k: int, *, former: bool = False
    ) -> dict[str, str]:
        """Returns {online metric: title} of those in which a run won offline and lost online, or the reverse,
        in the order of the results. ``former``: see ``offline_online``.
        """
        titles = {str(row["metric"]): str(row["title"]) for row in self._context.ab_test(test_id).results}
        return {
            online_metric: title
            for online_metric, title in titles.items()
            if self.offline_online(test_id, metric, k, online_metric, former=former)["quadrant"]
            .isin(DISAGREE)
            .any()
        }

    def _served_runs(self, test: OnlineTest) -> ServedRuns:
        reference = self._context.run_of_control(test)
        runs = self._context.runs_of(list(test.links.values()))
        state = json.dumps([test.counting, dict(test.links)])
        return ServedRuns(reference, tuple((run.id, run.name) for run in runs), state)

    def _join(
        self,
        test_id: str,
        metric: str,
        k: int,
        online_metric: str,
        served: ServedRuns,
        correction: Correction,
        *,
        former: bool,
    ) -> pd.DataFrame:
        from recdash.online.agreement.join import join_offline, split_is_broken

        test = self._context.ab_test(test_id)
        reference, names, delta = served.reference, dict(served.runs), None
        definition = define(metric)
        if reference is not None and (definition.has_user_values if former else definition.is_paired):
            terms = Terms(correction=correction)
            query = ComparisonQuery(tuple(names), reference, metric, k, terms=terms)
            delta = self._comparisons.pairs(query)
        return join_offline(
            self.result_frame(test_id),
            online_metric,
            names,
            scores=self._scores.scoreboard(list(names), [metric], k),
            differences=delta,
            offline_title=naming.metric_title(metric, k),
            broken_split=split_is_broken(test.notices),
            offline_lower_is_better=definition.lower_is_better,
        )


def _sample(users: OnlineUsers | None) -> SampleSummary | None:
    return None if users is None else summarise(users)


def own_metrics_of(test: OnlineTest) -> tuple[OnlineMetric, ...]:
    """Returns the metrics that are stored with a test."""
    return tuple(OnlineMetric(**facts) for facts in test.metrics)


def _counted_by(test: OnlineTest) -> tuple[str, str | None, str, Needs]:
    """Returns everything from which the users of a test are counted: its tables, its rules, and what its
    metrics need.
    """
    needs = needs_of(own_metrics_of(test))
    return test.upload, test.tables.get("exposures"), json.dumps(dict(test.rules)), needs
