"""``python -m benchmarks.calibration_small_tests``: small and lopsided A/B tests without any effect.

Writes a section of docs/calibration.md. Everything is seeded: the same command writes the same table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibration_page import options, table, write_section
from recdash.domain.kinds import Floats, Ints, Mask
from recdash.online.analysis import grouped_lifts, power, sequential
from recdash.online.analysis import lift as delta
from recdash.online.analysis.choice import Choice, of_users
from recdash.online.analysis.grouped_lifts import Sums
from recdash.online.analysis.health import FADES_BELOW, MISMATCH_BELOW, sample_ratio
from recdash.online.analysis.novelty_effect import novelty_effects_against
from recdash.online.analysis.pair_values import pair_values
from recdash.online.metrics import OnlineMetric
from recdash.online.users import Days, OnlineUsers
from recdash.online.validity import MANY_LOOKS
from recdash.stats import holm

TITLE = "Small and lopsided A/B tests"
METRIC = OnlineMetric("watch_min", "Watch time", "min", "", "watch_min")
LEVEL, LOOKS, TRIES, SRM_TRIES = 0.05, 10, 1_000, 4_000
"""Every situation has as many tries: more for rows beyond a limit alone would favour passing."""
LIMITS, OTHER_TRIES = (0.04, 0.06), 12_000
"""Rows beyond the limits have so many other tries too, which have two standard errors of .004."""
SIZES, SPLITS = {2: (30, 200, 300, 2_000, 10_000), 4: (30, 200, 2_000, 10_000)}, {"50/50": 0.5, "90/10": 0.9}
"""The numbers of users by number of variants, and the control's share of control and one variant."""
DAYS, JOIN_DAYS, ACTIVE = 14, 5, 0.3
"""In the tests of the novelty effect users join on the first days, and are active on this share of days."""


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
    at again and again; ``showed`` of them had an always-valid interval at some time, and that of ``ever``
    excluded 0. ``found`` of ``powered`` other tests called a lift of the size that was stated as detectable.
    ``alarms`` of ``watched`` tests said that the lift of some variant changes over time.
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
    showed: int = 0
    ever: int = 0
    powered: int = 0
    found: int = 0
    watched: int = 0
    alarms: int = 0
    reason: str = ""


def situations(largest: int = SIZES[2][-1]) -> Iterator[Situation]:
    """Yields the situations of at most ``largest`` users."""
    for arms, sizes in SIZES.items():
        for users in (size for size in sizes if size <= largest):
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
    """Returns the counts of ``tries`` tests."""
    counts = Counts()
    for number in range(tries):
        _try(situation, np.random.default_rng(seed_of(situation, number)), counts)
        if not situation.earlier:
            _count_alarms(situation, np.random.default_rng([*seed_of(situation, number), 1]), counts)
    return counts


def compare_others(situation: Situation, first: int, tries: int = OTHER_TRIES) -> Counts:
    """Returns the counts of the comparisons alone, in ``tries`` tests from the one with number ``first``."""
    counts = Counts()
    for number in range(first, first + tries):
        now, before, code = drawn(situation, np.random.default_rng(seed_of(situation, number)))
        _count_comparisons(situation, now, before, code, counts)
    return counts


def seed_of(situation: Situation, number: int) -> list[int]:
    """Returns the seed of a test; tests that differ only in CUPED have the same users."""
    return [situation.users, situation.arms, list(SPLITS).index(situation.split), number]


def drawn(situation: Situation, rng: np.random.Generator) -> tuple[Floats, Floats, Ints]:
    """Returns [users] the watch time in the test and before it, and the variant."""
    now, before = draw(rng, situation.users)
    return now, before, assigned(situation, rng)


def _try(situation: Situation, rng: np.random.Generator, counts: Counts) -> None:
    now, before, code = drawn(situation, rng)
    choices = _count_comparisons(situation, now, before, code, counts)
    if situation.arms == 2 and choices[0].shown.p is not None:
        _count_power(counts, situation, rng, choices[0])
        _count_looks(counts, now, before if situation.earlier else None, code)


def _count_comparisons(
    situation: Situation, now: Floats, before: Floats, code: Ints, counts: Counts
) -> list[Choice]:
    """Counts the comparisons of a test, and returns them, one of each variant with the control."""
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
    return choices


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


def _count_looks(counts: Counts, now: Floats, before: Floats | None, code: Ints) -> None:
    """Counts whether there is an always-valid interval at some time, and whether it then excludes 0.

    It is narrowest at the number of users of the test, which is where it is wrong most often.
    """
    looks = list(_looks(now, code) if before is None else _adjusted_looks(now, before, code))
    counts.looked += 1
    counts.showed += bool(looks)
    counts.ever += any(not low <= 0 <= high for low, high in looks)


def _looks(now: Floats, code: Ints) -> Iterator[tuple[float, float]]:
    """Yields the always-valid interval after each user, from the first who makes it valid."""
    control, variant = _cumulated(now, code == 0), _cumulated(now, code == 1)
    lifts = grouped_lifts.lifts(METRIC, control, variant)
    shown = lifts.for_many_looks
    n = (control.n + variant.n)[shown]
    ends = sequential.always_valid_interval(lifts.log_ratio[shown], lifts.std_error[shown], n, len(now))
    return zip(*(side.tolist() for side in ends), strict=True)


def _cumulated(now: Floats, of_side: Mask) -> Sums:
    """Returns [users] the sums over the users of one variant up to each user."""
    n, values = of_side.astype(np.float64).cumsum(), np.where(of_side, now, 0.0)
    sums, squares = values.cumsum(), (values * values).cumsum()
    return Sums(n, sums, n, squares, sums, n)


def _adjusted_looks(now: Floats, before: Floats, code: Ints) -> Iterator[tuple[float, float]]:
    """Yields the always-valid interval with CUPED at ten looks, a tenth of the users apart."""
    for look in range(1, LOOKS + 1):
        n = len(now) * look // LOOKS
        if np.bincount(code[:n], minlength=2).min() < MANY_LOOKS.users:
            continue
        totals = {METRIC.numerator: now[:n], f"{delta.BEFORE}{METRIC.numerator}": before[:n]}
        sides = delta.arms(totals, code[:n])
        if delta.why_not_valid(METRIC, sides[0], sides[1], MANY_LOOKS):
            continue
        ratio = delta.log_ratio(METRIC, sides[0], sides[1], adjusted=True)
        if ratio is not None:
            low, high = sequential.always_valid_interval(*ratio, n, len(now))
            yield float(low), float(high)


def _count_alarms(situation: Situation, rng: np.random.Generator, counts: Counts) -> None:
    """Counts whether the lift of some variant is said to change over time, in a test of two weeks without an
    effect: p, corrected over the variants, is below that of a warning.
    """
    effects = novelty_effects_against(users_of_days(situation, rng), METRIC, 0)
    p = [effect.p for effect in effects if effect.p is not None]
    if p:
        counts.watched += 1
        counts.alarms += bool((holm(np.array(p)) < FADES_BELOW).any())


def users_of_days(situation: Situation, rng: np.random.Generator) -> OnlineUsers:
    """Returns users with a watch time on each day on which they are active: lognormal, with the standard
    deviations of ``draw``.
    """
    n = situation.users
    exposed, level = rng.integers(0, JOIN_DAYS, n), rng.lognormal(0, 1, n)
    unit, day = np.nonzero(rng.random((n, DAYS)) < ACTIVE)
    unit, day = unit[day >= exposed[unit]], day[day >= exposed[unit]]
    watched = level[unit] * rng.lognormal(0, 0.8, len(unit))
    totals = {METRIC.numerator: np.bincount(unit, watched, minlength=n).astype(np.float64)}
    days = Days(unit, day, {METRIC.numerator: watched})
    variants = tuple(str(arm) for arm in range(situation.arms))
    return users_with(variants, assigned(situation, rng), totals, exposed, days)


def users_with(
    variants: tuple[str, ...],
    variant: Ints,
    totals: Mapping[str, Floats],
    exposed: Ints | None = None,
    days: Days | None = None,
) -> OnlineUsers:
    """Returns users with these totals, and nothing known before the test; without days if none are given."""
    nothing = np.zeros(0, dtype=np.int64)
    return OnlineUsers(
        variants=variants,
        unit=range(len(variant)),
        variant=variant,
        totals=totals,
        exposed=np.zeros(len(variant), dtype=np.int64) if exposed is None else exposed,
        days=Days(nothing, nothing, {}) if days is None else days,
        before={},
        segments={},
        assigned={},
        crossed=0,
        removed=(),
        notices=(),
    )


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
control and one variant; of four variants, all but the control have the same share. *CUPED*: the watch time
before the test is known. The shares are of all comparisons with the control that are not withheld.

*Called*: p is below .05. *Misses*: the 95 % interval of the lift, and of the absolute difference, excludes
0. *Disagree*: p is below .05 and an interval includes 0, or the reverse. *Any called*: some variant differs
after Holm's correction. **The limits** are .04 and .06, widened by two standard errors of the tries, .014;
every row has as many tries. Rows beyond .04 or .06 themselves are in the second table, with 12,000 other
tries, whose two standard errors are .004.

*Always-valid*: the interval for many looks excludes 0 at one of the looks. There is a look after each user,
and with CUPED after each tenth of them. The planned sample size, at which the interval is narrowest, is the
number of users. *Shown*: the share of tests that have the interval at some time. It is held back until each
variant has 200 users and a relative standard error of its mean of at most 10 %; this watch time has that
from about 800 users of each variant on. Tests of 300 users have no interval.

*Power*: in how many other tests of as many users the lift that is stated as detectable is called; .77 to
.83 is right. With 20 users of the variant the stated lift is too large: half of the tests state more than
440 %, but 380 % are detected in .80; one test in six states none. *Novelty*: false alarms that a lift
changes over time (p below .01, corrected over the variants) in tests of 14 days; the limit is .015. *SRM*:
false alarms of the check of the split. The option `--largest` leaves out larger tests.

{table}

{others}
"""
COLUMNS = (
    "users", "split", "variants", "CUPED", "called", "misses (lift)", "misses (difference)", "disagree",
    "any called", "always-valid", "shown", "power", "novelty", "tries", "SRM", "SRM tries",
)  # fmt: skip
OTHER_COLUMNS = (
    "users", "split", "variants", "CUPED", "called", "misses (lift)", "misses (difference)", "disagree",
    "tries",
)  # fmt: skip
TEXTS = {"split", "CUPED"}


def page_row(situation: Situation, counts: Counts, alarms: float) -> str:
    """Returns the row of the table; a situation without an answer has the reason."""
    made = counts.compared - counts.withheld
    last = [_share(counts.alarms, counts.watched, 4), f"{counts.tries:,}", f"{alarms:.4f}", f"{SRM_TRIES:,}"]
    if not made:
        return f"| {situation.title} | withheld: {counts.reason} | | | | | | | | {' | '.join(last)} |"
    has_power = counts.powered > counts.tries / 2  # those few are not like the others
    cells = [
        *_shares(counts),
        _share(counts.families, counts.tries),
        _share(counts.ever, counts.showed),
        _share(counts.showed, counts.looked),
        _share(counts.found, counts.powered) if has_power else "–",
        *last,
    ]
    return f"| {situation.title} | {' | '.join(cells)} |"


def other_row(situation: Situation, counts: Counts) -> str:
    """Returns the row of the second table."""
    return f"| {situation.title} | {' | '.join(_shares(counts))} | {counts.tries:,} |"


def _shares(counts: Counts) -> list[str]:
    """Returns the shares of the comparisons that are not withheld."""
    made = counts.compared - counts.withheld
    return [
        _share(counts.called, made),
        _share(counts.lift_misses, counts.lifts),
        _share(counts.difference_misses, made),
        _share(counts.disagree, made, 4),
    ]


def beyond(counts: Counts) -> bool:
    """Returns whether a share of p or of an interval, as the page writes it, is below or above the limits."""
    made = counts.compared - counts.withheld
    shares = [(counts.called, made), (counts.lift_misses, counts.lifts), (counts.difference_misses, made)]
    return any(of and not LIMITS[0] <= round(count / of, 3) <= LIMITS[1] for count, of in shares)


def _share(count: int, of: int, digits: int = 3) -> str:
    return f"{count / of:.{digits}f}" if of else "–"


def _rows(tries: int, cache: Path | None, situation: Situation) -> tuple[str, str | None]:
    """Returns the rows of a situation in both tables; ``cache`` is a folder in which counts are kept."""
    name = f"{situation.users}-{situation.split.replace('/', '-')}-{situation.arms}-{situation.earlier}"
    counts = _kept(cache, f"{name}-{tries}", partial(simulate, situation, tries))
    row = page_row(situation, counts, split_alarms(replace(situation, earlier=False)))
    if not beyond(counts):
        return row, None
    others = _kept(cache, f"{name}-{tries}-others", partial(compare_others, situation, tries))
    return row, other_row(situation, others)


def _kept(cache: Path | None, name: str, count: Callable[[], Counts]) -> Counts:
    """Returns the counts with this name in the cache; counts them if there are none."""
    path = cache / f"{name}.json" if cache else None
    if path is not None and path.exists():
        return Counts(**json.loads(path.read_text(encoding="utf-8")))
    counts = count()
    if path is not None:
        path.write_text(json.dumps(_plain(counts)), encoding="utf-8")
    return counts


def _plain(counts: Counts) -> dict[str, Any]:
    return {name: value if isinstance(value, str) else int(value) for name, value in asdict(counts).items()}


def main() -> None:
    parser = options("calibration_small_tests", __doc__, TRIES, SIZES[2][-1])
    parser.add_argument("--cache", type=Path, help="a folder that keeps what was counted")
    asked = parser.parse_args()
    if asked.cache:
        asked.cache.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(asked.processes) as pool:
        pairs = list(pool.map(partial(_rows, asked.tries, asked.cache), situations(asked.largest)))
    rows, others = table(COLUMNS, [row for row, _ in pairs], TEXTS), [row for _, row in pairs if row]
    second = table(OTHER_COLUMNS, others, TEXTS) if others else ""
    write_section(TITLE, TEXT.format(table=rows, others=second), asked.output)


if __name__ == "__main__":
    main()
