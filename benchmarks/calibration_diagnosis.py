"""``python -m benchmarks.calibration_diagnosis``: how often *Why* names a cause where there is none.

Writes the section ``TITLE`` of docs/calibration.md. Each world is stored as an experiment with an A/B test,
and explained by the service that the page, the CLI and reports ask. Everything is seeded: the same command
writes the same table. Ends with 1 where a cause is named too often.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.calibration import PROCESSES
from benchmarks.calibration_page import PAGE, write_section
from recdash.diagnosis.summary import likely
from recdash.domain.kinds import Floats, Ints
from recdash.service import Explanation, Workspace

TITLE = "Causes in Why"
TRIES, CHUNK = 175, 25
"""Worlds of each row, and how many of them share a store."""
LIMIT = 0.08
"""Largest share of worlds without a cause in which one may be named as the most likely."""

DAY, K, SLOTS, N_ITEMS, N_RELEVANT, TEST_DAYS = 86_400, 10, 5, 300, 4, 14
KNOWN, EVALUATED, FOUND = 0.75, 0.5, 0.25
"""Shares of the users with training rows and with test rows, and the control's recall."""
METRIC, ONLINE = "recall", "session_watch_time"
SEGMENTS = {"device": (0.5, 0.3, 0.2), "country": (0.4, 0.3, 0.2, 0.1)}


@dataclass(frozen=True)
class World:
    """Worlds in which none of the twelve causes holds.

    ``n_users`` are in the A/B test, and a random half of them is evaluated. ``gain`` and ``lift`` are what
    the variant gains offline and online, as shares of the control's value, alike for all users, items,
    positions, grades and days.
    """

    title: str
    n_users: int
    gain: float
    lift: float

    @property
    def row_title(self) -> str:
        return f"{self.title} | {self.n_users:,} | {100 * self.gain:+.0f} | {100 * self.lift:+.0f}"


WORLDS = (
    World("no difference", 1_000, 0.0, 0.0),
    World("gains offline, not online", 1_000, 0.4, 0.0),
    World("gains offline, loses online", 2_000, 0.4, -0.3),
    World("loses offline, gains online", 2_000, -0.3, 0.4),
    World("gains both", 2_000, 0.4, 0.4),
)


# ── a world ──────────────────────────────────────────────────────────────────────────────────


def _distinct(rng: np.random.Generator, weights: Floats, n_rows: int, n_drawn: int) -> Ints:
    """Returns [n_rows, n_drawn] distinct items per row, drawn by their weights one after the other."""
    keys = rng.exponential(size=(n_rows, len(weights))) / weights
    nearest = np.argpartition(keys, n_drawn, axis=1)[:, :n_drawn]
    order = np.argsort(np.take_along_axis(keys, nearest, axis=1), axis=1)
    items: Ints = np.take_along_axis(nearest, order, axis=1)
    return items


def _rows(columns: dict[str, Ints], times: int, item: Ints) -> dict[str, Ints]:
    """Returns a table's columns: ``columns`` [users] repeated, beside ``item`` [users, times]."""
    return {name: np.repeat(values, times) for name, values in columns.items()} | {"item_id": item.ravel()}


def _lists(rng: np.random.Generator, weights: Floats, relevant: Ints, found: float) -> Ints:
    """Returns [users, K] items: each relevant one with probability ``found`` at a random position, the other
    positions filled by popularity.
    """
    fill = _distinct(rng, weights, len(relevant), K + N_RELEVANT)
    is_relevant = (fill[:, :, None] == relevant[:, None, :]).any(axis=2)
    hits = rng.random(relevant.shape) < found
    items = np.concatenate([relevant, fill], axis=1)
    keep = np.concatenate([hits, ~is_relevant], axis=1)
    chosen = np.argsort(~keep, axis=1, kind="stable")[:, :K]
    return rng.permuted(np.take_along_axis(items, chosen, axis=1), axis=1)


def _sessions(rng: np.random.Generator, variant: Ints, lift: float) -> pa.Table:
    """Returns the sessions of a test of ``TEST_DAYS``: users differ in how often they come and how long they
    watch, and are exposed on the day of their first session.
    """
    n_users = len(variant)
    n_sessions = rng.poisson(rng.gamma(4, 1.0, n_users)) + 1
    user = np.repeat(np.arange(n_users), n_sessions)
    day = rng.integers(0, TEST_DAYS, len(user))
    level = rng.lognormal(0, 0.6, n_users)[user]
    watched = 300 * level * rng.lognormal(0, 0.8, len(user)) * (1 + lift * variant[user])
    columns = {
        "unit_id": user,
        "session_id": np.arange(len(user)),
        "variant": np.array(["control", "new"])[variant[user]],
        "start_ts": (110 + day) * DAY + rng.integers(0, DAY, len(user)),
        "clicks": rng.poisson(0.5, len(user)),
        "watch_s": watched,
        "videos": rng.poisson(1.0, len(user)),
    }
    for name, shares in SEGMENTS.items():
        label = rng.choice(len(shares), n_users, p=shares)
        columns[name] = np.char.add(f"{name} ", label.astype(str))[user]
    return pa.table(columns)


def explained(world: World, rng: np.random.Generator, workspace: Workspace) -> Explanation:
    """Stores one world, and returns the explanation of its variant."""
    users = np.arange(world.n_users)
    weights = 1 / (np.arange(N_ITEMS) + 20.0)
    is_known, is_evaluated = rng.random((2, world.n_users)) < np.array([[KNOWN], [EVALUATED]])
    history = _distinct(rng, weights, len(users), 6)[is_known]
    relevant = _distinct(rng, weights, len(users), N_RELEVANT)
    of_run = {
        "control": _lists(rng, weights, relevant, FOUND),
        "new": _lists(rng, weights, relevant, FOUND * (1 + world.gain)),
    }
    variant = rng.integers(0, 2, len(users))
    truth = _rows({"user_id": users[is_evaluated]}, N_RELEVANT, relevant[is_evaluated])
    setup = {
        "truth": _timed(truth | {"rating": rng.integers(1, 6, len(truth["item_id"]))}, 100),
        "train": _timed(_rows({"user_id": users[is_known]}, 6, history), 90),
    }
    n_stored = len(workspace.experiments.all())
    made = workspace.experiments.create(f"world {n_stored}", **setup, depth=K)
    links = {}
    for name, items in of_run.items():
        rank = np.tile(np.arange(1, K + 1), len(users))
        table = pa.table(_rows({"user_id": users}, K, items) | {"rank": rank})
        added = workspace.runs.add(made.id, table, name=name, accept_unknown_ids=True)
        links[name] = added[0].run.id
    tables = {"sessions": _sessions(rng, variant, world.lift), "served": _served(rng, variant, of_run)}
    test = workspace.online_tests.add(made.id, "spring", tables, control="control", links=links)
    return workspace.diagnosis.explain(test.id, "new", METRIC, K, ONLINE)


def _timed(columns: dict[str, Ints], day: int) -> pa.Table:
    return pa.table(columns | {"timestamp": np.full(len(columns["item_id"]), day * DAY)})


def _served(rng: np.random.Generator, variant: Ints, of_run: dict[str, Ints]) -> pa.Table:
    """Returns one served list of each user, with the first ``SLOTS`` items of the variant's run."""
    users = np.arange(len(variant))
    shown = np.where(variant[:, None] == 1, of_run["new"], of_run["control"])[:, :SLOTS]
    columns = _rows({"request_id": users, "unit_id": users, "ts": 110 * DAY + users}, SLOTS, shown)
    rank, clicked = np.tile(np.arange(1, SLOTS + 1), len(users)), rng.integers(0, 2, shown.size)
    name = np.repeat(np.array(["control", "new"])[variant], SLOTS)
    return pa.table(columns | {"variant": name, "rank": rank, "click": clicked})


# ── counting ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Tally:
    """In how many of the ``tries`` chance came first, in how many another cause was ``named`` first, and how
    often each check ``found`` its cause.
    """

    title: str
    tries: int
    chance: int
    named: int
    found: Counter[str]

    @property
    def share(self) -> float:
        return self.named / self.tries

    @property
    def row(self) -> str:
        most = ", ".join(
            f"{name} {_percent(count, self.tries)}"
            for name, count in sorted(self.found.items(), key=lambda pair: (-pair[1], pair[0]))
        )
        shares = (_percent(count, self.tries) for count in (self.chance, self.named))
        return f"| {self.title} | {' | '.join(shares)} | {most or '–'} | {self.tries:,} |"


def _percent(count: int, whole: int) -> str:
    return f"{100 * count / whole:.1f}"


def chunk(world: World, first: int, n_worlds: int) -> Tally:
    """Returns what the service names as causes in ``n_worlds`` worlds, which share a store."""
    chance = named = 0
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=_memory()) as name:
        folder = Path(name)
        workspace = Workspace.open(f"sqlite:///{folder / 'recdash.db'}", folder / "artifacts")
        for number in range(first, first + n_worlds):
            rng = np.random.default_rng((zlib.crc32(world.row_title.encode()), number))
            explanation = explained(world, rng, workspace)
            causes = [answer.check for answer in likely(explanation.answers)]
            is_stated = explanation.summary.startswith("Most likely")  # not where offline and online agree
            chance += is_stated and causes[0] == "noise"
            named += is_stated and causes[0] != "noise"
            found.update(cause for cause in causes if cause != "noise")
        workspace.store.close()
    return Tally(world.row_title, n_worlds, chance, named, found)


def summed(title: str, tallies: Sequence[Tally]) -> Tally:
    """Returns all tallies as one."""
    found = sum((tally.found for tally in tallies), Counter[str]())
    tries, chance, named = (
        sum(getattr(tally, name) for tally in tallies) for name in ("tries", "chance", "named")
    )
    return Tally(title, tries, chance, named, found)


def _memory() -> str | None:
    """Returns a folder in memory, where stores need not wait for a disk; None without one."""
    memory = Path("/dev/shm")  # noqa: S108 - the folders in it are random and private
    return str(memory) if memory.is_dir() else None


# ── the page ─────────────────────────────────────────────────────────────────────────────────

HEAD = f"""
Written by `python -m benchmarks.calibration_diagnosis` (seeded; {TRIES:,} worlds of each row).

In these worlds none of the causes that *Why* looks for holds (`recdash/diagnosis/checks.py`): the variant's
gain offline and its lift online are the same for all users, items, positions, grades, segments and days. So
nothing but chance may be the most likely cause. Each world is an experiment with training data, grades and
two runs, and an A/B test with sessions, two segmentations and served lists; a random half of its users is
evaluated.

*Chance first*: the check of noise finds the most likely cause, which is right. *Cause first*: another check
does, which is wrong. In the other worlds *Why* states no most likely cause: where offline and online agree,
there is nothing to explain. **The limit: {100 * LIMIT:.0f} % of all worlds** for *cause first*.
*Found*: how often each check finds its cause, in % of the worlds.

| worlds | users | offline, % | online, % | chance first, % | cause first, % | found, % | tries |
|---|---:|---:|---:|---:|---:|---|---:|
"""


def tallies(worlds: Sequence[World], tries: int) -> list[Tally]:
    """Returns the tally of each world and of all, computed in several processes."""
    firsts = range(0, tries, CHUNK)
    parts = [(world, first, min(CHUNK, tries - first)) for world in worlds for first in firsts]
    with ProcessPoolExecutor(min(PROCESSES, os.cpu_count() or 1)) as pool:
        counted = list(pool.map(chunk, *zip(*parts, strict=True)))
    of_world = {
        world.row_title: [part for part in counted if part.title == world.row_title] for world in worlds
    }
    rows = [summed(title, own) for title, own in of_world.items()]
    return [*rows, summed("**all** | | |", rows)]


def main(tries: int, page: Path) -> int:
    """Replaces the section of the page; returns 1 where a cause is named too often, else 0."""
    counted = tallies(WORLDS, tries)
    write_section(TITLE, HEAD + "".join(f"{tally.row}\n" for tally in counted), page)
    return int(counted[-1].share > LIMIT)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration_diagnosis", description=__doc__)
    parser.add_argument("--tries", type=int, default=TRIES, help="worlds of each row, for a quick look")
    parser.add_argument("--page", type=Path, default=PAGE, help="page (default: docs/calibration.md)")
    given = parser.parse_args()
    sys.exit(main(given.tries, given.page))
