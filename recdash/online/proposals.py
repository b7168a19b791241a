"""Proposes metrics for a table without sessions, from its columns and their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from recdash.domain.kinds import Floats
from recdash.errors import InputError, Problem
from recdash.formatting.wording import capital, listed
from recdash.ingest.attributes import ROW_NUMBERS
from recdash.online.metrics import METRICS, Direction, MetricRole, OnlineMetric
from recdash.online.plan import AnalysisPlan
from recdash.online.users import OnlineUsers

NO_AMOUNT = re.compile(r"(^|[ _])(id|ids|at|ts|date|timestamp|year|zip|zip_code|postcode|index|row)$")
"""Names of columns of numbers that identify or date something, so that they cannot be added up."""
LESS_IS_BETTER = re.compile(
    r"refund|return(s|ed)?($|[ _]rate)|complain|error|crash|latency|load[ _]?time|timeout|bounce|unsubscri"
    r"|((?<![a-z])|page)load(ing)?[ _]?(time|duration|m?s(?![a-z])|sec)|(response|render(ing)?)[ _]?(time|ms)"
    r"|uninstall|churn|cancel|cost(s|$|[ _])|skip(?!per)|abandon|dislike"
    r"|[uü]e?berspr|abbr[uü]e?ch|abgebrochen|absprung|abmeld|k[uü]e?ndig|beschwerde|reklamation|storn|retour"
    r"|r[uü]e?ckgabe|fehler|latenz|ladezeit"
)
"""Names in English and German of what a service wants less of."""
BEFORE_TEST = re.compile(r"^(pre|prior|previous|baseline)[ _]")

COUNTED = frozenset(
    {"sessions", "engaged_sessions", "clicks", "watch_min", "videos", "impressions", "lists"}
    | {"answerable_lists", "answered_lists", "clicked_lists"}
)
"""Totals that belong to standard metrics."""

PROPOSED = "metrics-proposed"
"""The code of the notice that lists the proposed metrics."""
USUAL_MARGIN = 0.02
"""The margin of a guardrail for which no other one is chosen."""


@dataclass(frozen=True)
class MetricPurpose:
    """What a metric is for, as chosen before results are seen: its role, and which way is better."""

    role: MetricRole
    direction: Direction


@dataclass(frozen=True)
class MetricChoices:
    """What is chosen about the metrics of a test, by their names, before results are seen.

    ``goals``: other goals are then for information. ``primary`` is the goal by which the test is decided
    first. ``covariates`` map metrics to the column, known before the exposure, by which their lift is
    adjusted (CUPED); such a column is no metric. ``purposes`` are those of metrics that are for something
    other than proposed. ``from_library`` are the metrics of the library by which the test is counted; None:
    all that its columns allow. ``quantiles`` map columns to the quantile of them (.95) that is a metric, too.
    ``plan`` is the test's analysis plan: what is not chosen here is as planned there.
    """

    goals: tuple[str, ...] = ()
    primary: str | None = None
    covariates: Mapping[str, str] = field(default_factory=dict)
    purposes: Mapping[str, MetricPurpose] = field(default_factory=dict)
    from_library: tuple[str, ...] | None = None
    quantiles: Mapping[str, float] = field(default_factory=dict)
    plan: AnalysisPlan | None = None

    def of_library(self, library: Sequence[OnlineMetric]) -> tuple[OnlineMetric, ...]:
        """Returns the metrics of the library, and the quantiles, by which the test is counted if its columns
        allow.
        """
        wanted = self.from_library
        chosen = [metric for metric in library if wanted is None or metric.name in wanted]
        quantiles = [quantile_of(column, level) for column, level in self.quantiles.items()]
        return tuple({metric.name: metric for metric in (*chosen, *quantiles)}.values())

    def applied(
        self,
        own: Sequence[OnlineMetric],
        available: Sequence[OnlineMetric],
        columns: Collection[str],
        *,
        are_given: bool = True,
    ) -> tuple[OnlineMetric, ...]:
        """Returns the test's own metrics with the choices, and the ``available`` others that they change.

        ``columns`` are the names of totals. ``are_given`` is whether a person gave the own metrics, so that
        their roles are chosen, too; a goal is one by default. Raises InputError for names of no metric and no
        column.
        """
        by_name = {metric.name: metric for metric in (*available, *own)}
        self._check(by_name, columns)
        primary, margins = self._with_planned(by_name, own if are_given else ())
        chosen = {}
        for name, metric in by_name.items():
            changed = with_purpose(metric, self.purposes.get(name))
            if name in margins:
                changed = replace(changed, role="guardrail", margin=margins[name])
            changed = replace(changed, is_primary=name == primary) if primary else changed
            if self.goals or name == primary:
                is_goal = name in (*self.goals, primary)
                if is_goal:
                    changed = replace(changed, role="goal", margin=None)
                elif self.goals and changed.role == "goal":
                    changed = replace(changed, role="other")
            if name in self.covariates:
                changed = replace(changed, covariate=self.covariates[name])
            chosen[name] = changed
        names = {metric.name for metric in own}
        return tuple(metric for name, metric in chosen.items() if name in names or metric != by_name[name])

    def _with_planned(
        self, metrics: Collection[str], given: Sequence[OnlineMetric]
    ) -> tuple[str | None, Mapping[str, float]]:
        """Returns the primary metric and the planned guardrails, {metric: margin}: those of the plan that the
        test has and that are for nothing else by choice.
        """
        plan = self.plan
        if plan is None:
            return self.primary, {}
        roles: dict[str, MetricRole] = {metric.name: metric.role for metric in given if metric.role != "goal"}
        roles |= {name: purpose.role for name, purpose in self.purposes.items()}
        roles |= dict.fromkeys(self.goals, "goal")
        primary = self.primary
        is_chosen = primary is not None or any(metric.is_primary for metric in given)
        is_goal = roles.get(plan.primary, "other" if self.goals else "goal") == "goal"
        if plan.primary in metrics and is_goal and not is_chosen:
            primary = plan.primary
        with_margin = {metric.name for metric in given if metric.margin is not None}
        margins = {
            name: margin
            for name, margin in plan.guardrails.items()
            if name in metrics and roles.get(name, "guardrail") == "guardrail"
            if name != primary and name not in with_margin
        }
        return primary, margins

    def _check(self, metrics: Collection[str], columns: Collection[str]) -> None:
        named = [("goals", name) for name in self.goals] + [("covariates", name) for name in self.covariates]
        named += [("primary", self.primary)] if self.primary else []
        problems = [
            Problem(
                "unknown-metric",
                place,
                f"no metric is called '{name}'",
                f"Metrics: {listed(sorted(metrics))}.",
            )
            for place, name in named
            if name not in metrics
        ]
        problems += [
            Problem(
                "unknown-column",
                "covariates",
                f"no column is called '{column}'",
                f"Columns: {listed(sorted(columns))}.",
            )
            for column in self.covariates.values()
            if column not in columns
        ]
        if problems:
            raise InputError(problems)


NO_CHOICE = MetricChoices()


def propose(users: OnlineUsers, covariates: Collection[str] = ()) -> tuple[OnlineMetric, ...]:
    """Returns a goal for each total of the users: a rate if all values are 0 or 1, else the mean per user.

    Sessions per user are a guardrail with the standard margin, unless there is no other total.
    A column's name may say that less is better, such as refunds. A table with sessions also has the standard
    metrics: if one of these is a goal, other totals are for information. ``covariates`` are columns that are
    no metric.
    """
    totals = {
        name: Values.of_users(values) for name, values in users.totals.items() if name not in covariates
    }
    if "sessions" not in totals:
        return of_totals(totals)
    further = {name: values for name, values in totals.items() if name not in COUNTED and _is_result(name)}
    has_goals = any(metric.role == "goal" and metric.is_in(totals) for metric in METRICS)
    role: MetricRole = "other" if has_goals else "goal"
    return tuple(replace(_metric(name, values), role=role) for name, values in further.items())


class Values(NamedTuple):
    """What the values of a total tell about its metric: whether all are 0 or 1 and some are 1, and whether
    none is below 0.
    """

    is_rate: bool
    is_never_negative: bool

    @classmethod
    def of_users(cls, values: Floats) -> Values:
        """Returns this of the values [U] of the users."""
        is_rate = bool(((values == 0) | (values == 1)).all() and values.any())
        return cls(is_rate, is_rate or float(values.min(initial=0.0)) >= 0)


def of_totals(totals: Mapping[str, Values]) -> tuple[OnlineMetric, ...]:
    """Returns the proposed metrics of totals, {name: what their values tell}; see ``propose``."""
    amounts = {name: values for name, values in totals.items() if _is_result(name)}
    proposed = [_metric(name, values) for name, values in amounts.items()]
    rails = {metric.name: metric for metric in METRICS if metric.role == "guardrail"}
    if not set(amounts) <= set(rails):
        proposed = [
            replace(metric, role="guardrail", margin=rails[metric.name].margin)
            if metric.name in rails
            else metric
            for metric in proposed
        ]
    return tuple(proposed)


def with_purpose(metric: OnlineMetric, purpose: MetricPurpose | None) -> OnlineMetric:
    """Returns the metric with another role and direction; unchanged without another ``purpose``."""
    if purpose is None or purpose == MetricPurpose(metric.role, metric.direction):
        return metric
    margin = (metric.margin or USUAL_MARGIN) if purpose.role == "guardrail" else None
    return replace(metric, role=purpose.role, direction=purpose.direction, margin=margin)


def notice(metrics: Sequence[OnlineMetric]) -> list[Problem]:
    """Returns the notice that lists the proposed metrics; empty if there are none."""
    if not metrics:
        return []
    names = [f"{metric.name} ({_kind(metric)})" for metric in metrics]
    lower = [metric.name for metric in metrics if metric.direction == "down"]
    but = f", except for {listed(lower)}" if lower else ""
    fix = f"More is better{but}. If that is wrong, choose “Change directions” at the top of the results."
    return [Problem(PROPOSED, "columns", f"each number is a metric: {listed(names)}", fix)]


def quantile_of(column: str, level: float) -> OnlineMetric:
    """Returns the metric that is a quantile of the rows of a column."""
    percent, name = f"{100 * level:g}", column.replace("_", " ")
    return OnlineMetric(
        f"{column}_p{percent}",
        f"{capital(name)}, {percent} %",
        "",
        f"{percent} % of the rows have at most this {name}.",
        column,
        low=None,
        quantile=level,
    )


LIBRARY = "library-metrics"
"""The code of the notice that lists the metrics of the library."""


def library_notice(metrics: Sequence[OnlineMetric]) -> list[Problem]:
    """Returns the notice that lists the metrics of the library; empty if there are none."""
    if not metrics:
        return []
    names = [f"{metric.name} ({metric.formula})" for metric in metrics]
    fix = "To count without one, remove it from the library and add the test again."
    return [Problem(LIBRARY, "metric library", f"also counted by {listed(names)}", fix)]


def _kind(metric: OnlineMetric) -> str:
    kind = "rate" if metric.high == 1 else "mean per user"
    if metric.role == "guardrail":
        kind = f"{kind}, a guardrail with a margin of {100 * (metric.margin or 0):g} %"
    if metric.role == "other":
        kind = f"{kind}, for information"
    return f"{kind}, less is better" if metric.direction == "down" else kind


def _is_result(name: str) -> bool:
    plain = name.strip().casefold()
    return not (ROW_NUMBERS.fullmatch(plain) or NO_AMOUNT.search(plain) or BEFORE_TEST.search(plain))


def _per_user(title: str) -> str:
    return title if title.endswith("per user") else f"{title} per user"


def _metric(name: str, values: Values) -> OnlineMetric:
    title = re.sub(r"[_\s]+", " ", name).strip()
    direction: Direction = "down" if LESS_IS_BETTER.search(name.casefold()) else "up"
    is_rate = values.is_rate
    return OnlineMetric(
        name=name,
        title=capital(title),
        unit="0..1" if is_rate else "per user",
        meaning=f"Share of users with {title}." if is_rate else f"{capital(_per_user(title))}.",
        numerator=name,
        low=0.0 if values.is_never_negative else None,
        high=1.0 if is_rate else None,
        direction=direction,
    )
