"""Agreement between two orders of the same few things: Kendall's τ-b, with a permutation test.

Letters in shapes: ``n`` things, ``m`` metrics that order them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from recdash.domain.kinds import Floats, Ints

MOST_EXACT = 8
"""For up to this many things all orders are tried (8! = 40,320); for more, random orders are drawn."""
DRAWN = 20_000
AT_ONCE = 5_000
SAME = 1e-9


@dataclass(frozen=True)
class Tau:
    """Kendall's τ-b of two orders of ``n`` things, with a two-sided permutation test.

    ``p`` is the share of orders that are at least as extreme as the observed one; ``least_p`` is the smallest
    p that any order could give. ``exact``: all orders were tried; otherwise ``DRAWN`` random ones, the same
    in every call.
    """

    value: float
    p: float
    least_p: float
    n: int
    exact: bool


@dataclass(frozen=True)
class Best:
    """How well each of m metrics orders the same ``n`` things as the observed values ``y`` do.

    ``tau`` [m] is NaN for a constant metric. ``p`` is the share of orders of ``y`` for which the best of all
    metrics agrees at least as well; ``perfect`` is the share for which at least one metric agrees completely.
    ``exact``: all orders were tried, not random ones.
    """

    tau: Floats
    p: float
    perfect: float
    n: int
    exact: bool

    @property
    def value(self) -> float:
        return float(np.nanmax(self.tau))

    @property
    def places(self) -> list[int]:
        """Returns the indexes of the metrics that share the highest τ."""
        return np.flatnonzero(self.tau >= self.value - SAME).tolist()


def tau(x: Floats, y: Floats) -> Tau | None:
    """Returns Kendall's τ-b between ``x`` [n] and ``y`` [n] with its test.

    Returns None if one of them is constant.
    """
    match = best(x[None, :], y, two_sided=True)
    if match is None:
        return None
    return Tau(float(match.tau[0]), match.p, match.perfect, match.n, match.exact)


def best(x: Floats, y: Floats, *, two_sided: bool = False) -> Best | None:
    """Returns how well each metric in ``x`` [m, n] orders n things as ``y`` [n] does.

    All metrics are tested with the same permuted orders. With ``two_sided``, the reverse order counts as full
    agreement, and ``perfect`` is the share of orders that are as extreme as any. Returns None if all metrics
    or ``y`` are constant.
    """
    n = x.shape[1]
    first, second = np.triu_indices(n, 1)
    signs, signs_of_y = np.sign(x[:, first] - x[:, second]), np.sign(y[first] - y[second])
    size = np.sqrt(np.abs(signs).sum(axis=1) * np.abs(signs_of_y).sum())
    known = size > 0
    if not known.any():
        return None
    tau_of = np.full(len(x), np.nan)
    signs, size = signs[known], size[known]
    tau_of[known] = signs @ signs_of_y / size
    tried = orders(n)
    best_of = np.concatenate(
        [
            _best_of(signs, size, y[tried[begin : begin + AT_ONCE]], two_sided)
            for begin in range(0, len(tried), AT_ONCE)
        ]
    )
    observed = float(np.nanmax(np.abs(tau_of) if two_sided else tau_of))
    exact, most = n <= MOST_EXACT, float(best_of.max()) if two_sided else 1.0
    rarest = _share(best_of, most, exact) if exact or not two_sided else 1 / (len(best_of) + 1)
    return Best(tau_of, _share(best_of, observed, exact), rarest, n, exact)


def orders(n: int) -> Ints:
    """Returns [orders, n] all orders of ``n`` things, or ``DRAWN`` random ones, the same in every call."""
    if n <= MOST_EXACT:
        return np.array(list(permutations(range(n))), dtype=np.int64).reshape(-1, n)
    chance = np.random.default_rng(0)
    return chance.permuted(np.tile(np.arange(n), (DRAWN, 1)), axis=1)


def _best_of(signs: Floats, size: Floats, shuffled: Floats, two_sided: bool) -> Floats:
    """Returns [orders] the largest τ-b of any metric with each shuffled y; ``shuffled`` is [orders, n]."""
    first, second = np.triu_indices(shuffled.shape[1], 1)
    tau_of = (np.sign(shuffled[:, first] - shuffled[:, second]) @ signs.T) / size
    largest: Floats = (np.abs(tau_of) if two_sided else tau_of).max(axis=1)
    return largest


def _share(tried: Floats, observed: float, exact: bool) -> float:
    """Returns the share of tried orders that agree at least as well as the observed one.

    For random orders it is never 0, since the observed order is counted too.
    """
    reached = int((tried >= observed - SAME).sum())
    return reached / len(tried) if exact else (reached + 1) / (len(tried) + 1)
