"""How well an offline metric predicted all stored A/B tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recdash.comparison import ComparisonQuery, compare
from recdash.domain.records import OnlineTest
from recdash.errors import InputError, StoreError
from recdash.formatting.numbers import none_if_nan
from recdash.metrics import check_k, define, naming
from recdash.online.agreement.agreement import UNDECIDED, DifferenceInterval, quadrant
from recdash.online.agreement.track_record import Point, TrackRecord, track_record
from recdash.service.context import ServiceContext
from recdash.service.offline.comparisons import Comparisons
from recdash.service.online.agreement import OnlineAgreement
from recdash.service.online.offline_online import OfflineOnlineResult, sign_of, turned
from recdash.service.online.tests import OnlineTests
from recdash.stats import NORMAL_95

if TYPE_CHECKING:
    from recdash.comparison.pairs import Pair


@dataclass(eq=False)
class TrackRecords:
    """The track record of an offline metric over all A/B tests."""

    _context: ServiceContext
    _comparisons: Comparisons
    _online_tests: OnlineTests
    _agreement: OnlineAgreement

    def of(self, metric: str, k: int, online_metric: str) -> TrackRecord:
        """Returns how metric@k predicted all stored A/B tests, of every experiment, oldest first."""
        check_k(k)
        metric = str(define(metric))
        points: list[Point] = []
        left_out: list[tuple[str, str]] = []
        experiments = self._context.store.experiments.all()
        tests = [test for experiment in experiments for test in self._online_tests.all(experiment.id)]
        for test in sorted(tests, key=lambda test: test.created):
            test_points, reason = self._points(test, metric, k, online_metric)
            points += test_points
            left_out += [(test.name, reason)] if reason else []
        return track_record(naming.metric_title(metric, k), online_metric, points, left_out)

    def _points(self, test: OnlineTest, metric: str, k: int, online_metric: str) -> tuple[list[Point], str]:
        """Returns a point for each variant with both results, or why there is none."""
        try:
            sides = self._agreement.sides_of(test, online_metric)
            if sides.broken:
                return [], sides.broken
            pairs = self._against_control(sides, metric, k)
        except InputError as error:
            return [], error.problems[0].found
        except StoreError as error:  # damage in another experiment must not hide this one's record
            return [], str(error)
        if not pairs:
            return [], "its variants are not linked to runs with this metric"
        experiment, sign = self._context.store.experiments.get(test.experiment).name, sign_of(metric)
        points = [_point(experiment, sides, variant, pair, sign) for variant, pair in pairs.items()]
        known = [point for point in points if point is not None]
        return known, "" if known else "no lift has an interval"

    def _against_control(self, sides: OfflineOnlineResult, metric: str, k: int) -> dict[str, Pair]:
        """Returns {variant: its run's paired difference from control's}."""
        reference = sides.runs.get(sides.test.control)
        others = {variant: sides.runs[variant] for variant in sides.variants if variant != sides.test.control}
        if reference is None or not others:
            return {}
        source = self._comparisons.source(sides.test.experiment)
        query = ComparisonQuery(tuple(others.values()), reference, metric, k)
        comparison = compare(source, query, among=False)
        return {variant: pair for variant, run in others.items() if (pair := comparison.to(run)) is not None}


def _point(experiment: str, sides: OfflineOnlineResult, variant: str, pair: Pair, sign: int) -> Point | None:
    """Returns the offline change in % of the control's run and the online change in %; None without a value
    to relate to, or an interval.

    The standard error of a lift is that of its logarithm; the interval has 1.96 of them on each side.
    ``calls``: whether both point the same way; None if either is inconclusive as A/B results judges it.
    """
    row = sides.rows[variant]
    lift, low, high = (none_if_nan(row[name]) for name in ("lift", "lift_low", "lift_high"))
    if lift is None or low is None or high is None or not pair.base_value:
        return None
    if low <= -1:  # the logarithm of a rate without successes has no standard error
        return None
    error = (1 + lift) * (math.log1p(high) - math.log1p(low)) / (2 * NORMAL_95)
    corrected = pair.judged.corrected
    offline = turned(DifferenceInterval(corrected.low, corrected.high), sign)
    corner = quadrant(*offline, *sides.interval(variant))
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
        calls=None if corner == UNDECIDED else corner.endswith("both"),
    )
