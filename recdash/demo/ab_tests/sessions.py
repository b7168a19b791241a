"""Draws the users of a simulated A/B test and their sessions from a plan (see ``scenario``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.demo.ab_tests.scenario import (
    CLICK_AGAIN,
    CLICK_S,
    COUNTRIES,
    EAGERNESS_SHAPE,
    MORE_CLICKS,
    NOVELTY_DAYS,
    PLATFORMS,
    READIEST,
    Plan,
)
from recdash.domain.kinds import Floats, Ints, Mask

if TYPE_CHECKING:
    import pyarrow as pa

TEST_FROM = int(datetime(2026, 11, 2, tzinfo=UTC).timestamp())
DAY = 86_400
# The pre-test period ends some hours early, so no session extends into the test.
PAUSE_DAYS = 0.125
BOT_CLICKS = (350, 450)
Rng = np.random.Generator


@dataclass(frozen=True)
class People:
    """Users of the test [U]: their id (``unit``), ``arm``, relative number of visits (``eager``), probability
    to engage (``ready``), days from exposure to the end of the test (``left``), and indexes of ``platform``
    and ``country``.
    """

    unit: Ints
    arm: Ints
    eager: Floats
    ready: Floats
    left: Floats
    platform: Ints
    country: Ints

    def __len__(self) -> int:
        return len(self.unit)


@dataclass(frozen=True)
class SimulatedSessions:
    """Sessions [S] in time order: the index of their ``user``, ``start`` in seconds since 1970, the ``arm``
    shown, whether they are ``in_test`` (else before it), and their number of ``clicks``.

    ``click_s`` [clicks] is the number of seconds that each click watched.
    """

    user: Ints
    start: Ints
    arm: Ints
    in_test: Mask
    clicks: Ints
    click_s: Ints

    @property
    def of_click(self) -> Ints:
        """Returns [clicks] the index of each click's session."""
        return np.repeat(np.arange(len(self.user)), self.clicks)


def named(places: Ints, names: list[str]) -> pa.Array:
    """Returns the names at these indexes, as a dictionary array."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), pa.array(names))


def timestamps(seconds: Ints) -> pa.Array:
    import pyarrow as pa

    return pa.array(seconds * 1_000_000, pa.timestamp("us", tz="UTC"))


def people(rng: Rng, plan: Plan, n_users: int) -> People:
    """Returns the users of the test, without those of the last arm that the plan loses."""
    users = People(
        unit=np.arange(1, n_users + 1),
        arm=rng.integers(0, len(plan.arms), n_users),
        eager=rng.gamma(EAGERNESS_SHAPE, 1 / EAGERNESS_SHAPE, n_users),
        ready=READIEST * rng.random(n_users),
        left=plan.days * np.sqrt(rng.random(n_users)),
        platform=_one_of(rng, list(PLATFORMS.values()), n_users),
        country=_one_of(rng, list(COUNTRIES.values()), n_users),
    )
    stays = (users.arm < len(plan.arms) - 1) | (rng.random(len(users)) >= plan.srm)
    return People(*(getattr(users, name)[stays] for name in users.__dataclass_fields__))


def _one_of(rng: Rng, shares: list[float], n: int) -> Ints:
    ends = np.cumsum(shares)
    return np.searchsorted(ends[:-1], rng.random(n), side="right")


def visits(rng: Rng, plan: Plan, users: People) -> tuple[SimulatedSessions, int, int]:
    """Returns all sessions, the number of users with a session in another arm, and the number of bots."""
    user, since, first = _visits(rng, plan, users)
    arm, crossed = _arms(rng, plan, users, user, int((since >= 0).sum()), first)
    in_last = np.flatnonzero(users.arm == len(plan.arms) - 1)
    bots = rng.permutation(in_last)[: round(plan.bots * len(in_last))]
    clicks, seconds = _clicks(rng, plan, users, user, since)
    is_bot = np.zeros(len(clicks), dtype=np.bool_)
    is_bot[first[bots]] = True
    clicks[is_bot] = rng.integers(*BOT_CLICKS, int(is_bot.sum()))
    click_s = rng.geometric(1 / np.repeat(seconds, clicks)).astype(np.int64)
    click_s[np.repeat(is_bot, clicks)] = 1
    earlier = since < 0
    days = plan.days - users.left[user] + since
    days[earlier] = -PAUSE_DAYS - rng.random(int(earlier.sum())) * (plan.before_days - PAUSE_DAYS)
    start = TEST_FROM + (days * DAY).astype(np.int64)
    sessions = SimulatedSessions(user, start, arm, ~earlier, clicks, click_s)
    return _in_time(sessions), crossed, len(bots)


def _visits(rng: Rng, plan: Plan, users: People) -> tuple[Ints, Floats, Ints]:
    """Returns the sessions of the test, ordered by user, followed by those before the test.

    They are given by the index of their user [S] and their days since exposure [S], below 0 before the test;
    also the index of each user's first session [U].
    """
    further = rng.poisson(plan.rate * users.eager * users.left * _by_user(plan, users, "visits"))
    user = np.repeat(np.arange(len(users)), further + 1)
    first = np.cumsum(further + 1) - further - 1
    since = rng.random(len(user)) * users.left[user]
    since[first] = 0.0
    earlier = np.repeat(np.arange(len(users)), rng.poisson(plan.rate * users.eager * plan.before_days))
    since = np.concatenate([since, np.full(len(earlier), -1.0)])
    return np.concatenate([user, earlier]), since, first


def _arms(rng: Rng, plan: Plan, users: People, user: Ints, n_test: int, first: Ints) -> tuple[Ints, int]:
    """Returns the arm of each session [S], and the number of users whose last session was moved to the next
    arm.
    """
    arm = users.arm[user]
    last = np.append(first[1:], n_test) - 1
    several = rng.permutation(np.flatnonzero(last > first))
    moved = several[: round(plan.crossover * len(users))]
    arm[last[moved]] = (users.arm[moved] + 1) % len(plan.arms)
    return arm, len(moved)


def _clicks(rng: Rng, plan: Plan, users: People, user: Ints, since: Floats) -> tuple[Ints, Floats]:
    """Returns the number of clicks of each session [S], and the mean seconds that one of them watches [S]."""
    in_test = since >= 0
    fresh = np.where(in_test, np.exp(-since / NOVELTY_DAYS), 0.0)
    lifted = _by_user(plan, users, "chance")[user] + _by_user(plan, users, "novel")[user] * fresh
    engaged = rng.random(len(user)) < users.ready[user] * np.where(in_test, lifted, 1.0)
    clicks = np.zeros(len(user), dtype=np.int64)
    clicks[engaged] = 1 + rng.binomial(MORE_CLICKS, CLICK_AGAIN, int(engaged.sum()))
    return clicks, CLICK_S * np.where(in_test, _by_user(plan, users, "seconds")[user], 1.0)


def _by_user(plan: Plan, users: People, part: str) -> Floats:
    """Returns [U] one field of the effect (``part``) for each user's arm and platform."""
    parts = [[getattr(plan.effect(arm, sign), part) for sign in (1, -1)] for arm in plan.arms]
    turned = users.platform == (list(PLATFORMS).index(plan.reverse) if plan.reverse else -1)
    return np.array(parts)[users.arm, turned.astype(np.int64)]


def _in_time(sessions: SimulatedSessions) -> SimulatedSessions:
    """Returns the sessions in time order."""
    order = np.argsort(sessions.start, kind="stable")
    ends = sessions.clicks.cumsum()
    clicks = sessions.clicks[order]
    # Each session's clicks move with it: old begin, minus new begin, plus their index.
    moved = np.repeat((ends - sessions.clicks)[order] - (clicks.cumsum() - clicks), clicks)
    names = ("user", "start", "arm", "in_test", "clicks")
    arrays: dict[str, Any] = {name: getattr(sessions, name)[order] for name in names}
    return replace(sessions, **arrays, click_s=sessions.click_s[moved + np.arange(len(moved))])
