"""Averages a metric over a population other than the run's, as some libraries do.

Letters in shapes: ``n`` users of the sample, ``depth`` the cutoffs 1..depth.
"""

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
"""The parameter that selects the users over which a metric is averaged.

Only metrics that are 0 for users without a list or without a relevant item may have it: such users change the
number of users, and not the sum.
"""


@dataclass(frozen=True)
class OverPopulation:
    """A formula whose sum over users is divided by the number of users of another population."""

    formula: MetricFormula
    users: Users
    pooled: bool = True

    def additive(self, sample: RelevantHits) -> None:
        """Returns None: the population's size is known for all users together, not for a group of them."""

    def curve(self, sample: RelevantHits) -> Moments:
        """Returns mean [depth] and standard error [depth].

        Users outside the sample have the value 0, so that the sums of values and of squares are those of the
        sample.
        """
        mean, error = self.formula.curve(sample)
        n, n_population = sample.n_users, self._size(sample)
        spread = error**2 * n * (n - 1) if n > 1 else np.zeros_like(mean)
        total, squares = mean * n, spread + n * mean**2
        return total / n_population, standard_error(total, squares, n_population)

    def values(self, sample: RelevantHits, k: int) -> Floats:
        """Returns [n] values rescaled so that their mean over the sample is the metric."""
        return self.own(sample, k) * (sample.n_users / self._size(sample))

    def own(self, sample: RelevantHits, k: int) -> Floats:
        return self.formula.own(sample, k)

    def _size(self, sample: RelevantHits) -> int:
        return sample.population(self.users) or 1  # if it is empty, no value is above 0


def over_population(formula: MetricFormula, parameters: Mapping[str, str]) -> MetricFormula:
    """Returns the formula averaged over the population that the parameters name.

    Returns the formula itself if they name none.
    """
    users = parameters.get(POPULATION.name, WHO_COUNTS)
    return formula if users == WHO_COUNTS else OverPopulation(formula, cast("Users", users))


def rule_of(parameters: Mapping[str, str]) -> Users | None:
    """Returns the population rule that the metric's parameters name; None if they name none.

    ``run`` becomes ``judged_both``, because users who are not in the truth have the value 0 with any list.
    """
    users = parameters.get(POPULATION.name, WHO_COUNTS)
    if users == WHO_COUNTS:
        return None
    return "judged_both" if users == "run" else cast("Users", users)


def why_no_population(sample: RelevantHits, parameters: Mapping[str, str]) -> str:
    """Returns why the population's size is unknown; an empty text if it is known."""
    users = parameters.get(POPULATION.name, WHO_COUNTS)
    if users not in get_args(Users) or sample.population(cast("Users", users)) is not None:
        return ""
    return "lists of users outside the test set were not counted when the run was scored; upload it again"
