"""Honest ranks of many runs over the same users: who shares a place, and where each could have come."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from recdash.domain import Floats, Ints
from recdash.stats.family import holm
from recdash.stats.groups import Groups
from recdash.stats.paired import LEVEL, TIE, says_nothing
from recdash.stats.resampling import resampled_means

DRAWS, GROUPS = 1_000, 4_096
"""Places are whole numbers: a range of them needs no more."""


@dataclass(frozen=True)
class Standings:
    """``rank`` [r] from 1: one more than the runs that are significantly better, after Holm over all pairs.

    ``low`` and ``high`` [r]: the places that a run took in 95 % of the draws of users, and its rank.
    ``above`` [r, r]: is the run of the column significantly better than that of the row?
    """

    rank: Ints
    low: Ints
    high: Ints
    above: npt.NDArray[np.bool_]

    @property
    def shared(self) -> npt.NDArray[np.bool_]:
        """[r] True where another run has the same rank."""
        return np.bincount(self.rank)[self.rank] > 1


def standings(values: Groups, lower_is_better: bool = False, level: float = LEVEL) -> Standings:
    """Of the runs in the columns. Raises ValueError below two users: nothing can be told apart."""
    if values.n < 2:
        raise ValueError("ranks need two users")
    better = replace(values, sums=-values.sums) if lower_is_better else values
    above = _significantly_above(better, level)
    tail = (1 - level) / 2
    places = _places(resampled_means(better.merged(GROUPS), DRAWS))
    low, high = np.quantile(places, (tail, 1 - tail), axis=0, method="nearest").astype(np.int64)
    rank = 1 + above.sum(axis=1)
    return Standings(rank, np.minimum(low, rank), np.maximum(high, rank), above)


def _significantly_above(values: Groups, level: float) -> npt.NDArray[np.bool_]:
    """[r, r] from the covariances of the runs: one product instead of a pass over the users per pair."""
    from scipy.special import stdtr

    covariance, means = values.covariance_of_means(), values.means
    of_run = np.diag(covariance)
    total = of_run[:, None] + of_run[None, :]
    variance = total - 2 * covariance
    variance[variance <= TIE * total] = 0.0  # runs alike but for rounding
    ahead = means[None, :] - means[:, None]
    ahead[np.abs(ahead) < TIE] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(ahead == 0, 0.0, np.abs(ahead) / np.sqrt(variance))
    t[says_nothing(values.n, ahead, variance)] = np.nan
    pairs = np.triu_indices(len(means), 1)
    significant = np.zeros(t.shape, dtype=bool)
    significant[pairs] = holm(2 * stdtr(values.n - 1, -t[pairs])) <= 1 - level
    return (significant | significant.T) & (ahead > 0)


def _places(means: Floats) -> Ints:
    """[draws, r] the place of each run, 1 for the highest mean; the runs of equal means share the best."""
    ordered = np.sort(-means, axis=1)
    return np.stack([np.searchsorted(row, of) for row, of in zip(ordered, -means, strict=True)]) + 1
