"""Every pair of several runs at several cutoffs, and who leads at each: one family of comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recdash.domain import Floats, Ints, Mask
from recdash.stats.family import significant
from recdash.stats.paired import LEVEL, TIE, says_nothing


@dataclass(frozen=True)
class AllPairs:
    """At one cutoff: ``mean`` [r, r] of the column's run minus the row's, paired over ``n`` [r, r] users.

    ``error`` [r, r] is the standard error of that mean; NaN below two users. Where a pair's users say
    nothing (``recdash.stats.paired``) it has no p and no interval.
    """

    mean: Floats
    error: Floats
    n: Ints

    def interval(self, level: float = LEVEL) -> tuple[Floats, Floats]:
        """[r, r] low and high ends, as of the paired t-test."""
        from scipy.special import stdtrit

        half = stdtrit(np.maximum(self.n - 1, 1), 0.5 + level / 2) * self.error
        half[self._unknown] = np.nan
        return self.mean - half, self.mean + half

    def p(self) -> Floats:
        """[r, r] two-sided p of the paired t-test that the mean is 0."""
        from scipy.special import stdtr

        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.mean == 0, 0.0, np.abs(self.mean) / self.error)
        p: Floats = np.where(self._unknown, np.nan, 2 * stdtr(np.maximum(self.n - 1, 1), -t))
        return p

    @property
    def _unknown(self) -> Mask:
        found: Mask = says_nothing(self.n, self.mean, self.error)
        return found


def all_pairs(values: Floats) -> AllPairs:
    """Of the runs in the columns of ``values`` [n, r], over the same users: one product for all pairs."""
    n, r = values.shape
    means = values.mean(axis=0) if n else np.full(r, np.nan)
    off = values - means
    covariance = off.T @ off / (n - 1) if n > 1 else np.full((r, r), np.nan)
    of_run = np.diag(covariance)
    total = of_run[:, None] + of_run[None, :]
    variance = total - 2 * covariance
    variance[variance <= TIE * total] = 0.0  # runs alike but for rounding
    ahead = means[None, :] - means[:, None]
    ahead[np.abs(ahead) < TIE] = 0.0
    return AllPairs(ahead, np.sqrt(variance / max(n, 1)), np.full((r, r), n))


def leaders(cutoffs: Sequence[AllPairs], level: float = LEVEL) -> list[Mask]:
    """At each cutoff, [r] the runs that no other is significantly better than, after Holm over all of them.

    Runs without a p cannot be told apart.
    """
    if not cutoffs:
        return []
    above = np.triu_indices(len(cutoffs[0].mean), 1)
    found = significant(np.concatenate([one.p()[above] for one in cutoffs]), "holm", level)
    each = np.split(found, len(cutoffs))
    return [_unbeaten(one, its, above) for one, its in zip(cutoffs, each, strict=True)]


def _unbeaten(pairs: AllPairs, found: Mask, above: tuple[Ints, Ints]) -> Mask:
    apart = np.zeros(pairs.mean.shape, dtype=bool)
    apart[above] = found
    beaten = (apart | apart.T) & (pairs.mean > 0)
    return np.asarray(~beaten.any(axis=1))
