"""``python -m benchmarks.calibration``: how often is a verdict wrong? Writes docs/calibration.md.

Users and training runs are drawn around truths that are known; the verdict is the one that pages show
(``compare``, ``gather_evidence``, ``state_of``). Every situation has a seed of its own, so that the page is
the same on every machine, with any number of processes. Ends with 1 where an answer is wrong too often.
"""

from __future__ import annotations

import argparse
import os
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibration_page import PAGE, sections_of
from recdash.comparison import ComparisonQuery, Margin, Terms, compare, gather_evidence
from recdash.comparison.verdict_state import state_of
from recdash.domain.hits import IdOverlap
from recdash.domain.kinds import Floats, Ints, Replication, Users
from recdash.domain.records import Replicated
from recdash.domain.results import AbTestElsewhere, OnlineLift, Slice, UserValues
from recdash.errors import Problem
from recdash.stats.jackknife import Pulls

BASELINE, K = "baseline", 10
ROUNDED = 1e-12
LIMIT = 0.025
"""No answer may be wrong more often."""
STAGES = (1_000, 4_000, 20_000, 100_000)
"""Tries of a situation: more where a share may be beyond the limit, past the third where it seems to be."""
ENOUGH = STAGES[2]
PROCESSES = 2

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


# ── what users get from two runs ─────────────────────────────────────────────────────────────


Pairing = Callable[[np.random.Generator, int], tuple[Floats, Floats]]
"""[n] values of users for the baseline and the candidate."""


@dataclass(frozen=True)
class Uneven:
    """Of all users the share ``gaining`` gain ``gain``, and the share ``losing`` lose 1."""

    gaining: float
    gain: float
    losing: float

    def __call__(self, rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        drawn = rng.random(n)
        gains, loses = drawn < self.gaining, drawn >= 1 - self.losing
        return loses.astype(np.float64), np.where(gains, self.gain, 0.0)

    def mirrored(self, rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        base, candidate = self(rng, n)
        return candidate, base


# ── a source of runs ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Run:
    """Values [n] of ``users`` from each training run; with ``folds`` one training run serves each of these.

    Folds are places among all users; what a run has of users in its folds stands in the only values.
    """

    values: Sequence[Floats]
    users: Ints
    folds: Sequence[Ints] = ()

    @cached_property
    def mean(self) -> UserValues:
        return _user_values(self.users, np.mean(self.values, axis=0))

    @cached_property
    def replicates(self) -> Sequence[UserValues]:
        """By fold or training run."""
        if not self.folds:
            return [_user_values(self.users, values) for values in self.values]
        of_folds = [np.isin(self.users, fold) for fold in self.folds]
        return [_user_values(self.users[inside], self.values[0][inside]) for inside in of_folds]


def _user_values(users: Ints, values: Floats) -> UserValues:
    return UserValues(users, values, values, bound=1.0)


@dataclass(frozen=True)
class Drawn:
    """Runs whose users' values were drawn."""

    runs: Mapping[str, Run]

    @property
    def names(self) -> Mapping[str, str]:
        return {run: run for run in self.runs}

    def under(self, users: Users) -> Drawn:  # noqa: ARG002 - all have a list
        return self

    def values(self, run: str, metric: str, k: int) -> UserValues | None:  # noqa: ARG002 - always at K
        if metric != "recall":
            return None
        return self.runs[run].mean

    def value(self, run: str, metric: str, k: int) -> float | None:
        values = self.values(run, metric, k)
        return None if values is None else float(values.values.mean())

    def why_absent(self, run: str, metric: str) -> str:
        return f"{run} has no {metric}"

    def user_slices(self) -> Sequence[Slice]:
        return ()

    def replicated(self, run: str) -> Replicated | None:
        drawn = self.runs[run]
        labels = tuple(str(number) for number in range(len(drawn.folds or drawn.values)))
        kind: Replication = "folds" if drawn.folds else "seeds"
        return Replicated(kind, kind[:-1], labels) if len(labels) > 1 else None

    def replicate_value(self, run: str, label: str, metric: str, k: int) -> float | None:  # noqa: ARG002
        return None  # the only metric has values per user

    def replicate_values(self, run: str, label: str, metric: str, k: int) -> UserValues:  # noqa: ARG002
        return self.runs[run].replicates[int(label)]

    def list_pulls(self, runs: Sequence[str], *_: object) -> Sequence[Mapping[str, Pulls]]:
        return [{} for _ in runs]

    def known_ids(self, run: str) -> IdOverlap | None:  # noqa: ARG002 - no ids
        return None

    def online(self, run: str, baseline: str) -> Sequence[OnlineLift]:  # noqa: ARG002 - no test
        return ()

    def unlinked_tests(self) -> Sequence[str]:
        return ()

    def lifts_elsewhere(self, run: str, baseline: str) -> Sequence[OnlineLift]:  # noqa: ARG002 - no test
        return ()

    def tests_elsewhere(self, run: str, baseline: str) -> Sequence[AbTestElsewhere]:  # noqa: ARG002 - no test
        return ()

    def invalid_tests(self, run: str, baseline: str) -> Sequence[str]:  # noqa: ARG002 - no test
        return ()

    def problems(self, runs: Sequence[str]) -> Sequence[Problem]:  # noqa: ARG002
        return ()


# ── situations ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Situation:
    """``base`` and ``mean``: the true means of the baseline and of every candidate.

    ``noise``: the standard deviation of one training run's own mean about that, as a share of ``base``.
    ``seeds`` and ``base_seeds`` count training runs; with ``folds`` or ``base_folds`` each user is in one of
    so many. ``covered``: the share of users for which a run, on its own, has values. ``margin``: what is too
    small to matter, as a share of the baseline's value. ``kept``: False where the limit cannot be kept.
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
    base_folds: int = 0
    covered: float = 1.0
    margin: float = 0.01
    kept: bool = True

    @property
    def seed(self) -> tuple[int, ...]:
        return 11, zlib.crc32(self.title.encode()), self.n, self.candidates

    def draw(self, rng: np.random.Generator) -> Drawn:
        of_candidates = [f"candidate {number}" for number in range(self.candidates)]
        candidates = {run: self._run(rng, self.mean, self.seeds, self.folds) for run in of_candidates}
        return Drawn({BASELINE: self._run(rng, self.base, self.base_seeds, self.base_folds), **candidates})

    def _run(self, rng: np.random.Generator, mean: float, seeds: int, folds: int) -> Run:
        users = np.flatnonzero(rng.random(self.n) < self.covered)
        if folds:
            of_folds = np.array_split(np.arange(self.n), folds)
            return Run([self._folds(rng, mean, of_folds)[users]], users, of_folds)
        return Run([self._seed(rng, mean)[users] for _ in range(seeds)], users)

    def _seed(self, rng: np.random.Generator, mean: float) -> Floats:
        trained = np.clip(mean + self.noise * self.base * rng.standard_normal(), 0.0, 1.0)
        return self.outcome(rng, float(trained), self.n)

    def _folds(self, rng: np.random.Generator, mean: float, users: Sequence[Ints]) -> Floats:
        """Folds share most of their training data: their noise is correlated by 1/k (Nadeau and Bengio)."""
        shared, k = rng.standard_normal(), len(users)
        noise = [(1 / k) ** 0.5 * shared + (1 - 1 / k) ** 0.5 * rng.standard_normal() for _ in users]
        trained = [float(np.clip(mean + self.noise * self.base * shift, 0.0, 1.0)) for shift in noise]
        return np.concatenate(
            [
                self.outcome(rng, mean_trained, len(of))
                for mean_trained, of in zip(trained, users, strict=True)
            ]
        )


@dataclass(frozen=True)
class UnevenSituation(Situation):
    """Users' values for both runs come from ``pairing``; the other fields tell the truth about it."""

    pairing: Pairing = Uneven(0.5, 1 / 30, 1 / 60)

    def draw(self, rng: np.random.Generator) -> Drawn:
        users = np.arange(self.n)
        base, candidate = self.pairing(rng, self.n)
        return Drawn({BASELINE: Run([base], users), "candidate": Run([candidate], users)})


def situations() -> Iterator[Situation]:
    yield from _users()
    yield from _uneven()
    yield from _covered()
    yield from _ties()
    yield from _replicates()
    yield from _mixed_replicates()
    yield from _differences_with_seeds()
    yield from _trained_once()


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


def _uneven() -> Iterator[Situation]:
    """A little more for many users against all for few: equal on average, and 44 % worse.

    Of the most users the t-test judges, which needs its correction for skewness.
    """
    for title, uneven, most in (
        ("50 % gain 1/30, 1.7 % lose 1", Uneven(0.5, 1 / 30, 1 / 60), 30_000),
        ("50 % gain 1/30, 2.4 % lose 1", Uneven(0.5, 1 / 30, 0.024), 10_000),
        ("90 % gain 1/10, 9 % lose 1", Uneven(0.9, 0.1, 0.09), 10_000),
    ):
        gained, lost = uneven.gaining * uneven.gain, uneven.losing
        for n in (30, 60, 80, 100, 300, 1000, 3000, most):
            yield UnevenSituation(title, dense, lost, gained, n, pairing=uneven)
            yield UnevenSituation(f"mirrored: {title}", dense, gained, lost, n, pairing=uneven.mirrored)


def _covered() -> Iterator[Situation]:
    """Each run has values for users of its own, four of five."""
    for n in (20, 100, 300):
        for candidates in (1, 8):
            yield Situation(
                "equal runs, each with 80 % of the users", dense, 0.3, 0.3, n, candidates, covered=0.8
            )


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
            yield _trained(title, candidates=candidates, seeds=seeds, base_seeds=seeds)
        title = f"equal but for training, hit rate, {seeds} seeds each"
        yield replace(_trained(title, seeds=seeds, base_seeds=seeds), outcome=hit_rate)
        yield _trained(f"equal but for training, {seeds} seeds, the baseline trained once", seeds=seeds)
        title = f"equal but for training, trained once, {seeds} seeds of the baseline"
        yield _trained(title, base_seeds=seeds)
    for n in (50, 300):
        for candidates in (1, 4, 8):
            yield _trained(
                "equal but for training, 5 folds", n=n, candidates=candidates, folds=5, base_folds=5
            )


def _mixed_replicates() -> Iterator[Situation]:
    for n in (50, 300):
        for seeds in (2, 3, 5):
            title = f"equal but for training, {seeds} seeds against 5 folds"
            yield _trained(title, n=n, seeds=seeds, base_folds=5)
            title = f"equal but for training, 5 folds against {seeds} seeds"
            yield _trained(title, n=n, folds=5, base_seeds=seeds)
        yield _trained("equal but for training, one upload against 5 folds", n=n, base_folds=5)
        yield _trained("equal but for training, 5 folds against one upload", n=n, folds=5)


def _differences_with_seeds() -> Iterator[Situation]:
    """Truths with a difference, trained several times: the other answer is wrong, and so is a tie."""
    for seeds in (2, 3, 5):
        more = {"noise": 0.02, "seeds": seeds, "base_seeds": seeds, "margin": 0.2}
        for mean in (0.36, 0.24):
            title = f"{'20 % better' if mean > 0.3 else '20 % worse'}, margin 20 %, {seeds} seeds each"
            yield Situation(title, dense, 0.3, mean, 300, **more)  # type: ignore[arg-type]


def _trained_once() -> Iterator[Situation]:
    yield replace(_trained("equal but for training, trained once each"), kept=False)


def _trained(title: str, n: int = 300, candidates: int = 1, **more: Any) -> Situation:
    """Equal methods; training moves the mean of a run by 10 %."""
    return Situation(title, dense, 0.3, 0.3, n, candidates, noise=0.1, **more)


# ── counting ─────────────────────────────────────────────────────────────────────────────────


def error(tries: int) -> float:
    """Half of the 95 % interval of a share that is at the limit."""
    return float(1.96 * (LIMIT * (1 - LIMIT) / tries) ** 0.5)


@dataclass
class Tally:
    """How often each answer was given in so many ``tries``: ship, keep, tie …"""

    situation: Situation
    tries: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def wrong(self) -> dict[str, float | None]:
        """The share of tries in which each answer was wrong; None where the truth allows it."""
        situation, counts = self.situation, self.counts
        difference = situation.mean - situation.base
        outside = abs(difference) >= situation.margin * situation.base - ROUNDED
        return {
            "ship": (counts["ship"] + counts["trade-off"]) / self.tries if difference <= ROUNDED else None,
            "keep": counts["keep"] / self.tries if difference >= -ROUNDED else None,
            "tie": counts["tie"] / self.tries if outside else None,
        }

    @property
    def most(self) -> float:
        return max(share for share in self.wrong.values() if share is not None)

    @property
    def beyond(self) -> bool:
        """Is an answer wrong more often than it may be, even less the error? Fewer tries do not tell."""
        return self.situation.kept and self.tries >= STAGES[0] and self.most - error(self.tries) > LIMIT

    @property
    def settled(self) -> bool:
        if not self.situation.kept or self.most + error(self.tries) <= LIMIT:
            return True
        return self.tries >= ENOUGH and not self.beyond


def tally(situation: Situation, most: int = STAGES[-1]) -> Tally:
    """Verdicts are asked for until the counts settle whether the limit is kept, at ``most`` so many."""
    counted, rng = Tally(situation), np.random.default_rng(situation.seed)
    for stage in STAGES:
        while counted.tries < min(stage, most):
            counted.counts[answer(situation, rng)] += 1
            counted.tries += 1
        if counted.settled:
            break
    return counted


def answer(situation: Situation, rng: np.random.Generator) -> str:
    """The state of the verdict on one draw; *keep* where that is to ship the baseline."""
    source, terms = situation.draw(rng), Terms(margin=Margin(situation.margin))
    runs = [run for run in source.names if run != BASELINE]
    query = ComparisonQuery(tuple(runs), BASELINE, "recall", K, terms=terms)
    evidence = gather_evidence(source, compare(source, query, among=False))
    state, run = state_of(evidence)
    return "keep" if run == BASELINE else state


# ── the page ─────────────────────────────────────────────────────────────────────────────────

HEAD = """# How often is a verdict wrong?

`make calibration` simulates users and training runs whose true difference is known. It computes the verdict
that the pages show, and counts how often the verdict is wrong. It then measures the sections below; each of
them has a command of its own.

**The limit:** no answer may be wrong in more than 2.5 % of the tries, one side of a 95 % interval.

**How a row is judged.** Even an exact test, which is wrong in 2.5 % of all tries, is above 2.5 % in about
half of the rows, by chance. So a row exceeds the limit if its share, minus the 95 % error of the count, is
above 2.5 %. The command then names the row and exits with 1. Each row has {first:,} tries, and more if
these are inconclusive: up to {enough:,}, and if those exceed the limit, {last:,}. A row whose count was
stopped earlier is marked *open*. The error of a share of 2.5 %, in percentage points:
{errors} tries.

*Wrong ship*: a candidate that is not better than the baseline is shipped, or called a trade-off. *Wrong
keep*: the baseline is kept although no candidate is worse. *Wrong tie*: the difference is called too small
to matter, but it is not. A dash means that this answer is correct. A row with several numbers of candidates
(1 · 8) has its shares in the same order; one share stands for all of them.

**How the limit is kept.** If few users differ, or few could undo what many gain, an exact test or a test of
a bounded mean is used (`recdash/stats/sparse.py`). The t-test is corrected for skewness
(`recdash/stats/skewed.py`). Several candidates use Holm's correction, over folds and seeds as over users.
With folds or seeds, a ship, keep or tie must hold across them.

**What cannot be kept.** With one training run of each, users show whether *these* runs differ, not whether
the methods do. In the last row, training changes a run's mean by 10 %, and far more than 2.5 % of the
answers are wrong. The verdict says in words what one training run cannot show. Unbounded metrics, such as
squared errors of ratings, are not included: with a few extreme values among few users, no test keeps the
limit for them.

| situation | users | candidates | wrong ship, % | wrong keep, % | wrong tie, % | tries |
|---|---:|---:|---:|---:|---:|---:|
"""


def head() -> str:
    errors = [f"±{100 * error(stage):.2f} at {stage:,}" for stage in STAGES]
    return HEAD.format(first=STAGES[0], enough=ENOUGH, last=STAGES[-1], errors=", ".join(errors))


def row(tallies: Sequence[Tally]) -> str:
    """One line for a situation and its users, with each number of candidates."""
    situation = tallies[0].situation
    candidates = " · ".join(str(of_candidates.situation.candidates) for of_candidates in tallies)
    shares = [
        " · ".join(_percent(of_candidates.wrong[kind]) for of_candidates in tallies)
        for kind in tallies[0].wrong
    ]
    tries = " · ".join(
        f"{of_candidates.tries:,}{'' if of_candidates.settled else ' open'}" for of_candidates in tallies
    )
    cells = [situation.title, f"{situation.n:,}", candidates, *map(_once, shares), _once(tries)]
    return f"| {' | '.join(cells)} |"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2f}"


def _once(cell: str) -> str:
    """What is the same for all numbers of candidates is said once."""
    parts = cell.split(" · ")
    return parts[0] if len(set(parts)) == 1 else cell


def main(most: int, page: Path) -> list[str]:
    """The rows beyond the limit. Each is written as it comes: what was counted stays when this is stopped."""
    all_situations, beyond = list(situations()), []
    others = sections_of(page.read_text(encoding="utf-8")) if page.exists() else ""
    with (
        ProcessPoolExecutor(min(PROCESSES, os.cpu_count() or 1)) as pool,
        page.open("w", encoding="utf-8") as text,
    ):
        text.write(head())
        counted = pool.map(tally, all_situations, [most] * len(all_situations))
        for _, tallies in groupby(counted, key=lambda one: (one.situation.title, one.situation.n)):
            together = list(tallies)
            text.write(f"{row(together)}\n")
            text.flush()
            beyond += [row([tallied]) for tallied in together if tallied.beyond]
        text.write(f"\n{others}" if others else "")
    return beyond


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument(
        "--tries", type=int, default=STAGES[-1], help="no more verdicts of any situation, for a quick look"
    )
    parser.add_argument(
        "--page", type=Path, default=PAGE, help="where to write (default: docs/calibration.md)"
    )
    given = parser.parse_args()
    too_often = main(given.tries, given.page)
    if too_often:
        sys.exit(
            "\n".join(
                ["Wrong in more than 2.5 % of the tries, beyond the error of the counting:", *too_often]
            )
        )
