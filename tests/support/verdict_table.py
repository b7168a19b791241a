"""Runs as arrays that a verdict or a recommendation is asked about, with values to be checked by hand."""

# ruff: noqa: ARG002  # a table answers the same whatever it is asked for

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from recdash.domain.kinds import Users
from recdash.domain.records import Replicated
from recdash.domain.results import AbTestElsewhere, OnlineLift, Slice, UserValues
from recdash.errors import InputError, Problem
from recdash.stats.jackknife import Pulls

N = 400


def run(mean: float, *, wins: int, losses: int, n: int = N) -> np.ndarray:
    """Differences of n users to a baseline: so many gain and lose as much as makes this mean."""
    changes = np.zeros(n)
    step = mean * n / (wins - losses)
    changes[:wins], changes[wins : wins + losses] = step, -step
    return changes


BASE = np.full(N, 0.2)
"""Every user of the baseline has 0.2: 1 % of that, the margin, is 0.002."""
CLEAR = BASE + run(0.02, wins=120, losses=40)
"""+10 %; 95 % CI by hand in ``test_a_clear_gain_is_shipped``."""
LOSS = BASE - run(0.02, wins=120, losses=40)
ONCE = "Each was trained once; another training run may give another difference."
UNSURE = BASE + run(0.01, wins=60, losses=50)


def pulls_of_error(error: float) -> Pulls:
    """Equal pulls of 400 users to both sides, whose squares times 400/399 add up to the squared error."""
    return Pulls(np.tile([1.0, -1.0], N // 2) * error * (N - 1) ** 0.5 / N, np.ones(N))


@dataclass(frozen=True)
class Table:
    """Runs as arrays: what a verdict asks, without files."""

    of: Mapping[str, np.ndarray]
    catalogue: Mapping[tuple[str, str], float] = field(default_factory=dict)
    others: Mapping[tuple[str, str], np.ndarray] = field(default_factory=dict)
    cuts: Sequence[Slice] = ()
    between: Sequence[Problem] = ()
    """Problems of any runs; ``beyond``: of one run with every other."""
    beyond: Mapping[str, Problem] = field(default_factory=dict)
    users: Mapping[str, np.ndarray] = field(default_factory=dict)
    tests: Sequence[OnlineLift] = ()
    """What A/B tests found of every candidate; ``lifts``: of one."""
    lifts: Mapping[str, Sequence[OnlineLift]] = field(default_factory=dict)
    broken: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Names of A/B tests without a valid result, of one candidate."""
    elsewhere: Mapping[str, Sequence[OnlineLift]] = field(default_factory=dict)
    """What A/B tests against another run than the baseline found, of one candidate."""
    tests_against_others: Mapping[str, Sequence[AbTestElsewhere]] = field(default_factory=dict)
    """A/B tests of one candidate in which control served another run than the baseline."""
    unlinked: Sequence[str] = ()
    """Names of A/B tests whose variants are linked to no run."""
    rule: Users = "truth"
    served: Mapping[str, int] = field(default_factory=dict)
    """How many users, the first ones, one run has lists for; by default all."""
    error: float | None = None
    """The standard error of the candidates' catalogue metrics; None where lists are gone."""
    seeds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    bound: float | None = None
    """The largest value of a user: without one these small steps are compared by the t-test, as by hand."""

    @property
    def names(self) -> dict[str, str]:
        return {run: run for run in self.of}

    def under(self, users: Users) -> Table:
        return replace(self, rule=users)

    def values(self, run: str, metric: str, k: int) -> UserValues | None:
        result = self.of[run] if metric == "ndcg" else self.others.get((run, metric))
        if result is None:
            return None
        users = self.users.get(run, np.arange(len(result)))
        own = UserValues(users, result, result, bound=self.bound)
        return own.of(slice(self.served.get(run))) if self.rule == "both" else own

    def value(self, run: str, metric: str, k: int) -> float | None:
        return float(self.of[run].mean()) if metric == "ndcg" else self.catalogue.get((run, metric))

    def why_absent(self, run: str, metric: str) -> str:
        return "it was not uploaded"

    def user_slices(self) -> Sequence[Slice]:
        return self.cuts

    def list_pulls(
        self, runs: Sequence[str], metrics: Sequence[str], k: int
    ) -> Sequence[Mapping[str, Pulls]]:
        if self.error is None:
            raise InputError(Problem("no-upload", "a run", "its upload was not kept", ""))
        return [
            {metric: pulls_of_error(self.error if run != "Popular" else 0.0) for metric in metrics}
            for run in runs
        ]

    def online(self, run: str, baseline: str) -> Sequence[OnlineLift]:
        return self.lifts.get(run, self.tests)

    def lifts_elsewhere(self, run: str, baseline: str) -> Sequence[OnlineLift]:
        return self.elsewhere.get(run, ())

    def tests_elsewhere(self, run: str, baseline: str) -> Sequence[AbTestElsewhere]:
        return self.tests_against_others.get(run, ())

    def invalid_tests(self, run: str, baseline: str) -> Sequence[str]:
        return self.broken.get(run, ())

    def unlinked_tests(self) -> Sequence[str]:
        return self.unlinked

    def replicated(self, run: str) -> Replicated | None:
        labels = tuple(self.seeds.get(run, ()))
        return Replicated("seeds", "seed", labels) if labels else None

    def replicate_value(self, run: str, label: str, metric: str, k: int) -> float | None:
        return self.seeds[run][label]

    def replicate_values(self, run: str, label: str, metric: str, k: int) -> UserValues | None:
        if np.isnan(self.seeds[run][label]):
            return None
        of_users = np.full(len(self.of[run]), self.seeds[run][label])
        return UserValues(np.arange(len(of_users)), of_users, of_users, bound=self.bound)

    def known_ids(self, run: str) -> None:
        """Not counted."""

    def problems(self, runs: Sequence[str]) -> Sequence[Problem]:
        return [*self.between, *(problem for run, problem in self.beyond.items() if run in runs)]
