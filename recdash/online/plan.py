"""The analysis plan of an A/B test, made before its data: primary metric, guardrails, sample size and
duration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recdash.errors import InputError, Problem
from recdash.formatting import numbers
from recdash.formatting.result_table import frame
from recdash.formatting.wording import listed, many

if TYPE_CHECKING:
    import pandas as pd

POWER, ALPHA = 0.8, 0.05
WEEK = 7
MOST_DAYS, MOST_LOOKS, MOST_USERS = 3650, 1000, 10**10
TITLES: Mapping[str, str] = {
    "primary": "Primary metric",
    "guardrails": "Guardrails",
    "effect": "Minimum detectable effect",
    "power": "Power",
    "users": "Users",
    "days": "Duration",
    "split": "Split",
    "looks": "Looks",
    "covariates": "Covariates",
    "test": "A/B test",
}
"""The fields of a plan with their names on pages, in the order in which they are shown."""


@dataclass(frozen=True)
class AnalysisPlan:
    """What is decided before an A/B test has data.

    ``primary`` is the metric that decides. ``guardrails`` are {metric: margin}, the loss as a share that must
    be ruled out. ``effect`` is the smallest lift to detect (0.02 = 2 %), found with ``power`` (two-sided,
    5 %) by ``users`` users of control and variant together. ``days`` is the duration, ``looks`` how often
    results are looked at, the one at the end included. ``split`` are shares per variant, empty for an even
    split. ``covariates`` are the values before the test by which lifts are adjusted (CUPED). ``test`` is the
    name of the A/B test, or the beginning of the names of its uploads; empty for the next test of the
    experiment. None: not planned.
    """

    primary: str
    guardrails: Mapping[str, float] = field(default_factory=dict)
    effect: float | None = None
    power: float = POWER
    users: int | None = None
    days: int | None = None
    split: Mapping[str, float] = field(default_factory=dict)
    looks: int = 1
    covariates: tuple[str, ...] = ()
    test: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Returns the plan as JSON-ready values."""
        return {**asdict(self), "covariates": list(self.covariates)}

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> AnalysisPlan:
        """Returns the plan of JSON values; those of a later release are ignored."""
        known = {name.name for name in fields(cls)}
        values = {name: value for name, value in facts.items() if name in known}
        return cls(**{**values, "covariates": tuple(values.get("covariates", ()))})

    def check(self) -> None:
        """Raises InputError, with all problems, if values are impossible."""
        problems = list(_problems(self))
        if problems:
            raise InputError(problems)

    def text(self, name: str) -> str:
        """Returns the value of a field in words; – if it is not planned."""
        value = getattr(self, name)
        return numbers.NONE if value is None else _WORDS.get(name, str)(value)

    def rows(self) -> list[tuple[str, str]]:
        """Returns (title, value in words) of each field."""
        return [(title, self.text(name)) for name, title in TITLES.items()]

    @property
    def summary(self) -> str:
        """Returns which test is planned, its primary metric, and users and days where they are planned."""
        test = f"The A/B test {self.test}" if self.test else "The next A/B test"
        users = [] if self.users is None else [numbers.users(self.users)]
        days = [] if self.days is None else [many(self.days, "day")]
        return f"{test} is planned: {', '.join([f'primary metric {self.primary}', *users, *days])}"

    @property
    def weekday_note(self) -> str:
        """Returns that the duration is not in full weeks, as is advised; empty if it is or is not planned."""
        if self.days is None or self.days % WEEK == 0:
            return ""
        duration = f"A duration of {many(self.days, 'day')} is not a whole number of weeks"
        return f"{duration}: some weekdays count more often than others."

    def changes(self, later: AnalysisPlan) -> list[tuple[str, str, str]]:
        """Returns (field, value here, value later) of the fields that differ, in words."""
        differing = [name for name in TITLES if getattr(self, name) != getattr(later, name)]
        return [(name, self.text(name), later.text(name)) for name in differing]


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _margins(guardrails: Mapping[str, float]) -> str:
    return listed([f"{metric} ({_percent(margin)})" for metric, margin in guardrails.items()]) or "none"


def _split(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{variant} {share:g}" for variant, share in shares.items()) or "even"


_WORDS: Mapping[str, Callable[[Any], str]] = {
    "guardrails": _margins,
    "effect": lambda share: f"±{_percent(share)}",
    "power": _percent,
    "users": lambda n: f"{numbers.users(n)}, control and variant together",
    "days": lambda n: many(n, "day"),
    "split": _split,
    "covariates": lambda names: listed(list(names)) or "none",
    "test": lambda name: name or "the next one",
}
"""Field → how its value is written."""


def _problems(plan: AnalysisPlan) -> Iterator[Problem]:
    if not plan.primary.strip():
        yield Problem("no-primary", "plan", "it names no primary metric", "Name the metric that decides.")
    for metric, margin in plan.guardrails.items():
        if not 0 < margin < 1:
            place, fix = f"guardrail '{metric}'", "A margin is a share between 0 and 1: 0.02 is 2 %."
            yield Problem("bad-margin", place, f"the margin is {margin:g}", fix)
        if metric == plan.primary:
            fix = "Remove it from one of the two."
            yield Problem("two-roles", f"guardrail '{metric}'", "it is the primary metric, too", fix)
    if plan.effect is not None and not 0 < plan.effect <= 10:
        fix = "Give the smallest lift to detect: 0.02 is 2 %."
        yield Problem("bad-effect", "effect", f"it is {plan.effect:g}", fix)
    if not 0.5 <= plan.power < 1:
        yield Problem(
            "bad-power", "power", f"it is {plan.power:g}", "Give a share from 0.5 to below 1: 0.8 is 80 %."
        )
    ends = {"users": MOST_USERS, "days": MOST_DAYS, "looks": MOST_LOOKS}
    for name, most in ends.items():
        value = getattr(plan, name)
        if value is not None and not 1 <= value <= most:
            yield Problem("bad-number", name, f"it is {value:g}", f"Give a whole number from 1 to {most:,}.")
    if plan.split and (len(plan.split) < 2 or not all(0 < share < math.inf for share in plan.split.values())):
        fix = "Give a share above 0 for each of at least two variants: control=2, new=1."
        yield Problem("bad-split", "split", plan.text("split"), fix)


# ── sample size ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Baseline:
    """What is known of the primary metric before the test: its ``mean`` and the ``std_dev`` of one user.

    ``is_rate`` says that each user is 0 or 1, so that the mean determines the standard deviation.
    ``users_per_day`` is the number of users who enter the test on a day, over all variants; None if unknown.
    """

    mean: float
    std_dev: float
    is_rate: bool = False
    users_per_day: float | None = None

    @classmethod
    def of_rate(cls, rate: float, users_per_day: float | None = None) -> Baseline:
        """Returns the baseline of a share of users, between 0 and 1."""
        return cls(rate, math.sqrt(max(rate * (1 - rate), 0.0)), is_rate=True, users_per_day=users_per_day)

    def check(self) -> None:
        """Raises InputError, with all problems, if no sample size follows from it."""
        problems = []
        if not 0 < self.mean < math.inf or (self.is_rate and self.mean >= 1):
            fix = "Give a share between 0 and 1." if self.is_rate else "A lift is relative to a mean above 0."
            problems.append(Problem("bad-baseline", "baseline", f"its value is {self.mean:g}", fix))
        elif not 0 < self.std_dev < math.inf:
            fix = "Give the standard deviation over users, above 0."
            problems.append(Problem("bad-baseline", "baseline", f"its deviation is {self.std_dev:g}", fix))
        if self.users_per_day is not None and not 0 < self.users_per_day < math.inf:
            fix = "Give the number of users who enter the test on a day."
            problems.append(Problem("bad-traffic", "users per day", f"it is {self.users_per_day:g}", fix))
        if problems:
            raise InputError(problems)


def users_needed(baseline: Baseline, effect: float, power: float = POWER, ratio: float = 1.0) -> int:
    """Returns how many users, of control and variant together, find a lift of ``effect`` with this power.

    Two-sided at 5 %, by the normal distribution: n_c = (z₁₋α/2 + z_power)² · (σ_c² + σ_v² / ratio) / (effect
    · mean)², where ``ratio`` is the number of the variant's users per user of the control. A rate has the
    variance of its own value in each variant; of a mean both have that of the baseline. Raises InputError for
    an impossible baseline, and for a rate that the lift takes to 1 or more.
    """
    from scipy.special import ndtri

    baseline.check()
    other = baseline.mean * (1 + effect)
    if baseline.is_rate and not 0 < other < 1:
        fix = "Give a smaller lift."
        raise InputError(
            Problem("bad-effect", "effect", f"a rate of {baseline.mean:g} becomes {other:g}", fix)
        )
    variances = [baseline.std_dev**2, other * (1 - other) if baseline.is_rate else baseline.std_dev**2]
    z = float(ndtri(1 - ALPHA / 2) + ndtri(power))
    control = z**2 * (variances[0] + variances[1] / ratio) / (effect * baseline.mean) ** 2
    return math.ceil(control) + math.ceil(ratio * control)


def days_needed(users: int, users_per_day: float, shares: Sequence[float] = (1.0, 1.0)) -> int:
    """Returns the days until control and the smallest variant have ``users`` together, in full weeks.

    ``shares`` are those of the variants, control first. ``users_per_day`` enter the test over all of them.
    """
    pair = (shares[0] + min(shares[1:])) / sum(shares)
    return WEEK * math.ceil(users / (users_per_day * pair) / WEEK)


def ratio_of(shares: Sequence[float]) -> float:
    """Returns the users of the smallest variant per user of the control; ``shares`` have the control
    first.
    """
    return min(shares[1:]) / shares[0]


def with_sample_size(plan: AnalysisPlan, baseline: Baseline) -> AnalysisPlan:
    """Returns the plan with users and days computed from its effect, where they are not given.

    Days need the users per day. The first variant of the split counts as the control. Raises InputError
    without an effect, and as ``users_needed``.
    """
    if plan.effect is None:
        fix = "Give the smallest lift to detect, such as 2%."
        raise InputError(Problem("no-effect", "effect", "a sample size needs one", fix))
    plan.check()
    baseline.check()
    shares = list(plan.split.values()) or [1.0, 1.0]
    users = plan.users or users_needed(baseline, plan.effect, plan.power, ratio_of(shares))
    days = plan.days
    if days is None and baseline.users_per_day is not None:
        days = days_needed(users, baseline.users_per_day, shares)
    return replace(plan, users=users, days=days)


# ── versions ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PlanVersion:
    """A plan as a person stored it: ``reason`` says why it differs from the version before."""

    id: str
    plan: AnalysisPlan
    created: datetime
    author: str
    reason: str = ""


@dataclass(frozen=True)
class PlanHistory:
    """A plan with its changes: all versions, the oldest first. The id of the first is that of the plan."""

    versions: tuple[PlanVersion, ...]

    @property
    def id(self) -> str:
        return self.versions[0].id

    @property
    def first(self) -> PlanVersion:
        return self.versions[0]

    @property
    def current(self) -> PlanVersion:
        return self.versions[-1]

    def table(self) -> pd.DataFrame:
        """Returns a frame with a row per version: time, author and reason, and the fields of the plan."""
        rows = [
            {
                "created": version.created,
                "author": version.author,
                "reason": version.reason,
                **version.plan.as_dict(),
            }
            for version in self.versions
        ]
        return frame(rows, tuple(rows[0]))

    def until(self, moment: datetime) -> PlanHistory | None:
        """Returns the plan as it was at that moment; None if it was made later."""
        known = tuple(version for version in self.versions if version.created <= moment)
        return PlanHistory(known) if known else None
