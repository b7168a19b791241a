"""How well an offline metric predicted the results of all stored A/B tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recdash.comparison import ComparisonQuery, compare
from recdash.comparison.relative import is_from_zero
from recdash.domain.records import OnlineTest
from recdash.errors import InputError, StoreError, UnknownName
from recdash.formatting.numbers import none_if_nan
from recdash.metrics import check_k, define, naming
from recdash.online.agreement.agreement import UNDECIDED, DifferenceInterval, quadrant
from recdash.online.agreement.track_record import LEAST_TESTS, Point, TrackRecord, track_record
from recdash.service.context import ServiceContext
from recdash.service.offline.comparisons import Comparisons
from recdash.service.online.agreement import OnlineAgreement
from recdash.service.online.offline_online import OfflineOnlineResult, oriented, sign_of
from recdash.service.online.tests import OnlineTests
from recdash.stats import NORMAL_95

if TYPE_CHECKING:
    from recdash.comparison.pairs import Pair

NOT_MEASURED = "without this online metric"


@dataclass(eq=False)
class TrackRecords:
    """The service for the track record of an offline metric over all A/B tests."""

    _context: ServiceContext
    _comparisons: Comparisons
    _online_tests: OnlineTests
    _agreement: OnlineAgreement

    def of(self, metric: str, k: int, online_metric: str, own: str = "") -> TrackRecord:
        """Returns how well metric@k predicted the A/B tests of all experiments, the oldest test first.

        Tests that cannot be used are listed with the reason. A test that was added to several experiments
        counts once: as the test with the id ``own`` if it is that, else as the oldest.
        """
        check_k(k)
        metric = str(define(metric))
        points: list[Point] = []
        left_out: list[tuple[str, str]] = []
        experiments = self._context.store.experiments.all()
        tests = [test for experiment in experiments for test in self._online_tests.all(experiment.id)]
        counted: dict[tuple[str, str], OnlineTest] = {}
        for test in sorted(tests, key=lambda test: (test.id != own, test.created)):
            same = counted.get((test.upload, test.control))
            if same is not None and same.experiment != test.experiment:
                left_out.append((test.name, f"it has the data of {self._titled(same)}, which counts already"))
                continue
            test_points, reason = self._points(test, metric, k, online_metric)
            if test_points:
                counted[test.upload, test.control] = test
            points += test_points
            left_out += [(test.name, reason)] if reason else []
        created = {test.id: test.created for test in tests}
        points.sort(key=lambda point: created[point.test_id])
        return track_record(naming.metric_title(metric, k), online_metric, points, left_out)

    def slope(self, metric: str, k: int, online_metric: str, test_id: str) -> float | None:
        """Returns the lift in % that 1 % of metric@k has meant in all A/B tests but this one; None if they
        are too few or do not tell.
        """
        self._context.ab_test(test_id)  # raises NotFound
        experiments = self._context.store.experiments.all()
        if sum(len(self._online_tests.all(experiment.id)) for experiment in experiments) <= LEAST_TESTS:
            return None  # without comparing any runs
        record = self.of(metric, k, online_metric, test_id)
        others = [point for point in record.points if point.test_id != test_id]
        line = track_record(record.metric, online_metric, others).calibration
        return None if line is None else line.slope

    def _titled(self, test: OnlineTest) -> str:
        """Returns the test's name with that of its experiment."""
        return f"{test.name} in {self._context.store.experiments.get(test.experiment).name}"

    def _points(self, test: OnlineTest, metric: str, k: int, online_metric: str) -> tuple[list[Point], str]:
        """Returns a point for each variant with offline and online results, and "", or else no points and the
        reason.
        """
        try:
            sides = self._agreement.sides_of(test, online_metric)
            if sides.broken:
                return [], sides.broken
            pairs = self._against_control(sides, metric, k)
        except UnknownName:  # raised for the online metric alone: the offline one has been looked up
            return [], NOT_MEASURED
        except InputError as error:
            return [], error.problems[0].found
        except StoreError as error:  # damage in one experiment must not hide the tests of the others
            return [], str(error)
        if not pairs:
            return [], "its variants are not linked to runs with this metric"
        experiment, sign = self._context.store.experiments.get(test.experiment).name, sign_of(metric)
        points = [_point(experiment, sides, variant, pair, sign) for variant, pair in pairs.items()]
        known = [point for point in points if point is not None]
        return known, "" if known else "no lift has an interval"

    def _against_control(self, sides: OfflineOnlineResult, metric: str, k: int) -> dict[str, Pair]:
        """Returns {variant: paired difference of its run from the control's run}; empty if there is none."""
        reference = sides.runs.get(sides.test.control)
        others = {variant: sides.runs[variant] for variant in sides.variants if variant != sides.test.control}
        if reference is None or not others:
            return {}
        source = self._comparisons.source(sides.test.experiment)
        query = ComparisonQuery(tuple(others.values()), reference, metric, k)
        comparison = compare(source, query, among=False)
        return {variant: pair for variant, run in others.items() if (pair := comparison.to(run)) is not None}


def _point(experiment: str, sides: OfflineOnlineResult, variant: str, pair: Pair, sign: int) -> Point | None:
    """Returns the run's offline change (in % of the control's run) and the variant's online change (in %) as
    a point.

    Returns None if the offline value of the control's run is 0, or if the interval of the online change is
    unknown or reaches −100 %. The standard error of the online change comes from the 95 % interval of
    log(1 + change), which extends 1.96 errors to each side. The point's ``calls`` is whether both changes
    have the same direction; None if either is inconclusive. ``sign`` is −1 if the offline metric is
    better when lower.
    """
    row = sides.rows[variant]
    lift, low, high = (none_if_nan(row[name]) for name in ("lift", "lift_low", "lift_high"))
    if lift is None or low is None or high is None or not pair.base_value:
        return None
    if low <= -1:  # the logarithm of a rate without successes has no standard error
        return None
    error = (1 + lift) * (math.log1p(high) - math.log1p(low)) / (2 * NORMAL_95)
    corrected = pair.judged.corrected
    offline = oriented(DifferenceInterval(corrected.low, corrected.high), sign)
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
        difference=sign * pair.paired.mean,
        difference_error=pair.paired.error,
        from_zero=is_from_zero(pair),
        signs=(sign, sides.sign),
    )
