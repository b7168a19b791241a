"""Online metrics; each is a sum over users divided by another sum over users."""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import dataclass, replace
from typing import Literal

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
    ``margin`` or more, a share of the control's value; other metrics are only shown.
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
        """Returns True if the metric was aggregated before the upload.

        Its sums over users are then unknown.
        """
        return self.numerator == SUMMARY

    def is_in(self, totals: Container[str]) -> bool:
        """Returns True if the totals include the metric's numerator and denominator."""
        return self.numerator in totals and (self.denominator is None or self.denominator in totals)


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
    problems = [
        Problem("unknown-total", place, f"no total is called '{name}'", available)
        for name in (metric.numerator, metric.denominator)
        if name is not None and name not in totals
    ]
    if metric.numerator == metric.denominator:
        message, fix = (
            f"'{metric.numerator}' divided by itself",
            "Divide by another total, or leave the denominator out.",
        )
        problems.append(Problem("no-ratio", place, message, fix))
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
