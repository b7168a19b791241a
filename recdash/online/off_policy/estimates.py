"""Estimates what a new policy, the target, would have earned, from a log with propensities.

Each row has a weight: the target's probability of showing its item, divided by the propensity, the logging
policy's probability. If the log names users, standard errors are cluster-robust, because the rows of one user
are not independent. Otherwise rows are treated as independent.

Letters in shapes: ``n`` rows of the log, ``b`` bins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.wording import capital
from recdash.online.off_policy import reward_model
from recdash.online.off_policy.target import ROUNDING, LoggedRows, Target
from recdash.stats import NORMAL_95

LEAST_USERS = 50
"""Smallest number of effective users; with fewer, standard errors clustered by user are too small."""
LEAST_ESS, MOST_ERRORS, LEAST_PROPENSITY = 200, 3.0, 1e-4
LEAST_CLICKS = 20
LEAST_WRITTEN = 1e-6
BINS_PER_TENFOLD = 4
ALIKE = 1e-12
"""A standard error below this share of the value is a rounding error, and would give an interval of no
width.
"""

Verdict = Literal["usable", "refused"]
Outcome = Literal["better", "worse", "not settled"]


class Estimated(NamedTuple):
    """A mean reward per slot with its standard error and 95 % interval; None if unavailable."""

    value: float | None
    std_error: float | None = None
    low: float | None = None
    high: float | None = None


class Failed(NamedTuple):
    """The conditions for a verdict; True for each one that fails."""

    ess: bool
    clicks: bool
    mean_weight: bool
    least_propensity: bool
    users: bool


FACTS = (
    "clip", "mean_weight", "mean_weight_std_error", "max_weight", "ess", "least_propensity", "clicks",
    "clicks_that_count", "n", "n_users", "effective_users",
)  # fmt: skip
"""The fields that ``OffPolicy.as_dict`` copies unchanged."""


@dataclass(frozen=True)
class Weights:
    """The distribution of the weights, and how much a few rows dominate the estimate.

    ``counts`` [b] are rows per bin of weights, ``edges`` [b + 1] the ends of the bins, which have equal width
    on a logarithmic scale; ``zero`` rows have the weight 0. ``carried`` maps 1, 10 and 100 to the share of Σ
    w · reward that so many rows with the largest contributions have; empty if the sum is 0.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    zero: int
    carried: dict[int, float]


@dataclass(frozen=True)
class OffPolicy:
    """Estimates of the mean reward per slot under ``target``, and whether they may be used.

    ``observed`` is what the logging policy earned; ``gain`` is the paired difference of ``dr``, the doubly
    robust estimate, from it. ``clip`` is the cap of the weights in ``clipped``. ``mean_weight`` should be 1;
    ``ess`` is the effective number of rows, (Σ w)² / Σ w². ``n_users`` is None if the log has no users;
    ``effective_users`` is (Σ W)² / Σ W², where W is a user's Σ w. ``clicks`` is the number of rows with a
    reward above 0; ``clicks_that_count`` is the number of rows with a reward other than 0 and a weight above
    0, which the target might have shown. ``of_clicks``: every reward is 0 or 1.
    """

    target: str
    n: int
    clicks: int
    clicks_that_count: int
    observed: Estimated
    ips: Estimated
    snips: Estimated
    clipped: Estimated
    dr: Estimated
    gain: Estimated
    clip: float
    mean_weight: float
    mean_weight_std_error: float | None
    max_weight: float
    ess: float
    least_propensity: float
    weights: Weights
    of_clicks: bool
    notices: tuple[Problem, ...]
    n_users: int | None = None
    effective_users: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Returns *refused* if a condition for a verdict fails, else *usable*."""
        return "refused" if any(self.failed) else "usable"

    @property
    def failed(self) -> Failed:
        """Returns for each condition for a verdict whether it fails."""
        tolerance = max(MOST_ERRORS * (self.mean_weight_std_error or 0.0), ROUNDING)
        return Failed(
            ess=self.ess < LEAST_ESS,
            clicks=self.clicks_that_count < LEAST_CLICKS,
            mean_weight=abs(self.mean_weight - 1) > tolerance,
            least_propensity=self.least_propensity < LEAST_PROPENSITY,
            users=self.effective_users is not None and self.effective_users < LEAST_USERS,
        )

    @property
    def reasons(self) -> list[str]:
        """Returns why there is no verdict, as texts; empty if there is one."""
        clicks = "a click" if self.of_clicks else "a reward"
        mean, error = numbers.three(self.mean_weight), numbers.three(self.mean_weight_std_error or 0.0)
        users = f"{numbers.users(self.n_users or 0)} {'is' if self.n_users == 1 else 'are'}"
        reasons = (
            (
                f"{self.n:,} rows are worth only {self.ess:,.0f} after weighting; below {LEAST_ESS}, "
                "a few rows decide"
            ),
            (
                f"the target would have shown {self.clicks_that_count or 'none'} of the rows with "
                f"{clicks}; below {LEAST_CLICKS}, an interval is meaningless"
            ),
            (
                f"the weights average {mean} instead of 1 (standard error {error}): the propensities "
                "are not this log's, or it never shows what the target would"
            ),
            (
                f"an item was shown with a probability of {chance(self.least_propensity)}, below "
                f"{chance(LEAST_PROPENSITY)}, so one row can outweigh all others"
            ),
            (
                f"{users} worth only {self.effective_users or 0.0:,.0f} after weighting; below "
                f"{LEAST_USERS}, their rows do not represent other users"
            ),
        )
        return [reason for reason, fails in zip(reasons, self.failed, strict=True) if fails]

    @property
    def errors_by(self) -> str:
        """Returns text that says what the standard errors treat as independent, rows or users."""
        if self.n_users is None:
            return "rows: the log has no user column, and rows of one user are treated as independent"
        of_users = f"{self.n:,} rows of {numbers.users(self.n_users)}"
        return f"users: rows of one user are not independent ({of_users})"

    @property
    def against_log(self) -> Outcome:
        """Returns whether the target would earn more (better) or less (worse) than the logging policy did."""
        low, high = self.gain.low, self.gain.high
        if low is None or high is None or low <= 0 <= high:
            return "not settled"
        return "better" if low > 0 else "worse"

    @property
    def sentence(self) -> str:
        """Returns the verdict as text."""
        if self.reasons:
            return f"No verdict on {self.target}: {'; '.join(self.reasons)}."
        outcome = self.against_log
        verb = (
            "is not significantly different from" if outcome == "not settled" else f"would do {outcome} than"
        )
        values = (self.dr.value, self.dr.low, self.dr.high, self.observed.value)
        value, low, high, observed = (numbers.fixed(number, numbers.places(values)) for number in values)
        interval = "no interval, since all rows have the same reward"
        if self.dr.low is not None:
            interval = f"95 % CI {low} to {high}"
        return (
            f"{capital(self.target)} {verb} the logging policy: {value} expected "
            f"per slot (doubly robust, {interval}), {observed} observed."
        )

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values; ``intervals`` and ``std_errors`` are keyed by estimate."""
        names = ("observed", "ips", "snips", "clipped", "dr", "gain")
        estimates: dict[str, Estimated] = {name: getattr(self, name) for name in names}
        return {
            **{name: estimate.value for name, estimate in estimates.items()},
            **{name: getattr(self, name) for name in FACTS},
            "errors_by": "rows" if self.n_users is None else "users",
            "target": self.target,
            "std_errors": {name: estimate.std_error for name, estimate in estimates.items()},
            "intervals": {name: [estimate.low, estimate.high] for name, estimate in estimates.items()},
            "verdict": self.verdict,
            "reasons": self.reasons,
            "sentence": self.sentence,
            "notices": [str(notice) for notice in self.notices],
        }


def chance(propensity: float) -> str:
    """Returns a probability as text with at most three significant digits: ``0.000165``, ``0.0001``."""
    return f"{propensity:.1g}" if propensity < LEAST_WRITTEN else numbers.three(propensity).rstrip("0")


def off_policy(log: LoggedRows, target: Target, clip: float | None = None) -> OffPolicy:
    """Returns the estimates of what ``target`` would have earned, from ``log``.

    ``clip`` is the largest weight in the clipped estimate, by default √n (Ionides 2008), for which the bias
    vanishes as the log grows.
    """
    weight, reward = target.probability / log.propensity, log.reward
    cap = math.sqrt(len(log)) if clip is None else clip
    of_shown, of_target = reward_model.expected(log, target)
    robust = of_target + weight * (reward - of_shown)
    floor = 0.0 if (reward >= 0).all() else -math.inf
    mean = partial(_mean, user=log.user)
    return OffPolicy(
        target=target.name,
        n=len(log),
        clicks=int((reward > 0).sum()),
        clicks_that_count=int(((reward != 0) & (weight > 0)).sum()),
        observed=mean(reward, floor),
        ips=mean(weight * reward, floor),
        snips=_normalised(weight, reward, floor, log.user),
        clipped=mean(np.minimum(weight, cap) * reward, floor),
        dr=mean(robust, floor),
        gain=mean(robust - reward),
        clip=cap,
        mean_weight=float(weight.mean()),
        mean_weight_std_error=mean(weight).std_error,
        max_weight=float(weight.max()),
        ess=_effective(weight),
        least_propensity=float(log.propensity.min()),
        weights=_spread(weight, weight * reward),
        of_clicks=bool(((reward == 0) | (reward == 1)).all()),
        notices=tuple(_notices(log, target)),
        n_users=None if log.user is None else int(log.user.max()) + 1,
        effective_users=None if log.user is None else _effective(_by_user(weight, log.user)),
    )


# ── estimates ────────────────────────────────────────────────────────────────────────────────


def _mean(values: Floats, floor: float = -math.inf, user: Ints | None = None) -> Estimated:
    """Returns the mean with its interval, whose low end is at least ``floor`` if the mean is."""
    value = float(values.mean())
    return _with_interval(value, _robust_error(values - value, user, len(values)), floor, user)


def _normalised(weight: Floats, reward: Floats, floor: float, user: Ints | None) -> Estimated:
    """Returns Σ w r / Σ w, the weighted mean reward, with a standard error by the delta method.

    The value is None if all weights are 0.
    """
    total = float(weight.sum())
    if not total:
        return Estimated(None)
    value = float(weight @ reward) / total
    return _with_interval(value, _robust_error(weight * (reward - value), user, total), floor, user)


def _robust_error(scores: Floats, user: Ints | None, total: float) -> float | None:
    """Returns the standard error √(G / (G − 1) · Σ (Σ score)²) / ``total`` over G users.

    ``scores`` [n] are each row's contribution to an estimate, minus its expectation; the inner sum is over
    the rows of one user. If ``user`` is None, each row counts as a user. Returns None for a single user.
    """
    by_user = scores if user is None else _by_user(scores, user)
    n = len(by_user)
    return math.sqrt(float(by_user @ by_user) * n / (n - 1)) / total if n > 1 else None


def _by_user(values: Floats, user: Ints) -> Floats:
    """Returns [users] the sum of the values over each user's rows."""
    return np.bincount(user, values).astype(np.float64)


def _with_interval(value: float, error: float | None, floor: float, user: Ints | None) -> Estimated:
    """Returns the value with its interval, from the normal distribution or, with users, from t.

    t allows for few users. There is no interval without an error, or if all rows are equal.
    """
    from scipy.special import stdtrit

    if error is None:
        return Estimated(value)
    if error <= ALIKE * max(1.0, abs(value)):
        return Estimated(value, error)
    half = error * (NORMAL_95 if user is None else float(stdtrit(int(user.max()), 0.975)))
    low = value - half
    return Estimated(value, error, max(low, floor) if value >= floor else low, value + half)


def _effective(weight: Floats) -> float:
    """Returns the effective number (Σ w)² / Σ w²; 0 if all weights are 0."""
    squares = float(weight @ weight)
    return float(weight.sum()) ** 2 / squares if squares else 0.0


def _spread(weight: Floats, parts: Floats) -> Weights:
    largest, total = -np.sort(-np.abs(parts)), float(np.abs(parts).sum())
    carried = {count: float(largest[:count].sum()) / total for count in (1, 10, 100)} if total else {}
    positive = weight[weight > 0]
    if not len(positive):
        return Weights((), (), len(weight), carried)
    powers = np.log10(positive) * BINS_PER_TENFOLD
    first, last = math.floor(powers.min() + 1e-9), math.floor(powers.max() + 1e-9)
    place = np.clip(np.floor(powers + 1e-9).astype(np.int64) - first, 0, last - first)
    counts = np.bincount(place, minlength=last - first + 1).tolist()
    edges = (10.0 ** (np.arange(first, last + 2) / BINS_PER_TENFOLD)).tolist()
    return Weights(tuple(edges), tuple(counts), len(weight) - len(positive), carried)


# ── notices ──────────────────────────────────────────────────────────────────────────────────


def _notices(log: LoggedRows, target: Target) -> list[Problem]:
    notices = []
    if target.unseen > 0:
        message = f"{100 * target.unseen:.3g} % of what the target shows is never in the log"
        notices.append(Problem("never-shown", "target", message, "These items have no data."))
    if log.user is None:
        message = "no column names the user: each row counts as a separate user"
        if log.n_positions > 1:
            slots = f"{log.n_positions} positions: each row counts as a separate slot"
            message = f"{slots}, and no column names the user"
        fix = (
            "If rows of one user, or slots shown together, depend on each other, the intervals are "
            "too narrow: "
        )
        notices.append(Problem("slots-independent", "columns", message, f"{fix}add a column user_id."))
    if log.without_user:
        message = f"{numbers.share(log.without_user, len(log))} of the rows name no user"
        fix = "Each counts as a separate user: if it is not one, the intervals are too narrow."
        notices.append(Problem("rows-without-user", "the column of users", message, fix, log.without_user))
    return notices
