"""Averages a metric over another population, as some libraries do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast, get_args

import numpy as np

from recdash.domain.kinds import Floats, Users
from recdash.metrics.formulas import MetricFormula, Moments, standard_error
from recdash.metrics.parameters import Parameter
from recdash.metrics.sample import RelevantHits

WHO_COUNTS = "rule"
POPULATION = Parameter(
    "users",
    {
        WHO_COUNTS: "the population rule of the run (--users)",
        "truth": "users with a relevant item",
        "both": "of these only users with a list",
        "judged": "users with any row in the test set",
        "judged_both": "of these only users with a list",
        "run": "all users with a list",
    },
)
"""Number of users over which a metric's values are averaged. Only for metrics that are 0 for users without a
list or a relevant item: such users do not change the sum.
"""


@dataclass(frozen=True)
class OverPopulation:
    """The sum of the users' values over the number of users of a population."""

    formula: MetricFormula
    users: Users
    pooled: bool = True

    def additive(self, sample: RelevantHits) -> None:
        """Returns None: the number of users is that of all parts together."""

    def curve(self, sample: RelevantHits) -> Moments:
        """Returns [depth] each. Users beyond the sample have 0, so that sums and squares are those of the
        sample.
        """
        mean, error = self.formula.curve(sample)
        n, n_population = sample.n_users, self._size(sample)
        spread = error**2 * n * (n - 1) if n > 1 else np.zeros_like(mean)
        total, squares = mean * n, spread + n * mean**2
        return total / n_population, standard_error(total, squares, n_population)

    def values(self, sample: RelevantHits, k: int) -> Floats:
        """Returns [n] shares of the mean: their own mean over the sample is the metric."""
        return self.own(sample, k) * (sample.n_users / self._size(sample))

    def own(self, sample: RelevantHits, k: int) -> Floats:
        return self.formula.own(sample, k)

    def _size(self, sample: RelevantHits) -> int:
        return sample.population(self.users) or 1  # if it is empty, no value is above 0


def over_population(formula: MetricFormula, parameters: Mapping[str, str]) -> MetricFormula:
    """Returns the formula averaged over the population that the parameters name."""
    users = parameters.get(POPULATION.name, WHO_COUNTS)
    return formula if users == WHO_COUNTS else OverPopulation(formula, cast("Users", users))


def rule_of(parameters: Mapping[str, str]) -> Users | None:
    """Returns the rule by which a user counts for the metric; None if it names none.

    ``run`` becomes ``judged_both``: users who are not in the truth have 0 whatever they are shown.
    """
    users = parameters.get(POPULATION.name, WHO_COUNTS)
    if users == WHO_COUNTS:
        return None
    return "judged_both" if users == "run" else cast("Users", users)


def missing_population(sample: RelevantHits, parameters: Mapping[str, str]) -> str:
    """Returns why the population cannot be counted; empty if it can."""
    users = parameters.get(POPULATION.name, WHO_COUNTS)
    if users not in get_args(Users) or sample.population(cast("Users", users)) is not None:
        return ""
    return "lists of users outside the test set were not counted when the run was scored; upload it again"
