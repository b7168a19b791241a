"""How far offline metrics and A/B tests agree: in one test, by every metric, and over all tests so far."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from recdash import views
from recdash.comparison import compare
from recdash.domain import OnlineTest
from recdash.errors import InputError, StoreError, UnknownName
from recdash.metrics import define
from recdash.online.agreement import (
    Agreement,
    BestMetric,
    Interval,
    RunPair,
    Served,
    agreement,
    best_metric,
)
from recdash.online.joining import SPLIT_BROKEN
from recdash.online.track_record import Point, TrackRecord, Z, track_record
from recdash.service.online_answers import OnlineAnswers

if TYPE_CHECKING:
    from recdash.comparison.pairs import Pair

CUTOFFS = (1, 5, 10, 20, 50, 100)
"""The k at which metrics are asked which of them ordered the runs best."""
BROKEN = "the split of users between the variants is broken"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class BothSides:
    """A test by one online metric: ``rows`` and ``runs`` by variant, control first; ``names`` of the runs."""

    test: OnlineTest
    online_metric: str
    rows: Mapping[str, Row]
    runs: Mapping[str, str]
    names: Mapping[str, str]

    @property
    def title(self) -> str:
        return str(next(iter(self.rows.values()))["title"])

    @property
    def sign(self) -> int:
        """−1 for an online metric of which less is better."""
        return -1 if next(iter(self.rows.values())).get("direction") == "down" else 1

    @property
    def broken(self) -> str:
        """Why nothing is judged; empty where the split is sound."""
        return BROKEN if any(notice.code == SPLIT_BROKEN for notice in self.test.notices) else ""

    @property
    def variants(self) -> list[str]:
        """Those that are linked to a run and have the metric."""
        return [variant for variant in self.runs if variant in self.rows]

    def lift(self, variant: str) -> float | None:
        """More is better; 0 for the control."""
        if variant == self.test.control:
            return 0.0
        lift = _number(self.rows[variant]["lift"])
        return None if lift is None else self.sign * lift

    def interval(self, variant: str) -> Interval:
        """Of the lift over the control."""
        row = self.rows[variant]
        return turned(Interval(_number(row["lift_low"]), _number(row["lift_high"])), self.sign)


class OnlineAgreement(OnlineAnswers):
    """What A/B tests say about offline metrics."""

    def agreement(self, test_id: str, metric: str, k: int, online_metric: str) -> Agreement:
        """Whether metric@k and an online metric order the test's runs alike.

        Over the variants linked to a run, the control among them (not linked, it served the baseline). Raises
        UnknownName for an online metric that the test lacks, InputError for a k beyond the depth.
        """
        views.check_cutoff(k)
        metric, sides = str(define(metric)), self._both_sides(test_id, online_metric)
        title = views.metric_title(metric, k)
        if sides.broken:
            return agreement(title, sides.title, [], {}, sides.broken)
        values = self._offline_values(sides, metric, k)
        served = [
            Served(
                sides.runs[variant],
                sides.names[sides.runs[variant]],
                variant,
                variant == sides.test.control,
                values.get(sides.runs[variant]),
                sides.lift(variant),
            )
            for variant in sides.variants
        ]
        return agreement(title, sides.title, served, self._pairs_of(sides, metric, k))

    def best_metric(self, test_id: str, online_metric: str) -> BestMetric:
        """Which of all metrics, at a few k, ordered the test's runs as the online metric did."""
        sides = self._both_sides(test_id, online_metric)
        there = [variant for variant in sides.variants if sides.lift(variant) is not None]
        runs = [sides.runs[variant] for variant in there]
        candidates = {} if sides.broken or not runs else self._candidates(runs, sides.test.experiment)
        return best_metric(sides.title, candidates, [sides.lift(one) or 0.0 for one in there], sides.broken)

    def track_record(self, metric: str, k: int, online_metric: str) -> TrackRecord:
        """How metric@k has called all A/B tests that are stored, of every experiment, oldest first."""
        views.check_cutoff(k)
        metric = str(define(metric))
        points: list[Point] = []
        left_out: list[tuple[str, str]] = []
        tests = [test for one in self.experiments() for test in self.online_tests(one.id)]
        for test in sorted(tests, key=lambda test: test.created):
            found, why_none = self._points(test, metric, k, online_metric)
            points += found
            left_out += [(test.name, why_none)] if why_none else []
        return track_record(views.metric_title(metric, k), online_metric, points, left_out)

    # ── both sides of one test ───────────────────────────────────────────────────────────────

    def _both_sides(self, test_id: str, online_metric: str) -> BothSides:
        return self._sides_of(self.store.online_test(test_id), online_metric)

    def _sides_of(self, test: OnlineTest, online_metric: str) -> BothSides:
        rows = {str(row["variant"]): row for row in test.results if row["metric"] == online_metric}
        if not rows:
            known = list(dict.fromkeys(str(row["metric"]) for row in test.results))
            raise UnknownName("online metric", online_metric, known)
        control = test.links.get(test.control) or self.experiment(test.experiment).baseline
        served = {variant: run for variant, run in test.links.items() if variant != test.control}
        runs = {test.control: control, **served} if control else served
        names = {run.id: run.name for run in self._runs(list(dict.fromkeys(runs.values())))}
        return BothSides(test, online_metric, rows, runs, names)

    def _offline_values(self, sides: BothSides, metric: str, k: int) -> dict[str, float]:
        """Run id → value, more is better."""
        board = self.scoreboard(list(dict.fromkeys(sides.runs.values())), [metric], k)
        return {
            run: sign_of(metric) * value for run, value in zip(board["run_id"], board["value"], strict=True)
        }

    def _pairs_of(self, sides: BothSides, metric: str, k: int) -> dict[tuple[str, str], RunPair]:
        """Every two variants, whose pairs between variants count as much as those with the control."""
        offline, online = self._offline_intervals(sides, metric, k), self._online_intervals(sides)
        return {
            (first, second): RunPair(
                sides.names[sides.runs[first]],
                sides.names[sides.runs[second]],
                offline.get((sides.runs[first], sides.runs[second]), Interval()),
                online.get((first, second), Interval()),
            )
            for first, second in combinations(sides.variants, 2)
        }

    def _offline_intervals(self, sides: BothSides, metric: str, k: int) -> dict[tuple[str, str], Interval]:
        """By run ids, second minus first, whichever way round they were compared."""
        runs = list(dict.fromkeys(sides.runs[variant] for variant in sides.variants))
        if len(runs) < 2 or not define(metric).has_user_values:
            return {}
        found: dict[tuple[str, str], Interval] = {}
        for row in self.pairs(runs[1:], runs[0], metric, k, among=True).to_dict("records"):
            ends = Interval(_number(row["ci_low"]), _number(row["ci_high"]))
            found[row["baseline_id"], row["run_id"]] = turned(ends, sign_of(metric))
            found[row["run_id"], row["baseline_id"]] = turned(ends, -sign_of(metric))
        return found

    def _online_intervals(self, sides: BothSides) -> dict[tuple[str, str], Interval]:
        """By variants, second minus first: the 95 % interval of the lift over the first."""
        control = sides.test.control
        others = [variant for variant in sides.variants if variant != control]
        between = self._lifts_of_users if sides.test.kind != "aggregates" else self._lifts_of_sums
        return {
            **{(control, variant): sides.interval(variant) for variant in others},
            **{pair: turned(ends, sides.sign) for pair, ends in between(sides, others).items()},
        }

    def _lifts_of_users(self, sides: BothSides, variants: Sequence[str]) -> dict[tuple[str, str], Interval]:
        """The lifts of variants over each other, the first of a pair taken for the control."""
        from recdash.online import compare as online

        if len(variants) < 2:
            return {}
        metric, arms, _ = self._arms(sides.test.id, sides.online_metric)
        adjusted = online.can_adjust(metric, *arms.values())
        lifts = {
            (first, second): online.lift(metric, arms[first], arms[second], adjusted=adjusted)
            for first, second in combinations(variants, 2)
        }
        return {pair: Interval(lift.low, lift.high) for pair, lift in lifts.items()}

    def _lifts_of_sums(self, sides: BothSides, variants: Sequence[str]) -> dict[tuple[str, str], Interval]:
        """The same of a test that somebody else added up."""
        found: dict[tuple[str, str], Interval] = {}
        for place, first in enumerate(variants[:-1]):
            rows = self._results_of(replace(sides.test, control=first)).rows
            of_metric = {row.variant: row for row in rows if row.metric == sides.online_metric}
            for second in variants[place + 1 :]:
                found[first, second] = Interval(of_metric[second].lift_low, of_metric[second].lift_high)
        return found

    # ── all metrics ──────────────────────────────────────────────────────────────────────────

    def _candidates(
        self, runs: Sequence[str], experiment_id: str
    ) -> dict[tuple[str, int | None, str], list[float | None]]:
        """Each metric at each of the cutoffs → the runs' values, more is better, None where one lacks it."""
        distinct, depth = list(dict.fromkeys(runs)), self.depth(experiment_id)
        rows = self.curves(distinct, self.metrics_of(distinct)).to_dict("records")
        found: dict[tuple[str, int | None, str], dict[str, float]] = {}
        for row in rows:
            k = None if math.isnan(row["k"]) else int(row["k"])
            if k is None or (k in CUTOFFS and k <= depth):
                name = (str(row["metric"]), k, views.metric_title(str(row["metric"]), k))
                found.setdefault(name, {})[row["run_id"]] = sign_of(row["metric"]) * row["value"]
        return {name: [values.get(run) for run in runs] for name, values in found.items()}

    # ── all tests ────────────────────────────────────────────────────────────────────────────

    def _points(self, test: OnlineTest, metric: str, k: int, online_metric: str) -> tuple[list[Point], str]:
        """One for each variant of the test that has both sides, or why there is none."""
        try:
            sides = self._sides_of(test, online_metric)
            if sides.broken:
                return [], sides.broken
            pairs = self._against_control(sides, metric, k)
        except InputError as error:
            return [], error.problems[0].found
        except StoreError as error:  # another experiment's damage must not hide this one's record
            return [], str(error)
        if not pairs:
            return [], "its variants are not linked to runs, or these lack the metric"
        experiment = self.experiment(test.experiment).name
        points = [
            _point(experiment, sides, variant, pair, sign_of(metric)) for variant, pair in pairs.items()
        ]
        known = [point for point in points if point is not None]
        return known, "" if known else "no lift has an interval"

    def _against_control(self, sides: BothSides, metric: str, k: int) -> dict[str, Pair]:
        """Variant → its run's paired difference to the control's."""
        reference = sides.runs.get(sides.test.control)
        others = {variant: sides.runs[variant] for variant in sides.variants if variant != sides.test.control}
        if reference is None or not others:
            return {}
        source = self.source(sides.test.experiment)
        found = compare(source, list(others.values()), reference, metric, k, among=False)
        return {variant: pair for variant, run in others.items() if (pair := found.to(run)) is not None}


def _point(experiment: str, sides: BothSides, variant: str, pair: Pair, sign: int) -> Point | None:
    """Offline in % of the control's run, online in %; None without a value to be a share of, or an interval.

    The standard error of a lift is that of its logarithm, of which the interval is twice 1.96 wide.
    """
    row = sides.rows[variant]
    lift, low, high = (_number(row[name]) for name in ("lift", "lift_low", "lift_high"))
    if lift is None or low is None or high is None or not pair.base_value:
        return None
    error = (1 + lift) * (math.log1p(high) - math.log1p(low)) / (2 * Z)
    return Point(
        experiment=experiment,
        test=sides.test.name,
        test_id=sides.test.id,
        run=sides.names[sides.runs[variant]],
        run_id=pair.candidate,
        offline=sign * pair.percent(pair.paired.mean),
        offline_error=pair.percent(pair.paired.error),
        online=100 * sides.sign * lift,
        online_error=100 * error,
    )


def sign_of(metric: str) -> int:
    """−1 for a metric of which less is better."""
    return -1 if views.lower_is_better(metric) else 1


def turned(ends: Interval, sign: int) -> Interval:
    """The interval so that more is better."""
    low, high = ends
    return ends if sign > 0 or low is None or high is None else Interval(-high, -low)


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
