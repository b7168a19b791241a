"""Compares all pairs of several runs at several cutoffs, and finds the leading runs at each cutoff.

The p-values of all pairs at all cutoffs are corrected together, as one family.

Letters in shapes: ``r`` runs, ``n`` users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.stats.family import significant
from recdash.stats.paired import LEVEL
from recdash.stats.skewed import skewness_of_means, unskewed, with_skewness
from recdash.stats.sparse import TIE, Method, sparse_pairs


@dataclass(frozen=True)
class AllPairs:
    """The differences between all pairs of r runs at one cutoff.

    Entry [row, column] is the column's run minus the row's. ``mean`` [r, r] is the mean difference over ``n``
    [r, r] users, and ``error`` [r, r] its standard error, NaN below two users. ``skewness`` [r, r] is the
    skewness of the mean; None if the values have no upper bound. ``sparse`` has the pairs (row < column) to
    which the t-test does not apply, with the method that does.
    """

    mean: Floats
    error: Floats
    n: Ints
    sparse: Mapping[tuple[int, int], Method] = field(default_factory=dict)
    skewness: Floats | None = None

    def interval(self, row: int, column: int, level: float = LEVEL) -> tuple[float, float]:
        """Returns the low and high end of the mean of the column's run minus the row's.

        It is NaN if no method is valid.
        """
        from scipy.special import stdtrit

        if (row, column) in self.sparse:
            return self.sparse[row, column].interval(level)
        if (column, row) in self.sparse:
            low, high = self.sparse[column, row].interval(level)
            return -high, -low
        mean, error = float(self.mean[row, column]), float(self.error[row, column])
        half = float(stdtrit(max(int(self.n[row, column]) - 1, 1), 0.5 + level / 2))
        skewness = 0.0 if self.skewness is None else float(self.skewness[row, column])
        return mean - error * with_skewness(half, skewness), mean - error * with_skewness(-half, skewness)

    def p(self) -> Floats:
        """Returns [r, r] two-sided p-values of a mean difference of 0, valid above the diagonal.

        It is NaN if no method is valid.
        """
        from scipy.special import stdtr

        with np.errstate(divide="ignore", invalid="ignore"):
            t = self.mean / self.error
            t = t if self.skewness is None else unskewed(t, self.skewness)
        p: Floats = 2 * stdtr(np.maximum(self.n - 1, 1), -np.abs(t))
        for pair, method in self.sparse.items():
            p[pair] = method.p
        return p


def compare_all_pairs(values: Floats, bound: float | None = None) -> AllPairs:
    """Returns the differences between all pairs of runs over the same n users; ``values`` is [n, r].

    Each column has the values of one run. ``bound`` is the largest possible value (the smallest is 0); None
    if the values have no upper bound.
    """
    n, r = values.shape
    means = values.mean(axis=0) if n else np.full(r, np.nan)
    off = values - means
    products = off.T @ off
    covariance = products / (n * (n - 1)) if n > 1 else np.full((r, r), np.nan)
    ahead, error = mean_differences(means, covariance)
    skewness = None if bound is None else skewness_of_means(off, products)
    totals = (n * means, products + n * np.outer(means, means)) if n else None
    sparse = sparse_pairs(values, n, bound, totals=totals)
    return AllPairs(ahead, error, np.full((r, r), n), sparse, skewness)


def mean_differences(means: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Returns [r, r] the mean of the column's run minus the row's, and [r, r] its standard error.

    ``covariance`` [r, r] is the covariance of the ``means`` [r] of the runs.
    """
    of_run = np.diag(covariance)
    total = of_run[:, None] + of_run[None, :]
    variance = total - 2 * covariance
    variance[variance <= TIE * total] = 0.0  # runs equal up to rounding
    ahead = means[None, :] - means[:, None]
    ahead[np.abs(ahead) < TIE] = 0.0
    return ahead, np.sqrt(variance)


def leaders(cutoffs: Sequence[AllPairs], level: float = LEVEL) -> list[Mask]:
    """Returns per cutoff [r] a mask of the leading runs: no other run is significantly better.

    Holm's correction covers all pairs at all cutoffs. A pair without a p counts as not significant. Returns
    an empty list for no cutoffs.
    """
    if not cutoffs:
        return []
    above = np.triu_indices(len(cutoffs[0].mean), 1)
    is_finding = significant(np.concatenate([pairs.p()[above] for pairs in cutoffs]), "holm", level)
    unbeaten = []
    for pairs, of_cutoff in zip(cutoffs, np.split(is_finding, len(cutoffs)), strict=True):
        apart = np.zeros(pairs.mean.shape, dtype=bool)
        apart[above] = of_cutoff
        beaten = (apart | apart.T) & (pairs.mean > 0)
        unbeaten.append(np.asarray(~beaten.any(axis=1)))
    return unbeaten
