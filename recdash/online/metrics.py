"""Online metrics; each is a sum over users divided by another sum over users."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from recdash.errors import InputError, Problem

Direction = Literal["up", "down"]
MetricRole = Literal["goal", "guardrail", "other"]
SUMMARY = "value"
"""Name of the only total of a metric in an aggregated table."""


@dataclass(frozen=True)
class OnlineMetric:
    """A metric of an A/B test: Σ ``numerator`` / Σ ``denominator`` over the users of a variant.

    Both are names of totals per user (``recdash.online.users``); the denominator None stands for the number
    of users. ``low`` and ``high`` are the smallest and largest possible value, None if there is none.
    ``direction`` says which way is better. ``role``: goals are won or lost; guardrails must not get worse by
    ``margin`` or more, a share of the control's value; other metrics are only shown. ``is_primary``: the goal
    by which the test is decided first.

    A derived metric changes its numerator (``recdash.online.derived``). ``cap``: the most that counts of each
    user. ``within_hours``: what counts is within so many hours of the user's exposure. ``retention_day``: the
    numerator is 1 for users who did anything on that day after their exposure (day 0). ``covariate``: the
    column by which the lift is adjusted (CUPED), known before the exposure.

    ``quantile``: the metric is not a sum but this quantile (.95) of the column ``numerator`` over the rows of
    the table that have a value, such as sessions.
    """

    name: str
    title: str
    unit: str
    meaning: str
    numerator: str
    denominator: str | None = None
    low: float | None = 0.0
    high: float | None = None
    direction: Direction = "up"
    role: MetricRole = "goal"
    margin: float | None = None
    is_primary: bool = False
    covariate: str | None = None
    cap: float | None = None
    within_hours: float | None = None
    retention_day: int | None = None
    quantile: float | None = None

    @property
    def is_derived(self) -> bool:
        """Returns True if the metric needs a total that is derived from others."""
        chosen = (self.covariate, self.cap, self.within_hours, self.retention_day)
        return any(value is not None for value in chosen)

    @property
    def needs_users(self) -> bool:
        """Returns True if sums over users are not enough for the metric."""
        chosen = (self.cap, self.within_hours, self.retention_day, self.quantile)
        return any(value is not None for value in chosen)

    @property
    def formula(self) -> str:
        """Returns the formula as text, such as ``revenue / orders`` or ``orders per user within 24 h``."""
        if self.retention_day is not None:
            return f"share of users back on day {self.retention_day}"
        if self.quantile is not None:
            return f"{100 * self.quantile:g} % quantile of {self.numerator}"
        text = f"{self.numerator} / {self.denominator}" if self.denominator else f"{self.numerator} per user"
        text += f" within {self.within_hours:g} h" if self.within_hours is not None else ""
        text += f", at most {self.cap:g}" if self.cap is not None else ""
        return text + (f", adjusted by {self.covariate}" if self.covariate is not None else "")

    def fits(self, totals: Container[str]) -> bool:
        """Returns True if the metric can be derived from these totals."""
        needed = (None if self.retention_day is not None else self.numerator, self.denominator)
        return all(name in totals for name in needed if name is not None)

    def facts(self) -> dict[str, Any]:
        """Returns the fields by name, as they are stored; later fields only where they are set."""
        facts = asdict(self)
        return {name: value for name, value in facts.items() if name not in LATER or value != LATER[name]}

    @property
    def is_summary(self) -> bool:
        """Returns True if the metric was aggregated before the upload.

        Its sums over users are then unknown.
        """
        return self.numerator == SUMMARY

    def is_in(self, totals: Container[str]) -> bool:
        """Returns True if the totals include the metric's numerator and denominator.

        A quantile is in no totals.
        """
        if self.quantile is not None:
            return False
        return self.numerator in totals and (self.denominator is None or self.denominator in totals)


LATER: Mapping[str, Any] = {
    field.name: field.default
    for field in fields(OnlineMetric)
    if field.name in ("is_primary", "covariate", "cap", "within_hours", "retention_day", "quantile")
}
"""Fields that older versions did not have, with their defaults."""

METRICS = (
    OnlineMetric(
        name="engagement_rate",
        title="Engagement rate",
        unit="0..1",
        meaning="Share of sessions with at least one click on a recommendation.",
        numerator="engaged_sessions",
        denominator="sessions",
        high=1.0,
    ),
    OnlineMetric(
        name="videos_per_user",
        title="Videos watched",
        unit="videos per user",
        meaning="Videos watched past the threshold, per user, including users with none. The threshold was "
        "set before the upload, usually two minutes.",
        numerator="videos",
    ),
    OnlineMetric(
        name="session_watch_time",
        title="Session watch time",
        unit="min",
        meaning="Minutes watched from recommendations, per session, including sessions with none.",
        numerator="watch_min",
        denominator="sessions",
    ),
    OnlineMetric(
        name="sessions_per_user",
        title="Sessions per user",
        unit="sessions per user",
        meaning="A guardrail: a rate per session can rise just because there are fewer sessions.",
        numerator="sessions",
        role="guardrail",
        margin=0.02,
    ),
)

SERVED_METRICS = (
    OnlineMetric(
        name="online_hit_ratio",
        title="Online hit ratio",
        unit="0..1",
        meaning="Share of served lists that contain the item their user watched next, past the threshold "
        "and not from the list itself.",
        numerator="answered_lists",
        denominator="lists",
        high=1.0,
        role="other",
    ),
    OnlineMetric(
        name="answerable_lists",
        title="Lists with an answer",
        unit="0..1",
        meaning="Share of served lists after which their user watched something elsewhere, past the "
        "threshold. The online hit ratio cannot exceed it, and rises if users watch more elsewhere.",
        numerator="answerable_lists",
        denominator="lists",
        high=1.0,
        role="other",
    ),
    OnlineMetric(
        name="list_ctr",
        title="List CTR",
        unit="0..1",
        meaning="Share of served lists with at least one clicked item.",
        numerator="clicked_lists",
        denominator="lists",
        high=1.0,
        role="other",
    ),
)
"""Metrics of served lists, if the upload has them."""


KNOWN = (*METRICS, *SERVED_METRICS)


def summarised(name: str, known: OnlineMetric | None, *, rate: bool) -> OnlineMetric:
    """Returns the metric of an aggregated table, with title and role of the ``known`` one of that name.

    Its unit is unknown. ``rate``: its values are shares of trials.
    """
    low, high = (0.0, 1.0) if rate else (None, None)
    own = known or OnlineMetric(name, name, "", "", SUMMARY)
    meaning = "Aggregated before the upload."
    return replace(
        own, name=name, unit="", meaning=meaning, numerator=SUMMARY, denominator=None, low=low, high=high
    )


def check(metric: OnlineMetric, totals: Collection[str]) -> None:
    """Raises InputError, with all problems, if the metric cannot be computed from these totals."""
    place, available = f"metric '{metric.name}'", f"Totals: {', '.join(sorted(totals))}."
    needed = (None if metric.retention_day is not None else metric.numerator, metric.denominator)
    problems = [
        Problem("unknown-total", place, f"no total is called '{name}'", available)
        for name in dict.fromkeys(needed)
        if name is not None and name not in totals
    ]
    problems += _wrong_derivation(metric, place)
    if metric.numerator == metric.denominator:
        message, fix = (
            f"'{metric.numerator}' divided by itself",
            "Divide by another total, or leave the denominator out.",
        )
        problems.append(Problem("no-ratio", place, message, fix))
    if not metric.numerator.strip():
        problems.append(Problem("bad-metric", place, "it has no column", "Name the column that it counts."))
    if not metric.name.strip() or not metric.title.strip():
        problems.append(Problem("no-name", "metric", "it has no name", "Give it a name."))
    if metric.margin is not None and not 0 < metric.margin < 1:
        message, fix = f"the margin is {metric.margin:g}", "A margin is a share between 0 and 1: 0.02 is 2 %."
        problems.append(Problem("bad-margin", place, message, fix))
    if metric.role == "guardrail" and metric.margin is None:
        fix = "Give the smallest loss that would matter: 0.02 is 2 %."
        problems.append(Problem("no-margin", place, "a guardrail without a margin", fix))
    if problems:
        raise InputError(problems)


def _wrong_derivation(metric: OnlineMetric, place: str) -> list[Problem]:
    problems = []
    for name, value, least in (
        ("cap", metric.cap, "above 0"),
        ("within_hours", metric.within_hours, "above 0"),
        ("retention_day", metric.retention_day, "from 1"),
    ):
        if value is not None and not (isinstance(value, int | float) and 0 < value < float("inf")):
            message = f"{name.replace('_', ' ')} is {value!r}"
            problems.append(Problem("bad-metric", place, message, f"Give a number {least}."))
    if metric.quantile is not None:
        problems += _wrong_quantile(metric, place)
    is_windowed = metric.within_hours is not None or metric.retention_day is not None
    if is_windowed and metric.denominator is not None:
        message = "it has a denominator besides the users who were observed long enough"
        fix = "Leave the denominator out, or the hours or the day."
        problems.append(Problem("bad-metric", place, message, fix))
    return problems


def _wrong_quantile(metric: OnlineMetric, place: str) -> list[Problem]:
    problems = []
    value = metric.quantile
    if not (isinstance(value, int | float) and 0 < value < 1):
        fix = "Give a share between 0 and 1: 0.95 is the 95th percentile."
        problems.append(Problem("bad-metric", place, f"quantile is {value!r}", fix))
    if metric.is_derived or metric.denominator is not None:
        message = "it is a quantile and has a denominator, a cap, hours, a day or a covariate"
        problems.append(Problem("bad-metric", place, message, "Leave the quantile out, or these."))
    return problems
