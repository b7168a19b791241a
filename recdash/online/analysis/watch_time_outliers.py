"""Finds users whose watch time no person can have, such as bots, and tells what they change.

They count, since a rule that is chosen after looking at the results could favour a variant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from recdash.domain.kinds import Mask
from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.wording import many
from recdash.online import times
from recdash.online.analysis import choice
from recdash.online.analysis.large_values import in_words
from recdash.online.analysis.lift import CONFIDENCE, Estimate
from recdash.online.analysis.pair_values import pair_values
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers

WATCHED = "watch_min"
DAY_MIN = 24 * 60.0
FAR = 6.0
"""Standard deviations above the median of logarithms, which one user in a billion exceeds by chance."""
LEAST_SPREAD = 0.5
"""The least standard deviation of the logarithms: users with up to 20 times the median are not far away."""
FEWEST = 20
"""The number of users with a watch time from which the spread is known well enough."""
QUARTILES_APART = 1.349
"""The standard deviations of a normal distribution between its quartiles."""


def notices(users: OnlineUsers, metrics: Sequence[OnlineMetric], control: str) -> Iterator[Problem]:
    """Yields a notice if some users have an implausible watch time, with the lifts without them: of the first
    goal, and of the first that adds up watch time.
    """
    if WATCHED not in users.totals or control not in users.variants:
        return
    too_long, far = _beyond_a_day(users), _far_beyond_others(users)
    outliers = too_long | far
    if not outliers.any():
        return
    example = int(np.argmax(np.where(outliers, users.totals[WATCHED], -math.inf)))
    hours = numbers.three(users.totals[WATCHED][example] / 60)
    sentences = [
        f"implausible watch time of {_counted(users, outliers)}: {_why(too_long, far)}",
        f"'{users.unit[example]}' has {hours} hours{_longest_day(users, example)}",
        *(
            sentence
            for goal in _goals(users, metrics)
            for sentence in _effect(users, goal, control, outliers)
        ),
    ]
    fix = "Are they bots, or errors of the log? Set the bot filter, cap the metric, or leave out their rows."
    message, count = ". ".join(sentences), int(outliers.sum())
    yield Problem("watch-time-outliers", "column 'watch_s'", message, fix, count, str(users.unit[example]))


def _goals(users: OnlineUsers, metrics: Sequence[OnlineMetric]) -> list[OnlineMetric]:
    """Returns the first goal and the first that adds up watch time, which may be the same."""
    goals = [metric for metric in metrics if metric.role == "goal" and metric.is_in(users.totals)]
    of_time = [metric for metric in goals if metric.numerator == WATCHED]
    return list(dict.fromkeys([*goals[:1], *of_time[:1]]))


def _beyond_a_day(users: OnlineUsers) -> Mask:
    """Returns [U] True for users with more than 24 hours of watch time in sessions that began on one day.

    It is False for all if the days are unknown: in a table of one row per user, and without times.
    """
    is_beyond = np.zeros(len(users), dtype=np.bool_)
    days = users.days
    if "sessions" in users.totals and WATCHED in days.totals and days.day.any():
        is_beyond[days.unit[days.totals[WATCHED] > DAY_MIN]] = True
    return is_beyond


def _far_beyond_others(users: OnlineUsers) -> Mask:
    """Returns [U] True for users whose watch time is far above that of all others with one.

    The spread of its logarithms is that of the middle half of users, which a few bots do not change.
    """
    watched = users.totals[WATCHED]
    some = watched[watched > 0]
    if len(some) < FEWEST:
        return np.zeros(len(users), dtype=np.bool_)
    places = [len(some) // 4, len(some) // 2, 3 * len(some) // 4]
    first, median, third = np.partition(some, places)[places].tolist()
    spread = max((math.log(third) - math.log(first)) / QUARTILES_APART, LEAST_SPREAD)
    # Logarithms are compared, since so many standard deviations may be more than a float can hold.
    least = np.log(median) + FAR * spread
    return np.log(watched, out=np.full(len(watched), -np.inf), where=watched > 0) > least


def _counted(users: OnlineUsers, outliers: Mask) -> str:
    """Returns the number of outliers and that of each variant, such as ``3 users (A 1, B 2)``."""
    counts = np.bincount(users.variant[outliers], minlength=len(users.variants)).tolist()
    by_variant = ", ".join(f"{name} {count:,}" for name, count in zip(users.variants, counts, strict=True))
    return f"{many(int(outliers.sum()), 'user')} ({by_variant})"


def _why(too_long: Mask, far: Mask) -> str:
    reasons = []
    if too_long.any():
        reasons.append(f"{int(too_long.sum()):,} more than 24 hours on one day")
    if (far & ~too_long).any():
        reasons.append(f"{int((far & ~too_long).sum()):,} far more than all others")
    return ", ".join(reasons)


def _longest_day(users: OnlineUsers, user: int) -> str:
    """Returns the hours of the user's longest day as text; empty if days are unknown."""
    own = np.flatnonzero(users.days.unit == user)
    if not len(own) or WATCHED not in users.days.totals or not users.days.day.any():
        return ""
    longest = own[int(np.argmax(users.days.totals[WATCHED][own]))]
    hours = users.days.totals[WATCHED][longest] / 60
    return f", {numbers.three(hours)} of them on {times.date(int(users.days.day[longest])):%-d %b %Y}"


def _effect(users: OnlineUsers, metric: OnlineMetric, control: str, outliers: Mask) -> Iterator[str]:
    """Yields the lift with and without the outliers, of the variant that has most of them; nothing for a
    metric without a lift.
    """
    others = [name for name in users.variants if name != control]
    if not others:
        return
    n = np.bincount(users.variant[outliers], minlength=len(users.variants))
    variant = max(others, key=lambda name: n[users.variants.index(name)])
    everyone = np.ones(len(users), dtype=np.bool_)
    lift, without = (_lift(users, metric, (control, variant), kept) for kept in (everyone, ~outliers))
    if lift.value is None:
        return
    of_others = "there is none" if without.value is None else f"it is {_stated(without)}"
    yield f"The lift of '{variant}' in '{metric.title}' is {_stated(lift)}; without these users, {of_others}"


def _stated(lift: Estimate) -> str:
    amount, interval = in_words(lift)
    return f"{amount} ({interval})"


def _lift(users: OnlineUsers, metric: OnlineMetric, names: tuple[str, str], kept: Mask) -> Estimate:
    control, variant = (users.variants.index(name) for name in names)
    totals, before = (
        {name: values[kept] for name, values in columns.items()} for columns in (users.totals, users.before)
    )
    pair = pair_values(metric, totals, before, users.variant[kept], control, variant)
    if not all(pair.sizes):
        return Estimate(None)
    return choice.of_users(metric, pair).shown.lift(CONFIDENCE)
