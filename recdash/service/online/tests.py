"""A/B tests: stored with logs and rules, linked to runs, compared with offline results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from recdash.comparison import ComparisonQuery
from recdash.domain.records import OnlineTest
from recdash.engines.allocator import release_freed_memory
from recdash.errors import InputError, NameTaken, NotFound, Problem, UnknownName, other_notices
from recdash.evaluation.column_choice import ColumnsGiven
from recdash.formatting.records import Row, records
from recdash.metrics import check_k, define, naming
from recdash.online import OnlineMetric, OnlineResults, OnlineRow
from recdash.online.ab_test import OnlineTables, read_logs, results_of, users_of, with_own
from recdash.online.agreement.agreement import DISAGREE
from recdash.online.analysis.next_step import NextStep, headline, next_steps
from recdash.online.analysis.results import of_users
from recdash.online.analysis.sample import summarise
from recdash.online.proposals import propose
from recdash.online.rules import AT_THE_DOOR, USUAL, WHEN_FOLDED, OnlineRules
from recdash.online.users import OnlineUsers, Removed
from recdash.service.context import ServiceContext
from recdash.service.offline.comparisons import Comparisons
from recdash.service.offline.scores import Scores
from recdash.service.validation import check_typed, clean_name
from recdash.store import new_id

if TYPE_CHECKING:
    import pandas as pd

    from recdash.stats import Correction


class ServedRuns(NamedTuple):
    """The run that a test's control served (else the baseline), id and name of all linked runs, and how the
    test is counted and linked: everything mutable in a stored test.
    """

    reference: str | None
    runs: tuple[tuple[str, str], ...]
    state: str


class OnlineTests:
    """All operations on online tests."""

    def __init__(self, context: ServiceContext, scores: Scores, comparisons: Comparisons) -> None:
        self._context, self._scores, self._comparisons = context, scores, comparisons
        self._store = context.store
        self._users = context.sized_cache(self._read_users, least=2)
        self._joined = context.cached(self._join, most=256)
        self._steps = context.cached(self._read_steps, most=512)

    def all(self, experiment_id: str, archived: bool = False) -> list[OnlineTest]:
        return self._store.online_tests.of_experiment(experiment_id, archived)

    def named(self, experiment_id: str, name: str | None = None) -> OnlineTest:
        """Returns the test of that name, without a name the newest. Raises NotFound if there is none."""
        tests = self.all(experiment_id)
        if not tests:
            home = self._store.experiments.get(experiment_id).name
            raise NotFound(
                f"'{home}' has no A/B test yet. Add one with recdash add, or on the page Add data."
            )
        if name is None:
            return max(tests, key=lambda test: test.created)
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
    ) -> OnlineTest:
        """Reads an A/B test's tables, computes its results and stores both. ``links`` are {variant: run id}.

        ``tables`` by kind: sessions; exposures, events and optionally served; or aggregates. A test that is
        stored already with the same rules is linked again, and restored if it was archived. ``columns`` as
        for ``recdash.ab_test``.
        """
        self._context.must_be_editor()
        logs, users = self._read_logs(tables, rules, mappings, columns)
        results = results_of(logs, control, rules, metrics, users=users)
        metrics = metrics or (propose(users) if users is not None else ())
        rows = results.records()
        self._check_links(experiment_id, links or {}, results.variants)
        test = OnlineTest(
            id=new_id(),
            experiment=experiment_id,
            name=clean_name(name),
            created=self._context.now(),
            kind=logs.kind,
            upload=self._store.artifacts.put(logs.table),
            tables={kind: self._store.artifacts.put(table) for kind, table in logs.beside.items()},
            rules=rules.as_dict(),
            metrics=[asdict(metric) for metric in metrics],
            removed=[asdict(removed) for removed in logs.removed],
            control=results.control,
            links=dict(links or {}),
            results=rows,
            notices=(*logs.notices, *results.notices),
        )
        release_freed_memory()
        if users is not None:  # the next request will be for the test's page
            self._users.remember(users, *_counted_by(test))
        return self._store_or_find(test)

    def _store_or_find(self, test: OnlineTest) -> OnlineTest:
        """Stores the test and returns it; if it is stored already, links and restores that one instead."""
        same = self._same_test(test)
        if same is None:
            try:
                return self._store.online_tests.add(test)
            except NameTaken:  # another person stored it meanwhile
                same = self._same_test(test)
                if same is None:
                    raise
        if same.archived is not None:
            same = self.restore(same.id)
        return self.link_variants(same.id, test.links) if test.links else same

    def _same_test(self, test: OnlineTest) -> OnlineTest | None:
        """Returns the stored test of the same name, tables, rules and control, or None."""

        def identity(test: OnlineTest) -> tuple[Any, ...]:
            rules = OnlineRules(**test.rules)
            return test.name, test.upload, dict(test.tables), rules, list(test.metrics), test.control

        known = self.all(test.experiment, archived=True)
        return next((stored for stored in known if identity(stored) == identity(test)), None)

    def preview(
        self,
        tables: Mapping[str, Any],
        *,
        control: str | None = None,
        rules: OnlineRules = USUAL,
        mappings: Mapping[str, Mapping[str, str]] | None = None,
        columns: ColumnsGiven | None = None,
    ) -> OnlineResults:
        """Returns the results with the notices of reading the tables; stores nothing."""
        logs, users = self._read_logs(tables, rules, mappings, columns)
        results = results_of(logs, control, rules, users=users)
        return replace(results, notices=(*logs.notices, *results.notices))

    def _read_logs(
        self,
        tables: Mapping[str, Any],
        rules: OnlineRules,
        mappings: Mapping[str, Mapping[str, str]] | None,
        columns: ColumnsGiven | None = None,
    ) -> tuple[OnlineTables, OnlineUsers | None]:
        """Returns the logs and their users; None for the users of aggregated tables."""
        logs = read_logs(tables, rules, mappings, self._context.limits, columns)
        counted = logs.kind != "aggregates"
        return logs, users_of(logs.table, logs.beside, rules) if counted else None

    # ── how a stored test is counted ─────────────────────────────────────────────────────────

    def rules(self, test_id: str) -> OnlineRules:
        return OnlineRules(**self._store.online_tests.get(test_id).rules)

    def set_rules(self, test_id: str, rules: OnlineRules) -> OnlineTest:
        """Counts the test's logs by other rules.

        Raises InputError for a rule that applies when logs are read or events become sessions: that needs the
        logs again.
        """
        self._context.must_be_editor()
        rules.check()
        test = self._store.online_tests.get(test_id)
        fixed = (*AT_THE_DOOR, *(WHEN_FOLDED if test.kind == "events" else ()))
        current = OnlineRules(**test.rules)
        changed = [name for name in fixed if getattr(rules, name) != getattr(current, name)]
        if changed:
            problem = f"the logs of '{test.name}' were read with another value of this rule"
            fix = "Upload them again with the new rules."
            raise InputError([Problem("fixed-rule", f"rule '{name}'", problem, fix) for name in changed])
        return self.count_again(test_id, rules=rules.as_dict())

    def count_again(self, test_id: str, **changed: Any) -> OnlineTest:
        """Stores the change and the new results; nothing if they cannot be computed."""
        self._context.must_be_editor()
        test = self._store.online_tests.get(test_id)
        before = self.results(test_id).notices
        results = self.results_of(replace(test, **changed))
        kept = other_notices(test.notices, before)
        return self._store.online_tests.update(
            test_id, **changed, results=results.records(), notices=(*kept, *results.notices)
        )

    # ── results of a stored test ─────────────────────────────────────────────────────────────

    def results(self, test_id: str, correction: Correction = "holm") -> OnlineResults:
        """Returns health, values, lifts and findings of a stored test; ``correction`` over its goals."""
        return self.results_of(self._store.online_tests.get(test_id), correction)

    def results_of(self, test: OnlineTest, correction: Correction = "holm") -> OnlineResults:
        """Returns the results of a test by its rules and metrics, stored or not."""
        rules, own = OnlineRules(**test.rules), [OnlineMetric(**facts) for facts in test.metrics]
        if test.kind == "aggregates":
            logs = OnlineTables(test.kind, self._store.artifacts.table(test.upload), {})
            return results_of(logs, test.control, rules, own, correction=correction)
        results = of_users(self._users(*_counted_by(test)), test.control, rules, with_own(own), correction)
        return replace(results, removed=(*(Removed(**facts) for facts in test.removed), *results.removed))

    def next_steps(self, test_id: str) -> tuple[str, tuple[NextStep, ...]]:
        """Returns what to do after the test, in a sentence and variant by variant."""
        test = self._store.online_tests.get(test_id)
        served = self._context.runs_of(list(test.links.values()))
        return self.next_steps_of(test, {run.id: run.name for run in served})

    def next_steps_of(self, test: OnlineTest, names: Mapping[str, str]) -> tuple[str, tuple[NextStep, ...]]:
        """Returns the same of a test that was read already; ``names``: run's id → its name. Cached."""
        results, steps, days = self._steps(test.id, test.counting)
        served = {variant: names[run_id] for variant, run_id in test.links.items() if run_id in names}
        return headline(results, steps, served, days), steps

    def _read_steps(
        self,
        test_id: str,
        state: str,  # noqa: ARG002 - a key
    ) -> tuple[OnlineResults, tuple[NextStep, ...], int]:
        """Returns results, steps, and the days that the test has run; 0 if they are not known."""
        test = self._store.online_tests.get(test_id)
        results, rules = self.results_of(test), OnlineRules(**test.rules)
        sample = None if test.kind == "aggregates" else summarise(self.users(test_id))
        return results, next_steps(results, rules, sample), sample.days if sample else 0

    def users(self, test_id: str) -> OnlineUsers:
        """Returns one row per user of a test. Raises NotFound for a test of aggregates only."""
        test = self._store.online_tests.get(test_id)
        if test.kind == "aggregates":
            raise NotFound(f"'{test.name}' has aggregated data only, no data per user.")
        return self._users(*_counted_by(test))

    def _read_users(self, upload: str, exposures: str | None, rules: str) -> OnlineUsers:
        beside = {"exposures": self._store.artifacts.table(exposures)} if exposures else {}
        return users_of(self._store.artifacts.table(upload), beside, OnlineRules(**json.loads(rules)))

    def link_variants(self, test_id: str, links: Mapping[str, str]) -> OnlineTest:
        """Stores which run each variant served: {variant: run id}."""
        self._context.must_be_editor()
        test = self._store.online_tests.get(test_id)
        self._check_links(test.experiment, links, [str(row["variant"]) for row in test.results])
        return self._store.online_tests.update(test_id, links=dict(links))

    def _check_links(self, experiment_id: str, links: Mapping[str, str], variants: Sequence[str]) -> None:
        known = {run.id for run in self._store.runs.of_experiment(experiment_id, archived=True)}
        for variant, run_id in links.items():
            if variant not in variants:
                raise UnknownName("variant", variant, sorted(set(variants)))
            if run_id not in known:
                raise NotFound(f"Variant '{variant}' is linked to a run that is not in this experiment.")

    def archive(self, test_id: str) -> OnlineTest:
        return self._context.writable_store().online_tests.update(test_id, archived=self._context.now())

    def restore(self, test_id: str) -> OnlineTest:
        return self._context.writable_store().online_tests.update(test_id, archived=None)

    def delete(self, test_id: str, typed_name: str) -> None:
        self._context.must_be_editor()
        check_typed(typed_name, self._store.online_tests.name_of(test_id))
        self._context.writable_store().online_tests.delete(test_id)

    def result_frame(self, test_id: str) -> pd.DataFrame:
        """Returns one row per metric and variant.

        Columns: the fields of ``OnlineRow``, and run_id, the run that the variant served.
        """
        import pandas as pd

        test = self._store.online_tests.get(test_id)
        frame = pd.DataFrame([asdict(OnlineRow(**row)) for row in test.results])
        frame.insert(4, "run_id", frame["variant"].map(dict(test.links)))
        return frame

    def offline_online(self, test_id: str, metric: str, k: int, online_metric: str) -> pd.DataFrame:
        """Returns one row per linked variant; columns as in ``recdash.online.agreement.join``.

        The offline difference is paired against the run that control served (else the baseline), and
        corrected over the variants.
        """
        test = self._store.online_tests.get(test_id)
        check_k(k)
        return self._joined(test_id, metric, k, online_metric, self._served_runs(test)).copy()

    def disagreements(self, experiment_id: str, metric: str, k: int) -> list[tuple[OnlineTest, Row]]:
        """Returns each test with a row of ``offline_online`` that won on one side and lost on the other, by
        any of its online metrics.
        """
        check_k(k)
        contradictions = []
        for test in self.all(experiment_id):
            served = self._served_runs(test)
            for online_metric in dict.fromkeys(str(row["metric"]) for row in test.results):
                rows = records(self._joined(test.id, metric, k, online_metric, served))
                contradictions += [(test, row) for row in rows if row["quadrant"] in DISAGREE]
        return contradictions

    def _served_runs(self, test: OnlineTest) -> ServedRuns:
        reference = self._context.run_of_control(test)
        runs = self._context.runs_of(list(test.links.values()))
        state = json.dumps([test.counting, dict(test.links)])
        return ServedRuns(reference, tuple((run.id, run.name) for run in runs), state)

    def _join(
        self, test_id: str, metric: str, k: int, online_metric: str, served: ServedRuns
    ) -> pd.DataFrame:
        from recdash.online.agreement.join import join_offline, split_is_broken

        test = self._store.online_tests.get(test_id)
        reference, names, delta = served.reference, dict(served.runs), None
        if reference is not None and define(metric).has_user_values:
            delta = self._comparisons.pairs(ComparisonQuery(tuple(names), reference, metric, k))
        return join_offline(
            self.result_frame(test_id),
            online_metric,
            names,
            scores=self._scores.scoreboard(list(names), [metric], k),
            differences=delta,
            offline_title=naming.metric_title(metric, k),
            broken_split=split_is_broken(test.notices),
        )


def _counted_by(test: OnlineTest) -> tuple[str, str | None, str]:
    """Returns what a test's users are counted from."""
    return test.upload, test.tables.get("exposures"), json.dumps(dict(test.rules))
