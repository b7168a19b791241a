"""Analyses an A/B test over time and by segment, and the sample size that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from recdash.domain.records import OnlineTest
from recdash.errors import NotFound, UnknownName
from recdash.online.analysis.aggregate_tables import MomentTable
from recdash.online.analysis.moments import GroupedMoments
from recdash.service.context import ServiceContext
from recdash.service.online.tests import OnlineTests

if TYPE_CHECKING:
    import pandas as pd

    from recdash.online import OnlineMetric
    from recdash.online.analysis.analysed_test import AnalysedTest
    from recdash.online.analysis.chance_to_win import Prior, WinChances
    from recdash.online.analysis.novelty_effect import NoveltyEffect
    from recdash.online.analysis.results import Measured, MeasuredQuantile
    from recdash.online.analysis.segments import Reversal
    from recdash.stats import Correction

OverTime = Literal["cumulative", "daily", "since"]


class OnlineAnalysis:
    """The service that analyses A/B tests with data per user.

    Its methods raise NotFound for a test with aggregated data only, except where they say otherwise.
    """

    def __init__(self, context: ServiceContext, online_tests: OnlineTests) -> None:
        self._context, self._online_tests = context, online_tests

    def results(self, test_id: str, correction: Correction = "holm") -> AnalysedTest:
        """Returns the results of a test with its data, which answer questions about segments, days, sample
        size and chance to win; also those of a test with aggregated data.
        """
        from recdash.online.analysis.analysed_test import ResultSource, with_source

        test, rules = self._context.ab_test(test_id), self._online_tests.rules(test_id)
        results = self._online_tests.results(test_id, correction)
        if test.kind == "aggregates":
            table = self._online_tests.aggregate_table(test_id)
            return with_source(results, ResultSource(None, self.own_metrics(test_id), rules, table))
        users, metrics = self._online_tests.users(test_id), self.metrics(test_id)
        users = replace(users, unit=range(len(users)))  # no answer needs their ids
        return with_source(results, ResultSource(users, metrics, rules))

    def chance_to_win(
        self, test_id: str, prior: Prior | None = None, correction: Correction = "holm"
    ) -> WinChances:
        """Returns the chance to win and the expected loss of each variant in each metric, by default with a
        flat prior; also for a test with aggregated data.
        """
        results = self.results(test_id, correction)
        return results.chance_to_win() if prior is None else results.chance_to_win(prior)

    def metrics(self, test_id: str) -> tuple[OnlineMetric, ...]:
        """Returns the metrics that can be computed from the test's tables, including custom ones."""
        from recdash.online.ab_test import with_standard_metrics

        test = self._context.ab_test(test_id)
        if test.kind == "aggregates":
            measured = self._online_tests.aggregate_table(test_id).measured(self.own_metrics(test_id))
            return tuple(metric for metric, _ in measured)
        users = self._online_tests.users(test_id)
        known = with_standard_metrics(self.own_metrics(test_id))
        return tuple(metric for metric in known if metric.is_in(users.totals) or users.has_rows_of(metric))

    def definitions(self, test_id: str) -> dict[str, OnlineMetric]:
        """Returns {name: definition} of the test's metrics; empty for aggregated data without sums."""
        if self._context.ab_test(test_id).kind == "aggregates":
            table = self._online_tests.aggregate_table(test_id)
            if not isinstance(table, MomentTable):
                return {}
        return {metric.name: metric for metric in self.metrics(test_id)}

    def metric(self, test_id: str, name: str) -> OnlineMetric:
        known = {metric.name: metric for metric in self.metrics(test_id)}
        if name not in known:
            raise UnknownName("online metric", name, list(known))
        return known[name]

    def totals(self, test_id: str) -> list[str]:
        """Returns the names of the totals per user, which can be numerators and denominators of a metric."""
        if self._context.ab_test(test_id).kind == "aggregates":
            return self._online_tests.aggregate_table(test_id).totals
        return list(self._online_tests.users(test_id).totals)

    def own_metrics(self, test_id: str) -> tuple[OnlineMetric, ...]:
        from recdash.online import OnlineMetric

        return tuple(OnlineMetric(**facts) for facts in self._context.ab_test(test_id).metrics)

    def set_own_metrics(self, test_id: str, metrics: Sequence[OnlineMetric]) -> OnlineTest:
        """Stores custom metrics of the test, and counts it again; a metric with a standard name replaces the
        standard one.

        Raises InputError for a metric that the test's totals do not allow.
        """
        from recdash.online.metrics import check

        self._context.must_be_editor()
        named = self._named_metrics(test_id)
        for metric in metrics:
            own = [metric.numerator, metric.denominator or ""]
            check(metric, own if metric.name in named else self.totals(test_id))
        return self._online_tests.count_again(test_id, metrics=[metric.facts() for metric in metrics])

    def _named_metrics(self, test_id: str) -> frozenset[str]:
        """Returns the metrics that an aggregated table names in a column, of which only the role can change;
        empty for other tables.
        """
        test = self._context.ab_test(test_id)
        if test.kind != "aggregates" or self._online_tests.aggregate_table(test_id).totals:
            return frozenset()
        return frozenset(metric.name for metric in self.metrics(test_id))

    def over_time(self, test_id: str, metric: str, how: OverTime) -> pd.DataFrame:
        """Returns the lift of each variant over time as a frame: cumulative, daily, or by days since
        exposure.

        Columns: variant, day (days since 1970, or since exposure), n, lift, low, high, sequence_low and
        sequence_high (the always-valid interval), note.
        """
        from recdash.online.analysis import over_time

        question, rules = self._question(test_id, metric), self._online_tests.rules(test_id)
        planned, former = rules.planned_users, rules.delta_method
        if isinstance(question[0], GroupedMoments):
            if how != "cumulative" or question[0].day is None:
                raise NotFound(f"The aggregated table has no data for the {how} lift.")
            return _frame(
                over_time.by_day_of_exposure(*question, planned, delta_method=former), over_time.LiftAtTime
            )
        if how == "cumulative":
            return _frame(over_time.cumulative(*question, planned, delta_method=former), over_time.LiftAtTime)
        compute = over_time.daily if how == "daily" else over_time.since_exposure
        return _frame(compute(*question, delta_method=former), over_time.LiftAtTime)

    def novelty_effect(self, test_id: str, metric: str) -> list[NoveltyEffect]:
        """Returns for each variant the early and the late lift of the same users; empty for a quantile."""
        from recdash.online.analysis.novelty_effect import novelty_effects

        if self.metric(test_id, metric).quantile is not None:
            return []
        former = self._online_tests.rules(test_id).delta_method
        return novelty_effects(*self._question(test_id, metric), delta_method=former)

    def segments(self, test_id: str) -> list[str]:
        """Returns the columns that divide the test's users into segments."""
        test = self._context.ab_test(test_id)
        if test.kind == "aggregates":
            return self._online_tests.aggregate_table(test_id).segments
        return sorted(self._online_tests.users(test_id).segments)

    def by_segment(self, test_id: str, metric: str, segment: str) -> pd.DataFrame:
        """Returns the lift of each variant in each segment as a frame with the fields of ``SegmentLift``.

        Raises UnknownName for an unknown kind of segment.
        """
        from recdash.online.analysis import segments

        self._check_segment(test_id, segment)
        question, former = self._question(test_id, metric), self._online_tests.rules(test_id).delta_method
        rows = segments.by_segment(*question, segment, delta_method=former)
        return _frame(rows, segments.SegmentLift)

    def reversals(self, test_id: str, metric: str, segment: str) -> tuple[Reversal, ...]:
        """Returns the variants whose lift has the opposite sign in the segments (Simpson's paradox); empty if
        there are none.
        """
        from recdash.online.analysis import segments

        self._check_segment(test_id, segment)
        question, former = self._question(test_id, metric), self._online_tests.rules(test_id).delta_method
        rows = segments.by_segment(*question, segment, delta_method=former)
        return segments.simpson(rows, segments.whole(*question, delta_method=former))

    def _check_segment(self, test_id: str, segment: str) -> None:
        known = self.segments(test_id)
        if segment not in known:
            raise UnknownName("segment", segment, known)

    def _question(self, test_id: str, metric: str) -> tuple[Any, OnlineMetric, str]:
        test, definition = self._context.ab_test(test_id), self.metric(test_id, metric)
        if test.kind == "aggregates":
            return self._online_tests.aggregate_table(test_id).groups_of(definition), definition, test.control
        return self._online_tests.users(test_id), definition, test.control

    # ── how many users ───────────────────────────────────────────────────────────────────────

    def detectable(self, test_id: str, metric: str) -> dict[str, float | None]:
        """Returns {variant: minimum detectable effect, as a share} at 80 % power and the current sample size;
        None if unknown.
        """
        measured, control = self.measured(test_id, metric)
        others = [name for name in measured.arms if name != control]
        return {name: measured.smallest_lift(control, name) for name in others}

    def more_users(self, test_id: str, metric: str, variant: str, effect: float) -> int | None:
        """Returns how many more users control and variant together need to detect a lift of ``effect`` (a
        share).

        0 if the test has enough; None if no sample size detects it. Raises UnknownName for an unknown
        variant.
        """
        measured, control = self.measured(test_id, metric)
        if variant not in measured.arms:
            raise UnknownName("variant", variant, list(measured.arms))
        return measured.users_for(control, variant, effect)

    def measured(self, test_id: str, metric: str) -> tuple[Measured | MeasuredQuantile, str]:
        """Returns the metric with the data of each variant, and the name of the control."""
        from recdash.online.analysis.results import Measured, MeasuredQuantile, arms_of

        test, rules = self._context.ab_test(test_id), self._online_tests.rules(test_id)
        if test.kind == "aggregates":
            table = self._online_tests.aggregate_table(test_id)
            measured = {own.name: (own, arms) for own, arms in table.measured(self.own_metrics(test_id))}
            if metric not in measured:
                raise UnknownName("online metric", metric, list(measured))
            return Measured(*measured[metric], rules), test.control
        users, definition, control = self._question(test_id, metric)
        if definition.quantile is not None:
            return MeasuredQuantile.of_users(definition, users, rules), control
        return Measured(definition, arms_of(users), rules, users), control


def _frame(rows: Sequence[Any], kind: type[Any]) -> pd.DataFrame:
    import pandas as pd

    names = [field.name for field in fields(kind)]
    return pd.DataFrame([asdict(row) for row in rows], columns=names)
