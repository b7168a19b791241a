"""What is measured online: each metric is a sum over users divided by another sum over users."""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import dataclass, replace
from typing import Literal

from recdash.errors import InputError, Problem

Direction = Literal["up", "down"]
MetricRole = Literal["goal", "guardrail", "other"]
SUMMARY = "value"
"""The only column of a table that is added up already."""


@dataclass(frozen=True)
class OnlineMetric:
    """Value = Σ ``numerator`` / Σ ``denominator`` over the users of a variant (None: per user).

    Both name totals of the per-user table (``recdash.online.users``); no value is below ``low`` or above
    ``high``, where given. ``direction``: which way is better. ``role``: goals are won or lost, guardrails
    must not get worse by ``margin`` (a share of the control's value) or more, others are only shown.
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

    @property
    def is_summary(self) -> bool:
        """Whether it was added up before the upload: there are no sums then."""
        return self.numerator == SUMMARY

    def is_in(self, totals: Container[str]) -> bool:
        """Whether the users' totals hold what it is made of."""
        return self.numerator in totals and (self.denominator is None or self.denominator in totals)


METRICS = (
    OnlineMetric(
        name="engagement_rate",
        title="Engagement rate",
        unit="0..1",
        meaning="Sessions with at least one click on a recommendation, of all sessions.",
        numerator="engaged_sessions",
        denominator="sessions",
        high=1.0,
    ),
    OnlineMetric(
        name="videos_per_user",
        title="Videos watched",
        unit="videos per user",
        meaning="Videos that counted as watched, per user, users with none included. What counts was decided "
        "before the upload, usually more than two minutes of it; session rows cannot change that.",
        numerator="videos",
    ),
    OnlineMetric(
        name="session_watch_time",
        title="Session watch time",
        unit="min",
        meaning="Minutes watched from recommendations, per session, sessions with none included.",
        numerator="watch_min",
        denominator="sessions",
    ),
    OnlineMetric(
        name="sessions_per_user",
        title="Sessions per user",
        unit="sessions per user",
        meaning="A guardrail: a rate per session can rise only because there are fewer sessions.",
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
        meaning="Served lists that hold the item which their user watched next, past the threshold and not "
        "by way of the list itself, of all served lists.",
        numerator="answered_lists",
        denominator="lists",
        high=1.0,
        role="other",
    ),
    OnlineMetric(
        name="answerable_lists",
        title="Lists with an answer",
        unit="0..1",
        meaning="Served lists after which their user watched something, past the threshold and not by way of "
        "the list itself: more lists can be right where more is watched elsewhere.",
        numerator="answerable_lists",
        denominator="lists",
        high=1.0,
        role="other",
    ),
    OnlineMetric(
        name="list_ctr",
        title="List CTR",
        unit="0..1",
        meaning="Served lists of which at least one item was clicked, of all served lists.",
        numerator="clicked_lists",
        denominator="lists",
        high=1.0,
        role="other",
    ),
)
"""What served lists tell, where the upload has them."""


KNOWN = (*METRICS, *SERVED_METRICS)


def summarised(name: str, known: OnlineMetric | None, *, rate: bool) -> OnlineMetric:
    """A metric of a summary table, with the title and role of one that is known; its unit is its owner's."""
    low, high = (0.0, 1.0) if rate else (None, None)
    own = known or OnlineMetric(name, name, "", "", SUMMARY)
    meaning = "As it was added up before the upload."
    return replace(
        own, name=name, unit="", meaning=meaning, numerator=SUMMARY, denominator=None, low=low, high=high
    )


def check(metric: OnlineMetric, totals: Collection[str]) -> None:
    """Raises InputError, with all problems, for a metric that cannot be computed from these totals."""
    place, available = f"metric '{metric.name}'", f"There are: {', '.join(sorted(totals))}."
    problems = [
        Problem("unknown-total", place, f"no total is called '{name}'", available)
        for name in (metric.numerator, metric.denominator)
        if name is not None and name not in totals
    ]
    if metric.numerator == metric.denominator:
        message, fix = f"'{metric.numerator}' divided by itself", "Divide by another total, or by none."
        problems.append(Problem("no-ratio", place, message, fix))
    if not metric.name.strip() or not metric.title.strip():
        problems.append(Problem("no-name", "metric", "it has no name", "Give it a name."))
    if metric.margin is not None and not 0 < metric.margin < 1:
        message, fix = f"the margin is {metric.margin:g}", "A margin is a share between 0 and 1: 0.02 is 2 %."
        problems.append(Problem("bad-margin", place, message, fix))
    if metric.role == "guardrail" and metric.margin is None:
        fix = "Say how large a loss would matter: 0.02 is 2 %."
        problems.append(Problem("no-margin", place, "a guardrail without a margin", fix))
    if problems:
        raise InputError(problems)
