"""``python -m benchmarks.calibration_interleaving``: how often interleaving tests are wrong, and their power.

Writes its section of docs/calibration.md. Everything is seeded: the same command writes the same tables.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.calibration_page import PAGE, write_section
from recdash.demo.interleaving import Clicks
from recdash.domain.kinds import Floats, Ints
from recdash.online.interleaving.credits import RequestCredits, balanced_credits
from recdash.online.interleaving.power import detectable
from recdash.online.interleaving.preference import Measure, preference, user_sums
from recdash.online.interleaving.team_split import team_split

TITLE = "Interleaving tests"
USERS, REQUESTS, SLOTS = (30, 200, 2_000), 20, 6
LIMITS, POWER_LIMITS, SPLIT_LIMIT = (0.04, 0.06), (0.77, 0.83), 0.002
MANY_USERS, SAMPLES = 40_000, 3
"""Number of users in which the true preference of a world is measured, in each of so many samples."""
MEASURES: tuple[Measure, ...] = ("requests", "credits")
Draw = Callable[[np.random.Generator, int], RequestCredits]


# ── worlds ───────────────────────────────────────────────────────────────────────────────────


def team_draft(clicks: Clicks) -> Draw:
    """Returns a world of team drafts."""

    def draw(rng: np.random.Generator, n_users: int) -> RequestCredits:
        drawn = clicks.draw(rng, n_users, REQUESTS)
        is_b = drawn.team == 1
        first = np.where(is_b[:, 0], 1, -1)
        surplus = np.sign(is_b.sum(axis=1) - (~is_b).sum(axis=1))
        a, b = (((drawn.clicked & side).sum(axis=1)).astype(np.float64) for side in (~is_b, is_b))
        return RequestCredits("a", "b", "team draft", drawn.user, a, b, first, surplus.astype(np.int64))

    return draw


def balanced(clicks: Clicks) -> Draw:
    """Returns a world of balanced lists of two random rankings; the ranking of an item's better rank counts
    as its team for the clicks.
    """

    def draw(rng: np.random.Generator, n_users: int) -> RequestCredits:
        user = np.repeat(np.arange(n_users), REQUESTS)
        rank_a, rank_b, a_first = _balanced_lists(rng, len(user), clicks.n_slots)
        leading = np.where(rank_a == rank_b, 0.0, np.sign(rank_a - rank_b))  # 1: b shows it higher
        rate = rng.beta(1, clicks.rarity, n_users)
        is_eager = rng.random(n_users) < clicks.eager
        lean = clicks.lean + clicks.taste * rng.normal(size=n_users)
        chance = rate[user][:, None] / np.sqrt(np.arange(1, clicks.n_slots + 1))
        chance = np.where(is_eager[user][:, None], 1.0, chance * np.exp(0.5 * leading * lean[user][:, None]))
        clicked = rng.random(chance.shape) < chance
        request = np.repeat(np.arange(len(user)), clicks.n_slots)
        place = np.tile(np.arange(1.0, clicks.n_slots + 1), len(user))
        a, b = balanced_credits(request, place, rank_a.ravel(), rank_b.ravel(), clicked.ravel())
        return RequestCredits("a", "b", "balanced", user, a, b, np.where(a_first, -1, 1))

    return draw


def _balanced_lists(rng: np.random.Generator, n_requests: int, n_slots: int) -> tuple[Floats, Floats, Ints]:
    """Returns [requests, slots] the ranks in both rankings of the items of each list, and [requests] whether
    a came first. Both rank the same 2 · slots items, each in a random order.
    """
    n_items, request = 2 * n_slots, np.arange(n_requests)
    rankings = np.argsort(rng.random((2, n_requests, n_items)), axis=2)
    ranks = np.argsort(rankings, axis=2) + 1.0
    a_first = rng.integers(0, 2, n_requests)
    is_listed = np.zeros((n_requests, n_items), dtype=np.bool_)
    items = np.zeros((n_requests, n_slots), dtype=np.int64)
    length, pointers = np.zeros(n_requests, dtype=np.int64), np.zeros((2, n_requests), dtype=np.int64)
    while (length < n_slots).any():
        is_b = np.where(pointers[0] == pointers[1], a_first == 0, pointers[1] < pointers[0]).astype(np.int64)
        item = rankings[is_b, request, np.minimum(pointers[is_b, request], n_items - 1)]
        adds = (length < n_slots) & ~is_listed[request, item]
        items[request[adds], length[adds]] = item[adds]
        is_listed[request[adds], item[adds]] = True
        length += adds
        pointers[is_b, request] += 1
    return ranks[0][request[:, None], items], ranks[1][request[:, None], items], a_first


@dataclass(frozen=True)
class World:
    """A simulated interleaving test: its title, and the function that draws one."""

    title: str
    draw: Draw

    def rng(self, n_users: int, more: int = 0) -> np.random.Generator:
        return np.random.default_rng([*self.title.encode(), n_users, more])


ALIKE = Clicks(taste=0.0, eager=0.0)
MIXED = Clicks()
WORLDS = (
    World("team draft, users alike", team_draft(ALIKE)),
    World("team draft, users differ, 3 % click everything", team_draft(MIXED)),
    World("team draft, 5 slots, users differ", team_draft(Clicks(n_slots=5))),
    World("balanced, users differ, 3 % click everything", balanced(MIXED)),
)
LEANS = ((200, 0.20), (2_000, 0.06))
"""Users of a test, and how items of b are preferred where its power is measured."""


# ── counts ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Errors:
    """Shares of tests without a preference: ``called`` have p < .05, ``missed`` have 0.5 outside of their
    interval, ``apart`` have p and interval that contradict each other, ``uneven`` fail a check of the teams;
    ``withheld`` have no verdict, and do not count in the first three.
    """

    called: float
    missed: float
    apart: float
    uneven: float
    withheld: float


def errors(world: World, n_users: int, tries: int) -> dict[Measure, Errors]:
    """Returns how often tests without a preference are wrong, by measure."""
    rng = world.rng(n_users)
    counts = {measure: np.zeros(5) for measure in MEASURES}
    for _ in range(tries):
        requests = world.draw(rng, n_users)
        is_uneven = team_split(requests).blocked
        for measure, of_measure in counts.items():
            row = preference(user_sums(requests, measure), measure)
            of_measure[3] += is_uneven
            if row.p is None or row.low is None or row.high is None:
                of_measure[4] += 1
                continue
            called, missed = row.p < 0.05, not row.low <= 0.5 <= row.high
            of_measure[:3] += called, missed, called != missed
    return {
        measure: Errors(*(of[:3] / max(tries - of[4], 1)).tolist(), *(of[3:] / tries).tolist())
        for measure, of in counts.items()
    }


@cache
def true_share(lean: float, measure: Measure) -> float:
    """Returns the preference of a world in which users differ, measured in many users.

    It is the difference from the same draws without a preference, whose share is known to be 0.5: most of the
    chance is in both.
    """
    leaning, even = (World("truth", team_draft(Clicks(lean=size))) for size in (lean, 0.0))
    ratios = []
    for number in range(SAMPLES):
        drawn = (world.draw(world.rng(MANY_USERS, number), MANY_USERS) for world in (leaning, even))
        ratios.append([user_sums(requests, measure).ratio for requests in drawn])
    ours, without = np.mean(ratios, axis=0)
    return float(0.5 + (ours - without) / 2)


@dataclass(frozen=True)
class Found:
    """How often tests of ``n_users`` find the preference that they are said to find with a power of 80 %.

    ``stated`` is the mean of the stated preference, ``share`` the true one; ``found`` is the share of tests
    that find it, ``missed`` that of intervals without it.
    """

    n_users: int
    stated: float
    share: float
    found: float
    missed: float


def power(n_users: int, lean: float, tries: int) -> Found:
    """Returns how often tests find a preference whose size has a stated power of 80 % for ``n_users``.

    The lean is scaled, by two steps of the secant, so that the true preference is the stated one.
    """
    stated = _stated(n_users)
    for _ in range(2):
        lean = round(lean * (stated - 0.5) / (true_share(lean, "requests") - 0.5), 5)
    share, world = true_share(lean, "requests"), World("power", team_draft(Clicks(lean=lean)))
    rng, n_found, n_missed = world.rng(n_users), 0, 0
    for _ in range(tries):
        row = preference(user_sums(world.draw(rng, n_users)))
        n_found += row.p is not None and row.p < 0.05 and (row.share or 0) > 0.5
        n_missed += row.low is None or row.high is None or not row.low <= share <= row.high
    return Found(n_users, stated, share, n_found / tries, n_missed / tries)


def _stated(n_users: int) -> float:
    """Returns the preference that a test of ``n_users`` is said to find; users without a click do not
    count.
    """
    world = World("stated", team_draft(MIXED))
    shares = []
    for number in range(20):
        sums = user_sums(world.draw(world.rng(n_users, number), n_users))
        shares.append(detectable(sums.spread, len(sums.total)) or 1.0)
    return float(np.mean(shares))


# ── the section ──────────────────────────────────────────────────────────────────────────────

TEXT = """\
`python -m benchmarks.calibration_interleaving` simulates interleaving tests with {requests} requests per
user (`recdash/demo/interleaving.py`; balanced lists in the command itself). p and interval come from one
statistic, the sign-flip test by user (`recdash/stats/sign_flips.py`), so that both are wrong in the same
tests.

**Without a preference.** The table has the share of tests with p < .05, the share of 95 % intervals without
0.5, and the share of tests whose teams are called uneven although fair coins drew them. **The limits:** .04
to .06 for the first two, and .002 for the teams. *Withheld* are tests with fewer than 20 users who clicked,
or in which a few users have most clicks.

{errors}

**With a preference.** The lists have the preference that the test is said to find with a power of 80 %.
**The limits:** it is found in .77 to .83 of the tests, and .04 to .06 of the 95 % intervals miss the true
preference.

{power}
"""


def tries_of(tries: int, n_users: int) -> int:
    """Returns the number of tries of a row: more for few users, many of whose tests are withheld."""
    factors = {USERS[0]: 3.0, USERS[-1]: 0.5}
    return max(int(tries * factors.get(n_users, 1.0)), 1)


def error_rows(place: int, n_users: int, tries: int) -> list[list[str]]:
    """Returns the rows of a world, given by its place, and a number of users."""
    world, n_tries = WORLDS[place], tries_of(tries, n_users)
    rows = []
    for measure, result in errors(world, n_users, n_tries).items():
        shares = (result.called, result.missed, result.apart, result.uneven, result.withheld)
        texts = [f"{share:.4f}" for share in shares]
        rows.append([world.title, measure, f"{n_users:,}", *texts, f"{n_tries:,}"])
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    return rows


def power_row(n_users: int, lean: float, tries: int) -> list[str]:
    n_tries = tries_of(tries, n_users)
    found = power(n_users, lean, n_tries)
    shares = [f"{share:.4f}" for share in (found.stated, found.share, found.found, found.missed)]
    return [f"{n_users:,}", *shares, f"{n_tries:,}"]


def table(head: list[str], rows: Sequence[list[str]], n_texts: int) -> str:
    dashes = [*["---"] * n_texts, *["---:"] * (len(head) - n_texts)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, dashes, *rows))


def body(tries: int) -> str:
    of_errors = [
        "situation",
        "measure",
        "users",
        "p < .05",
        "0.5 missed",
        "apart",
        "uneven",
        "withheld",
        "tries",
    ]
    of_power = ["users", "stated preference", "true preference", "found", "missed", "tries"]
    cells = [(place, n_users, tries) for place in range(len(WORLDS)) for n_users in USERS]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        of_worlds = list(pool.map(error_rows, *zip(*cells, strict=True)))
        of_leans = list(pool.map(power_row, *zip(*LEANS, strict=True), [tries] * len(LEANS)))
    return TEXT.format(
        requests=REQUESTS,
        errors=table(of_errors, [row for rows in of_worlds for row in rows], 2),
        power=table(of_power, of_leans, 0),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calibration_interleaving", description=__doc__
    )
    parser.add_argument(
        "--tries", type=int, default=4_000, help="tries of a row (4,000); more for few users, fewer for many"
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="the page whose section is written")
    given = parser.parse_args()
    write_section(TITLE, body(given.tries), given.page)


if __name__ == "__main__":
    main()
