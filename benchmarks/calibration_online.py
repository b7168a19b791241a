"""``python -m benchmarks.calibration_online``: how often an A/B test without any effect is called one.

Writes docs/calibration-online.md. Everything is seeded: the same command writes the same tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.online.analysis import grouped_lifts
from recdash.online.analysis.grouped_lifts import Lifts, Sums
from recdash.online.analysis.sequential import always_valid_interval
from recdash.online.counts import Count, p_value, ratio_interval
from recdash.online.metrics import OnlineMetric
from recdash.online.validity import MANY_LOOKS, ONE_LOOK

PAGE = Path(__file__).resolve().parent.parent / "docs" / "calibration-online.md"
SPLITS = {"50/50": 0.5, "90/10": 0.1, "99/1": 0.01}
PLANNED = (10_000, 1_000)
"""Users for whom the interval for many looks is tuned: where nothing is planned, and for a small test."""
EACH, LOOKS_APART = 2_000, 1.005
"""Looks at each of so many first users, then whenever there are half a per cent more."""
LONGEST = {"50/50": 10_000, "90/10": 20_000, "99/1": 60_000}
FEW = (2, 5, 10, 20, 50, 200)
"""Users of the smaller variant at the one look."""
MOST_CELLS = 2_000_000


@dataclass(frozen=True)
class Situation:
    """``draw(rng, shape)`` gives numerators and denominators of users, alike in both variants."""

    name: str
    draw: Callable[[np.random.Generator, tuple[int, ...]], tuple[Floats, Floats]]
    metric: OnlineMetric

    @property
    def is_rate(self) -> bool:
        return self.metric.denominator is None and self.metric.high == 1


PER_USER = OnlineMetric("metric", "Metric", "", "", "numerator")
RATE = replace(PER_USER, high=1.0)
PER_SESSION = replace(PER_USER, denominator="denominator")


def _users(
    values: Callable[[np.random.Generator, tuple[int, ...]], Any],
    rng: np.random.Generator,
    shape: tuple[int, ...],
) -> tuple[Floats, Floats]:
    return np.asarray(values(rng, shape), dtype=np.float64), np.ones(shape)


def _share(p: float, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.random(shape) < p


def _sessions(rng: np.random.Generator, shape: tuple[int, ...]) -> Ints:
    """3.1 of each user on average; few users have many."""
    return 1 + rng.negative_binomial(0.7, 0.25, shape)


def _engaged(a: float, b: float, rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    sessions = _sessions(rng, shape)
    engaged = rng.binomial(sessions, rng.beta(a, b, shape))
    return engaged.astype(np.float64), sessions.astype(np.float64)


def _watched(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    sessions = _sessions(rng, shape)
    return rng.lognormal(0, 1, shape) * rng.gamma(0.4 * sessions, 2), sessions.astype(np.float64)


SITUATIONS = (
    Situation("rate of users, 50 %", partial(_users, partial(_share, 0.5)), RATE),
    Situation("rate of users, 5 %", partial(_users, partial(_share, 0.05)), RATE),
    Situation("rate of users, 95 %", partial(_users, partial(_share, 0.95)), RATE),
    Situation("rate of sessions, 40 %", partial(_engaged, 1.0, 1.5), replace(PER_SESSION, high=1.0)),
    Situation("rate of sessions, 5 %", partial(_engaged, 0.2, 3.8), replace(PER_SESSION, high=1.0)),
    Situation("watch time per session", _watched, PER_SESSION),
    Situation(
        "heavy tail (lognormal, σ 1.5)", partial(_users, lambda rng, n: rng.lognormal(0, 1.5, n)), PER_USER
    ),
    Situation(
        "very heavy tail (lognormal, σ 2)", partial(_users, lambda rng, n: rng.lognormal(0, 2, n)), PER_USER
    ),
    Situation("one visit, of 1 % two", partial(_users, lambda rng, n: 1.0 + _share(0.01, rng, n)), PER_USER),
)


# ── looking again and again ──────────────────────────────────────────────────────────────────


@dataclass
class Looked:
    """Tries in which some look excluded zero, by plan [P]: ``ever``, and among the looks that are ``shown``;
    ``reached``: tries in which anything is shown.
    """

    ever: Ints = field(default_factory=lambda: np.zeros(len(PLANNED), dtype=np.int64))
    shown: Ints = field(default_factory=lambda: np.zeros(len(PLANNED), dtype=np.int64))
    reached: int = 0


def many_looks(situation: Situation, split: str, tries: int, longest: int) -> Looked:
    """Users come one by one into two equal variants; every look asks whether the interval excludes zero."""
    rng, found = np.random.default_rng(1), Looked()
    looks = _looks(longest)
    for size in _blocks(tries, longest):
        control, variant = _cumulated(situation, SPLITS[split], rng, (size, longest), looks)
        with np.errstate(divide="ignore", invalid="ignore"):
            lifts = grouped_lifts.lifts(situation.metric, control, variant)
            bare = _bare(control, variant)
        n = control.n + variant.n
        for place, planned in enumerate(PLANNED):
            ever = _excludes(*always_valid_interval(*bare, n, planned))
            shown = (
                _excludes(*always_valid_interval(lifts.log_ratio, lifts.std_error, n, planned))
                & lifts.for_many_looks
            )
            found.ever[place] += int(ever.any(axis=1).sum())
            found.shown[place] += int(shown.any(axis=1).sum())
        found.reached += int(lifts.for_many_looks.any(axis=1).sum())
    return found


def _looks(longest: int) -> Ints:
    """Places of the users after whom somebody looks."""
    steps = int(np.log(max(longest / EACH, 1)) / np.log(LOOKS_APART))
    later = EACH * LOOKS_APART ** np.arange(1, steps + 1)
    looks = np.concatenate([np.arange(min(EACH, longest)), later.astype(np.int64)])
    return np.unique(looks[looks < longest])


def _blocks(tries: int, cells: int) -> Iterator[int]:
    size = max(min(tries, MOST_CELLS // cells), 1)
    yield from [size] * (tries // size)
    if tries % size:
        yield tries % size


def _cumulated(
    situation: Situation, share: float, rng: np.random.Generator, shape: tuple[int, int], looks: Ints
) -> list[Sums]:
    """[tries, looks] sums of control and variant."""
    numerator, denominator = situation.draw(rng, shape)
    is_variant = rng.random(shape) < share
    return [_sums(side, numerator, denominator, looks) for side in (~is_variant, is_variant)]


def _sums(side: Mask, numerator: Floats, denominator: Floats, looks: Ints) -> Sums:
    def upto(values: Any) -> Floats:
        total: Floats = np.where(side, values, 0.0).cumsum(axis=1)[:, looks]
        return total

    return Sums(
        upto(1.0), upto(numerator), upto(denominator), upto(numerator**2), upto(numerator * denominator),
        upto(denominator**2),
    )  # fmt: skip


def _bare(control: Sums, variant: Sums) -> tuple[Floats, Floats]:
    """Log ratio and standard error of the delta method, whenever they are numbers."""
    error = np.sqrt(sum(side.squared_error / side.value**2 for side in (control, variant)))
    return np.log(variant.value / control.value), np.where(error > 0, error, np.nan)


def _excludes(low: Floats, high: Floats) -> Mask:
    excludes: Mask = (low > 0) | (high < 0)
    return excludes


# ── one look ─────────────────────────────────────────────────────────────────────────────────


def one_look(situation: Situation, split: str, n_small: int, tries: int) -> tuple[float, float]:
    """The shares of tries in which equal variants are called better, and worse."""
    share, rng = SPLITS[split], np.random.default_rng(2)
    n = (round(n_small / share) - n_small, n_small)
    better = worse = 0
    for size in _blocks(tries, sum(n)):
        drawn = [situation.draw(rng, (size, one)) for one in n]
        control, variant = (
            Sums(
                np.full(size, float(one)), top.sum(1), below.sum(1), (top**2).sum(1), (top * below).sum(1),
                (below**2).sum(1),
            )
            for one, (top, below) in zip(n, drawn, strict=True)
        )  # fmt: skip
        up, down = _claims(situation, control, variant)
        better, worse = better + int(up.sum()), worse + int(down.sum())
    return better / tries, worse / tries


def _claims(situation: Situation, control: Sums, variant: Sums) -> tuple[Mask, Mask]:
    """[tries] which are called better, and worse, as ``recdash online`` does."""
    with np.errstate(divide="ignore", invalid="ignore"):
        lifts: Lifts = grouped_lifts.lifts(situation.metric, control, variant)
    sure = lifts.p <= 0.05
    better, worse = sure & (lifts.low > 0), sure & (lifts.high < 0)
    if situation.is_rate:
        few = np.flatnonzero((lifts.note != "") & (control.numerator > 0) & (control.n > 1) & (variant.n > 1))
        for place in few:
            counts = [Count(int(one.numerator[place]), int(one.n[place])) for one in (control, variant)]
            better[place], worse[place] = _claimed(*counts)
    return better, worse


@cache
def _claimed(control: Count, variant: Count) -> tuple[bool, bool]:
    if p_value(control, variant) > 0.05:
        return False, False
    low, high = ratio_interval(control, variant, 0.95)
    return low > 1, high < 1


# ── the page ─────────────────────────────────────────────────────────────────────────────────

TEXT = """\
# Calibration of A/B tests

Written by `python -m benchmarks.calibration_online` (seeded; {tries_many:,} tries of each row of the first
table, {tries_one:,} of each cell of the second). Both variants are equal in every try, so that every finding
is a false positive.

## Checking after every user

The always-valid interval is asymptotic: it may exclude zero at some time in 5 % of the tests without a
difference, once each variant has enough users. Users arrive one by one, and the interval is checked after
each of the first {each:,} and then after every further half per cent, up to the number of users given.
*Without a bound*: the interval is shown from the second user on. *As shown*: from {users} users of each
variant on whose value has a relative standard error of at most {error} (of a share also relative to its
distance from 100 %); a variant with less than half the users of the other has at least the other's variance.
"Planned" is the number of users at which the interval is narrowest: {first:,} without a plan. If few tests
reach the bound, a row shows little more than that there is no interval before.

{many}

## One look

The share of tests in which equal variants are called *better* / *worse*, by users of the smaller variant;
each may be 2.5 %. Rates with few successes or failures have the score interval and Fisher's exact p (twice
the smaller tail), which must agree; other metrics have an interval from {few} users of each variant and a
relative standard error of {loose} on, and none before.

{one}
"""


def page(tries_many: int, tries_one: int) -> str:
    return TEXT.format(
        tries_many=tries_many,
        tries_one=tries_one,
        each=EACH,
        users=MANY_LOOKS.users,
        error=f"{100 * MANY_LOOKS.relative_error:g} %",
        first=PLANNED[0],
        few=ONE_LOOK.users,
        loose=f"{100 * ONE_LOOK.relative_error:g} %",
        many=_table(_many_head(), [_many_row(*row, tries_many) for row in _rows()]),
        one=_table(
            ["situation", "split", *map(str, FEW), "tries"], [_one_row(*row, tries_one) for row in _rows()]
        ),
    )


def _rows() -> list[tuple[Situation, str]]:
    return [(situation, split) for situation in SITUATIONS for split in SPLITS]


def _many_head() -> list[str]:
    planned = [f"planned {one:,}" for one in PLANNED]
    return [
        "situation", "split", "users", *(f"without a bound, {one}" for one in planned),
        *(f"as shown, {one}" for one in planned), "reach the bound", "tries",
    ]  # fmt: skip


def _many_row(situation: Situation, split: str, tries: int) -> list[str]:
    found = many_looks(situation, split, tries, LONGEST[split])
    counts = [*found.ever.tolist(), *found.shown.tolist(), found.reached]
    shares = [f"{100 * count / tries:.1f} %" for count in counts]
    return [situation.name, split, f"{LONGEST[split]:,}", *shares, f"{tries:,}"]


def _one_row(situation: Situation, split: str, tries: int) -> list[str]:
    claims = [one_look(situation, split, n, tries) for n in FEW]
    return [
        situation.name,
        split,
        *(f"{100 * up:.1f} / {100 * down:.1f} %" for up, down in claims),
        f"{tries:,}",
    ]


def _table(head: list[str], rows: list[list[str]]) -> str:
    dashes = ["---", "---", *["---:"] * (len(head) - 2)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, dashes, *rows))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration_online", description=__doc__)
    parser.add_argument("--many", type=int, default=400, help="tries of each row of many looks (400)")
    parser.add_argument("--one", type=int, default=3_000, help="tries of each cell of one look (3,000)")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page that is written")
    asked = parser.parse_args()
    asked.output.write_text(page(asked.many, asked.one), encoding="utf-8")


if __name__ == "__main__":
    main()
