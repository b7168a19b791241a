"""``python -m benchmarks.calibration_values``: the interval of a metric in one variant of an A/B test.

Writes a section of docs/calibration.md. Everything is seeded: the same command writes the same table.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.calibration_page import options, table, write_section
from benchmarks.calibration_small_tests import draw, users_with
from recdash.online.analysis import value_interval
from recdash.online.analysis.lift import Estimate
from recdash.online.analysis.results import arms_of
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers

TITLE = "Values of one variant"
USERS, TRIES = (10, 30, 100, 200, 1_000, 2_000, 10_000), 4_000
SPLITS = {"50/50": 0.5, "90/10": 0.9}
MEAN = OnlineMetric("watch_min", "Watch time", "min", "", "watch_min")
RATIO = OnlineMetric("per_session", "Watch time per session", "min", "", "session_min", "sessions")
RATES = {
    "rate of .6": OnlineMetric("viewer", "Viewers", "", "", "viewer", high=1.0),
    "rate of .05": OnlineMetric("buyer", "Buyers", "", "", "buyer", high=1.0),
}
BY_T, CORRECTED = ", by t", ", corrected"
MORE_SESSIONS = 2.0
"""The mean number of sessions of a user beyond the first."""
TRUE_MEAN = 0.6 * math.exp((1 + 0.8**2) / 2)
"""The mean of ``draw``: 60 % of users have a lognormal value, whose mean is exp(σ² / 2)."""
TRUE = {
    "mean": TRUE_MEAN,
    "mean, of sums": TRUE_MEAN,
    "ratio": TRUE_MEAN,
    "rate of .6": 0.6,
    "rate of .05": 0.05,
}
TEXT = """
Written by `python -m benchmarks.calibration_values` (seeded). It measures the 95 % interval of a metric in
one variant, with the users of *Small and lopsided A/B tests*. *Mean*: watch time per user. *Of sums*: the
same, of which only n, Σ and Σ² are known. *Ratio*: watch time per session, of 3 sessions per user on
average, which are alike. *Misses*: the share of the intervals shown that are *too low* or *too high* for
the true value. **The limits** are .04 and .06, widened by two standard errors of the intervals shown. Rates
of few users, successes or failures have the exact interval, which misses less often.

*By t* and *corrected*: the share of all tests that would be missed by Student's interval, and by the one with
the skewness of the mean removed, if none were withheld. The skewness is that of all users, or that of the
variant's own if it is larger. Means of few users are *withheld*: below 200 users of a variant, below 1,000 if
the users are skewed, and beyond if few of them carry the metric. A variant with more than two thirds of the
users needs 5,000 if they are skewed: their skewness is nearly its own, and too small whenever its mean is.
In 20,000 tries, shown from 1,000 users on, the ratio missed .062 ± .003 of the tests at 1,800 users of 2,000,
but .056 at 1,333 of 2,000.

*Of sums*, one or two of 4,000 tests with few users have an interval: their sums are by chance those of
zeros and ones. Rows in which less than 1 % of the intervals is shown are not judged by the limits: a
withheld interval cannot miss, and so few say nothing about a share.

{table}
"""
COLUMNS = (
    "users", "split", "variant's users", "metric", "withheld", "misses", "too low", "too high", "by t",
    "corrected", "tries",
)  # fmt: skip


@dataclass(frozen=True)
class Situation:
    """A test of ``users`` users; the intervals of its variant are counted, or those of the control."""

    users: int
    split: str
    control: bool

    @property
    def n_control(self) -> int:
        return round(self.users * SPLITS[self.split])

    @property
    def n(self) -> int:
        """Returns the number of users of the counted variant."""
        return self.n_control if self.control else self.users - self.n_control


@dataclass
class Counts:
    """How many intervals were shown, and how many of them are below and above the true value."""

    shown: int = 0
    below: int = 0
    above: int = 0

    def add(self, estimate: Estimate, true: float) -> None:
        if estimate.low is None or estimate.high is None:
            return
        self.shown += 1
        self.below += estimate.high < true
        self.above += estimate.low > true

    def shares(self) -> list[str]:
        """Returns the shares that miss the true value, that are below and above it."""
        misses = (self.below + self.above, self.below, self.above)
        return [f"{count / self.shown:.3f}" if self.shown else "–" for count in misses]


def situations(largest: int = USERS[-1]) -> Iterator[Situation]:
    for users in (size for size in USERS if size <= largest):
        yield Situation(users, "50/50", control=False)
        yield Situation(users, "90/10", control=True)
        yield Situation(users, "90/10", control=False)


def estimates(users: OnlineUsers, variant: str) -> Iterator[tuple[str, Estimate]]:
    """Yields the name of each metric with its value in ``variant``, and those of means with the intervals
    that would be shown if none were withheld.
    """
    arm = arms_of(users)[variant]
    yield "mean, of sums", value_interval.of_aggregates(MEAN, arm)
    for name, metric in {"mean": MEAN, "ratio": RATIO, **RATES}.items():
        known = value_interval.distribution(metric, users)
        yield name, value_interval.of_users(metric, arm, known, variant)
        if not known.is_rate and arm.count() > 1:
            yield f"{name}{BY_T}", value_interval.of_mean(metric, arm)
            yield f"{name}{CORRECTED}", value_interval.of_mean(metric, arm, known.skewness_of_mean[variant])


def simulate(situation: Situation, tries: int) -> dict[str, Counts]:
    """Returns the counts of ``tries`` tests by metric."""
    counts: dict[str, Counts] = defaultdict(Counts)
    for number in range(tries):
        rng = np.random.default_rng([situation.users, situation.n, situation.control, number])
        users = users_of(situation, rng)
        for name, estimate in estimates(users, users.variants[0 if situation.control else 1]):
            counts[name].add(estimate, TRUE[name.removesuffix(BY_T).removesuffix(CORRECTED)])
    return counts


def users_of(situation: Situation, rng: np.random.Generator) -> OnlineUsers:
    n = situation.users
    watched, sessions = draw(rng, n)[0], 1.0 + rng.poisson(MORE_SESSIONS, n)
    totals = {"watch_min": watched, "sessions": sessions, "session_min": watched * sessions}
    totals |= {
        rate.numerator: (rng.random(n) < TRUE[name]).astype(np.float64) for name, rate in RATES.items()
    }
    variant = (np.arange(n) >= situation.n_control).astype(np.int64)
    return users_with(("control", "variant"), variant, totals)


def lines(tries: int, situation: Situation) -> list[str]:
    """Returns the lines of the table for a situation."""
    begin = f"{situation.users:,} | {situation.split} | {situation.n:,}"
    rows, counted = [], simulate(situation, tries)
    for name in TRUE:
        shown = counted[name]
        shares = [*shown.shares(), *(counted[f"{name}{kind}"].shares()[0] for kind in (BY_T, CORRECTED))]
        rows.append(f"| {begin} | {name} | {tries - shown.shown:,} | {' | '.join(shares)} | {tries:,} |")
    return rows


def main() -> None:
    asked = options("calibration_values", __doc__, TRIES, USERS[-1]).parse_args()
    with ProcessPoolExecutor(asked.processes) as pool:
        parts = list(pool.map(partial(lines, asked.tries), situations(asked.largest)))
    rows = [line for part in parts for line in part]
    write_section(TITLE, TEXT.format(table=table(COLUMNS, rows, {"split", "metric"})), asked.output)


if __name__ == "__main__":
    main()
