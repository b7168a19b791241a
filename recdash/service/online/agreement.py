"""Whether the runs of an A/B test rank alike by offline and online metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from recdash.comparison import ComparisonQuery
from recdash.domain.records import OnlineTest
from recdash.errors import UnknownName
from recdash.formatting.numbers import none_if_nan
from recdash.metrics import check_k, define, naming
from recdash.online.agreement.agreement import (
    Agreement,
    BestMetric,
    DifferenceInterval,
    RunPair,
    ServedRun,
    agreement,
    best_metric,
)
from recdash.service.context import ServiceContext
from recdash.service.offline.comparisons import Comparisons
from recdash.service.offline.scores import Scores
from recdash.service.online.analysis import OnlineAnalysis
from recdash.service.online.offline_online import OfflineOnlineResult, oriented, sign_of

CUTOFFS = (1, 5, 10, 20, 50, 100)
"""The values of k at which metrics are tried to find the one that ranks the runs best."""


@dataclass(eq=False)
class OnlineAgreement:
    """The service that compares the ranking of an A/B test's runs with that by offline metrics."""

    _context: ServiceContext
    _scores: Scores
    _comparisons: Comparisons
    _online_analysis: OnlineAnalysis

    def of(self, test_id: str, metric: str, k: int, online_metric: str, *, former: bool = False) -> Agreement:
        """Returns whether metric@k and an online metric rank the A/B test's runs alike.

        It covers the variants that are linked to a run, including control; an unlinked control counts as the
        baseline. ``former``: pairs of metrics of predicted ratings are not compared, as in older reports.
        Raises UnknownName for an online metric that the test lacks, InputError for a k beyond the depth.
        """
        check_k(k)
        metric, sides = str(define(metric)), self.both_sides(test_id, online_metric)
        title = naming.metric_title(metric, k)
        if sides.broken:
            return agreement(title, sides.title, [], {}, sides.broken)
        board = self._scores.scoreboard(list(dict.fromkeys(sides.runs.values())), [metric], k)
        values = dict(zip(board["run_id"], sign_of(metric) * board["value"], strict=True))
        served = []
        for variant in sides.variants:
            run, is_control = sides.runs[variant], variant == sides.test.control
            lift = sides.lift(variant)
            served.append(ServedRun(run, sides.names[run], variant, is_control, values.get(run), lift))
        signs = (sign_of(metric), sides.sign)
        pairs = self._pairs_of(sides, metric, k, former=former)
        return agreement(title, sides.title, served, pairs, signs=signs)

    def best_metric(self, test_id: str, online_metric: str) -> BestMetric:
        """Returns which offline metric, at which of ``CUTOFFS``, ranked the test's runs most like the online
        metric.
        """
        sides = self.both_sides(test_id, online_metric)
        lifts = {variant: lift for variant in sides.variants if (lift := sides.lift(variant)) is not None}
        runs = [sides.runs[variant] for variant in lifts]
        candidates = {} if sides.broken or not runs else self._candidates(runs, sides.test.experiment)
        return best_metric(sides.title, candidates, list(lifts.values()), sides.broken)

    # ── both sides of one test ───────────────────────────────────────────────────────────────

    def both_sides(self, test_id: str, online_metric: str) -> OfflineOnlineResult:
        return self.sides_of(self._context.ab_test(test_id), online_metric)

    def sides_of(self, test: OnlineTest, online_metric: str) -> OfflineOnlineResult:
        rows = {str(row["variant"]): row for row in test.results if row["metric"] == online_metric}
        if not rows:
            known = list(dict.fromkeys(str(row["metric"]) for row in test.results))
            raise UnknownName("online metric", online_metric, known)
        control = self._context.run_of_control(test)
        served = {variant: run for variant, run in test.links.items() if variant != test.control}
        runs = {test.control: control, **served} if control else served
        names = {run.id: run.name for run in self._context.runs_of(list(dict.fromkeys(runs.values())))}
        return OfflineOnlineResult(test, online_metric, rows, runs, names)

    def _pairs_of(
        self, sides: OfflineOnlineResult, metric: str, k: int, *, former: bool
    ) -> dict[tuple[str, str], RunPair]:
        """Returns each pair of variants with its offline and its online interval.

        Pairs without the control count as much as those with it.
        """
        definition, offline = define(metric), {}
        if definition.has_user_values if former else definition.is_paired:
            offline = self._offline_intervals(sides, metric, k)
        online = self._online_intervals(sides)
        pairs = {}
        for variants in combinations(sides.variants, 2):
            first, second = (sides.runs[variant] for variant in variants)
            offline_ends = offline.get((first, second), DifferenceInterval())
            online_ends = online.get(variants, DifferenceInterval())
            pairs[variants] = RunPair(sides.names[first], sides.names[second], offline_ends, online_ends)
        return pairs

    def _offline_intervals(
        self, sides: OfflineOnlineResult, metric: str, k: int
    ) -> dict[tuple[str, str], DifferenceInterval]:
        """Returns {(first run id, second run id): interval of second minus first}, in both orders.

        Empty for fewer than two runs.
        """
        runs = list(dict.fromkeys(sides.runs[variant] for variant in sides.variants))
        if len(runs) < 2:
            return {}
        query = ComparisonQuery(tuple(runs[1:]), runs[0], metric, k)
        intervals: dict[tuple[str, str], DifferenceInterval] = {}
        for row in self._comparisons.pairs(query, among=True).to_dict("records"):
            ends = DifferenceInterval(none_if_nan(row["ci_low"]), none_if_nan(row["ci_high"]))
            intervals[row["baseline_id"], row["run_id"]] = oriented(ends, sign_of(metric))
            intervals[row["run_id"], row["baseline_id"]] = oriented(ends, -sign_of(metric))
        return intervals

    def _online_intervals(self, sides: OfflineOnlineResult) -> dict[tuple[str, str], DifferenceInterval]:
        """Returns {(first variant, second variant): interval of the second's lift over the first}.

        A pair with control has the interval that the page Results shows. The other pairs are corrected as
        a separate family (Holm), as the pairs of candidates are offline.
        """
        from recdash.online.analysis import judgement

        control = sides.test.control
        others = [variant for variant in sides.variants if variant != control]
        intervals = {(control, variant): sides.interval(variant) for variant in others}
        pairs = list(combinations(others, 2))
        if not pairs:
            return intervals
        measured, _ = self._online_analysis.measured(sides.test.id, sides.online_metric)
        # the first of a pair acts as the control
        choices = [measured.compare(first, second) for first, second in pairs]
        levels = [level for _, level in judgement.family([choice.shown.p for choice in choices], "holm")]
        for pair, choice, level in zip(pairs, choices, levels, strict=True):
            lift = choice.shown.lift(level)
            intervals[pair] = oriented(DifferenceInterval(lift.low, lift.high), sides.sign)
        return intervals

    # ── all metrics ──────────────────────────────────────────────────────────────────────────

    def _candidates(
        self, runs: Sequence[str], experiment_id: str
    ) -> dict[tuple[str, int | None, str], list[float | None]]:
        """Returns {(metric, k, title): value of each run}, signed so that more is better; None for a run that
        lacks the metric.

        k is None for a metric without cutoff.
        """
        distinct, depth = list(dict.fromkeys(runs)), self._context.settings_of(experiment_id)["depth"]
        rows = self._scores.curves(distinct, self._scores.metrics_of(distinct)).to_dict("records")
        values_of: dict[tuple[str, int | None, str], dict[str, float]] = {}
        for row in rows:
            k = None if math.isnan(row["k"]) else int(row["k"])
            if k is None or (k in CUTOFFS and k <= depth):
                name = (str(row["metric"]), k, naming.metric_title(str(row["metric"]), k))
                values_of.setdefault(name, {})[row["run_id"]] = sign_of(row["metric"]) * row["value"]
        return {name: [values.get(run) for run in runs] for name, values in values_of.items()}
