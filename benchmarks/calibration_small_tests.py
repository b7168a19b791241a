"""``python -m benchmarks.calibration_small_tests``: small and lopsided A/B tests without any effect.

Writes a section of docs/calibration.md. Everything is seeded: the same command writes the same table.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibration_page import PAGE, write_section
from recdash.domain.kinds import Floats, Ints
from recdash.online.analysis import lift as delta
from recdash.online.analysis import power, sequential
from recdash.online.analysis.choice import Choice, of_users
from recdash.online.analysis.health import MISMATCH_BELOW, sample_ratio
from recdash.online.analysis.pair_values import pair_values
from recdash.online.metrics import OnlineMetric
from recdash.online.validity import MANY_LOOKS
from recdash.stats import holm

TITLE = "Small and lopsided A/B tests"
METRIC = OnlineMetric("watch_min", "Watch time", "min", "", "watch_min")
LEVEL, LOOKS, SRM_TRIES = 0.05, 10, 4_000
GOOD, MORE = (0.04, 0.06), 8
"""Chance takes a share of 1,000 tries beyond these limits in one of seven rows: such a row has eight times as
many.
"""
SIZES, SPLITS, ARMS = (30, 200, 2_000, 10_000), {"50/50": 0.5, "90/10": 0.9}, (2, 4)


@dataclass(frozen=True)
class Situation:
    """A test of ``users`` users and ``arms`` variants; ``control`` is the control's share of control and one
    variant. ``earlier``: the users' pre-test values are known (CUPED).
    """

    users: int
    split: str
    arms: int
    earlier: bool

    @property
    def shares(self) -> Floats:
        """Returns the share of users of control and of each variant."""
        control = SPLITS[self.split]
        parts = np.array([control] + [1 - control] * (self.arms - 1))
        return parts / parts.sum()

    @property
    def title(self) -> str:
        return f"{self.users:,} | {self.split} | {self.arms} | {'yes' if self.earlier else 'no'}"


@dataclass
class Counts:
    """How many comparisons were made and withheld, and how many of the others called a difference, had an
    interval of the lift, of the difference, that misses 0, and had p and an interval that disagree.

    ``families``: tests in which some variant was called after Holm's correction. ``looked`` tests were looked
    at again and again, and the always-valid interval of ``ever`` of them excluded 0 at some time. ``found``
    of ``powered`` other tests called a lift of the size that was stated as detectable.
    """

    tries: int = 0
    compared: int = 0
    withheld: int = 0
    called: int = 0
    lifts: int = 0
    lift_misses: int = 0
    difference_misses: int = 0
    disagree: int = 0
    families: int = 0
    adjusted: int = 0
    looked: int = 0
    ever: int = 0
    powered: int = 0
    found: int = 0
    reason: str = ""

    def is_good(self) -> bool:
        """Returns whether the shares of calls and of intervals that miss 0 are those of a level of .05."""
        made = self.compared - self.withheld
        kinds = (self.called, made), (self.lift_misses, self.lifts), (self.difference_misses, made)
        return all(GOOD[0] <= count / of <= GOOD[1] for count, of in kinds if of)


def situations(largest: int = SIZES[-1]) -> Iterator[Situation]:
    """Yields the situations of at most ``largest`` users."""
    for arms in ARMS:
        for users in (size for size in SIZES if size <= largest):
            for split in SPLITS:
                for earlier in (False, True):
                    yield Situation(users, split, arms, earlier)


def draw(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Returns [n] each user's watch time in the test and before it: lognormal, and 0 for 40 % of users.

    The logarithms of the user's own level and of each period have the standard deviations 1 and 0.8.
    """
    level = rng.lognormal(0, 1, n)
    now, before = (level * rng.lognormal(0, 0.8, n) * (rng.random(n) < 0.6) for _ in range(2))
    return now, before


def assigned(situation: Situation, rng: np.random.Generator) -> Ints:
    """Returns [users] the variant of each user, in random order; the sizes are those planned."""
    ends = np.rint(np.cumsum(situation.shares) * situation.users).astype(np.int64)
    return rng.permutation(np.searchsorted(ends, np.arange(situation.users), side="right"))


def simulate(situation: Situation, tries: int) -> Counts:
    """Returns the counts of ``tries`` tests, and of more if these leave open whether a share is good."""
    counts = Counts()
    for number in range(MORE * tries):
        if number == tries and counts.is_good():
            break
        seed = [situation.users, situation.arms, list(SPLITS).index(situation.split), number]
        _try(situation, np.random.default_rng(seed), counts)
        if number == 20 and counts.withheld == counts.compared:
            break  # the sizes are the same in every try, and so is the reason
    return counts


def _try(situation: Situation, rng: np.random.Generator, counts: Counts) -> None:
    now, before = draw(rng, situation.users)
    code = assigned(situation, rng)
    choices = [_compared(now, before, code, situation, arm) for arm in range(1, situation.arms)]
    counts.tries += 1
    known = []
    for chosen in choices:
        counts.compared += 1
        p = chosen.shown.p
        if p is None:
            counts.withheld += 1
            counts.reason = chosen.shown.lift(0.95).note
            continue
        known.append(p)
        _count(counts, chosen, p)
    if known:
        counts.families += bool((holm(np.array(known)) < LEVEL).any())
    if known and situation.arms == 2:
        _count_power(counts, situation, rng, choices[0])
        if not situation.earlier and situation.users >= 2 * MANY_LOOKS.users:
            counts.looked += 1
            counts.ever += _ever_excludes(now, code)


def _compared(now: Floats, before: Floats, code: Ints, situation: Situation, arm: int) -> Choice:
    earlier: Mapping[str, Floats] = {"watch_min": before} if situation.earlier else {}
    return of_users(METRIC, pair_values(METRIC, {"watch_min": now}, earlier, code, 0, arm))


def _count(counts: Counts, chosen: Choice, p: float) -> None:
    lift, difference = chosen.shown.lift(0.95), chosen.shown.difference(0.95)
    counts.called += p < LEVEL
    counts.adjusted += chosen.plain is not None
    misses = not _holds(difference.low, difference.high)
    counts.difference_misses += misses
    counts.disagree += misses != (p < LEVEL)
    if lift.low is not None:
        counts.lifts += 1
        counts.lift_misses += not _holds(lift.low, lift.high)
        counts.disagree += _holds(lift.low, lift.high) == (p < LEVEL)


def _holds(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and low <= 0 <= high


def _count_power(counts: Counts, situation: Situation, rng: np.random.Generator, chosen: Choice) -> None:
    """Has another test of as many users in which the variant has the lift that is stated as detectable, and
    counts whether it is called.

    In the same test, the stated lift is larger the less lucky its split is, and so would be called too often.
    """
    least = power.smallest_lift(chosen.shown)
    if least is None:
        return
    counts.powered += 1
    now, before = draw(rng, situation.users)
    code = assigned(situation, rng)
    p = _compared(np.where(code == 1, (1 + least) * now, now), before, code, situation, 1).shown.p
    counts.found += p is not None and p < LEVEL


def _ever_excludes(now: Floats, code: Ints) -> bool:
    """Returns whether the always-valid interval excludes 0 at one of ten looks, a tenth of users apart."""
    for look in range(1, LOOKS + 1):
        n = len(now) * look // LOOKS
        sides = delta.arms({"watch_min": now[:n]}, code[:n])
        if len(sides) < 2 or delta.why_not_valid(METRIC, sides[0], sides[1], MANY_LOOKS):
            continue
        ratio = delta.log_ratio(METRIC, sides[0], sides[1])
        if ratio is not None:
            low, high = sequential.always_valid_interval(*ratio, n)
            if not _holds(low, high):
                return True
    return False


def split_alarms(situation: Situation, tries: int = SRM_TRIES) -> float:
    """Returns the share of tests with a random split in which the check of the split raises an alarm."""
    rng = np.random.default_rng(situation.users)
    planned = {str(arm): float(share) for arm, share in enumerate(situation.shares)}
    alarms = 0
    for row in rng.multinomial(situation.users, situation.shares, tries):
        p, _ = sample_ratio(dict(zip(planned, row.tolist(), strict=True)), planned)
        alarms += p is not None and p < MISMATCH_BELOW
    return alarms / tries


# ── the page ─────────────────────────────────────────────────────────────────────────────────

TEXT = """\
Written by `python -m benchmarks.calibration_small_tests` (seeded). All variants are equal: watch time per
user is lognormal (standard deviation of the logarithm 1.28), and 0 for 40 % of users. *Split* is that of
control and one variant; of four variants, all but the control have the same share. *CUPED*: the time before
the test is known. Shares are those of all comparisons with the control that are not withheld.

*Called*: p is below .05. *Misses*: the 95 % interval of the lift, and of the absolute difference, excludes 0.
*Disagree*: p says otherwise than an interval. *Any called*: some variant differs after Holm's correction.
*Always-valid*: the interval for many looks excludes 0 at one of ten looks. *Power*: the lift that is stated
as detectable is called in another test of as many users. A row whose shares of
calls or misses are not within .04 and .06 has 8,000 tries, as chance alone takes 1,000 beyond in one of seven
rows. *SRM*: false alarms of the check of the split. The
option `--largest` leaves out larger tests.

{table}
"""
COLUMNS = (
    "users", "split", "variants", "CUPED", "called", "misses (lift)", "misses (difference)", "disagree",
    "any called", "always-valid", "power", "SRM", "tries",
)  # fmt: skip


def table(rows: Sequence[str]) -> str:
    dashes = ["---" if name in {"split", "CUPED"} else "---:" for name in COLUMNS]
    return "\n".join([f"| {' | '.join(COLUMNS)} |", f"| {' | '.join(dashes)} |", *rows])


def page_row(situation: Situation, counts: Counts, alarms: float) -> str:
    """Returns the row of the table; a situation without an answer has the reason."""
    made = counts.compared - counts.withheld
    if not made:
        return (
            f"| {situation.title} | withheld: {counts.reason} | | | | | | | {alarms:.4f} | {counts.tries:,} |"
        )
    cells = [
        f"{counts.called / made:.3f}",
        f"{counts.lift_misses / max(counts.lifts, 1):.3f}",
        f"{counts.difference_misses / made:.3f}",
        f"{counts.disagree / made:.4f}",
        f"{counts.families / counts.tries:.3f}",
        f"{counts.ever / counts.looked:.3f}" if counts.looked else "–",
        f"{counts.found / counts.powered:.3f}" if counts.powered > counts.tries / 2 else "–",
        f"{alarms:.4f}",
        f"{counts.tries:,}",
    ]
    return f"| {situation.title} | {' | '.join(cells)} |"


def _row(tries: int, cache: Path | None, situation: Situation) -> str:
    """Returns the row of a situation; ``cache`` is a folder in which counts are kept."""
    name = (
        f"{situation.users}-{situation.split.replace('/', '-')}-{situation.arms}-{situation.earlier}-{tries}"
    )
    kept = cache / f"{name}.json" if cache else None
    if kept is not None and kept.exists():
        counts = Counts(**json.loads(kept.read_text(encoding="utf-8")))
    else:
        counts = simulate(situation, tries)
        if kept is not None:
            kept.write_text(json.dumps(_plain(counts)), encoding="utf-8")
    return page_row(situation, counts, split_alarms(replace(situation, earlier=False)))


def _plain(counts: Counts) -> dict[str, Any]:
    return {name: value if isinstance(value, str) else int(value) for name, value in asdict(counts).items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration_small_tests", description=__doc__)
    parser.add_argument("--tries", type=int, default=1_000, help="tries of each situation (1,000)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="the most users of a test")
    parser.add_argument("--processes", type=int, default=2, help="processes (2)")
    parser.add_argument("--cache", type=Path, help="a folder that keeps what was counted")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page that gets the section")
    asked = parser.parse_args()
    if asked.cache:
        asked.cache.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(asked.processes) as pool:
        rows = list(pool.map(partial(_row, asked.tries, asked.cache), situations(asked.largest)))
    write_section(TITLE, TEXT.format(table=table(rows)), asked.output)


if __name__ == "__main__":
    main()
