"""The plan of a simulated A/B test, and its true effects.

How a session is generated:

- Users arrive after a share 1 − √u of the test's days, with u uniform on 0..1, and are exposed in their first
  session; on average two thirds of the test remain. They return as a Poisson process with a rate of their
  own: gamma with mean 1 and shape .7, so that few users have most of the sessions. Control users have
  3.4 sessions on average.
- A session is engaged with a probability of the user's own, uniform on 0 … .8 and independent of how often
  the user comes. The engagement rate, Σ engaged / Σ sessions, thus tends to .4. Sessions of one user are
  similar, so that an analysis that treats them as independent finds effects that do not exist.
- An engaged session has 1 + Binomial(4, .2) clicks. Each click watches a geometric number of seconds with
  mean 500. It counts as a video above 120 seconds, with probability (1 − 1/500)¹²⁰.

Why the effects are exact: a variant multiplies the rate of further visits (by the factor that gives the
wanted lift of *all* sessions), every user's probability to engage, and the mean seconds of a click. Engaging
is independent of coming, and watching is independent of both. The lift of the engagement rate is therefore
that of the probability, and the lift of session watch time is that of probability times seconds. Novelty adds
to the probability a lift that decays as exp(−days since exposure / 3); its mean over sessions is an integral
with a closed form. If one platform has its lifts reversed, each metric is the ratio of sums over both kinds
of users.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from recdash.errors import InputError, Problem, UnknownName

SESSIONS, EAGERNESS_SHAPE = 3.4, 0.7
READIEST = 0.8
MORE_CLICKS, CLICK_AGAIN = 4, 0.2
CLICK_S, VIDEO_S = 500.0, 120
NOVELTY_DAYS = 3.0
PLATFORMS: Mapping[str, float] = MappingProxyType({"phone": 0.5, "tv": 0.2, "web": 0.3})
COUNTRIES: Mapping[str, float] = MappingProxyType({"DE": 0.4, "FR": 0.3, "PL": 0.2, "US": 0.1})
ENGAGEMENT, WATCH, VISITS = LIFTED = ("engagement_rate", "session_watch_time", "sessions_per_user")
Lifts = Mapping[str, float]
ARMS: Mapping[str, Lifts] = MappingProxyType({"control": {}, "new": {ENGAGEMENT: 0.03, WATCH: 0.0505}})


@dataclass(frozen=True)
class Plan:
    """The plan of a test; its faults are in the last arm.

    ``arms``: {name: lifts}, control first; lifts are shares, by the names in LIFTED. Without a lift of watch
    time, a click watches as long as in control. ``before_days``: days of visits before the test. ``novelty``:
    additional lift of the engagement rate on the day of exposure. ``srm``: share of the last arm's users that
    is lost. ``crossover``: share of all users who have one session in the next arm. ``bots``: share of the
    last arm's users who click hundreds of times in a session. ``reverse``: a platform on which all lifts have
    the opposite sign. Raises InputError for an impossible plan.
    """

    arms: Mapping[str, Lifts] = field(default_factory=lambda: ARMS)
    days: int = 14
    before_days: int = 0
    novelty: float = 0.0
    srm: float = 0.0
    crossover: float = 0.0
    bots: float = 0.0
    reverse: str | None = None

    def __post_init__(self) -> None:
        for metric in (metric for lifts in self.arms.values() for metric in lifts):
            if metric not in LIFTED:
                raise UnknownName("metric", metric, LIFTED)
        if self.reverse is not None and self.reverse not in PLATFORMS:
            raise UnknownName("platform", self.reverse, list(PLATFORMS))
        problems = list(_impossible(self))
        if problems:
            raise InputError(problems)

    @property
    def rate(self) -> float:
        """Returns the mean number of further sessions of a control user per day."""
        return (SESSIONS - 1) / (self.days * 2 / 3)

    def effect(self, arm: str, sign: int) -> Effect:
        """Returns the factors of an arm for users whose lifts have this sign, 1 or −1."""
        lifts = {metric: sign * lift for metric, lift in self.arms[arm].items()}
        chance = 1 + lifts.get(ENGAGEMENT, 0.0)
        watch = 1 + lifts[WATCH] if WATCH in lifts else chance
        return Effect(
            visits=((1 + lifts.get(VISITS, 0.0)) * SESSIONS - 1) / (SESSIONS - 1),
            chance=chance,
            seconds=watch / chance if chance else math.inf,
            novel=0.0 if arm == next(iter(self.arms)) else self.novelty,
        )


class Effect(NamedTuple):
    """Factors of a variant: of further visits, of the probability to engage (``chance``), and of a click's
    seconds. ``novel`` is added to the factor ``chance`` at exposure.
    """

    visits: float
    chance: float
    seconds: float
    novel: float


@dataclass(frozen=True)
class Known:
    """The truth about a simulated test.

    ``values`` and ``lifts`` (shares) are expected values as {variant: {metric: number}}, without bots.
    ``lost``, ``crossed`` and ``bots`` count the users with a deliberate fault.
    """

    values: Mapping[str, Mapping[str, float]]
    lifts: Mapping[str, Mapping[str, float]]
    lost: int
    crossed: int
    bots: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def truth(plan: Plan) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Returns the expected values and lifts, each as {variant: {metric: number}}."""
    values = {arm: _values(plan, arm) for arm in plan.arms}
    control, *others = plan.arms
    lifts = {
        arm: {metric: value / values[control][metric] - 1 for metric, value in values[arm].items()}
        for arm in others
    }
    return values, lifts


def _values(plan: Plan, arm: str) -> dict[str, float]:
    turned = PLATFORMS[plan.reverse] if plan.reverse else 0.0
    usual, reversed_ = (_per_user(plan, plan.effect(arm, sign)) for sign in (1, -1))
    sessions, engaged, seconds, videos = (
        (1 - turned) * first + turned * second for first, second in zip(usual, reversed_, strict=True)
    )
    return {
        ENGAGEMENT: engaged / sessions,
        "videos_per_user": videos,
        WATCH: seconds / 60 / sessions,
        VISITS: sessions,
    }


def _per_user(plan: Plan, effect: Effect) -> tuple[float, float, float, float]:
    """Returns the expected numbers of a user's sessions, engaged sessions, seconds watched, and videos."""
    further = (SESSIONS - 1) * effect.visits
    novel = 1 + plan.rate * effect.visits * NOVELTY_DAYS * _decayed(plan.days)
    engaged = READIEST / 2 * ((1 + further) * effect.chance + novel * effect.novel)
    clicks = engaged * (1 + MORE_CLICKS * CLICK_AGAIN)
    mean = CLICK_S * effect.seconds
    return 1 + further, engaged, clicks * mean, clicks * (1 - 1 / mean) ** VIDEO_S


def _decayed(days: float) -> float:
    """Returns the mean of 1 − exp(−left/τ) over users with left = days · √u, which is ∫ 2x (1 − exp(−cx)) dx
    with c = days/τ.
    """
    c = days / NOVELTY_DAYS
    return 1 - 2 * (1 - math.exp(-c) * (1 + c)) / c**2


def _impossible(plan: Plan) -> Iterator[Problem]:
    shares = {"srm": plan.srm, "crossover": plan.crossover, "bots": plan.bots}
    for name, share in shares.items():
        if not 0 <= share < 1:
            yield Problem("bad-share", name, f"{share:g} is not a share", "Give a number from 0 to below 1.")
    if plan.days < 1 or plan.before_days < 0:
        yield Problem(
            "bad-days",
            "days",
            "A test needs at least one day, and no negative number of days before it",
            "Give more days.",
        )
    for arm in plan.arms:
        effects = [plan.effect(arm, sign) for sign in ((1, -1) if plan.reverse else (1,))]
        chances = [chance for effect in effects for chance in (effect.chance, effect.chance + effect.novel)]
        # NaN fails every comparison
        possible = all(chance > 0 and chance * READIEST <= 1 for chance in chances)
        if not possible or not all(
            effect.visits >= 0 and effect.seconds * CLICK_S >= 1 for effect in effects
        ):
            fix = (
                "Some users engage in 80 % of all sessions, so that the largest possible lift is .25, "
                "including novelty."
            )
            yield Problem("impossible-lift", f"arm '{arm}'", "It has impossible lifts", fix)
