"""``python -m benchmarks.calibration``: how often is a verdict wrong? Writes docs/calibration.md.

Users and training runs are drawn around truths that are known; the verdict is the one that pages show
(``compare``, ``weigh``, ``decide``). Every draw is seeded, so that the page is the same on every machine.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from recdash.comparison import Margin, Terms, compare, decide, weigh
from recdash.domain import Floats, IdOverlap, Ints, OnlineLift, Replicated, Users, UserValues
from recdash.errors import Problem
from recdash.evaluation.slices import Slice
from recdash.stats.jackknife import Pulls

PAGE = Path(__file__).resolve().parents[1] / "docs" / "calibration.md"
BASELINE, K = "baseline", 10

Outcome = Callable[[np.random.Generator, float, int], Floats]
"""[n] values of users whose mean is, in the long run, the number that is given."""


# ── what users get ───────────────────────────────────────────────────────────────────────────


def hit_rate(rng: np.random.Generator, mean: float, n: int) -> Floats:
    """1 for a hit, 0 for none."""
    return (rng.random(n) < mean).astype(float)


def reciprocal_rank(rng: np.random.Generator, mean: float, n: int) -> Floats:
    """One over the rank of a hit at rank 1 to 10, all as likely; 0 for users without a hit."""
    ranks = rng.integers(1, K + 1, n)
    hits = rng.random(n) < mean / (1 / np.arange(1, K + 1)).mean()
    return hits / ranks


def dense(rng: np.random.Generator, mean: float, n: int) -> Floats:
    """A share that most users have some of, as recall over twenty relevant items."""
    return rng.binomial(20, mean, n) / 20


# ── a source of runs ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Drawn:
    """Runs whose users' values were drawn: by run, then by replicate."""

    values_of: Mapping[str, Sequence[Floats]]
    noun: str = "seed"
    folds: Sequence[Ints] = field(default_factory=tuple)

    @property
    def names(self) -> Mapping[str, str]:
        return {run: run for run in self.values_of}

    def under(self, users: Users) -> Drawn:  # noqa: ARG002 - all have a list
        return self

    def values(self, run: str, metric: str, k: int) -> UserValues | None:  # noqa: ARG002 - always at K
        if metric != "recall":
            return None
        of_users = np.mean(self.values_of[run], axis=0)
        return UserValues(np.arange(len(of_users)), of_users, of_users, bound=1.0)

    def value(self, run: str, metric: str, k: int) -> float | None:
        values = self.values(run, metric, k)
        return None if values is None else float(values.values.mean())

    def why_absent(self, run: str, metric: str) -> str:
        return f"{run} has no {metric}"

    def parts(self) -> Sequence[Slice]:
        return ()

    def replicated(self, run: str) -> Replicated | None:
        n = len(self.folds) or len(self.values_of[run])
        labels = tuple(str(number) for number in range(n))
        return Replicated("folds" if self.folds else "seeds", self.noun, labels) if n > 1 else None

    def replicate_value(self, run: str, label: str, metric: str, k: int) -> float | None:  # noqa: ARG002
        return None  # the only metric has values per user

    def replicate_values(self, run: str, label: str, metric: str, k: int) -> UserValues:  # noqa: ARG002
        own = self.values_of[run]
        users = self.folds[int(label)] if self.folds else np.arange(len(own[0]))
        of_users = own[0][users] if self.folds else own[int(label)]
        return UserValues(users, of_users, of_users, bound=1.0)

    def list_pulls(self, runs: Sequence[str], *_: object) -> Sequence[Mapping[str, Pulls]]:
        return [{} for _ in runs]

    def known_ids(self, run: str) -> IdOverlap | None:  # noqa: ARG002 - no ids
        return None

    def online(self, run: str, baseline: str) -> Sequence[OnlineLift]:  # noqa: ARG002 - no test
        return ()

    def problems(self, runs: Sequence[str]) -> Sequence[Problem]:  # noqa: ARG002
        return ()


# ── situations ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Situation:
    """``base`` and ``mean``: the true means of the baseline and of every candidate.

    ``noise``: the standard deviation of one training run's own mean about that, as a share of ``base``.
    ``seeds`` and ``base_seeds`` count training runs; with ``folds`` each user is in one of so many folds.
    ``margin``: what is too small to matter, as a share of the baseline's value.
    """

    title: str
    outcome: Outcome
    base: float
    mean: float
    n: int
    candidates: int = 1
    noise: float = 0.0
    seeds: int = 1
    base_seeds: int = 1
    folds: int = 0
    margin: float = 0.01

    def draw(self, rng: np.random.Generator) -> Drawn:
        seeds = {f"candidate {number}": (self.mean, self.seeds) for number in range(self.candidates)}
        of_runs = {BASELINE: (self.base, self.base_seeds), **seeds}
        if self.folds:
            users = np.array_split(np.arange(self.n), self.folds)
            return Drawn(
                {run: [self._folds(rng, mean, users)] for run, (mean, _) in of_runs.items()}, "fold", users
            )
        return Drawn({run: [self._seed(rng, mean) for _ in range(n)] for run, (mean, n) in of_runs.items()})

    def _seed(self, rng: np.random.Generator, mean: float) -> Floats:
        trained = np.clip(mean + self.noise * self.base * rng.standard_normal(), 0.0, 1.0)
        return self.outcome(rng, float(trained), self.n)

    def _folds(self, rng: np.random.Generator, mean: float, users: Sequence[Ints]) -> Floats:
        """Folds share most of their training data: their noise is correlated by 1/k (Nadeau and Bengio)."""
        shared, k = rng.standard_normal(), len(users)
        noise = [(1 / k) ** 0.5 * shared + (1 - 1 / k) ** 0.5 * rng.standard_normal() for _ in users]
        trained = [float(np.clip(mean + self.noise * self.base * one, 0.0, 1.0)) for one in noise]
        return np.concatenate([self.outcome(rng, at, len(of)) for at, of in zip(trained, users, strict=True)])


def situations() -> Iterator[Situation]:
    yield from _users()
    yield from _ties()
    yield from _replicates()


SIZES = (2, 5, 10, 20, 50, 100, 300)


def _users() -> Iterator[Situation]:
    for title, outcome, base in (
        ("hit rate 1 %", hit_rate, 0.01),
        ("hit rate 20 %", hit_rate, 0.2),
        ("reciprocal rank, 10 % have a hit", reciprocal_rank, 0.0293),
        ("reciprocal rank, 50 % have a hit", reciprocal_rank, 0.1464),
        ("recall of twenty items, 30 %", dense, 0.3),
    ):
        for n in SIZES:
            for candidates in (1, 8):
                yield Situation(f"equal runs, {title}", outcome, base, base, n, candidates)


def _ties() -> Iterator[Situation]:
    """Truths outside of the margin, or on its edge: a tie is wrong."""
    for n in SIZES:
        yield Situation("hit rate 1 % against 3 %", hit_rate, 0.01, 0.03, n)
        yield Situation("hit rate 3 % against 1 %", hit_rate, 0.03, 0.01, n)
        yield Situation("30 % better, margin 20 %", hit_rate, 0.3, 0.39, n, margin=0.2)
        yield Situation("20 % better, margin 20 %", dense, 0.3, 0.36, n, margin=0.2)


def _replicates() -> Iterator[Situation]:
    for seeds in (2, 3, 5):
        for candidates in (1, 2, 4, 8):
            title = f"equal but for training, {seeds} seeds each"
            more = {"noise": 0.1, "seeds": seeds}
            yield Situation(title, dense, 0.3, 0.3, 300, candidates, base_seeds=seeds, **more)  # type: ignore[arg-type]
        title = f"equal but for training, {seeds} seeds, the baseline trained once"
        yield Situation(title, dense, 0.3, 0.3, 300, noise=0.1, seeds=seeds)
        title = f"equal but for training, trained once, {seeds} seeds of the baseline"
        yield Situation(title, dense, 0.3, 0.3, 300, noise=0.1, base_seeds=seeds)
    for n in (50, 300):
        for candidates in (1, 4, 8):
            yield Situation(
                "equal but for training, 5 folds", dense, 0.3, 0.3, n, candidates, noise=0.1, folds=5
            )
    yield Situation("equal but for training, trained once each", dense, 0.3, 0.3, 300, noise=0.1)


# ── counting ─────────────────────────────────────────────────────────────────────────────────


def verdicts(situation: Situation, tries: int) -> Counter[str]:
    """How often each answer is given: ship, keep, tie …"""
    rng = np.random.default_rng(11)
    counts: Counter[str] = Counter()
    terms = Terms(margin=Margin(situation.margin))
    for _ in range(tries):
        source = situation.draw(rng)
        runs = [run for run in source.names if run != BASELINE]
        verdict = decide(weigh(source, compare(source, runs, BASELINE, "recall", K, terms, among=False)))
        counts["keep" if verdict.run == BASELINE else verdict.state] += 1
    return counts


def wrong(situation: Situation, counts: Counter[str]) -> dict[str, int | None]:
    """How often each answer was wrong; None where the truth allows it."""
    difference = situation.mean - situation.base
    outside = abs(difference) >= situation.margin * situation.base - 1e-12
    return {
        "ship": counts["ship"] + counts["trade-off"] if difference <= 0 else None,
        "keep": counts["keep"] if difference >= 0 else None,
        "tie": counts["tie"] if outside else None,
    }


def _row(situation: Situation, tries: int) -> str:
    found = wrong(situation, verdicts(situation, tries))
    shares = ["–" if count is None else f"{100 * count / tries:.2f} %" for count in found.values()]
    cells = [situation.title, f"{situation.n:,}", str(situation.candidates), *shares, f"{tries:,}"]
    return f"| {' | '.join(cells)} |"


HEAD = """# How often is a verdict wrong?

`make calibration` draws users and training runs around truths that are known, asks for the verdict that the
pages show, and counts. No answer may be wrong in more than 2.5 % of the tries, one side of a 95 % interval.
A share over {tries:,} tries is uncertain by ±{error:.2f} percentage points.

*Wrong ship*: a candidate is shipped, or called a trade-off, that is not better than the baseline. *Wrong
keep*: the baseline is kept although no candidate is worse. *Wrong tie*: the difference is called too small to
matter, and is not. A dash means that the truth allows the answer.

How it is kept: few users who differ are judged by an exact test or by a test of a bounded mean
(`recdash/stats/sparse.py`), several candidates by Holm's correction, over folds and seeds as over users. What
is shipped, kept or called a tie must hold across folds or seeds where there are some.

**What cannot be kept.** With one training run of each, users tell whether *these* runs differ, not whether
the methods do: see the last row, where training moves a run's mean by 10 %. The verdict says so in words.

**What is not drawn here.** Candidates that gain a little for many users and lose a lot for few. Where no such
loss is among the users, the t-test, which is used from 30 users who differ, claims a gain too often.

| situation | users | candidates | wrong ship | wrong keep | wrong tie | tries |
|---|---:|---:|---:|---:|---:|---:|
"""


def main(tries: int, page: Path) -> None:
    every = list(situations())
    with ProcessPoolExecutor(min(len(every), os.cpu_count() or 1)) as pool:
        rows = list(pool.map(_row, every, [tries] * len(every)))
    error = 100 * 1.96 * (0.025 * 0.975 / tries) ** 0.5
    page.write_text(HEAD.format(tries=tries, error=error) + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--tries", type=int, default=4000, help="verdicts of each situation (default: 4000)")
    parser.add_argument(
        "--page", type=Path, default=PAGE, help="where to write (default: docs/calibration.md)"
    )
    given = parser.parse_args()
    main(given.tries, given.page)
