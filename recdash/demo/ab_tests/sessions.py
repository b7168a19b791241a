"""The people of a simulated A/B test and their sessions, drawn as ``plan`` says."""

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
# The time before the test ends some hours early, so that no session runs on into it.
PAUSE_DAYS = 0.125
BOT_CLICKS = (350, 450)
Rng = np.random.Generator


@dataclass(frozen=True)
class People:
    """[U] who takes part: ``unit`` id, ``arm``, ``eager`` how often they come, ``ready`` their chance to
    engage, ``left`` days from the exposure to the end of the test, ``platform`` and ``country`` places in
    their names.
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
    """[S] sessions in the order of time: ``user`` a place in the people, ``start`` seconds since 1970,
    ``arm`` the one shown, ``in_test`` or before it, ``clicks``; ``click_s`` [clicks] seconds that each click
    watched.
    """

    user: Ints
    start: Ints
    arm: Ints
    in_test: Mask
    clicks: Ints
    click_s: Ints

    @property
    def of_click(self) -> Ints:
        """[clicks] the session of each."""
        return np.repeat(np.arange(len(self.user)), self.clicks)


@dataclass(frozen=True)
class _Slots:
    """[S] sessions before anything happens in them: ``since`` days since the exposure, below 0 before the
    test.
    """

    user: Ints
    since: Floats


def named(places: Ints, names: list[str]) -> pa.Array:
    """The names at those places, as a dictionary."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), pa.array(names))


def people(rng: Rng, plan: Plan, n_users: int) -> People:
    """Everybody who was meant to take part."""
    return People(
        unit=np.arange(1, n_users + 1),
        arm=rng.integers(0, len(plan.arms), n_users),
        eager=rng.gamma(EAGERNESS_SHAPE, 1 / EAGERNESS_SHAPE, n_users),
        ready=READIEST * rng.random(n_users),
        left=plan.days * np.sqrt(rng.random(n_users)),
        platform=_one_of(rng, list(PLATFORMS.values()), n_users),
        country=_one_of(rng, list(COUNTRIES.values()), n_users),
    )


def not_lost(rng: Rng, plan: Plan, everybody: People) -> People:
    """Without the share of the last arm that is lost."""
    stays = (everybody.arm < len(plan.arms) - 1) | (rng.random(len(everybody)) >= plan.srm)
    return People(*(getattr(everybody, name)[stays] for name in everybody.__dataclass_fields__))


def _one_of(rng: Rng, shares: list[float], n: int) -> Ints:
    ends = np.cumsum(shares)
    return np.searchsorted(ends[:-1], rng.random(n), side="right")


def visits(rng: Rng, plan: Plan, who: People) -> tuple[SimulatedSessions, int, int]:
    """All sessions; how many users have one in another arm, and how many are bots."""
    slots, first = _slots(rng, plan, who)
    arm, crossed = _shown(rng, plan, who, slots, first)
    bots = _bots(rng, plan, who)
    clicks, seconds = _clicks(rng, plan, who, slots)
    machine = np.zeros(len(clicks), dtype=np.bool_)
    machine[first[bots]] = True
    clicks[machine] = rng.integers(*BOT_CLICKS, int(machine.sum()))
    click_s = rng.geometric(1 / np.repeat(seconds, clicks)).astype(np.int64)
    click_s[np.repeat(machine, clicks)] = 1
    start = _starts(rng, plan, who, slots)
    drawn = SimulatedSessions(slots.user, start, arm, slots.since >= 0, clicks, click_s)
    return _in_time(drawn), crossed, len(bots)


def _slots(rng: Rng, plan: Plan, who: People) -> tuple[_Slots, Ints]:
    """The sessions of the test user by user, then those before it; [U] the place of each user's first."""
    further = rng.poisson(plan.rate * who.eager * who.left * _by_user(plan, who, "visits"))
    user = np.repeat(np.arange(len(who)), further + 1)
    first = np.cumsum(further + 1) - further - 1
    since = rng.random(len(user)) * who.left[user]
    since[first] = 0.0
    earlier = np.repeat(np.arange(len(who)), rng.poisson(plan.rate * who.eager * plan.before_days))
    return _Slots(
        np.concatenate([user, earlier]), np.concatenate([since, np.full(len(earlier), -1.0)])
    ), first


def _shown(rng: Rng, plan: Plan, who: People, slots: _Slots, first: Ints) -> tuple[Ints, int]:
    """[S] the arm of each session: for a few users with several sessions, the last one is in the next arm."""
    arm = who.arm[slots.user]
    n_test = int((slots.since >= 0).sum())
    last = np.append(first[1:], n_test) - 1
    several = rng.permutation(np.flatnonzero(last > first))
    moved = several[: round(plan.crossover * len(who))]
    arm[last[moved]] = (who.arm[moved] + 1) % len(plan.arms)
    return arm, len(moved)


def _bots(rng: Rng, plan: Plan, who: People) -> Ints:
    """Places of the users who are machines."""
    last = np.flatnonzero(who.arm == len(plan.arms) - 1)
    return rng.permutation(last)[: round(plan.bots * len(last))]


def _clicks(rng: Rng, plan: Plan, who: People, slots: _Slots) -> tuple[Ints, Floats]:
    """[S] clicks of each session, and the mean seconds of one of them."""
    user, in_test = slots.user, slots.since >= 0
    fresh = np.where(in_test, np.exp(-slots.since / NOVELTY_DAYS), 0.0)
    lifted = _by_user(plan, who, "chance")[user] + _by_user(plan, who, "novel")[user] * fresh
    engaged = rng.random(len(user)) < who.ready[user] * np.where(in_test, lifted, 1.0)
    clicks = np.zeros(len(user), dtype=np.int64)
    clicks[engaged] = 1 + rng.binomial(MORE_CLICKS, CLICK_AGAIN, int(engaged.sum()))
    return clicks, CLICK_S * np.where(in_test, _by_user(plan, who, "seconds")[user], 1.0)


def _by_user(plan: Plan, who: People, part: str) -> Floats:
    """[U] that part of the effect which the user's arm and platform have."""
    parts = [[getattr(plan.effect(arm, sign), part) for sign in (1, -1)] for arm in plan.arms]
    turned = who.platform == (list(PLATFORMS).index(plan.reverse) if plan.reverse else -1)
    return np.array(parts)[who.arm, turned.astype(np.int64)]


def _starts(rng: Rng, plan: Plan, who: People, slots: _Slots) -> Ints:
    """[S] whole seconds since 1970."""
    days = plan.days - who.left[slots.user] + slots.since
    earlier = slots.since < 0
    days[earlier] = -PAUSE_DAYS - rng.random(int(earlier.sum())) * (plan.before_days - PAUSE_DAYS)
    return TEST_FROM + (days * DAY).astype(np.int64)


def _in_time(drawn: SimulatedSessions) -> SimulatedSessions:
    order = np.argsort(drawn.start, kind="stable")
    ends = drawn.clicks.cumsum()
    clicks = drawn.clicks[order]
    # Each session's clicks move with it: where they began, less where they begin now, plus where they are.
    moved = np.repeat((ends - drawn.clicks)[order] - (clicks.cumsum() - clicks), clicks)
    arrays: dict[str, Any] = {
        name: getattr(drawn, name)[order] for name in ("user", "start", "arm", "in_test", "clicks")
    }
    return replace(drawn, **arrays, click_s=drawn.click_s[moved + np.arange(len(moved))])
