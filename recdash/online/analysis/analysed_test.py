"""The results of an A/B test together with its data, which answer further questions: by segment and day, the
sample size that a lift needs, and the chance to win.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from recdash.domain.arguments import check_number, check_type
from recdash.errors import NotFound, UnknownName
from recdash.formatting.result_table import ResultTable
from recdash.online import times
from recdash.online.analysis import large_values, over_time, segments
from recdash.online.analysis.aggregate_tables import MomentTable, SummaryTable
from recdash.online.analysis.chance_to_win import FLAT, Effect, Prior, WinChances, win_chances
from recdash.online.analysis.choice import Choice
from recdash.online.analysis.moments import GroupedMoments
from recdash.online.analysis.results import Measured, MeasuredQuantile, OnlineResults, arms_of
from recdash.online.metrics import OnlineMetric
from recdash.online.rules import USUAL, OnlineRules

if TYPE_CHECKING:
    from recdash.online.users import OnlineUsers

TimeScale = Literal["cumulative", "daily", "since"]
TIME_SCALES: tuple[TimeScale, ...] = ("cumulative", "daily", "since")
AGGREGATED = "This test has aggregated data only, no data per user{}."
SEGMENT_NOTE = (
    "Lifts are shares (0.05 = 5 %) without CUPED; p_bh and corrected_* are corrected over all segments and "
    "variants of one attribute and metric (Benjamini–Hochberg)."
)
DAY_NOTE = "Lifts are shares (0.05 = 5 %) without CUPED; sequence_* is the always-valid interval."
POWER_NOTE = (
    "80 % power, two-sided α = 5 %, at the observed split and variance. Effects are shares (0.05 = 5 %)."
)


@dataclass(frozen=True)
class ResultSource:
    """The data from which the results of a test were computed.

    ``users`` is None for aggregated data, which are in ``aggregates``. ``metrics`` are the definitions of
    all metrics, custom ones included.
    """

    users: OnlineUsers | None
    metrics: Sequence[OnlineMetric]
    rules: OnlineRules = USUAL
    aggregates: SummaryTable | MomentTable | None = None

    @cached_property
    def measured(self) -> dict[str, tuple[OnlineMetric, Mapping[str, Any]]]:
        """Returns {metric: its definition and the aggregates of each variant}."""
        if self.users is None:
            pairs = () if self.aggregates is None else self.aggregates.measured(self.metrics)
            return {metric.name: (metric, arms) for metric, arms in pairs}
        arms = arms_of(self.users)
        return {metric.name: (metric, arms) for metric in self.metrics if metric.is_in(self.users.totals)}

    def chosen(self, metric: str | None) -> list[OnlineMetric]:
        """Returns the metric with this name; for None all. Raises UnknownName for an unknown one."""
        return [self.measured[name][0] for name in _chosen("online metric", metric, list(self.measured))]

    @property
    def quantiles(self) -> dict[str, OnlineMetric]:
        """Returns {metric: its definition} of the metrics that are quantiles."""
        users = self.users
        return {m.name: m for m in self.metrics if users is not None and users.has_rows_of(m)}

    def chosen_for_parts(self, metric: str | None) -> list[OnlineMetric]:
        """Returns the metric with this name, for None all, of those with lifts by segment and day."""
        known = {name: definition for name, (definition, _) in self.measured.items()} | self.quantiles
        return [known[name] for name in _chosen("online metric", metric, list(known))]

    def users_for(self, metric: OnlineMetric, purpose: str = "") -> OnlineUsers | GroupedMoments:
        """Returns the users, or the groups of users of an aggregated table with their sums. Raises NotFound
        for aggregated data without sums; ``purpose`` is what needs them.
        """
        if self.users is not None:
            return self.users
        if isinstance(self.aggregates, MomentTable):
            return self.aggregates.groups_of(metric)
        raise NotFound(AGGREGATED.format(f", which {purpose} need" if purpose else ""))


@dataclass(frozen=True, repr=False)
class AnalysedTest(OnlineResults):
    """The results of an A/B test with the data from which they were computed.

    Raises NotFound where an answer needs data per user and the test has aggregated data, and UnknownName for
    an unknown metric, attribute or kind of answer.
    """

    source: ResultSource = field(kw_only=True, compare=False)

    def chance_to_win(self, prior: Prior = FLAT, effect: Effect = "relative") -> WinChances:
        """Returns the chance to win and the expected loss of each variant in each metric.

        ``prior`` is that of the lift. ``effect`` is *relative* (lifts) or *absolute* (differences).
        """
        check_type("prior", prior, Prior, "Give recdash.online.analysis.chance_to_win.Prior(mean, std_dev).")
        measured = self.source.measured
        metrics = {name: metric for name, (metric, _) in measured.items()}
        arms = {name: by_variant for name, (_, by_variant) in measured.items()}
        return win_chances(self, metrics, arms, prior, effect)

    def compared(self, metric: str, variant: str) -> Choice:
        """Returns the comparison of a variant with the control in a metric, which has intervals of any level.

        Raises UnknownName for a metric or variant that the test does not have.
        """
        (variant,) = _chosen("variant", variant, [name for name in self.variants if name != self.control])
        users, rules, quantiles = self.source.users, self.source.rules, self.source.quantiles
        if users is not None and metric in quantiles:
            of_rows = MeasuredQuantile.of_users(quantiles[metric], users, rules)
            return of_rows.compare(self.control, variant)
        _chosen("online metric", metric, [*self.source.measured, *quantiles])
        definition, arms = self.source.measured[metric]
        (variant,) = _chosen("variant", variant, [name for name in arms if name != self.control])
        return Measured(definition, arms, rules, users).compare(self.control, variant)

    def segments(self, attribute: str | None = None, metric: str | None = None) -> ResultTable:
        """Returns the lift of each variant in each segment; by default by all attributes and in all
        metrics.
        """
        rows = (
            {"metric": chosen.name, "attribute": name, **asdict(row)}
            for chosen in self.source.chosen_for_parts(metric)
            for users in (self.source.users_for(chosen, "segments"),)
            for name in _chosen("segment", attribute, sorted(users.segments))
            for row in sorted(
                segments.by_segment(
                    users, chosen, self.control, name, delta_method=self.source.rules.delta_method
                ),
                # the order of the file must not matter; users without a segment come last
                key=lambda row: (row.variant, row.segment is None, row.segment),
            )
        )
        columns = ("metric", "attribute", *_names(segments.SegmentLift))
        return ResultTable("Lifts by segment", columns, tuple(rows), SEGMENT_NOTE)

    def days(self, metric: str | None = None, scale: TimeScale = "cumulative") -> ResultTable:
        """Returns the lift of each variant by day; by default in all metrics.

        ``scale``: *cumulative* up to each day, *daily* on each day, or by days *since* exposure. The column
        ``date`` is the day (UTC), None in *since*.
        """
        if scale not in TIME_SCALES:
            raise UnknownName("time scale", scale, TIME_SCALES)
        rows = []
        for chosen in self.source.chosen_for_parts(metric):
            users = self.source.users_for(chosen, "days")
            for row in _over_time(users, chosen, self.control, scale, self.source.rules):
                date = None if scale == "since" else f"{times.date(row.day):%Y-%m-%d}"
                rows.append({"metric": chosen.name, "date": date, **asdict(row)})
        columns = ("metric", "date", *_names(over_time.LiftAtTime))
        return ResultTable(f"Lifts by day ({scale})", columns, tuple(rows), DAY_NOTE)

    def power(self, effect: float | None = None, metric: str | None = None) -> ResultTable:
        """Returns the minimum detectable effect of each variant; by default in all metrics.

        With ``effect``, a share (0.02 = 2 %), also how many more users detect it: 0 if there are enough, None
        if no sample size does.
        """
        if effect is not None:
            check_number("effect", effect, "Give a share, such as 0.02 for 2 %.")
        rows = [row for chosen in self.source.chosen(metric) for row in self._sizes(chosen, effect)]
        needed = () if effect is None else ("effect", "more_users")
        columns = ("metric", "variant", "n_control", "n_variant", "detectable", *needed)
        return ResultTable("Sample size", columns, tuple(rows), POWER_NOTE)

    def large_values(self, metric: str | None = None) -> ResultTable:
        """Returns how much of each lift a few users with large values carry, and the lift with a cap and
        without the 0.1 % of users with the largest values; by default in all metrics that add up amounts.
        """
        users = self.source.users
        if users is None:
            raise NotFound(AGGREGATED.format(", which large values need"))
        chosen = self.source.chosen(metric)
        return large_values.table(list(large_values.of_test(users, chosen, self.control)))

    def _sizes(self, metric: OnlineMetric, effect: float | None) -> Iterator[dict[str, Any]]:
        _, arms = self.source.measured[metric.name]
        measured = Measured(metric, arms, self.source.rules, self.source.users)
        others = [name for name in self.variants if name != self.control and name in arms]
        for variant in others if self.control in arms else ():
            more = None if effect is None else measured.users_for(self.control, variant, effect)
            yield {
                "metric": metric.name,
                "variant": variant,
                "n_control": arms[self.control].count(),
                "n_variant": arms[variant].count(),
                "detectable": measured.smallest_lift(self.control, variant),
                "effect": effect,
                "more_users": more,
            }


def with_source(results: OnlineResults, source: ResultSource) -> AnalysedTest:
    """Returns the results with the data from which they were computed."""
    facts = {name: getattr(results, name) for name in _names(OnlineResults)}
    return AnalysedTest(**facts, source=source)


def _over_time(
    users: OnlineUsers | GroupedMoments,
    metric: OnlineMetric,
    control: str,
    scale: TimeScale,
    rules: OnlineRules,
) -> Iterable[over_time.LiftAtTime]:
    n_planned, former = rules.planned_users, rules.delta_method
    if isinstance(users, GroupedMoments):
        if scale != "cumulative" or users.day is None:
            raise NotFound(AGGREGATED.format(", which days need" if scale == "cumulative" else " by day"))
        return over_time.by_day_of_exposure(users, metric, control, n_planned, delta_method=former)
    if scale == "cumulative":
        return over_time.cumulative(users, metric, control, n_planned, delta_method=former)
    compute = over_time.daily if scale == "daily" else over_time.since_exposure
    return compute(users, metric, control, delta_method=former)


def _chosen(kind: str, name: str | None, known: Sequence[str]) -> list[str]:
    if name is None:
        return list(known)
    if name not in known:
        raise UnknownName(kind, name, known)
    return [name]


def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(column.name for column in fields(kind))
