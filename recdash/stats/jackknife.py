"""Confidence interval of the relative change of a catalogue-level metric between two runs.

Coverage, Gini, novelty and others have one value for all users. Its sampling error is estimated from the
changes when each user is left out (the jackknife: Quenouille 1956, Tukey 1958), in both runs at once.
Resampling users (the bootstrap) does not work for counts of distinct items: a resample has only 63 % of the
users, and therefore fewer items. The jackknife's variance is never too small on average (Efron & Stein 1981).

Letters in shapes: ``g`` groups of users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Floats
from recdash.stats.paired import LEVEL

LEAST_LISTS = 10
"""Smallest number of lists for which the interval was measured to keep its level; see ``change_interval``."""

ROUNDED = 1e-12
"""Values closer to 0 than this are rounding errors."""
WIDEST = 5.0
"""Largest half width on the logarithmic scale: from 1/150 to 150 times the ratio is meaningless."""


@dataclass(frozen=True)
class Pulls:
    """How much each of g groups of users influences a run's value of a catalogue-level metric.

    The pull of a user is the negative change of the value when the user is left out, minus its mean over
    users. ``pull`` [g] adds the pulls of each group, and all of them add up to 0. The variance of the value
    is the sum of squared pulls times n / (n − 1). ``lists`` [g] is the number of the group's lists in this
    run.
    """

    pull: Floats
    lists: Floats

    @property
    def n_lists(self) -> int:
        return int(self.lists.sum())


def pulls_of_mean(several: Sequence[Pulls]) -> Pulls:
    """Returns each group's pull on the mean over a run's training seeds, which have the same users."""
    pull: Floats = np.mean([pulls.pull for pulls in several], axis=0)
    return Pulls(pull, np.maximum.reduce([pulls.lists for pulls in several]))


def change_interval(
    value: float, base_value: float, pulls: Pulls, base_pulls: Pulls, level: float = LEVEL
) -> tuple[float, float]:
    """Returns the low and high end of the interval of value / base value − 1.

    The interval is symmetric on the logarithm of the ratio, so that no end is below −100 %. Both ends are NaN
    below ``LEAST_LISTS`` lists, if the baseline is 0, and if the value has no spread or is too close to 0. In
    600 simulated samples each of 10, 30, 100 and 300 users, the 95 % interval contains the change in 93–95 %
    (novelty), 93–96 % (personalization), 95–98 % (Gini) and 96–99 % of them (coverage);
    ``tests/stats/test_jackknife.py`` measures this again.
    """
    from scipy.special import stdtrit

    groups = int(np.count_nonzero(pulls.lists + base_pulls.lists))
    if min(pulls.n_lists, base_pulls.n_lists) < LEAST_LISTS or groups < 2 or abs(base_value) < ROUNDED:
        return float("nan"), float("nan")
    ratio = value / base_value
    pull = (pulls.pull - ratio * base_pulls.pull) / base_value
    error = float(np.sqrt((pull**2).sum() * groups / (groups - 1)))
    half = float(stdtrit(groups - 1, 0.5 + level / 2)) * error
    if value < ROUNDED:
        return (-1.0, half - 1) if half else (float("nan"), float("nan"))
    if not 0 < half <= WIDEST * ratio:
        return float("nan"), float("nan")
    factor = float(np.exp(half / ratio))
    return ratio / factor - 1, ratio * factor - 1


def difference_interval(
    value: float, base_value: float, pulls: Pulls, base_pulls: Pulls, level: float = LEVEL
) -> tuple[float, float]:
    """Returns the low and high end of the interval of value − base value, in units of the metric.

    Both ends are NaN below ``LEAST_LISTS`` lists, and if the difference has no spread.
    """
    from scipy.special import stdtrit

    groups = int(np.count_nonzero(pulls.lists + base_pulls.lists))
    if min(pulls.n_lists, base_pulls.n_lists) < LEAST_LISTS or groups < 2:
        return float("nan"), float("nan")
    error = float(np.sqrt(((pulls.pull - base_pulls.pull) ** 2).sum() * groups / (groups - 1)))
    if error < ROUNDED:
        return float("nan"), float("nan")
    half = float(stdtrit(groups - 1, 0.5 + level / 2)) * error
    return value - base_value - half, value - base_value + half
