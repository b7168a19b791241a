"""``python -m benchmarks.calibration_gates``: how often a gate fails equal runs, and passes worse ones.

Writes a section of docs/calibration.md. Everything is seeded: the same command writes the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np

from benchmarks.calibration_page import options, write_section
from recdash.comparison.source import Source
from recdash.decisions.gate.offline import GatePair, OfflineRule
from recdash.decisions.gate.online import judge_online
from recdash.decisions.gate.result import GateResult, RuleResult
from recdash.decisions.gate.rules import GateRule, level_of_each
from recdash.domain.kinds import Floats
from recdash.domain.results import UserValues

TITLE = "Gates"
USERS = (500, 4_000, 50_000)
LARGEST, ALL = USERS[-1], ("hit_rate", "mrr", "online.conversion")
BEYOND = 0.02
"""How far beyond the margin the worse candidate is, as a share of the baseline's value."""
POWER = 2.3
"""Standard errors from the end of the interval to the margin if there is no difference: a power of 98.9 %."""
PILOT = 200
"""Gates of equal runs by which the margin is chosen, and of worse runs by which the power is stated."""
ONLINE_USERS = 40
"""Users of the A/B test for each user of the runs."""
K = 10
ALIKE = 0.9
"""Share of the users for whom both runs have the same luck."""
FAILED, PASSED, CAUGHT = 0.05, 0.025, 0.95
"""Limits: of equal runs that fail, of runs at the margin that pass, and of worse runs that are caught, and of
those for which the rule fails where that is the stated power.
"""
TEXT = """
Written by `python -m benchmarks.calibration_gates` (seeded). The candidate of a pair of runs is equal to
the baseline, at the margin, or beyond it by 2 % of the baseline's value. The margin of each row is the one
that an equal candidate keeps to with a power of about 99 % for each rule.

*Equal: failed* counts exit code 1, also of inconclusive gates. *At the margin: passed* counts false passes:
at most 2.5 % but for the error of the count (±1 point). *2 % beyond: caught* counts exit code 1. *Named*
counts those of them in which the rule fails and is not only inconclusive. *Stated power* is the probability
of *named* if the upper ends of the intervals are normal. Their spread, and their distance from the
estimate, come from 200 other pairs that are 2 % beyond: intervals of worse runs are longer than those of
equal ones, so that equal ones would give too high a power. With several rules, the first is at the margin
or beyond. A/B tests have 40 times as many users as the runs; 10 % of the users in control convert.

A candidate that is 2 % beyond the margin hardly ever passes, whatever the number of users. With few users,
the gate says that it needs more of them; with 50,000 it says here that the candidate fails.

{table}
"""
HEAD = (
    "| rules | users | margin | equal: failed | at the margin: passed | 2 % beyond: caught | named | stated "
    "power | tries |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)
Pair = tuple[Floats, Floats]


# ── what users get ───────────────────────────────────────────────────────────────────────────


def hits(rng: np.random.Generator, n: int, change: float) -> Pair:
    """Returns [n] whether each user finds an item with the baseline, and with a candidate that finds 1 +
    ``change`` times as many; users differ, and most have the same luck with both.
    """
    chance, luck = rng.beta(2, 4, n), rng.random((2, n))
    luck[1] = np.where(rng.random(n) < ALIKE, luck[0], luck[1])
    return (luck[0] < chance) * 1.0, (luck[1] < (1 + change) * chance) * 1.0


def reciprocal_ranks(rng: np.random.Generator, n: int, change: float) -> Pair:
    """Returns [n] one over the rank of each user's hit, at rank 1 to 10."""
    base, own = hits(rng, n, change)
    ranks = rng.integers(1, K + 1, (2, n))
    ranks[1] = np.where(rng.random(n) < ALIKE, ranks[0], ranks[1])
    return base / ranks[0], own / ranks[1]


USERS_GET: dict[str, Callable[[np.random.Generator, int, float], Pair]] = {
    "hit_rate": hits,
    "mrr": reciprocal_ranks,
}


@dataclass(frozen=True)
class DrawnSource:
    """A source of the runs ``b`` and ``c`` with the values that were drawn by metric."""

    drawn: dict[str, Pair]

    def values(self, run: str, metric: str, _k: int) -> UserValues:
        values = self.drawn[metric][run == "c"]
        return UserValues(np.arange(len(values)), values, values, bound=1.0)

    def replicated(self, _run: str) -> None:
        return None


# ── rules ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Situation:
    """A gate with a rule for each of ``metrics``: ``hit_rate``, ``mrr`` or ``online.conversion``."""

    metrics: tuple[str, ...]
    users: int

    @property
    def title(self) -> str:
        return ", ".join(self.metrics)

    @property
    def seed(self) -> list[int]:
        return [self.users, *(sum(map(ord, metric)) for metric in self.metrics)]


def situations(largest: int = LARGEST) -> Iterator[Situation]:
    for users in (size for size in USERS if size <= largest):
        for metrics in (("hit_rate",), ("mrr",), ("online.conversion",), ALL):
            if metrics != ALL or users == LARGEST:
                yield Situation(metrics, users)


def judged(
    rng: np.random.Generator, situation: Situation, changes: Sequence[float], margins: Sequence[float]
) -> GateResult:
    """Returns the gate's result for runs that are drawn with these true changes, by metric."""
    rules = [
        GateRule(metric.removeprefix("online."), metric.startswith("online."), True, margin, relative=True)
        for metric, margin in zip(situation.metrics, margins, strict=True)
    ]
    level = level_of_each(rules)
    results = [
        _result(rng, situation.users, rule, change, level)
        for rule, change in zip(rules, changes, strict=True)
    ]
    return GateResult("b", "c", tuple(results), level)


def _result(rng: np.random.Generator, n: int, rule: GateRule, change: float, level: float) -> RuleResult:
    if rule.online:
        return _online(rng, n, rule, change, level)
    drawn = {rule.metric: USERS_GET[rule.metric](rng, n, change)}
    return GatePair(cast("Source", DrawnSource(drawn)), "b", "c").judge(
        OfflineRule(rule, rule.metric, K), level
    )


def _online(rng: np.random.Generator, n: int, rule: GateRule, change: float, level: float) -> RuleResult:
    """Returns the result in an A/B test of 40 n users, 10 % of whom convert in control."""
    import pandas as pd

    from recdash.online.ab_test import ab_test

    size = ONLINE_USERS * n // 2
    counts = [int(rng.binomial(size, rate)) for rate in (0.1, 0.1 * (1 + change))]
    table = {"variant": ["A", "B"], "metric": rule.metric, "n": size, "successes": counts}
    return judge_online(ab_test(aggregates=pd.DataFrame(table), control="A"), "B", rule, level)


# ── shares ───────────────────────────────────────────────────────────────────────────────────


def margins_of(situation: Situation) -> list[float]:
    """Returns the margin of each metric, in whole tenths of a percent, by a few gates of equal runs."""
    rng, equal = np.random.default_rng([*situation.seed, 0]), [0.0] * len(situation.metrics)
    drawn = [judged(rng, situation, equal, [-0.5] * len(equal)).rules for _ in range(PILOT)]
    return [margin_of(results) for results in zip(*drawn, strict=True)]


def margin_of(equal: Sequence[RuleResult]) -> float:
    error = float(np.std([result.difference for result in equal], ddof=1))
    below = float(np.mean([result.difference - result.low for result in equal]))
    return -float(np.ceil(1000 * (below + POWER * error))) / 1000


def stated_power(situation: Situation, margins: Sequence[float]) -> float:
    """Returns the probability that the first rule fails if the candidate is 2 % beyond its margin."""
    rng, rest = np.random.default_rng([*situation.seed, 2]), [0.0] * (len(margins) - 1)
    changes = [margins[0] - BEYOND, *rest]
    return power_of([judged(rng, situation, changes, margins).rules[0] for _ in range(PILOT)])


def power_of(worse: Sequence[RuleResult]) -> float:
    """Returns the probability that an interval ends below the margin, by results of other pairs that are
    ``BEYOND`` it: the upper end is normal around the true change and the mean length above the estimate.
    """
    from scipy.special import ndtr

    ends = np.array([result.high for result in worse])
    above = float(np.mean(ends - [result.difference for result in worse]))
    return float(ndtr((BEYOND - above) / np.std(ends, ddof=1)))


def row(tries: int, situation: Situation) -> str:
    """Returns the line of the table for a situation. At the margin or beyond it is the first metric only."""
    margins = margins_of(situation)
    rng, rest = np.random.default_rng([*situation.seed, 1]), [0.0] * (len(margins) - 1)
    equal, at_margin, beyond = (
        [judged(rng, situation, [change, *rest], margins) for _ in range(tries)]
        for change in (0.0, margins[0], margins[0] - BEYOND)
    )
    failed = sum(not result.passed for result in equal)
    passed = sum(result.passed for result in at_margin)
    caught = sum(not result.passed for result in beyond)
    named = sum(result.rules[0].outcome == "fails" for result in beyond)
    shares = " | ".join(f"{100 * count / tries:.1f} %" for count in (failed, passed, caught, named))
    shown = " · ".join(f"{100 * margin:.1f} %".replace("-", "−") for margin in margins)
    power = f"{100 * stated_power(situation, margins):.1f} %"
    return f"| {situation.title} | {situation.users:,} | {shown} | {shares} | {power} | {tries:,} |"


def rows_of(tries: int, largest: int = LARGEST, processes: int = 2) -> list[str]:
    """Returns the lines of the table."""
    with ProcessPoolExecutor(processes) as pool:
        return list(pool.map(partial(row, tries), situations(largest)))


def main() -> None:
    asked = options("calibration_gates", __doc__, 1_000, LARGEST).parse_args()
    rows = rows_of(asked.tries, asked.largest, asked.processes)
    write_section(TITLE, TEXT.format(table="\n".join([HEAD, *rows])), asked.output)


if __name__ == "__main__":
    main()
