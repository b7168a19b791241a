"""Compares an A/B test with its analysis plan: whether it ran as planned, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from recdash.formatting import numbers
from recdash.formatting.result_table import of_values
from recdash.formatting.wording import capital, day, listed, lowered, many
from recdash.ingest.moment_columns import EARLIER
from recdash.online import times
from recdash.online.analysis.results import OnlineResults, OnlineRow
from recdash.online.analysis.sample import SampleSummary
from recdash.online.plan import TITLES, AnalysisPlan, PlanHistory, PlanVersion
from recdash.online.rules import OnlineRules

if TYPE_CHECKING:
    import pandas as pd

UNDATED = "no-dates"
"""The code of a planned duration that cannot be checked, which is no difference."""
TOLERANCE = 1e-6
"""By how much planned and used shares may differ."""


@dataclass(frozen=True)
class Deviation:
    """One difference between plan and test. ``code`` is a stable name for programs."""

    code: str
    text: str


@dataclass(frozen=True)
class PlannedTest:
    """A test as its plan is compared with it.

    ``sample`` is None for aggregated data. ``stored`` is when the first data of the plan were stored, and
    ``look`` which of its uploads this one is, from 1. ``covariates`` are {metric: the value before the test
    by which its lift is adjusted, if it is}.
    """

    results: OnlineResults
    rules: OnlineRules
    sample: SampleSummary | None
    stored: datetime
    look: int = 1
    covariates: Mapping[str, str] = field(default_factory=dict)

    @property
    def begin(self) -> datetime:
        return begin_of(self.sample, self.stored)

    @property
    def first_day(self) -> datetime:
        """Returns the first day of the data, or the day on which they were stored."""
        is_known = self.sample is not None and self.sample.first is not None
        return times.date(self.sample.first) if is_known else self.stored  # type: ignore[union-attr, arg-type]


@dataclass(frozen=True)
class PlanCheck:
    """A test compared with its plan.

    ``version`` is the plan that applies: the last one before the test had data, else the first.
    """

    history: PlanHistory
    version: PlanVersion
    is_before_data: bool
    deviations: tuple[Deviation, ...]
    look: int

    @property
    def plan(self) -> AnalysisPlan:
        return self.version.plan

    @property
    def binding(self) -> AnalysisPlan | None:
        """Returns the plan if it was made before the test had data; else None, as it cannot justify an
        end.
        """
        return self.plan if self.is_before_data else None

    @property
    def sentence(self) -> str:
        """Returns who planned the test and when, and whether it is as planned."""
        made = f"Planned on {day(self.version.created)} by {self.version.author}"
        if not self.deviations:
            return f"{made}; the test is as planned."
        n = sum(deviation.code != UNDATED for deviation in self.deviations)
        if not n:
            return f"{made}; the planned duration cannot be checked."
        return (
            f"{made}; {'one thing differs' if n == 1 else f'{numbers.count(n)} things differ'} from the plan."
        )

    def table(self) -> pd.DataFrame:
        """Returns a frame with a row per difference from the plan."""
        return of_values("Differences from the plan", Deviation, self.deviations).table()

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values: which look it is, and what differs from the plan."""
        return {
            "look": self.look,
            "planned_before_data": self.is_before_data,
            "as_planned": not self.deviations,
            "summary": self.sentence,
            "deviations": [asdict(deviation) for deviation in self.deviations],
        }


def begin_of(sample: SampleSummary | None, stored: datetime) -> datetime:
    """Returns the end of the first day of a test's data; without days, when the data were ``stored``."""
    if sample is None or sample.first is None:
        return stored
    return min(times.date(sample.first + 1), stored)


def applied_version(history: PlanHistory, begin: datetime) -> tuple[PlanVersion, bool]:
    """Returns the version of a plan that applies, and whether it was made before the data began: the last
    such version, else the first one.
    """
    early = [version for version in history.versions if version.created <= begin]
    return (early[-1], True) if early else (history.first, False)


def check_plan(history: PlanHistory, test: PlannedTest) -> PlanCheck:
    """Returns the test compared with its plan."""
    version, is_before_data = applied_version(history, test.begin)
    deviations = tuple(_deviations(history, version, test, is_before_data=is_before_data))
    return PlanCheck(history, version, is_before_data, deviations, test.look)


def _deviations(
    history: PlanHistory, version: PlanVersion, test: PlannedTest, *, is_before_data: bool
) -> Iterator[Deviation]:
    if not is_before_data:
        begin, made = day(test.first_day), day(version.created)
        yield Deviation(
            "planned-late", f"The plan was made on {made}, when the test already had data ({begin})."
        )
    yield from _changed_later(history, version)
    yield from _metrics(version.plan, test.results)
    yield from _size(version.plan, test)
    yield from _split(version.plan, test)
    yield from _covariates(version.plan, test)
    if test.look > version.plan.looks:
        planned = many(version.plan.looks, "look")
        yield Deviation("looks", f"These data are look {test.look}; the plan has {planned}.")


def _changed_later(history: PlanHistory, version: PlanVersion) -> Iterator[Deviation]:
    """Yields each change of the plan that was made when the test had data."""
    later = history.versions[history.versions.index(version) :]
    for before, after in pairwise(later):
        who = f"{after.author}, {day(after.created)}{f': {after.reason}' if after.reason else ''}"
        for name, was, now in before.plan.changes(after.plan):
            text = f"{TITLES[name]} changed from {was} to {now} when the test had data ({who})."
            yield Deviation(f"changed-{name}", text)


def _metrics(plan: AnalysisPlan, results: OnlineResults) -> Iterator[Deviation]:
    """Yields what differs in the primary metric and the guardrails."""
    rows = {row.metric: row for row in reversed(results.rows)}
    goals = [row for row in results.rows if row.role == "goal"]
    primary = rows.get(plan.primary)
    if primary is None:
        yield Deviation("no-primary", f"The planned primary metric {plan.primary} is not among the results.")
    elif primary.role != "goal":
        text = (
            f"The planned primary metric {lowered(primary.title)} is no goal of the test, but {primary.role}."
        )
        yield Deviation("primary", text.replace("but other", "but for information"))
    elif goals[0].metric != plan.primary:
        was, now = lowered(primary.title), lowered(goals[0].title)
        yield Deviation(
            "primary", f"The first goal of the test is {now}; the planned primary metric is {was}."
        )
    for metric, margin in plan.guardrails.items():
        yield from _guardrail(metric, margin, rows.get(metric))


def _guardrail(metric: str, margin: float, row: OnlineRow | None) -> Iterator[Deviation]:
    if row is None:
        yield Deviation("no-guardrail", f"The planned guardrail {metric} is not among the results.")
    elif row.role != "guardrail":
        yield Deviation("no-guardrail", f"{capital(row.title)} was planned as a guardrail, and is none.")
    elif row.margin is None or abs(row.margin - margin) > TOLERANCE:
        now = f"{100 * (row.margin or 0):g} %"
        yield Deviation(
            "margin", f"The margin of {lowered(row.title)} is {now}; {100 * margin:g} % was planned."
        )


def _size(plan: AnalysisPlan, test: PlannedTest) -> Iterator[Deviation]:
    """Yields that the data have fewer days or users than planned, or that no dates show their days."""
    sample = test.sample
    if plan.days is not None and sample is not None and 0 < sample.days < plan.days:
        text = f"The data end before the planned duration: {sample.days} of {many(plan.days, 'day')}."
        yield Deviation("days", text)
    if plan.days is not None and (sample is None or not sample.days):
        text = (
            f"The data have no dates, so the planned duration of {many(plan.days, 'day')} cannot be checked."
        )
        yield Deviation(UNDATED, text)
    if plan.users is not None:
        yield from _fewer_users(plan, plan.users, test.results)


def _fewer_users(plan: AnalysisPlan, planned: int, results: OnlineResults) -> Iterator[Deviation]:
    """Yields that variants have, together with the control, fewer users of the primary metric than
    planned.
    """
    pairs = {variant: results.users_of_pair(variant, plan.primary) for variant in results.variants}
    few = {variant: n for variant, n in pairs.items() if n is not None and n < planned}
    if not few:
        return
    sizes = set(few.values()) if len(few) == len(results.variants) - 1 else set()
    if len(sizes) == 1:
        reached = f"{numbers.count(sizes.pop())} of {numbers.count(planned)}"
    else:
        each = listed([f"{numbers.count(n)} with {variant}" for variant, n in few.items()])
        reached = f"{each}, of {numbers.count(planned)}"
    text = f"The data have fewer users than planned: {reached} for control and variant together."
    yield Deviation("users", text)


def _split(plan: AnalysisPlan, test: PlannedTest) -> Iterator[Deviation]:
    variants = test.results.variants
    if plan.split and set(plan.split) != set(variants):
        names = f"{', '.join(plan.split)}; the data have {', '.join(variants)}"
        yield Deviation("variants", f"The planned variants are {names}.")
        return
    planned, used = (_shares(split, variants) for split in (plan.split, test.rules.split))
    if any(abs(planned[variant] - used[variant]) > TOLERANCE for variant in variants):
        both = [
            ", ".join(f"{name} {100 * share:.3g} %" for name, share in of.items()) for of in (used, planned)
        ]
        yield Deviation("split", f"The split is checked against {both[0]}; the plan has {both[1]}.")


def _shares(split: Mapping[str, float], variants: tuple[str, ...]) -> dict[str, float]:
    """Returns each variant's share of all users; even shares without a split."""
    amounts = {variant: split.get(variant, 0.0) if split else 1.0 for variant in variants}
    total = sum(amounts.values()) or 1.0
    return {variant: amount / total for variant, amount in amounts.items()}


def _covariates(plan: AnalysisPlan, test: PlannedTest) -> Iterator[Deviation]:
    rows = [row for row in test.results.rows if row.metric == plan.primary and row.lift is not None]
    if not rows:
        return
    title = lowered(rows[0].title)
    is_adjusted = any(row.is_adjusted for row in rows)
    if plan.covariates and not is_adjusted:
        text = f"The lift in {title} is not adjusted; the plan adjusts it by {plan.text('covariates')}."
        yield Deviation("covariates", text)
    if is_adjusted and not plan.covariates:
        text = (
            f"The lift in {title} is adjusted by values before the test (CUPED); the plan has no covariates."
        )
        yield Deviation("covariates", text)
    used = test.covariates.get(plan.primary)
    planned = {name.removeprefix(EARLIER) for name in plan.covariates}
    if is_adjusted and planned and used is not None and used.removeprefix(EARLIER) not in planned:
        text = f"The lift in {title} is adjusted by {used}; the plan adjusts it by {plan.text('covariates')}."
        yield Deviation("covariates", text)


def in_order_of(plan: AnalysisPlan | None, metrics: list[str]) -> list[str]:
    """Returns the metrics with the planned primary one first; unchanged without a plan."""
    if plan is None or plan.primary not in metrics:
        return metrics
    return [plan.primary, *(metric for metric in metrics if metric != plan.primary)]
