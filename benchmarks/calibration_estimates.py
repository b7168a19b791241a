"""``python -m benchmarks.calibration_estimates``: how often intervals of estimates contain the truth.

Writes the section ``TITLE`` of docs/calibration.md. Everything is seeded: the same command
writes the same tables.
"""

from __future__ import annotations

import argparse
import math
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.calibration import PROCESSES
from benchmarks.calibration_page import PAGE, write_section
from recdash.domain.kinds import Floats
from recdash.online.agreement.calibration import calibrated
from recdash.online.off_policy.estimates import off_policy
from recdash.online.off_policy.target import LoggedRows, Target

TITLE = "Intervals of estimates"
TRIES = 1_000
LEAST = 0.92
"""Smallest share of tries in which an interval of a slope, a prediction or τ may contain the truth."""

# ── the track record ─────────────────────────────────────────────────────────────────────────

SLOPE, SPREAD = 0.3, 10.0
"""The true slope, and the standard deviation of the true offline differences in %."""


@dataclass(frozen=True)
class Record:
    """A simulated track record: ``tests`` with so many ``variants`` each.

    ``error`` is the standard error of the offline differences as a share of their spread, ``tau`` in % of
    lift. Online standard errors are 0.5 to 2 %. The errors of variants of one test correlate with .5.
    """

    variants: int
    tests: int
    error: float
    tau: float

    @property
    def title(self) -> str:
        return f"{self.variants} | {self.tests} | {self.error:g} | {self.tau:g}"


RECORDS = tuple(
    Record(variants, tests, error, tau)
    for variants, tests, error, tau in product((1, 3), (10, 20, 40), (0.25, 0.5, 1.0), (0.0, 1.5))
)


@dataclass(frozen=True)
class RecordTally:
    """In how many of the ``tries`` there was a ``line``, and in how many of these the intervals of slope,
    prediction and τ contained the truth.
    """

    record: Record
    tries: int
    line: int
    slope: int
    prediction: int
    tau: int

    @property
    def row(self) -> str:
        shares = [_percent(count, self.line) for count in (self.slope, self.prediction, self.tau)]
        cells = [self.record.title, _percent(self.line, self.tries), *shares, f"{self.tries:,}"]
        return f"| {' | '.join(cells)} |"


def track_record(record: Record, tries: int) -> RecordTally:
    """Returns how often the intervals of ``tries`` simulated records contain the truth.

    The prediction is that of the true lift of a new variant from its measured offline difference.
    """
    rng = np.random.default_rng(7)
    line = slope = prediction = tau = 0
    test = np.repeat(np.arange(record.tests), record.variants)

    def errors() -> Floats:
        if record.variants == 1:
            return rng.normal(size=record.tests)
        return math.sqrt(0.5) * (rng.normal(size=record.tests)[test] + rng.normal(size=len(test)))

    for _ in range(tries):
        true = rng.normal(0, SPREAD, len(test))
        offline_error = SPREAD * record.error * rng.lognormal(0, 0.3, record.tests)[test]
        online_error = rng.uniform(0.5, 2, record.tests)[test]
        offline = true + offline_error * errors()
        online = SLOPE * true + record.tau * errors() + online_error * errors()
        new, new_error = rng.normal(0, SPREAD), SPREAD * record.error * float(rng.lognormal(0, 0.3))
        measured, lift = new + new_error * rng.normal(), SLOPE * new + record.tau * rng.normal()
        fitted = calibrated(offline, offline_error, online, online_error, test)
        if fitted is None:
            continue
        _, low, high = fitted.predict(measured, new_error)
        line += 1
        slope += fitted.low <= SLOPE <= fitted.high
        prediction += low <= lift <= high
        tau += fitted.tau_low <= record.tau <= fitted.tau_high
    return RecordTally(record, tries, line, slope, prediction, tau)


RECORD_HEAD = """
### Track record

A line is fitted through the offline differences of A/B tests and their lifts
(`recdash/online/agreement/calibration.py`). **The limit:** at least 92 % of the intervals contain the
truth, for the slope, for the true lift of a new variant, and for τ. The true slope is 0.3. The true offline
differences have a standard deviation of 10 %, and online standard errors are 0.5 to 2 %. Variants of a test
share a control. *Error*: the standard error of the offline differences as a share of their spread. *τ*: the
standard deviation around the line, in % of lift. *Line*: the share of tries in which the offline
differences tell enough for a line; without one, the page says why. The other shares are those of the
intervals that contain the truth.

| variants | tests | error | τ | line, % | slope, % | prediction, % | τ, % | tries |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""


# ── off-policy estimates ─────────────────────────────────────────────────────────────────────

LEAST_OFF_POLICY = 0.93
LOGGING = np.array([0.19, 0.16, 0.14, 0.12, 0.10, 0.09, 0.07, 0.06, 0.04, 0.03])
"""The logging policy's probabilities of ten items; the target has them in reverse order."""
ESTIMATES = ("ips", "snips", "clipped", "dr", "gain")


@dataclass(frozen=True)
class Log:
    """A simulated log of ``users`` with ``rows`` each: all alike, or lognormally ``uneven``.

    An item is clicked 0.05 to 0.15 times on average, times the user's own activity, which has the mean 1 and
    the standard deviation ``activity``.
    """

    users: int
    rows: int
    activity: float
    uneven: bool = False

    @property
    def title(self) -> str:
        rows = f"{self.rows} on average, uneven" if self.uneven else f"{self.rows}"
        return f"{self.users} | {rows} | {self.activity:g}"


LOGS = tuple(
    Log(users, rows, activity, uneven)
    for users, rows, activity, uneven in (
        (100, 20, 0.5, False), (100, 20, 1.0, False), (400, 20, 1.0, False), (400, 20, 1.0, True),
        (100, 100, 0.5, False), (100, 100, 1.0, False), (400, 100, 1.0, False), (400, 100, 1.0, True),
    )
)  # fmt: skip


@dataclass(frozen=True)
class LogTally:
    """In how many of the ``tries`` the log was ``usable``, and in how many of these each interval contained
    the truth.
    """

    log: Log
    tries: int
    usable: int
    held: tuple[int, ...]

    @property
    def row(self) -> str:
        shares = [_percent(count, self.usable) for count in self.held]
        cells = [self.log.title, _percent(self.usable, self.tries), *shares, f"{self.tries:,}"]
        return f"| {' | '.join(cells)} |"


def off_policy_log(log: Log, tries: int) -> LogTally:
    """Returns how often the intervals from ``tries`` simulated logs contain the true mean rewards."""
    rng = np.random.default_rng(11)
    target, n_items = LOGGING[::-1], len(LOGGING)
    rate = np.linspace(0.05, 0.15, n_items)
    truth = {name: float(target @ rate) for name in ESTIMATES}
    truth["gain"] -= float(LOGGING @ rate)
    usable, held = 0, np.zeros(len(ESTIMATES), dtype=np.int64)
    for _ in range(tries):
        n_rows = np.full(log.users, log.rows)
        if log.uneven:
            n_rows = np.maximum(1, rng.lognormal(math.log(log.rows) - 0.125, 0.5, log.users).astype(np.int64))
        user = np.repeat(np.arange(log.users), n_rows)
        item = rng.choice(n_items, len(user), p=LOGGING)
        activity = rng.gamma(1 / log.activity**2, log.activity**2, log.users)[user]
        reward = rng.poisson(rate[item] * activity).astype(np.float64)
        nothing = np.zeros(len(user), dtype=np.int64)
        names = [str(name) for name in range(n_items)]
        rows = LoggedRows(item, names, nothing, 1, reward, LOGGING[item], user)
        policy = Target(
            "target", target[item], nothing, 1, np.arange(n_items), np.zeros(n_items, np.int64), target
        )
        result = off_policy(rows, policy)
        if result.verdict == "usable":
            usable += 1
            ends = [(getattr(result, name).low, getattr(result, name).high) for name in ESTIMATES]
            held += [low <= truth[name] <= high for name, (low, high) in zip(ESTIMATES, ends, strict=True)]
    return LogTally(log, tries, usable, tuple(held.tolist()))


LOG_HEAD = """
### Off-policy estimates

These are the intervals of off-policy estimates whose errors are by user
(`recdash/online/off_policy/estimates.py`). **The limit:** at least 93 % contain the true mean reward.
*Activity*: how much users differ in their clicks, as a standard deviation; it makes the rows of one user
alike. *Usable*: the share of tries that pass all checks; the other shares are those of the intervals that
contain the truth. *Gain*: the difference from what the logging policy earned.

| users | rows per user | activity | usable, % | IPS, % | SNIPS, % | clipped, % | DR, % | gain, % | tries |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""


def _percent(count: int, whole: int) -> str:
    return f"{100 * count / whole:.1f}" if whole else "–"


# ── the page ─────────────────────────────────────────────────────────────────────────────────

HEAD = f"""
Written by `python -m benchmarks.calibration_estimates` (seeded; {TRIES:,} tries of each row).
"""


def sections(tries: int, pool: ProcessPoolExecutor) -> str:
    """Returns the sections as Markdown."""
    records = pool.map(track_record, RECORDS, [tries] * len(RECORDS))
    logs = pool.map(off_policy_log, LOGS, [tries] * len(LOGS))
    tables = ((RECORD_HEAD, records), (LOG_HEAD, logs))
    return HEAD + "".join(head + "".join(f"{tally.row}\n" for tally in tallies) for head, tallies in tables)


def main(tries: int, page: Path) -> None:
    """Replaces the section of the page."""
    with ProcessPoolExecutor(min(PROCESSES, os.cpu_count() or 1)) as pool:
        write_section(TITLE, sections(tries, pool), page)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration_estimates", description=__doc__)
    parser.add_argument("--tries", type=int, default=TRIES, help="tries of each row, for a quick look")
    parser.add_argument("--page", type=Path, default=PAGE, help="page (default: docs/calibration.md)")
    given = parser.parse_args()
    main(given.tries, given.page)
