"""Stored runs compared: pairs, honest ranks, the verdict and what would change it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property, lru_cache, partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recdash.comparison import Comparison, Source, Terms, compare
from recdash.comparison.replicates import replicate_differences
from recdash.domain.hits import IdOverlap
from recdash.domain.kinds import Floats, Ints, Users
from recdash.domain.records import Replicated, Run
from recdash.domain.results import WHOLE, OnlineLift, Scope, Slice, UserValues, common_bound
from recdash.engines.list_pulls import ListSource, pulls_of_runs
from recdash.errors import InputError, Problem
from recdash.evaluation.slices import user_slices
from recdash.metrics import define
from recdash.online.agreement.join import SPLIT_BROKEN, judged_by
from recdash.service import frames
from recdash.service.context import ServiceContext
from recdash.service.metric_values import MetricValues
from recdash.service.offline.replicates import Replicates
from recdash.service.offline.run_curves import RunCurves
from recdash.service.offline.scores import Scores
from recdash.service.run_data import RunData
from recdash.stats import Correction, grouped, standings
from recdash.stats.jackknife import Pulls
from recdash.stats.replicates import ReplicateDifference

if TYPE_CHECKING:
    import pandas as pd

    from recdash.comparison.result import Compared
    from recdash.comparison.sensitivity import WhatIf
    from recdash.comparison.verdict import Verdict

PAIR_COLUMNS = [
    "baseline_id", "run_id", "run", "base_value", "value", "mean_diff", "ci_low", "ci_high", "p",
    "p_corrected", "n_users", "wins", "ties", "losses", "effect_size", "word", "margin", "more_users",
]  # fmt: skip
RANK_COLUMNS = ["run_id", "run", "rank", "shared", "rank_low", "rank_high", "n_users"]


class ComparisonQuery(NamedTuple):
    """What a verdict is asked about."""

    runs: tuple[str, ...]
    baseline: str
    metric: str
    k: int
    terms: Terms
    scope: Scope

    @classmethod
    def of(
        cls, runs: Sequence[str], baseline: str, metric: str, k: int, terms: Terms | None, scope: Scope
    ) -> ComparisonQuery:
        """With the metric's canonical spelling, so that one question is kept once."""
        return cls(tuple(runs), baseline, str(define(metric)), k, terms or Terms(), scope)


class Comparisons:
    """Which of several runs to choose, and on what evidence."""

    def __init__(
        self,
        context: ServiceContext,
        data: RunData,
        values: MetricValues,
        run_curves: RunCurves,
        scores: Scores,
        replicates: Replicates,
    ) -> None:
        self._context, self._data, self._values, self._run_curves = context, data, values, run_curves
        self._scores, self._replicates = scores, replicates
        self._cut_users = context.cached(self._read_user_slices, most=8)
        self._value_at = context.cached(self._read_value, most=4096)
        self._verdicts = context.cached(self._decide, most=256)
        self._changes = context.cached(self._ask_otherwise, most=256)

    def source(self, experiment_id: str, scope: Scope = WHOLE) -> Source:
        """The runs of an experiment, or of a part of it, as what ``recdash.comparison`` asks."""
        return StoredSource(self, self._context, self._scores, self._replicates, experiment_id, scope)

    def compare(
        self,
        run_ids: Sequence[str],
        baseline_id: str,
        metric: str,
        k: int,
        terms: Terms | None = None,
        scope: Scope = WHOLE,
    ) -> Compared:
        """Every pair with every test, and the verdict.

        Raises InputError for a metric without a value per user, NotFound for an unknown run,
        EvidenceDamaged where something stored of the runs is damaged.
        """
        from recdash.comparison.result import compared

        self._data.refuse_damage([baseline_id, *run_ids])
        source = self.source(self._context.store.run(baseline_id).experiment, scope)
        return compared(source, run_ids, baseline_id, str(define(metric)), k, terms)

    def verdict(
        self,
        run_ids: Sequence[str],
        baseline_id: str,
        metric: str,
        k: int,
        terms: Terms | None = None,
        scope: Scope = WHOLE,
    ) -> Verdict:
        """Whom to ship, of the runs beside the baseline; kept for the next question.

        Raises InputError for a metric without a value per user.
        """
        asked = ComparisonQuery.of(run_ids, baseline_id, metric, k, terms, scope)
        return self._verdicts(asked, self.told_of(baseline_id))

    def changes(
        self,
        run_ids: Sequence[str],
        baseline_id: str,
        metric: str,
        k: int,
        terms: Terms | None = None,
        scope: Scope = WHOLE,
    ) -> list[WhatIf]:
        """What would change the verdict: other cutoffs, metric, definition, users, slices."""
        asked = ComparisonQuery.of(run_ids, baseline_id, metric, k, terms, scope)
        return self._changes(asked, self.told_of(baseline_id))

    def told_of(self, run_id: str) -> Hashable:
        """What a verdict tells and somebody may change: the names of the runs, and the online tests."""
        experiment = self._context.store.run(run_id).experiment
        names = [(run.id, run.name) for run in self._context.store.runs(experiment, archived=True)]
        tests = self._context.store.online_tests(experiment)
        found = self._context.experiment(experiment).baseline
        return (found, *names, *((test.id, test.name, *sorted(test.links.items())) for test in tests))

    def pairs(
        self, run_ids: Sequence[str], baseline_id: str, metric: str, k: int, terms: Terms | None = None,
        *, among: bool = False, scope: Scope = WHOLE,
    ) -> pd.DataFrame:  # fmt: skip
        """Paired differences to the baseline (with ``among`` of every other pair too), judged as one family.

        Columns: ``PAIR_COLUMNS``; ci_low and ci_high are corrected, ``word`` follows them and the margin.
        """
        import pandas as pd

        source = self.source(self._context.store.run(baseline_id).experiment, scope)
        found = compare(source, run_ids, baseline_id, str(define(metric)), k, terms, among=among)
        return pd.DataFrame(_pair_rows(found), columns=PAIR_COLUMNS)

    def ranks(
        self, run_ids: Sequence[str], metric: str, k: int,
        correction: Correction = "holm", scope: Scope = WHOLE,
    ) -> pd.DataFrame:  # fmt: skip
        """Honest ranks over the users that all the ranked runs share: ``RANK_COLUMNS``.

        All pairs are one family; a run ranks behind those that are significantly better. One that lacks the
        metric has no row, nor has one that shares no two users with the runs of more users.
        """
        import pandas as pd

        frames.check_cutoff(k)
        known = {
            run.id: self._values.user_values(run.id, metric, k, None, scope)
            for run in self._context.runs_of(run_ids)
        }
        there = {run_id: values for run_id, values in known.items() if values is not None}
        ranked = _over_the_same_rows(there)
        lower = define(metric).lower_is_better
        rows = _rank_rows(ranked, correction, lower_is_better=lower) if len(ranked) > 1 else []
        names = {run.id: run.name for run in self._context.runs_of(run_ids)}
        return pd.DataFrame([{**row, "run": names[row["run_id"]]} for row in rows], columns=RANK_COLUMNS)

    def values(
        self, run_id: str, metric: str, k: int, users: Users | None = None, scope: Scope = WHOLE
    ) -> UserValues | None:
        """A metric of a run, user by user; None without lists, and where the run lacks the metric.

        Raises InputError for a metric without a value per user, and for a k beyond the depth.
        """
        return self._values.user_values(run_id, metric, k, users, scope)

    def replicate_differences(
        self, run_ids: Sequence[str], baseline_id: str, metric: str, k: int, scope: Scope = WHOLE
    ) -> dict[str, ReplicateDifference]:
        """Run → its difference to the baseline over folds or seeds, all judged as one family (Holm's).

        Without the runs that lack the metric, and those that were uploaded once where the baseline was too.
        """
        frames.check_cutoff(k)
        source = self.source(self._context.store.run(baseline_id).experiment, scope)
        return replicate_differences(source, run_ids, baseline_id, str(define(metric)), k)

    def value(self, run_id: str, metric: str, k: int, scope: Scope = WHOLE) -> float | None:
        """Any metric of a run; None where it lacks it."""
        return self._value_at(run_id, metric, k, scope)

    def _read_value(self, run_id: str, metric: str, k: int, scope: Scope) -> float | None:
        curve = self._run_curves.of([run_id], [metric], scope)[run_id].get(metric)
        return None if curve is None else float(frames.at(curve, k)["value"])

    def list_pulls(self, run_ids: Sequence[str], metrics: Sequence[str], k: int) -> list[Mapping[str, Pulls]]:
        """Of each run what its users pull catalogue metrics at k by, in one more pass over its lists.

        Raises InputError where an upload was not kept.
        """
        reference = self._data.reference(self._context.store.run(run_ids[0]).experiment)
        sources = (
            map(self._list_source, self._parts_with_lists(run)) for run in self._context.runs_of(run_ids)
        )
        return pulls_of_runs(sources, reference, [*map(define, metrics)], k)

    def _parts_with_lists(self, run: Run) -> Sequence[Run]:
        """The run itself, of seeds each of them."""
        return self._data.replicates_of(run.id) if run.is_mean else (run,)

    def _list_source(self, run: Run) -> ListSource:
        shelf, hits = self._values.material_for(run.id, define("coverage")).shelf, self._data.hits(run.id)
        if shelf is None:
            raise InputError(Problem("no-lists", f"run '{run.name}'", "its lists are not there", ""))
        return ListSource(self._data.lists_of(run), shelf, hits.order, duplicates=hits.duplicates)

    def online_lifts(self, run_id: str, baseline_id: str) -> list[OnlineLift]:
        """What the experiment's A/B tests found of a run by goals and guardrails, where the control served
        the baseline; turned so that more is better.

        A control that is not linked served the experiment's own baseline. A test with a broken split of
        users has found nothing; an uploaded summary does not say whether more is better.
        """
        experiment = self._context.experiment(self._context.store.run(run_id).experiment)
        tests = [
            test
            for test in self._context.store.online_tests(experiment.id)
            if test.kind != "aggregates"
            and test.links.get(test.control, experiment.baseline) == baseline_id
            and all(notice.code != SPLIT_BROKEN for notice in test.notices)
        ]
        return [
            _lift_of(test.name, row)
            for test in tests
            for row in test.results
            if test.links.get(str(row["variant"])) == run_id
            and None not in judged_by(row)
            and row.get("role") != "other"
        ]

    def user_slices(self, experiment_id: str, threshold: float | None = None) -> Sequence[Slice]:
        """The slices of users that a verdict looks at."""
        return self._cut_users(experiment_id, threshold)

    def _read_user_slices(self, experiment_id: str, threshold: float | None) -> Sequence[Slice]:
        return user_slices(self._data.reference_under(experiment_id, threshold))

    def _decide(self, asked: ComparisonQuery, told: Hashable) -> Verdict:  # noqa: ARG002 - a key of what is kept
        from recdash.comparison import decide, gather_evidence

        source = self.source(self._context.store.run(asked.baseline).experiment, asked.scope)
        found = compare(source, asked.runs, asked.baseline, asked.metric, asked.k, asked.terms)
        return decide(gather_evidence(source, found))

    def _ask_otherwise(self, asked: ComparisonQuery, told: Hashable) -> list[WhatIf]:
        from recdash.comparison.sensitivity import changes

        experiment = self._context.experiment(self._context.store.run(asked.baseline).experiment)
        depth, users = int(experiment.settings["depth"]), experiment.settings["users"]
        return changes(self.source(experiment.id, asked.scope), self._verdicts(asked, told), depth, users)


class StoredSource:
    """The runs of one experiment as what a comparison asks."""

    def __init__(
        self,
        comparisons: Comparisons,
        context: ServiceContext,
        scores: Scores,
        replicates: Replicates,
        experiment_id: str,
        scope: Scope,
        *,
        users: Users | None = None,
    ) -> None:
        self._comparisons, self._context, self._scores = comparisons, context, scores
        self._replicates, self._experiment, self._scope, self._users = replicates, experiment_id, scope, users
        self._problems = lru_cache(maxsize=16)(scores.comparability)

    @cached_property
    def names(self) -> Mapping[str, str]:
        return {run.id: run.name for run in self._context.store.runs(self._experiment, archived=True)}

    def under(self, users: Users) -> StoredSource:
        return StoredSource(
            self._comparisons, self._context, self._scores, self._replicates, self._experiment, self._scope,
            users=users,
        )  # fmt: skip

    def values(self, run: str, metric: str, k: int) -> UserValues | None:
        return self._comparisons.values(run, metric, k, self._users, self._scope)

    def value(self, run: str, metric: str, k: int) -> float | None:
        if self._users is None or not define(metric).has_user_values:
            return self._comparisons.value(run, metric, k, self._scope)
        own = self.values(run, metric, k)
        return float(own.values.mean()) if own is not None and len(own.users) else None

    def why_absent(self, run: str, metric: str) -> str:
        return self._scores.absences([run], metric, self._scope).get(run, "")

    def user_slices(self) -> Sequence[Slice]:
        return self._comparisons.user_slices(self._experiment, self._scope.threshold)

    def replicated(self, run: str) -> Replicated | None:
        return self._context.store.run(run).replicated

    def replicate_value(self, run: str, label: str, metric: str, k: int) -> float | None:
        return self._comparisons.value(self._replicate(run, label), metric, k, self._scope)

    def replicate_values(self, run: str, label: str, metric: str, k: int) -> UserValues | None:
        users: Users | None = "both" if self._of_folds(run) else self._users
        return self._comparisons.values(self._replicate(run, label), metric, k, users, self._scope)

    def _replicate(self, run: str, label: str) -> str:
        return next(one.id for one in self._replicates.of(run) if one.name == label)

    def _of_folds(self, run: str) -> bool:
        replicated = self.replicated(run)
        return replicated is not None and replicated.kind == "folds"

    def list_pulls(
        self, runs: Sequence[str], metrics: Sequence[str], k: int
    ) -> Sequence[Mapping[str, Pulls]]:
        return self._comparisons.list_pulls(runs, metrics, k)

    def online(self, run: str, baseline: str) -> Sequence[OnlineLift]:
        """Of everybody: a test says nothing of a part of its users."""
        return self._comparisons.online_lifts(run, baseline) if self._scope == WHOLE else []

    def known_ids(self, run: str) -> IdOverlap | None:
        return self._scores.id_overlap(run)

    def problems(self, runs: Sequence[str]) -> Sequence[Problem]:
        return self._problems(tuple(runs))


def _lift_of(test: str, row: Mapping[str, Any]) -> OnlineLift:
    low, high = (end for end in judged_by(row) if end is not None)
    if row.get("direction") == "down":
        return OnlineLift(test, row["title"], -row["lift"], -high, -low)
    return OnlineLift(test, row["title"], row["lift"], low, high)


def _pair_rows(found: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "baseline_id": pair.baseline, "run_id": pair.candidate, "run": found.names[pair.candidate],
            "base_value": pair.base_value, "value": pair.value, "mean_diff": pair.paired.mean,
            "ci_low": pair.judged.corrected.low, "ci_high": pair.judged.corrected.high, "p": pair.paired.p,
            "p_corrected": pair.judged.p, "n_users": pair.paired.n, "wins": pair.paired.wins,
            "ties": pair.paired.ties, "losses": pair.paired.losses, "effect_size": pair.paired.effect_size,
            "word": pair.judged.word, "margin": pair.judged.margin, "more_users": pair.judged.more_users,
        }
        for pair in found.pairs
    ]  # fmt: skip


def _over_the_same_rows(values: Mapping[str, UserValues]) -> Mapping[str, UserValues]:
    """Predicted ratings over the rows that all of the runs predict; other metrics as they are."""
    rated = [one.rated for one in values.values()]
    if not rated or None in rated:
        return values
    keys = reduce(partial(np.intersect1d, assume_unique=True), [rows.key for rows, _ in filter(None, rated)])
    return {
        run: values_of(rows.of(np.searchsorted(rows.key, keys)))
        for run, one in values.items()
        if one.rated and len(keys)
        for rows, values_of in [one.rated]
    }


def _rank_rows(
    values: Mapping[str, UserValues], correction: Correction, *, lower_is_better: bool
) -> list[dict[str, Any]]:
    ranked, users = _sharing(values)
    if len(ranked) < 2:
        return []
    sign = -1.0 if lower_is_better else 1.0
    of_runs = grouped(sign * _over(values[run], users) for run in ranked)
    found = standings(of_runs, correction, bound=common_bound([values[run] for run in ranked]))
    return [
        {
            "run_id": run_id, "rank": int(found.rank[at]), "shared": bool(found.shared[at]),
            "rank_low": int(found.low[at]), "rank_high": int(found.high[at]), "n_users": len(users),
        }
        for at, run_id in enumerate(ranked)
    ]  # fmt: skip


def _over(values: UserValues, users: Ints) -> Floats:
    """The values of some of the users."""
    same = np.array_equal(values.users, users)
    return values.values if same else values.of(np.searchsorted(values.users, users)).values


def _sharing(values: Mapping[str, UserValues]) -> tuple[list[str], Ints]:
    """Runs that all share two users or more, and these users; runs of few users are left out first."""
    most_first = sorted(values, key=lambda run: -len(values[run].users))
    for at, widest in enumerate(most_first):
        kept, users = [widest], values[widest].users
        for run in most_first[at + 1 :]:
            both = _in_both(users, values[run].users)
            kept, users = ([*kept, run], both) if len(both) > 1 else (kept, users)
        if len(kept) > 1:
            return [run for run in values if run in kept], users
    return [], np.empty(0, dtype=np.int64)


def _in_both(some: Ints, others: Ints) -> Ints:
    """The users of both, ascending."""
    return some if np.array_equal(some, others) else np.intersect1d(some, others, assume_unique=True)
