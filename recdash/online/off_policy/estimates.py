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
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.display import Display
from recdash.formatting.wording import capital
from recdash.online.off_policy import reward_model
from recdash.online.off_policy.display import TITLES, Ends, display_of, plot_estimates
from recdash.online.off_policy.target import ROUNDING, LoggedRows, Target, weights
from recdash.stats import NORMAL_95
from recdash.stats.clustered import clustered_error
from recdash.stats.skewed import with_skewness

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

LEAST_USERS = 50
"""Smallest number of effective users; with fewer, standard errors clustered by user are too small."""
LEAST_ESS, MOST_ERRORS, LEAST_PROPENSITY = 200, 3.0, 1e-4
LEAST_CLICKS = 50
LEAST_WRITTEN = 1e-6
SWITCHES = 20
"""Thresholds of Switch-DR that are tried."""
NAMES = (*TITLES, "gain")
"""The estimates, in the order in which they are shown."""
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

    def times(self, factor: float) -> Ends:
        """Returns the value and both ends multiplied by the factor."""
        value, low, high = (
            None if end is None else factor * end for end in (self.value, self.low, self.high)
        )
        return value, low, high


class Failed(NamedTuple):
    """The conditions for a verdict; True for each one that fails."""

    ess: bool
    clicks: bool
    mean_weight: bool
    least_propensity: bool
    users: bool


FACTS = (
    "clip", "switch", "mean_weight", "mean_weight_std_error", "max_weight", "ess", "least_propensity",
    "clicks", "clicks_that_count", "n", "n_users", "effective_users", "not_shown_share",
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
class SlateEstimate:
    """The mean reward per slate by one estimator, and whether the log supports it.

    ``ess`` is the effective number of slates, ``mean_weight`` should be 1, and ``zero_share`` is the share of
    slates with an item that the target never shows there. They are those of the weights of whole slates; of
    the single rows for the independent estimator.
    """

    estimate: Estimated
    ess: float
    mean_weight: float
    mean_weight_std_error: float
    zero_share: float

    @property
    def is_usable(self) -> bool:
        """Returns whether enough slates count and the weights average 1."""
        tolerance = max(MOST_ERRORS * self.mean_weight_std_error, ROUNDING)
        return self.ess >= LEAST_ESS and abs(self.mean_weight - 1) <= tolerance

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values."""
        return {
            **self.estimate._asdict(),
            "ess": self.ess,
            "mean_weight": self.mean_weight,
            "zero_share": self.zero_share,
            "usable": self.is_usable,
        }


@dataclass(frozen=True)
class SlateEstimates:
    """What the target would have earned per slate, over ``n`` slates; ``observed`` is what was earned."""

    n: int
    observed: Estimated
    independent: SlateEstimate
    reward_interaction: SlateEstimate
    standard: SlateEstimate

    @property
    def estimates(self) -> dict[str, SlateEstimate]:
        """Returns the estimators by the name that pages and the CLI show."""
        return {
            "independent (IIPS)": self.independent,
            "reward interaction (RIPS)": self.reward_interaction,
            "standard (IPS)": self.standard,
        }

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values."""
        names = ("independent", "reward_interaction", "standard")
        return {
            "n": self.n,
            "observed": self.observed._asdict(),
            **{name: getattr(self, name).as_dict() for name in names},
        }


@dataclass(frozen=True, repr=False)
class OffPolicy:
    """Estimates of the mean reward per slot under ``target``, and whether they may be used.

    ``observed`` is what the logging policy earned; ``gain`` is the paired difference of ``dr``, the doubly
    robust estimate, from it. ``dm``, the direct method, is the reward model's prediction alone; it has no
    interval, since the model's bias is unknown. ``clip`` is the cap of the weights in ``clipped``; in
    ``switch_dr``, rows with a weight above ``switch`` count by the model alone. ``mean_weight`` should be
    1; ``ess`` is the effective number of rows, (Σ w)² / Σ w². ``n_users`` is None if the log has no users;
    ``effective_users`` is (Σ W)² / Σ W², where W is a user's Σ w. ``clicks`` is the number of rows with a
    reward above 0; ``clicks_that_count`` is the number of rows with a reward other than 0 and a weight
    above 0, which the target might have shown. ``of_clicks``: every reward is 0 or 1. ``slates`` are the
    estimates per slate, None if the log does not name slates with positions.
    """

    target: str
    n: int
    clicks: int
    clicks_that_count: int
    observed: Estimated
    ips: Estimated
    snips: Estimated
    clipped: Estimated
    dm: Estimated
    dr: Estimated
    switch_dr: Estimated
    gain: Estimated
    clip: float
    switch: float
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
    slates: SlateEstimates | None = None

    @property
    def scale(self) -> tuple[float, str]:
        """Returns the factor and the unit in which rewards are shown: clicks in % of slots, others as they
        are.
        """
        return (100.0, " %") if self.of_clicks else (1.0, "")

    def scaled(self) -> dict[str, Ends]:
        """Returns {estimate: its value and the ends of its interval}, in the units of ``scale``."""
        factor, _ = self.scale
        rows: dict[str, Estimated] = {name: getattr(self, name) for name in TITLES}
        return {name: row.times(factor) for name, row in rows.items()}

    def _display(self) -> Display:
        return display_of(self.sentence, self.scaled(), self.scale[1], self.warnings)

    def __repr__(self) -> str:
        """Returns the verdict and the estimates as text, at most 15 lines."""
        return self._display().text()

    def _repr_html_(self) -> str:
        """Returns the verdict and the estimates as HTML, for notebooks."""
        return self._display().html()

    def plot(self) -> go.Figure:
        """Returns a Plotly figure of the estimates with their intervals and the observed value."""
        return plot_estimates(self.scaled(), self.scale[1], hollow=self.verdict == "refused")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Returns what was dropped or decided while the log was read."""
        return tuple(map(str, self.notices))

    @property
    def not_shown_share(self) -> float:
        """Returns the share of the log's rows with an item that the target never shows there: it has a
        probability of 0, so they have no weight.
        """
        return self.weights.zero / self.n

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

    @property
    def estimates(self) -> dict[str, Estimated]:
        """Returns the estimates by name, in the order of ``NAMES``."""
        return {name: getattr(self, name) for name in NAMES}

    def table(self) -> pd.DataFrame:
        """Returns a data frame with one row per estimate: its value, standard error and 95 % interval."""
        import pandas as pd

        rows = [{"estimate": name, **estimate._asdict()} for name, estimate in self.estimates.items()]
        return pd.DataFrame(rows)

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values; ``intervals`` and ``std_errors`` are keyed by estimate."""
        estimates = self.estimates
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
            "slates": self.slates.as_dict() if self.slates else None,
            "notices": [str(notice) for notice in self.notices],
        }

    @property
    def facts(self) -> dict[str, Any]:
        """Returns what is kept with an experiment: ``as_dict`` without notices, which may quote the log."""
        values = {**self.as_dict(), "of_clicks": self.of_clicks}
        return {name: value for name, value in values.items() if name != "notices"}


def chance(propensity: float) -> str:
    """Returns a probability as text with at most three significant digits: ``0.000165``, ``0.0001``."""
    return f"{propensity:.1g}" if propensity < LEAST_WRITTEN else numbers.three(propensity).rstrip("0")


def off_policy(
    log: LoggedRows, target: Target, clip: float | None = None, switch: float | None = None
) -> OffPolicy:
    """Returns the estimates of what ``target`` would have earned, from ``log``.

    ``clip`` is the largest weight in the clipped estimate, by default √n (Ionides 2008), for which the bias
    vanishes as the log grows. ``switch`` is the weight above which Switch-DR uses the reward model alone, by
    default the one with the least estimated error (``_switch``).
    """
    weight, reward = weights(log, target), log.reward
    cap = math.sqrt(len(log)) if clip is None else clip
    of_shown, of_target = reward_model.expected(log, target)
    correction = weight * (reward - of_shown)
    robust = of_target + correction
    floor = 0.0 if (reward >= 0).all() else -math.inf
    mean = partial(mean_estimate, user=log.user)
    threshold = _switch(weight, of_target, correction, log, target) if switch is None else switch
    return OffPolicy(
        target=target.name,
        n=len(log),
        clicks=int((reward > 0).sum()),
        clicks_that_count=int(((reward != 0) & (weight > 0)).sum()),
        observed=mean(reward, floor),
        ips=mean(weight * reward, floor),
        snips=_normalised(weight, reward, floor, log.user),
        clipped=mean(np.minimum(weight, cap) * reward, floor),
        dm=Estimated(float(of_target.mean())),
        dr=mean(robust, floor),
        switch_dr=mean(of_target + np.where(weight <= threshold, correction, 0.0), floor),
        gain=mean(robust - reward),
        clip=cap,
        switch=threshold,
        mean_weight=float(weight.mean()),
        mean_weight_std_error=mean(weight).std_error,
        max_weight=float(weight.max()),
        ess=effective(weight),
        least_propensity=float(log.propensity.min()),
        weights=_spread(weight, weight * reward),
        of_clicks=bool(((reward == 0) | (reward == 1)).all()),
        notices=tuple(_notices(log, target)),
        n_users=None if log.user is None else int(log.user.max()) + 1,
        effective_users=None if log.user is None else effective(_by_user(weight, log.user)),
    )


def _switch(weight: Floats, of_target: Floats, correction: Floats, log: LoggedRows, target: Target) -> float:
    """Returns the weight above which Switch-DR uses the reward model alone.

    Of ``SWITCHES`` thresholds it is the one with the least squared standard error plus squared largest bias
    (Wang, Agarwal & Dudík 2017). The bias is at most the largest reward times the target's probability of
    what weighs more. As the log has no propensities of items that were not shown, an item weighs more in the
    share of its own rows that do. With the largest weight as threshold, the estimate is doubly robust.
    """
    most = float(np.abs(log.reward).max(initial=0.0))
    candidates = np.unique(np.quantile(weight, np.linspace(0, 1, SWITCHES), method="higher"))
    rows_of_item = np.bincount(log.item, minlength=len(log.items))
    entry = np.flatnonzero(target.entry_item >= 0)

    def error(threshold: float) -> float:
        heavy = weight > threshold
        own = mean_estimate(of_target + np.where(heavy, 0.0, correction), user=log.user).std_error or 0.0
        share = np.bincount(log.item[heavy], minlength=len(log.items)) / np.maximum(rows_of_item, 1)
        parts = target.entry_probability[entry] * share[target.entry_item[entry]]
        mass = np.bincount(target.entry_case[entry], parts, target.n_cases)
        return own**2 + (most * float(mass[target.case].mean())) ** 2

    return float(min(reversed(candidates.tolist()), key=error))


# ── estimates ────────────────────────────────────────────────────────────────────────────────


def mean_estimate(values: Floats, floor: float = -math.inf, user: Ints | None = None) -> Estimated:
    """Returns the mean with its interval, whose low end is at least ``floor`` if the mean is."""
    value = float(values.mean())
    return _with_interval(value, values - value, np.ones(len(values)), floor, user)


def _normalised(weight: Floats, reward: Floats, floor: float, user: Ints | None) -> Estimated:
    """Returns Σ w r / Σ w, the weighted mean reward, with a standard error by the delta method.

    The value is None if all weights are 0.
    """
    total = float(weight.sum())
    if not total:
        return Estimated(None)
    value = float(weight @ reward) / total
    return _with_interval(value, weight * (reward - value), weight, floor, user)


def _with_interval(
    value: float, scores: Floats, amount: Floats, floor: float, user: Ints | None
) -> Estimated:
    """Returns the value with its standard error and interval.

    ``scores`` [n] are each row's contribution to Σ ``amount`` · (estimate − expectation), ``amount`` [n] what
    each row counts for. There is no interval without an error, or if all rows are equal.
    """
    if user is None:
        return _of_rows(value, scores, float(amount.sum()), floor)
    return _of_users(value, _by_user(scores, user), _by_user(amount, user), floor)


def _of_rows(value: float, scores: Floats, total: float, floor: float) -> Estimated:
    """Returns the value with the interval of the normal distribution, from independent rows."""
    n = len(scores)
    if n < 2:
        return Estimated(value)
    error = math.sqrt(float(scores @ scores) * n / (n - 1)) / total
    return _ended(value, error, NORMAL_95 * error, NORMAL_95 * error, floor)


def _of_users(value: float, scores: Floats, amount: Floats, floor: float) -> Estimated:
    """Returns the value with an interval that holds for few, unequal users and rare rewards.

    ``scores`` and ``amount`` are sums over each user's rows. Hall's cubic corrects t for skewness.
    """
    from scipy.special import stdtrit

    share = amount / amount.sum()
    if len(scores) < 2 or share.max() >= 1:
        return Estimated(value)
    error, degrees = clustered_error(share, scores / amount.sum())
    if error <= ALIKE * max(1.0, abs(value)):
        return Estimated(value, error)
    t = float(stdtrit(degrees, 0.975))
    skewness = float((scores**3).sum()) / float(scores @ scores) ** 1.5
    below, above = (abs(with_skewness(sign * t, skewness)) * error for sign in (1, -1))
    return _ended(value, error, below, above, floor)


def _ended(value: float, error: float, below: float, above: float, floor: float) -> Estimated:
    """Returns the value with an interval that extends so far on either side; without one if all rows are
    equal.
    """
    if error <= ALIKE * max(1.0, abs(value)):
        return Estimated(value, error)
    low = value - below
    return Estimated(value, error, max(low, floor) if value >= floor else low, value + above)


def _by_user(values: Floats, user: Ints) -> Floats:
    """Returns [users] the sum of the values over each user's rows."""
    return np.bincount(user, values).astype(np.float64)


def effective(weight: Floats) -> float:
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
