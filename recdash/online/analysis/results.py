"""Computes the results of an A/B test: one row per metric and variant, judged together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from recdash.errors import Problem, UnknownName
from recdash.formatting import numbers
from recdash.formatting.display import Display
from recdash.formatting.numbers import percent
from recdash.formatting.wording import first_lines, listed, shown
from recdash.online.analysis import (
    choice,
    health,
    judgement,
    large_values,
    power,
    quantile_groups,
    sequential,
    value_interval,
    watch_time_outliers,
)
from recdash.online.analysis import lift as compare
from recdash.online.analysis.choice import Choice
from recdash.online.analysis.pair_values import pair_values
from recdash.online.analysis.quantiles import QuantileSide, compare_sides
from recdash.online.derived import resolved, with_totals
from recdash.online.metrics import KNOWN, OnlineMetric
from recdash.online.rules import USUAL, OnlineRules, users_of_pair
from recdash.online.users import OnlineUsers, Removed
from recdash.online.validity import MANY_LOOKS
from recdash.stats import Correction

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from recdash.online.analysis.aggregate_tables import MomentTable, SummaryTable
    from recdash.online.analysis.judgement import Word


PRINTED_ROLES = ("goal", "guardrail", "other")
MAIN_COLUMNS = (
    "metric", "variant", "role", "n_users", "value", "lift", "lift_low", "lift_high", "p",
    "p_corrected", "word",
)  # fmt: skip
"""The columns by which a result is read: the lift, its interval and p, and the finding."""


@dataclass(frozen=True)
class OnlineRow:
    """One metric in one variant; lifts are relative (0.05 = 5 % above control) and intervals are 95 %.

    ``n_users`` counts trials if the upload counts trials. ``numerator`` and ``denominator`` are sums over the
    users. ``lift`` is adjusted for pre-test behaviour (CUPED) if that is known and makes the interval
    narrower; ``plain_*`` is then the unadjusted lift. ``p_corrected`` and ``corrected_*`` are corrected over
    all goals and variants. ``sequence_*`` is the always-valid interval, and ``sequence_note`` says why there
    is none yet. ``word`` is the finding for the metric's role, ``more_users`` how many more users would
    probably make it significant. An unavailable number is None, and ``note`` says why; it also names an
    unusual method. ``ci_*`` is the interval of ``value``, and ``value_note`` says why there is none.
    """

    metric: str
    title: str
    unit: str
    variant: str
    is_control: bool
    n_users: int
    value: float | None
    ci_low: float | None
    ci_high: float | None
    lift: float | None
    lift_low: float | None
    lift_high: float | None
    p: float | None
    note: str
    role: str = "goal"
    direction: str = "up"
    margin: float | None = None
    numerator: float | None = None
    denominator: float | None = None
    plain_lift: float | None = None
    plain_low: float | None = None
    plain_high: float | None = None
    p_corrected: float | None = None
    corrected_low: float | None = None
    corrected_high: float | None = None
    sequence_low: float | None = None
    sequence_high: float | None = None
    word: Word = ""
    more_users: int | None = None
    sequence_note: str = ""
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    corrected_difference_low: float | None = None
    corrected_difference_high: float | None = None
    method: str = ""
    value_note: str = ""

    @property
    def is_adjusted(self) -> bool:
        """Returns True if the lift is adjusted for pre-test behaviour (CUPED)."""
        return self.plain_lift is not None

    @property
    def judged_interval(self) -> tuple[float | None, float | None]:
        """Returns the ends of the corrected interval, on which the finding is based; if there is none, of the
        plain 95 % interval.
        """
        if self.corrected_low is None:
            return self.lift_low, self.lift_high
        return self.corrected_low, self.corrected_high

    def cells(self) -> tuple[str, ...]:
        """Returns metric, role, variant, lift, interval, difference, finding and users as texts."""
        low, high = map(percent, self.judged_interval)
        lift, interval = numbers.estimate(percent(self.lift), low, high, " %")
        difference = numbers.NONE if self.difference is None else numbers.change(self.difference)
        finding, n_users = shown(self.word) or "not judged", numbers.count(self.n_users)
        return (self.title, self.role, self.variant, lift, interval, difference, finding, n_users)

    @property
    def judged_difference_interval(self) -> tuple[float | None, float | None]:
        """Returns the ends of the interval of the absolute difference, as ``judged_interval``."""
        if self.corrected_difference_low is None:
            return self.difference_low, self.difference_high
        return self.corrected_difference_low, self.corrected_difference_high

    @property
    def narrower(self) -> float | None:
        """Returns the share by which CUPED made the interval narrower; None if the lift is not adjusted."""
        if None in (self.lift_low, self.plain_low):
            return None
        return 1 - (self.lift_high - self.lift_low) / (self.plain_high - self.plain_low)  # type: ignore[operator]


@dataclass(frozen=True, repr=False)
class OnlineResults:
    """The results of an A/B test.

    ``variants`` begin with the control; ``rows`` are sorted by metric, then in the order of the variants.
    ``users`` is the number of counted users per variant, empty if unknown; metrics of aggregated data may
    count fewer (``health.populations``). ``removed`` says what the rules excluded. ``value_notices`` are
    about metrics that few users carry or distort; unlike ``notices`` they are not stored with the test.
    """

    control: str
    variants: tuple[str, ...]
    rows: tuple[OnlineRow, ...]
    health: health.Health
    notices: tuple[Problem, ...]
    users: Mapping[str, int]
    removed: tuple[Removed, ...] = ()
    value_notices: tuple[Problem, ...] = ()

    def noticed(self) -> list[Problem]:
        """Returns all notices, and one for each rule that excluded something."""
        excluded = (removed.notice(self.variants) for removed in self.removed)
        return [*self.notices, *self.value_notices, *excluded]

    def users_of_pair(self, variant: str, metric: str | None = None) -> int | None:
        """Returns the users of the control and of another variant together that a metric of aggregated data
        counts, by default the first goal: see ``rules.users_of_pair``.
        """
        named = self.first_goal if metric is None else metric
        return users_of_pair(self.health.users_of(named, self.users), self.control, variant)

    @property
    def first_goal(self) -> str:
        """Returns the metric that decides first; empty without a goal."""
        return next((row.metric for row in self.rows if row.role == "goal"), "")

    def judged_rows(self) -> list[OnlineRow]:
        """Returns the rows of the variants other than the control, goals and guardrails first."""
        rows = sorted(self.rows, key=lambda row: PRINTED_ROLES.index(row.role))
        return [row for row in rows if not row.is_control]

    def __repr__(self) -> str:
        """Returns a line for each metric and variant as text, goals and guardrails first: see
        ``first_lines``.
        """
        lines = []
        for row in self.judged_rows():
            low, high = row.judged_interval
            lift, interval = numbers.estimate(percent(row.lift), percent(low), percent(high), " %")
            lines.append(
                f"{row.title}, {row.variant}: {lift} (95 % CI {interval}), {shown(row.word) or 'not judged'}"
            )
        lines = first_lines(lines)
        return "\n".join([f"Lifts over {self.control}:", *lines, "All numbers: .table(all_columns=True)"])

    def _repr_html_(self) -> str:
        """Returns the lifts as HTML, for notebooks."""
        header = ("metric", "role", "variant", "lift", "95 % CI", "difference", "finding", "n")
        rows = [row.cells() for row in self.judged_rows()]
        remarks = ["All numbers: .table(all_columns=True); figure: .plot()"]
        title = f"Lifts over {self.control}"
        return Display(title, [header, *rows], remarks, self.warnings, texts=3).html()

    def plot(self, metric: str | None = None) -> go.Figure:
        """Returns a Plotly figure of the lifts with the intervals that decide, of one metric or of all.

        Raises UnknownName for an unknown metric.
        """
        from recdash.online.analysis.display import LiftLine, plot_lifts

        known = list(dict.fromkeys(row.metric for row in self.rows))
        if metric is not None and metric not in known:
            raise UnknownName("online metric", metric, known)
        lines = []
        for row in self.judged_rows():
            if metric in (None, row.metric):
                lift, low, high = map(percent, (row.lift, *row.judged_interval))
                lines.append(LiftLine(f"{row.title}, {row.variant}", lift, low, high, row.word))
        return plot_lifts(lines)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Returns what was dropped or decided while the test was read, and what limits its results."""
        return tuple(map(str, self.noticed()))

    def records(self) -> list[dict[str, Any]]:
        """Returns the rows as dicts, for a table or for the store."""
        return [asdict(row) for row in self.rows]

    def table(self, *, all_columns: bool = False) -> pd.DataFrame:
        """Returns the rows as a data frame with the columns ``MAIN_COLUMNS``; with ``all_columns`` those of
        ``OnlineRow`` follow them.
        """
        import pandas as pd

        others = [field.name for field in fields(OnlineRow) if field.name not in MAIN_COLUMNS]
        columns = [*MAIN_COLUMNS, *(others if all_columns else ())]
        return pd.DataFrame(self.records(), columns=columns)


@dataclass(frozen=True)
class Measured:
    """A metric with its aggregates (count, means, variances) per variant.

    ``users`` are the users of the test; None for aggregated data.
    """

    metric: OnlineMetric
    arms: Mapping[str, Any]
    rules: OnlineRules = USUAL
    users: OnlineUsers | None = None

    def value(self, variant: str) -> compare.Estimate:
        """Returns the metric in one variant with its interval, as the rules of the test say."""
        arm = self.arms[variant]
        if self.rules.delta_method:
            return compare.value(self.metric, arm)
        if self.users is None:
            return value_interval.of_aggregates(self.metric, arm)
        return value_interval.of_users(self.metric, arm, self._distribution, variant)

    @cached_property
    def _distribution(self) -> value_interval.Distribution:
        assert self.users is not None  # noqa: S101 - asked for only with users
        return value_interval.distribution(self.metric, self.users)

    def n_users(self, variant: str) -> int:
        return int(self.arms[variant].count())

    def sums(self, variant: str) -> tuple[float | None, float | None]:
        """Returns numerator and denominator as sums over the users of a variant; None if unknown."""
        metric, arm = self.metric, self.arms[variant]
        if metric.is_summary:
            return None, None
        n = arm.count()
        return float(arm.mean(metric.numerator) * n), float(arm.mean(metric.denominator) * n)

    def log_ratio(self, control: str, variant: str, *, adjusted: bool) -> tuple[float, float] | None:
        """Returns the logarithm of 1 + lift and its standard error by the delta method; None if unknown."""
        return compare.log_ratio(self.metric, self.arms[control], self.arms[variant], adjusted=adjusted)

    def why_not_always_valid(self, control: str, variant: str) -> str:
        """Returns why there is no always-valid interval yet; an empty text if there is one."""
        return compare.why_not_valid(self.metric, self.arms[control], self.arms[variant], MANY_LOOKS)

    def compare(self, control: str, variant: str) -> Choice:
        """Returns the comparison of ``variant`` with ``control``, as the rules of the test say."""
        sides = self.arms[control], self.arms[variant]
        if self.rules.delta_method:
            return choice.former(self.metric, *sides)
        if self.users is None:
            return choice.of_aggregates(self.metric, *sides)
        users, codes = self.users, [self.users.variants.index(name) for name in (control, variant)]
        pair = pair_values(self.metric, users.totals, users.before, users.variant, *codes)
        return choice.of_users(self.metric, pair)

    def smallest_lift(self, control: str, variant: str) -> float | None:
        """Returns the minimum detectable effect, as a share, at 80 % power; None if unknown."""
        if not self.rules.delta_method:
            return power.smallest_lift(self.compare(control, variant).shown)
        base, arm = self.arms[control], self.arms[variant]
        n, ratio = base.count() + arm.count(), arm.count() / base.count()
        adjusted = compare.is_adjusted(self.metric, base, arm)
        return power.detectable(self.metric, base, n, ratio, adjusted=adjusted)

    def users_for(self, control: str, variant: str, effect: float) -> int | None:
        """Returns how many more users of both variants detect a lift of ``effect`` (a share) at 80 % power.

        0 if there are enough; None if no sample size detects it.
        """
        pair = self.arms[control], self.arms[variant]
        if not self.rules.delta_method:
            n = pair[0].count() + pair[1].count()
            return power.users_for(self.compare(control, variant).shown, n, effect)
        adjusted = compare.is_adjusted(self.metric, *pair)
        return power.more_users(self.metric, *pair, effect, adjusted=adjusted)


@dataclass(frozen=True)
class MeasuredQuantile:
    """A metric that is a quantile, with the rows of each variant."""

    metric: OnlineMetric
    arms: Mapping[str, QuantileSide]
    rules: OnlineRules = USUAL

    @classmethod
    def of_users(cls, metric: OnlineMetric, users: OnlineUsers, rules: OnlineRules) -> MeasuredQuantile:
        """Returns the rows of each variant with a value in the metric's column."""
        sides = quantile_groups.by_cell(users, metric, users.variant, len(users.variants))
        return cls(metric, dict(zip(users.variants, sides, strict=True)), rules)

    def value(self, variant: str) -> compare.Estimate:
        """Returns the quantile in one variant with its interval."""
        side = self.arms[variant]
        if side.value is None:
            return compare.Estimate(None, note="there are no rows with a value")
        if note := side.why_no_interval:
            return compare.Estimate(side.value, note=note)
        return compare.Estimate(side.value, *side.interval(compare.CONFIDENCE))

    def n_users(self, variant: str) -> int:
        return self.arms[variant].n_users

    def sums(self, variant: str) -> tuple[None, None]:  # noqa: ARG002 - as of Measured
        """Returns None twice, since a quantile is no ratio of sums."""
        return None, None

    def log_ratio(self, control: str, variant: str, *, adjusted: bool) -> None:  # noqa: ARG002
        """Returns None, since there is no delta method."""
        return

    def why_not_always_valid(self, control: str, variant: str) -> str:  # noqa: ARG002
        """Returns that a quantile has no always-valid interval."""
        return "it is not available for a quantile"

    def compare(self, control: str, variant: str) -> Choice:
        """Returns the comparison of ``variant`` with ``control``, or why there is none."""
        return Choice(compare_sides(self.arms[control], self.arms[variant]))

    def smallest_lift(self, control: str, variant: str) -> float | None:
        """Returns the minimum detectable effect, as a share, at 80 % power, from the width of the interval;
        None without one.
        """
        estimate = self.compare(control, variant).shown.lift(compare.CONFIDENCE)
        return power.smallest_of_interval(estimate.low, estimate.high, compare.CONFIDENCE)

    def users_for(self, control: str, variant: str, effect: float) -> int | None:
        """Returns how many more users of both variants detect a lift of ``effect``: see ``Measured``."""
        smallest = self.smallest_lift(control, variant)
        n = self.n_users(control) + self.n_users(variant)
        return power.users_to_detect(smallest, n, effect)


def of_users(
    users: OnlineUsers,
    control: str | None = None,
    rules: OnlineRules = USUAL,
    metrics: Sequence[OnlineMetric] = KNOWN,
    correction: Correction = "holm",
) -> OnlineResults:
    """Returns the results of a test with data per user.

    ``metrics`` that need totals which the users do not have are left out.
    """
    users = with_totals(users, metrics)
    arms = arms_of(users)
    measurable = [metric for metric in map(resolved, metrics) if metric.is_in(users.totals)]
    by_name: dict[str, Measured | MeasuredQuantile] = {
        metric.name: Measured(metric, arms, rules, users) for metric in measurable
    }
    by_name |= {m.name: MeasuredQuantile.of_users(m, users, rules) for m in metrics if users.has_rows_of(m)}
    measured = [by_name[metric.name] for metric in metrics if metric.name in by_name]
    control, guessed = health.control_among(sorted(users.variants), control)
    warnings, notices = health.crossovers(users)
    goals = [metric for metric in measurable if metric.role == "goal"]
    novelty = health.novelty_warnings(users, goals, control, delta_method=rules.delta_method)
    srm_p, mismatch = health.sample_ratio(users.assigned, rules.split)
    activated_p = None
    if users.activated is not None:
        activated_p, of_activated = health.of_activated(users.activated, rules.split)
        if of_activated and not mismatch:  # the results are blocked by this split alone
            srm_p, mismatch = activated_p, of_activated
    checks = health.Health(
        srm_p,
        users.crossed,
        (*mismatch, *health.uneven_bots(users), *health.uneven_days(users), *novelty, *warnings),
        unchecked="there is one variant" if srm_p is None else "",
        activated_srm_p=activated_p,
    )
    notices = (*guessed, *notices, *health.few_days(users), *users.notices)
    results = _results(measured, users.n, control, checks, notices, users.removed, correction=correction)
    if rules.delta_method:
        return results
    of_values = (module.notices(users, measurable, control) for module in (watch_time_outliers, large_values))
    return replace(results, value_notices=tuple(chain.from_iterable(of_values)))


def arms_of(users: OnlineUsers) -> dict[str, Any]:
    """Returns tea-tasting's aggregates per variant.

    The names of pre-test totals have the prefix ``before_``.
    """
    earlier = {f"{compare.BEFORE}{name}": values for name, values in users.before.items()}
    totals = {**users.totals, **earlier}
    return dict(zip(users.variants, compare.arms(totals, users.variant), strict=True))


def of_summaries(
    table: SummaryTable | MomentTable,
    control: str | None = None,
    rules: OnlineRules = USUAL,
    metrics: Sequence[OnlineMetric] = (),
    correction: Correction = "holm",
) -> OnlineResults:
    """Returns the results of a test uploaded as aggregates.

    ``metrics`` are custom metrics; they give rows of the same name their role and title, and take the place
    of those proposed for a table without a column of metrics.
    """
    measured = [Measured(metric, arms, rules) for metric, arms in table.measured(metrics)]
    counts = table.user_counts()
    names = sorted({variant for metric in measured for variant in metric.arms})
    control, guessed = health.control_among(names, control)
    checks, users = health.of_summary(counts, names, rules.split)
    if not counts:
        checks = health.of_trials(table.trial_counts(), rules.split)
    checks = replace(checks, warnings=(*checks.warnings, *table.warnings()))
    return _results(measured, users, control, checks, (*guessed, *table.notices()), (), correction=correction)


def _results(
    measured: Sequence[Measured | MeasuredQuantile],
    users: Mapping[str, int],
    control: str,
    checks: health.Health,
    notices: tuple[Problem, ...],
    removed: tuple[Removed, ...],
    *,
    correction: Correction,
) -> OnlineResults:
    """Returns the results with all rows judged.

    ``users`` is the number of users per variant, empty if the table counts only trials.
    """
    names = sorted({variant for metric in measured for variant in metric.arms})
    variants = (control, *(name for name in names if name != control))
    rows = [
        _row(metric, variant, control)
        for metric in measured
        for variant in variants
        if variant in metric.arms
    ]
    judged = _judged(rows, correction)
    return OnlineResults(
        control=control,
        variants=variants,
        rows=tuple(replace(row, word="not judged") if checks.blocked and row.word else row for row in judged),
        health=checks,
        notices=(*checks.warnings, *health.single(names), *_without_control(measured, control), *notices),
        users={variant: users[variant] for variant in variants if variant in users},
        removed=removed,
    )


def _without_control(measured: Sequence[Measured | MeasuredQuantile], control: str) -> Iterator[Problem]:
    """Yields a notice for each metric of which the control has no row, so that it has no lift."""
    for lost in measured:
        if control not in lost.arms:
            message = f"the control '{control}' has no row of it, so there is no lift"
            fix = "Add the row, or choose another control."
            yield Problem("no-control-row", f"metric '{lost.metric.name}'", message, fix)


# ── one row ──────────────────────────────────────────────────────────────────────────────────


class ComparedRow(NamedTuple):
    """A row that is not judged yet, with its metric, and with its comparison and that of the control; both
    are None in rows of the control and if there is no control.
    """

    row: OnlineRow
    measured: Measured | MeasuredQuantile
    choice: Choice | None = None
    pair: tuple[str, str] | None = None


def _row(measured: Measured | MeasuredQuantile, variant: str, control: str) -> ComparedRow:
    metric = measured.metric
    own, chosen = measured.value(variant), None
    if variant != control and control in measured.arms:
        chosen = measured.compare(control, variant)
    is_lost = variant != control and chosen is None
    numerator, denominator = measured.sums(variant)
    row = OnlineRow(
        metric=metric.name,
        title=metric.title,
        unit=metric.unit,
        variant=variant,
        is_control=variant == control,
        n_users=measured.n_users(variant),
        value=own.value,
        ci_low=own.low,
        ci_high=own.high,
        lift=None,
        lift_low=None,
        lift_high=None,
        p=None,
        note="the control has no row of this metric" if is_lost else own.note if chosen is None else "",
        role=metric.role,
        direction=metric.direction,
        margin=metric.margin,
        numerator=numerator,
        denominator=denominator,
        value_note="" if own.low is not None else own.note,
    )
    if chosen is None:
        return ComparedRow(row, measured)
    pair = control, variant
    row = _with_sequence(_with_comparison(row, chosen), measured, chosen, pair)
    return ComparedRow(row, measured, chosen, pair)


def _with_comparison(row: OnlineRow, chosen: Choice) -> OnlineRow:
    """Returns the row with its lift and difference, and their intervals at 95 %."""
    lift = chosen.shown.lift(compare.CONFIDENCE)
    difference = chosen.shown.difference(compare.CONFIDENCE)
    row = replace(
        row,
        lift=lift.value,
        lift_low=lift.low,
        lift_high=lift.high,
        p=chosen.shown.p,
        note=lift.note or chosen.note or row.note,
        difference=difference.value,
        difference_low=difference.low,
        difference_high=difference.high,
        method=chosen.shown.method,
    )
    if chosen.plain is None:
        return row
    plain = chosen.plain.lift(compare.CONFIDENCE)
    return replace(row, plain_lift=plain.value, plain_low=plain.low, plain_high=plain.high)


def _with_sequence(
    row: OnlineRow, measured: Measured | MeasuredQuantile, chosen: Choice, pair: tuple[str, str]
) -> OnlineRow:
    """Returns the row with its always-valid interval, or with the reason why there is none yet."""
    if row.p is None:
        return row
    ratio = measured.log_ratio(*pair, adjusted=chosen.plain is not None)
    note = measured.why_not_always_valid(*pair) if row.lift is not None else row.note
    if ratio is None or note:
        return replace(row, sequence_note=note or "it is not available for so few successes")
    low, high = sequential.always_valid_interval(
        *ratio, sum(map(measured.n_users, pair)), measured.rules.planned_users
    )
    return replace(row, sequence_low=float(low), sequence_high=float(high))


# ── all rows together ────────────────────────────────────────────────────────────────────────


def _judged(rows: Sequence[ComparedRow], correction: Correction) -> Iterator[OnlineRow]:
    """Yields the rows with their findings.

    Goals are corrected as one family, all other metrics are not corrected.
    """
    goals = [compared.row for compared in rows if compared.row.role == "goal" and not compared.row.is_control]
    family = judgement.family([row.p for row in goals], correction)
    levels = {(row.metric, row.variant): pair for row, pair in zip(goals, family, strict=True)}
    for compared in rows:
        row = compared.row
        p, level = levels.get((row.metric, row.variant), (row.p, compare.CONFIDENCE))
        yield row if row.is_control else _worded(compared, p, level)


def _worded(compared: ComparedRow, p: float | None, level: float) -> OnlineRow:
    row, chosen = compared.row, compared.choice
    if p is None or chosen is None or compared.pair is None:
        return replace(row, word="not settled")
    lift, difference = chosen.shown.lift(level), chosen.shown.difference(level)
    row = replace(
        row,
        p_corrected=p,
        corrected_low=lift.low,
        corrected_high=lift.high,
        corrected_difference_low=difference.low,
        corrected_difference_high=difference.high,
    )
    word = judgement.word(compared.measured.metric, lift, p, difference)
    more = _more_users(compared, row, level) if word == "not settled" else None
    return replace(row, word=word, more_users=more)


def _more_users(compared: ComparedRow, row: OnlineRow, level: float) -> int | None:
    """Returns how many more users exclude a lift of 0 or, for a guardrail, a loss of the margin.

    Returns None if unknown.
    """
    measured, chosen = compared.measured, compared.choice
    if compared.pair is None:
        return None
    ratio = _log_ratio(row)
    if measured.rules.delta_method and isinstance(measured, Measured):
        adjusted = chosen is not None and chosen.plain is not None
        ratio = measured.log_ratio(*compared.pair, adjusted=adjusted)
    if ratio is None:
        return None
    worse = -1 if row.direction == "up" else 1
    bound = math.log1p(worse * (row.margin or 0.0)) if row.role == "guardrail" else 0.0
    return power.to_settle(ratio[0] - bound, ratio[1], sum(map(measured.n_users, compared.pair)), level)


def _log_ratio(row: OnlineRow) -> tuple[float, float] | None:
    """Returns the logarithm of 1 + lift and its standard error, as the row's interval tells it.

    Returns None if there is no interval, or if it reaches −100 %.
    """
    from scipy.special import ndtri

    if row.lift is None or row.lift_low is None or row.lift_high is None or not row.lift_low > -1:
        return None
    width = math.log1p(row.lift_high) - math.log1p(row.lift_low)
    return math.log1p(row.lift), width / 2 / float(ndtri((1 + compare.CONFIDENCE) / 2))


def validity_notes(rows: Iterable[OnlineRow]) -> list[str]:
    """Returns sentences that say why numbers of these rows are missing or come from an unusual method.

    They also name the rows without an always-valid interval.
    """
    lifts = [(f"{row.title}, {row.variant}", row) for row in rows if not row.is_control]
    reasons = sorted({f"{name}: {row.note}." for name, row in lifts if row.note})
    early = [f"{name}: {row.sequence_note}." for name, row in lifts if row.sequence_note]
    return reasons + [f"No always-valid interval yet: {note}" for note in early]


def value_notes(rows: Iterable[OnlineRow]) -> list[str]:
    """Returns a sentence for each metric whose value has no interval in some variants, with the reason in the
    one with the fewest users, unless that is why lifts have none.
    """
    rows = list(rows)
    of_lifts = {(row.title, row.note) for row in rows if not row.is_control}
    lacking: dict[str, list[OnlineRow]] = {}
    for row in rows:
        if row.value is not None and row.value_note and (row.title, row.value_note) not in of_lifts:
            lacking.setdefault(row.title, []).append(row)
    sentences = []
    for title, of_metric in lacking.items():
        names = listed([row.variant for row in of_metric])
        reason = min(of_metric, key=lambda row: row.n_users).value_note
        sentences.append(f"{title}: no 95 % CI of the value of {names} ({reason}).")
    return sentences
