"""Compares stored runs: paired differences, ranks, and the verdict with what could change it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial, reduce
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.comparison import Comparison, ComparisonQuery, compare
from recdash.comparison.replicates import replicate_differences
from recdash.domain.arguments import check_type
from recdash.domain.defaults import USUAL_K, is_popular
from recdash.domain.hits import IdOverlap
from recdash.domain.kinds import Ints, Users
from recdash.domain.records import OnlineTest, Replicated, Run
from recdash.domain.results import (
    WHOLE,
    AbTestElsewhere,
    Curve,
    OnlineLift,
    Scope,
    Slice,
    Unavailable,
    UserValues,
    common_bound,
)
from recdash.engines.list_pulls import CodedLists, ListSource, code_lists, pulls_of_runs
from recdash.errors import InputError, Problem
from recdash.evaluation.slices import user_slices
from recdash.metrics import define
from recdash.metrics.catalogue import CatalogueInputs, CatalogueMetric
from recdash.online.agreement.join import judged_by, split_is_broken
from recdash.service import frames
from recdash.service.context import ServiceContext
from recdash.service.metric_values import MetricValues
from recdash.service.offline.replicates import Replicates
from recdash.service.offline.run_curves import RunCurves
from recdash.service.offline.scopes import Scopes
from recdash.service.offline.scores import Scores
from recdash.service.run_data import RunData
from recdash.stats import Correction, grouped, rank_runs
from recdash.stats.jackknife import Pulls
from recdash.stats.replicates import ReplicateDifference

if TYPE_CHECKING:
    import pandas as pd

    from recdash.comparison.completion import Completion
    from recdash.comparison.recommendation import Recommendation
    from recdash.comparison.result import Compared
    from recdash.comparison.sensitivity import WhatIf

PAIR_COLUMNS = [
    "baseline_id", "run_id", "run", "base_value", "value", "mean_diff", "ci_low", "ci_high", "p",
    "p_corrected", "n_users", "wins", "ties", "losses", "effect_size", "word", "margin", "more_users",
    "method", "t_p",
]  # fmt: skip
MOST_CODED = 1 << 24
"""The number of recommended positions up to which a run's lists are kept as codes, 4 bytes each, for the
intervals of guardrails at another k: four runs of 162,000 lists of 20.
"""
RANK_COLUMNS = ["run_id", "run", "rank", "shared", "rank_low", "rank_high", "n_users"]


class Comparisons:
    """The service that compares runs, and recommends which of them to choose."""

    def __init__(
        self,
        context: ServiceContext,
        data: RunData,
        values: MetricValues,
        run_curves: RunCurves,
        scores: Scores,
        replicates: Replicates,
        *,
        scopes: Scopes,
    ) -> None:
        self._context, self._data, self._values, self._run_curves = context, data, values, run_curves
        self._store = context.store
        self._scores, self._replicates, self._scopes = scores, replicates, scopes
        self.user_slices = context.cached(self._read_user_slices, most=8)
        self.value = context.cached(self._read_value, most=4096)
        self._recommendations = context.cached(self._recommend, most=512)
        self._verdicts = context.cached(self._decide, most=256)
        self._changes = context.cached(self._ask_otherwise, most=256)
        self._states = context.cached_until_written(self._read_state, most=256)
        self._tests_against = context.cached_until_written(self._read_tests, most=64)
        self._pulls = context.sized_cache(self._read_pulls, least=4)
        self._coded_lists = context.sized_cache(self._code_lists, least=0, room=5 * MOST_CODED)
        self._stored_curves = context.sized_cache(self._read_stored_curves, least=64)

    def source(
        self,
        experiment_id: str,
        scope: Scope = WHOLE,
        *,
        with_tests: bool | None = None,
        tells_adjusted: bool = True,
    ) -> StoredSource:
        """Returns the data that ``recdash.comparison`` needs about an experiment's runs, limited to
        ``scope``.

        ``with_tests``: whether A/B tests count, by default unless ``scope`` has a slice, for which they have
        no results. ``tells_adjusted``: lifts that CUPED adjusted come with the unadjusted ones.
        """
        return StoredSource(
            self,
            self._context,
            self._scores,
            self._replicates,
            experiment_id,
            scope,
            with_tests=not scope.slice if with_tests is None else with_tests,
            tells_adjusted=tells_adjusted,
        )

    def compare(self, query: ComparisonQuery) -> Compared:
        """Returns the complete comparison: all pairs of runs with their tests, and the verdict.

        Raises InputError for a metric without a value per user, NotFound for an unknown run, EvidenceDamaged
        if stored data of the runs is damaged.
        """
        from recdash.comparison.result import compared

        _check_query(query)
        self._data.refuse_damage(query.shown)
        return compared(self._source_of(query), query)

    def verdict(self, query: ComparisonQuery) -> Recommendation:
        """Returns the recommendation, from all evidence about all candidates; cached.

        Raises InputError for a metric without a value per user.
        """
        _check_query(query)
        return self._verdicts(query, self.verdict_state(query.baseline))

    def recommendation(self, query: ComparisonQuery) -> Recommendation:
        """Returns the verdict without the intervals of its guardrails, for which all lists are read again."""
        return self._recommendations(query, self.verdict_state(query.baseline), True)

    def changes(
        self,
        query: ComparisonQuery,
        *,
        former: bool = False,
        named: bool = True,
        opened: bool = True,
        by_rule: bool = True,
    ) -> list[WhatIf]:
        """Returns what would change the verdict: other cutoffs, metrics, definitions, populations or
        slices. ``former``, ``named=False``, ``opened=False`` and ``by_rule=False`` give the answers of older
        reports, which also ask for cutoffs beyond the longest list.
        """
        return self._changes(query, self.verdict_state(query.baseline), former, named, opened, by_rule)

    def at_other_k(self, query: ComparisonQuery) -> dict[int, Recommendation]:
        """Returns {k: recommendation} for the other usual k within the runs' lists; empty for a metric
        without k. A k at which the runs cannot be compared is left out.
        """
        if not define(query.metric).metric.has_cutoff:
            return {}
        experiment = self._context.experiment_of(query.baseline)
        depth = self._longest_list(query.shown, int(experiment.settings["depth"]))
        others: dict[int, Recommendation] = {}
        for k in USUAL_K:
            if k != query.k and k <= depth:
                with suppress(InputError):
                    others[k] = self.recommendation(replace(query, k=k))
        return others

    def completion(self, query: ComparisonQuery, run_id: str) -> Completion | None:
        """Returns what the run would have if users without recommendations from it got popular items.

        It is compared with the experiment's run of popular items, or without one with the query's baseline.
        None if there is nothing to complete, and for a metric without a value per user.
        """
        from recdash.comparison.completion import completion

        experiment = self._store.runs.get(run_id).experiment
        others = (run for run in self._store.runs.of_experiment(experiment) if run.id != run_id)
        popular = next((run.id for run in others if is_popular(run.name)), query.baseline)
        if popular == run_id or not define(query.metric).has_user_values:
            return None
        return completion(self._source_of(query), query, run_id, popular)

    def verdict_state(self, run_id: str) -> Hashable:
        """Returns a hashable value that changes whenever a verdict may change.

        It is made of the baseline, the runs' names and whether they are archived, and how the linked A/B
        tests are counted.
        """
        return self._states(run_id)

    def _read_state(self, run_id: str) -> Hashable:
        experiment = self._context.experiment_of(run_id)
        runs = self._store.runs.of_experiment(experiment.id, archived=True)
        names = [(run.id, run.name, run.archived is None) for run in runs]
        tests = self._context.ab_tests(experiment.id)
        links = [(test.id, test.name, test.counting, *sorted(test.links.items())) for test in tests]
        return (experiment.baseline, *names, *links)

    def pairs(self, query: ComparisonQuery, *, among: bool = False) -> pd.DataFrame:
        """Returns the paired differences from the baseline as a frame with ``PAIR_COLUMNS``, tested as one
        family.

        ``among`` adds all other pairs of runs. ci_low and ci_high are corrected; ``word`` (the finding)
        follows from them and the margin. A run without the metric has no row.
        """
        import pandas as pd

        comparison = compare(self._source_of(query), query, among=among)
        return pd.DataFrame(_pair_rows(comparison), columns=PAIR_COLUMNS)

    def shown_pairs(self, query: ComparisonQuery) -> pd.DataFrame:
        """Returns the differences from the baseline as ``pairs`` does, with intervals as they are shown.

        See ``Pair.interval``.
        """
        import pandas as pd

        comparison = compare(self._source_of(query), query, among=False)
        ends = [pair.interval for pair in comparison.pairs]
        rows = zip(_pair_rows(comparison), ends, strict=True)
        shown = [{**row, "ci_low": low, "ci_high": high} for row, (low, high) in rows]
        return pd.DataFrame(shown, columns=PAIR_COLUMNS)

    def ranks(self, query: ComparisonQuery) -> pd.DataFrame:
        """Returns the runs' ranks, over the users that they all share, as a frame with ``RANK_COLUMNS``.

        All pairs are tested as one family; a run ranks behind every run that is significantly better. A run
        has no row if it lacks the metric, or if it shares fewer than two users with the runs that have more
        users.
        """
        import pandas as pd

        names = {run.id: run.name for run in self._context.runs_of(query.shown)}
        values = {run: self.values(run, query.metric, query.k, scope=query.scope) for run in names}
        present = {run: run_values for run, run_values in values.items() if run_values is not None}
        lower = define(query.metric).lower_is_better
        rows = _rank_rows(_over_the_same_rows(present), query.terms.correction, lower_is_better=lower)
        return pd.DataFrame([{**row, "run": names[row["run_id"]]} for row in rows], columns=RANK_COLUMNS)

    def values(
        self, run_id: str, metric: str, k: int, users: Users | None = None, scope: Scope = WHOLE
    ) -> UserValues | None:
        """Returns a metric's value per user of a run; None if the run has no lists or lacks the metric.

        Raises InputError for a metric without a value per user, and for a k beyond the depth.
        """
        return self._values.user_values(run_id, metric, k, users, scope)

    def replicate_differences(self, query: ComparisonQuery) -> dict[str, ReplicateDifference]:
        """Returns each run's difference from the baseline over folds or seeds, all tested as one family: {run
        id: difference}.

        A run is missing if it lacks the metric, and if neither it nor the baseline has folds or seeds.
        """
        return replicate_differences(self._source_of(query), query)

    def _read_value(self, run_id: str, metric: str, k: int, scope: Scope = WHOLE) -> float | None:
        """Returns any metric of a run; None if it lacks it."""
        if isinstance(define(metric).metric, CatalogueMetric):  # which rows are relevant makes no difference
            scope = replace(scope, threshold=None)
        if metric in self._context.runs_of([run_id])[0].absent:
            return None
        curve = self._stored_curves(run_id).get(metric) if scope == WHOLE else None
        curve = curve or self._run_curves.curve(run_id, metric, scope)
        return float(frames.score_at(curve, k)["value"]) if isinstance(curve, Curve) else None

    def _read_stored_curves(self, run_id: str) -> Mapping[str, Curve | Unavailable]:
        """Returns all stored curves of a run, with one query: a recommendation asks for ten of each run."""
        return self._store.curves.of_runs([run_id])[run_id]

    def list_pulls(self, run_ids: Sequence[str], metrics: Sequence[str], k: int) -> list[Mapping[str, Pulls]]:
        """Returns for each run and metric how far single users change the run's value at k (see ``Pulls``).

        The metrics are catalogue-level metrics. It reads the stored lists once more; cached. Raises
        InputError if an upload was not kept.
        """
        return list(self._pulls(tuple(run_ids), tuple(metrics), k))

    def _read_pulls(
        self, run_ids: tuple[str, ...], metrics: tuple[str, ...], k: int
    ) -> list[Mapping[str, Pulls]]:

        def list_source(run: Run) -> ListSource:
            catalogue, hits = self._shown_items(run), self._data.hits(run.id)
            known_users = not hits.ledger.without_truth
            is_small = int(hits.list_length.sum()) <= MOST_CODED
            lists = self._coded_lists(run.id) if known_users and is_small else self._data.lists_of(run)
            return ListSource(run.name, lists, catalogue, hits.order, duplicates=hits.duplicates)

        runs = self._context.runs_of(run_ids)
        reference = self._data.reference(runs[0].experiment)
        with_lists = (self._data.replicates_of(run.id) if run.is_mean else (run,) for run in runs)
        sources = (map(list_source, group) for group in with_lists)
        return pulls_of_runs(sources, reference, [*map(define, metrics)], k)

    def _code_lists(self, run_id: str) -> CodedLists:
        run, hits = self._data.cached_run(run_id), self._data.hits(run_id)
        reference, catalogue = self._data.reference(run.experiment), self._shown_items(run)
        lists = self._data.lists_of(run)
        return code_lists(lists, reference, catalogue, hits.depth, hits.order, hits.duplicates)

    def _shown_items(self, run: Run) -> CatalogueInputs:
        """Returns the run's exposure to all users with a list. Raises InputError for a run without lists."""
        catalogue = self._values.inputs_for(run.id, define("coverage")).catalogue
        if catalogue is None:
            raise InputError(Problem("no-lists", f"run '{run.name}'", "its lists were not kept", ""))
        return catalogue

    def online_lifts(self, run_id: str, baseline_id: str) -> list[OnlineLift]:
        """Returns a run's lifts in goals and guardrails of the A/B tests in which control served the
        baseline.

        Lifts are signed so that more is better. A control without a linked run counts as the experiment's
        baseline. A test with a sample ratio mismatch has no lifts. Before the planned number of users, the
        interval also covers the always-valid one.
        """
        return [lift for test in self._tests_against(baseline_id) for lift in _lifts_of(test, run_id)]

    def lifts_elsewhere(self, run_id: str, baseline_id: str) -> list[OnlineLift]:
        """Returns a run's lifts in A/B tests in which control served another run than the baseline, with
        the name of that run.
        """
        return [
            replace(lift, control=control.name if control else "", control_run=control.id if control else "")
            for test, control in self._tests_without(baseline_id)
            for lift in _lifts_of(test, run_id)
        ]

    def tests_elsewhere(self, run_id: str, baseline_id: str) -> list[AbTestElsewhere]:
        """Returns the A/B tests in which the run was a variant or control, and in which control served
        another run than the baseline.
        """
        return [
            AbTestElsewhere(
                test.name,
                control.name if control else "",
                control.id if control else "",
                is_control=control is not None and control.id == run_id,
                is_valid=not split_is_broken(test.notices),
            )
            for test, control in self._tests_without(baseline_id)
            if run_id in test.served or (test.served and control is not None and control.id == run_id)
        ]

    def _tests_without(self, baseline_id: str) -> Iterator[tuple[OnlineTest, Run | None]]:
        """Yields the experiment's A/B tests in which control served another run than the baseline, with that
        run; None if it is unknown.
        """
        against = {test.id for test in self._tests_against(baseline_id)}
        experiment = self._context.experiment_of(baseline_id).id
        for test in self._context.ab_tests(experiment):
            if test.id not in against:
                yield test, self._run_of_control(test)

    def _run_of_control(self, test: OnlineTest) -> Run | None:
        run_id = self._context.run_of_control(test)
        runs = self._store.runs.of_experiment(test.experiment, archived=True) if run_id else ()
        return next((run for run in runs if run.id == run_id), None)

    def invalid_tests(self, run_id: str, baseline_id: str) -> list[str]:
        """Returns the names of the A/B tests of the run against the baseline that have a sample ratio
        mismatch.
        """
        return [
            test.name
            for test in self._tests_against(baseline_id)
            if split_is_broken(test.notices) and run_id in test.served
        ]

    def unlinked_tests(self, experiment_id: str) -> list[str]:
        """Returns the names of the experiment's A/B tests in which no variant beside control is linked to a
        run.
        """
        return [test.name for test in self._context.ab_tests(experiment_id) if not test.served]

    def _read_tests(self, baseline_id: str) -> Sequence[OnlineTest]:
        """Returns the experiment's A/B tests in which control served this run."""
        experiment = self._context.experiment_of(baseline_id)
        return [
            test
            for test in self._context.ab_tests(experiment.id)
            if test.links.get(test.control, experiment.baseline) == baseline_id
        ]

    def _read_user_slices(self, experiment_id: str, threshold: float | None = None) -> Sequence[Slice]:
        """Returns the slices of users that a verdict considers."""
        return user_slices(self._data.reference_under(experiment_id, threshold))

    def _source_of(self, query: ComparisonQuery) -> StoredSource:
        return self.source(self._store.runs.get(query.baseline).experiment, query.scope)

    def _recommend(
        self,
        query: ComparisonQuery,
        state: Hashable,  # noqa: ARG002 - for the cache
        tells_control: bool,
    ) -> Recommendation:
        from recdash.comparison.recommendation import recommend

        source = self._source_of(query)
        comparison = compare(source, query)
        return recommend(source, comparison, intervals=False, tells_control=tells_control)

    def _decide(self, query: ComparisonQuery, state: Hashable) -> Recommendation:
        from recdash.comparison.recommendation import with_guardrail_intervals

        return with_guardrail_intervals(self._source_of(query), self._recommendations(query, state, True))

    def _ask_otherwise(
        self, query: ComparisonQuery, state: Hashable, former: bool, named: bool, opened: bool, by_rule: bool
    ) -> list[WhatIf]:
        from recdash.comparison.sensitivity import changes

        settings = self._context.experiment_of(query.baseline).settings
        source = self._source_of(query)
        verdict = self._verdicts(query, state) if opened else self._recommendations(query, state, False)
        depth, users = int(settings["depth"]), settings["users"]
        if named and define(query.metric).metric.has_cutoff:
            depth = min(depth, self._longest_list(query.shown, depth))

        def remembered(other: ComparisonQuery) -> Recommendation:
            return self._recommendations(other, state, opened)

        thresholds = self._scopes.other_thresholds(source.experiment, query.scope, suggested=not opened)
        return changes(
            source,
            verdict,
            depth,
            users,
            recommendation=remembered,
            thresholds=thresholds,
            former=former,
            named=named,
            opened=opened,
            by_rule=by_rule,
        )

    def _longest_list(self, run_ids: Sequence[str], depth: int) -> int:
        """Returns the length of the runs' longest list: a larger k counts no further items. ``depth`` if no
        run has lists, such as runs with rating predictions only.
        """
        runs = [self._data.cached_run(run_id) for run_id in run_ids]
        with_lists = (self._data.replicates_of(run.id) if run.is_mean else (run,) for run in runs)
        hits = (self._data.hits_alone(run.id) for several in with_lists for run in several if run.has_lists)
        return max((int(of_run.list_length.max(initial=0)) for of_run in hits), default=depth)


@dataclass(eq=False)
class StoredSource:
    """The data about one experiment's stored runs, limited to a scope, that a comparison needs."""

    comparisons: Comparisons
    context: ServiceContext
    scores: Scores
    replicates: Replicates
    experiment: str
    scope: Scope
    with_tests: bool
    users: Users | None = None
    tells_adjusted: bool = True

    @cached_property
    def names(self) -> Mapping[str, str]:
        return {
            run.id: run.name for run in self.context.store.runs.of_experiment(self.experiment, archived=True)
        }

    def under(self, users: Users) -> StoredSource:
        return replace(self, users=users)

    def values(self, run: str, metric: str, k: int) -> UserValues | None:
        return self.comparisons.values(run, metric, k, self.users, self.scope)

    def value(self, run: str, metric: str, k: int) -> float | None:
        if self.users is None or not define(metric).has_user_values:
            return self.comparisons.value(run, metric, k, self.scope)
        own = self.values(run, metric, k)
        return float(own.values.mean()) if own is not None and len(own.users) else None

    def why_absent(self, run: str, metric: str) -> str:
        return self.scores.absences([run], metric, self.scope).get(run, "")

    def user_slices(self) -> Sequence[Slice]:
        return self.comparisons.user_slices(self.experiment, self.scope.threshold)

    def replicated(self, run: str) -> Replicated | None:
        return self.context.store.runs.get(run).replicated

    def replicate_value(self, run: str, label: str, metric: str, k: int) -> float | None:
        return self.comparisons.value(self._replicate(run, label), metric, k, self.scope)

    def replicate_values(self, run: str, label: str, metric: str, k: int) -> UserValues | None:
        replicated = self.replicated(run)
        of_folds = replicated is not None and replicated.kind == "folds"
        users: Users | None = "both" if of_folds else self.users
        return self.comparisons.values(self._replicate(run, label), metric, k, users, self.scope)

    def _replicate(self, run: str, label: str) -> str:
        return next(replicate.id for replicate in self.replicates.of(run) if replicate.name == label)

    def list_pulls(
        self, runs: Sequence[str], metrics: Sequence[str], k: int
    ) -> Sequence[Mapping[str, Pulls]]:
        return self.comparisons.list_pulls(runs, metrics, k)

    def online(self, run: str, baseline: str) -> Sequence[OnlineLift]:
        return self._told(self.comparisons.online_lifts(run, baseline)) if self.with_tests else []

    def lifts_elsewhere(self, run: str, baseline: str) -> Sequence[OnlineLift]:
        return self._told(self.comparisons.lifts_elsewhere(run, baseline)) if self.with_tests else []

    def _told(self, lifts: Sequence[OnlineLift]) -> Sequence[OnlineLift]:
        """Returns the lifts, without the unadjusted ones unless the source tells them."""
        return lifts if self.tells_adjusted else [replace(lift, plain=None) for lift in lifts]

    def tests_elsewhere(self, run: str, baseline: str) -> Sequence[AbTestElsewhere]:
        return self.comparisons.tests_elsewhere(run, baseline) if self.with_tests else []

    def invalid_tests(self, run: str, baseline: str) -> Sequence[str]:
        return self.comparisons.invalid_tests(run, baseline) if self.with_tests else []

    def unlinked_tests(self) -> Sequence[str]:
        return self.comparisons.unlinked_tests(self.experiment) if self.with_tests else []

    def known_ids(self, run: str) -> IdOverlap | None:
        return self.scores.id_overlap(run)

    def problems(self, runs: Sequence[str]) -> Sequence[Problem]:
        return self._problems(tuple(runs))

    @cached_property
    def _problems(self) -> Callable[[tuple[str, ...]], Sequence[Problem]]:
        return lru_cache(maxsize=16)(self.scores.comparability)


def _lifts_of(test: OnlineTest, run_id: str) -> list[OnlineLift]:
    """Returns a run's lifts in goals and guardrails of an A/B test; empty for a sample ratio mismatch."""
    if split_is_broken(test.notices):
        return []
    rows = [
        row
        for row in test.results
        if test.links.get(str(row["variant"])) == run_id
        and str(row["variant"]) != test.control
        and row.get("role") != "other"
    ]
    return [lift for row in rows if (lift := _online_lift(test, row)) is not None]


def _online_lift(test: OnlineTest, row: Mapping[str, Any]) -> OnlineLift | None:
    """Returns the lift in a row of an A/B test's results, signed so that more is better; None without an
    interval.
    """
    low, high = judged_by(row)
    if low is None or high is None:
        return None
    if _is_early(test):
        valid = (row.get("sequence_low"), row.get("sequence_high"))
        low = -inf if valid[0] is None else min(low, valid[0])
        high = inf if valid[1] is None else max(high, valid[1])
    is_down = row.get("direction") == "down"
    ends = (-row["lift"], -high, -low) if is_down else (row["lift"], low, high)
    margin = (row.get("margin") or 0.0) if row.get("role") == "guardrail" else None
    return OnlineLift(
        test.name, row["title"], *ends, margin, row.get("more_users"), is_down, _is_complete(test),
        row["metric"], is_corrected=margin is None and _n_corrected(test) > 1, plain=row.get("plain_lift"),
    )  # fmt: skip


def _n_corrected(test: OnlineTest) -> int:
    """Returns the number of lifts in goals that are corrected together."""
    return sum(row.get("role") == "goal" and row.get("p_corrected") is not None for row in test.results)


def _is_early(test: OnlineTest) -> bool:
    """Returns whether the test has a planned number of users and has not reached it."""
    n = _n_compared(test)
    return n is not None and n < _n_planned(test)


def _is_complete(test: OnlineTest) -> bool:
    """Returns whether the test has a planned number of users and has reached it."""
    return 0 < _n_planned(test) <= (_n_compared(test) or 0)


def _n_planned(test: OnlineTest) -> int:
    """Returns the planned number of users; 0 if none was planned."""
    return int(test.rules.get("planned_users") or 0)


def _n_compared(test: OnlineTest) -> int | None:
    """Returns the number of users in control and the largest other variant together; None if there is no
    other variant.
    """
    users = {str(row["variant"]): row.get("n_users") or 0 for row in test.results}
    pairs = [users.get(test.control, 0) + n for variant, n in users.items() if variant != test.control]
    return max(pairs, default=None)


def _pair_rows(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "baseline_id": pair.baseline, "run_id": pair.candidate, "run": comparison.names[pair.candidate],
            "base_value": pair.base_value, "value": pair.value, "mean_diff": pair.paired.mean,
            "ci_low": pair.judged.corrected.low, "ci_high": pair.judged.corrected.high, "p": pair.paired.p,
            "p_corrected": pair.judged.p, "n_users": pair.paired.n, "wins": pair.paired.wins,
            "ties": pair.paired.ties, "losses": pair.paired.losses, "effect_size": pair.paired.effect_size,
            "word": pair.judged.word, "margin": pair.judged.margin, "more_users": pair.judged.more_users,
            "method": pair.paired.method.name, "t_p": pair.paired.t_p,
        }
        for pair in comparison.pairs
    ]  # fmt: skip


def _over_the_same_rows(values: Mapping[str, UserValues]) -> Mapping[str, UserValues]:
    """Returns values of rating metrics over the user-item pairs that all runs predict; values of other
    metrics unchanged.
    """
    rated = [run_values.rated for run_values in values.values()]
    if not rated or None in rated:
        return values
    keys = reduce(partial(np.intersect1d, assume_unique=True), [rows.key for rows, _ in filter(None, rated)])
    return {
        run: values_of(rows.of(np.searchsorted(rows.key, keys)))
        for run, run_values in values.items()
        if run_values.rated and len(keys)
        for rows, values_of in [run_values.rated]
    }


def _rank_rows(
    values: Mapping[str, UserValues], correction: Correction, *, lower_is_better: bool
) -> list[dict[str, Any]]:
    """Returns the rows of ``Comparisons.ranks`` without names; empty unless two runs share at least two
    users.
    """
    run_ids, users = _sharing(values)
    if len(run_ids) < 2:
        return []
    sign = -1.0 if lower_is_better else 1.0
    of_users = [
        own if np.array_equal(own.users, users) else own.of(np.searchsorted(own.users, users))
        for own in map(values.__getitem__, run_ids)
    ]
    bound = common_bound([values[run] for run in run_ids])
    ranks = rank_runs(grouped(sign * own.values for own in of_users), correction, bound=bound)
    return [
        {
            "run_id": run_id, "rank": int(ranks.rank[index]), "shared": bool(ranks.shared[index]),
            "rank_low": int(ranks.low[index]), "rank_high": int(ranks.high[index]), "n_users": len(users),
        }
        for index, run_id in enumerate(run_ids)
    ]  # fmt: skip


def _sharing(values: Mapping[str, UserValues]) -> tuple[list[str], Ints]:
    """Returns runs that all share at least two users, and these users; empty if there are no such runs.

    A run is left out if, together with the runs of more users, fewer than two shared users remain.
    """
    most_first = sorted(values, key=lambda run: -len(values[run].users))
    for index, widest in enumerate(most_first):
        chosen, users = [widest], values[widest].users
        for run in most_first[index + 1 :]:
            own = values[run].users
            shared = users if np.array_equal(users, own) else np.intersect1d(users, own, assume_unique=True)
            if len(shared) > 1:
                chosen, users = [*chosen, run], shared
        if len(chosen) > 1:
            return [run for run in values if run in chosen], users
    return [], np.empty(0, dtype=np.int64)


def _check_query(query: object) -> None:
    """Raises InputError for what is no comparison query."""
    check_type("query", query, ComparisonQuery, "Give what workspace.queries.of(…) returns.")
