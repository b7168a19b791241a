"""``python -m benchmarks.calibration_quantiles``: quantiles of A/B tests without any effect.

Writes a section of docs/calibration.md. Everything is seeded: the same command writes the same table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.calibration_page import options, write_section
from recdash.online.analysis.quantiles import QuantileComparison, QuantileSide

TITLE = "Quantiles"
LEVEL, LEAST_COMPARED = 0.05, 0.5
USERS, QUANTILES = (600, 2_000, 10_000), (0.5, 0.95, 0.99)
SPLITS = {"50/50": 0.5, "90/10": 0.9}
TEXT = """
Written by `python -m benchmarks.calibration_quantiles` (seeded). All variants are equal: values are
lognormal. *Rows*: one per user, or sessions of users who differ (standard deviation of the logarithm .7
between users and .7 within; 3.1 sessions per user on average). *Called*: p is below .05; *misses*: the
95 % interval of the lift excludes 0; *value misses*: the interval of a variant's value misses the true
quantile. Shares are those of the tests that are not withheld: each variant needs 30 independent rows
beyond the quantile.

{table}
"""
HEAD = (
    "| users | split | rows | quantile | called | misses (lift) | value misses | withheld | tries |\n"
    "| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
)


@dataclass(frozen=True)
class Situation:
    """A test of ``users`` users, with one row each or with ``sessions``."""

    users: int
    split: str
    sessions: bool
    quantile: float


def situations(largest: int = USERS[-1], sizes: Sequence[int] = USERS) -> Iterator[Situation]:
    """Yields each situation of these numbers of users, up to the largest."""
    for users in (size for size in sizes if size <= largest):
        for split in SPLITS:
            for sessions in (False, True):
                for quantile in QUANTILES:
                    yield Situation(users, split, sessions, quantile)


def side(rng: np.random.Generator, n: int, situation: Situation) -> QuantileSide:
    """Returns the rows of ``n`` users."""
    if not situation.sessions:
        return QuantileSide(rng.lognormal(0, 1, n), np.arange(n), n, situation.quantile)
    rows = 1 + rng.poisson(3, n) * (rng.random(n) < 0.7)
    user = np.repeat(np.arange(n), rows)
    values = np.exp(rng.normal(0, 0.7, n)[user] + rng.normal(0, 0.7, len(user)))
    return QuantileSide(values, user, n, situation.quantile)


def truth(situation: Situation) -> float:
    """Returns the true quantile of the rows."""
    from scipy.special import ndtri

    spread = np.hypot(0.7, 0.7) if situation.sessions else 1.0
    return float(np.exp(spread * ndtri(situation.quantile)))


def row(tries: int, situation: Situation) -> str:
    """Returns the line of the table for a situation."""
    rng = np.random.default_rng([situation.users, int(1000 * situation.quantile), situation.sessions])
    n_control = int(situation.users * SPLITS[situation.split])
    n_compared, n_called, n_missed, n_value = 0, 0, 0, 0
    for _ in range(tries):
        control, variant = (side(rng, n, situation) for n in (n_control, situation.users - n_control))
        if control.why_no_interval or variant.why_no_interval:
            continue
        n_compared += 1
        comparison = QuantileComparison(control, variant)
        lift = comparison.lift(1 - LEVEL)
        n_called += comparison.p < LEVEL
        n_missed += lift.low is not None and lift.high is not None and not lift.low <= 0 <= lift.high
        low, high = variant.interval(1 - LEVEL)
        n_value += not (low is None or low <= truth(situation)) or not (
            high is None or truth(situation) <= high
        )
    rows = "sessions" if situation.sessions else "users"
    begin = f"| {situation.users:,} | {situation.split} | {rows} | {situation.quantile:g} |"
    if n_compared < LEAST_COMPARED * tries:  # those few are not like the others
        return f"{begin} – | – | – | {tries - n_compared:,} | {tries:,} |"
    shares = " | ".join(f"{count / n_compared:.3f}" for count in (n_called, n_missed, n_value))
    return f"{begin} {shares} | {tries - n_compared:,} | {tries:,} |"


def main() -> None:
    asked = options("calibration_quantiles", __doc__, 1_000, USERS[-1]).parse_args()
    with ProcessPoolExecutor(asked.processes) as pool:
        rows = list(pool.map(partial(row, asked.tries), situations(asked.largest)))
    write_section(TITLE, TEXT.format(table="\n".join([HEAD, *rows])), asked.output)


if __name__ == "__main__":
    main()
