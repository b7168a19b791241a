"""Do two orders of a few things agree? Kendall's τ-b, judged by every order that chance could have made."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from recdash.domain.kinds import Floats, Ints

MOST_EXACT = 8
"""Of so many things all orders are tried (8! = 40,320); of more some are drawn."""
DRAWN = 20_000
AT_ONCE = 5_000
SAME = 1e-9


@dataclass(frozen=True)
class Tau:
    """τ-b of ``n`` things and its two-sided permutation p: the share of orders at least as extreme.

    ``least_p``: the smallest that any order could have had. ``exact``: all orders were tried, else
    ``DRAWN`` of them, always the same.
    """

    value: float
    p: float
    least_p: float
    n: int
    exact: bool


@dataclass(frozen=True)
class Best:
    """Of many measures, which order the things most like ``y`` does.

    ``tau`` [m], NaN where a measure has one value for all; ``p`` the share of orders in which the best of all
    measures does at least as well; ``perfect``: in which one of them agrees completely.
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
        """The measures that share the first place."""
        return [int(at) for at in np.flatnonzero(self.tau >= self.value - SAME)]


def tau(x: Floats, y: Floats) -> Tau | None:
    """τ-b between ``x`` [n] and ``y`` [n]; None where one of them is the same for all."""
    found = best(x[None, :], y, two_sided=True)
    if found is None:
        return None
    return Tau(float(found.tau[0]), found.p, found.perfect, found.n, found.exact)


def best(x: Floats, y: Floats, *, two_sided: bool = False) -> Best | None:
    """Each measure ``x`` [m, n] against ``y`` [n], the same orders for all; None where none can differ.

    ``two_sided``: the opposite order counts as much as the same, and ``perfect`` is the share of orders as
    extreme as any.
    """
    n = x.shape[1]
    first, second = np.triu_indices(n, 1)
    mine, its = np.sign(x[:, first] - x[:, second]), np.sign(y[first] - y[second])
    size = np.sqrt(np.abs(mine).sum(axis=1) * np.abs(its).sum())
    known = size > 0
    if not known.any():
        return None
    found = np.full(len(x), np.nan)
    mine, size = mine[known], size[known]
    found[known] = mine @ its / size
    best_of = np.concatenate([_best_of(mine, size, y[some], two_sided) for some in _parts(orders(n))])
    observed = float(np.nanmax(np.abs(found) if two_sided else found))
    exact, most = n <= MOST_EXACT, float(best_of.max()) if two_sided else 1.0
    rarest = _share(best_of, most, exact) if exact or not two_sided else 1 / (len(best_of) + 1)
    return Best(found, _share(best_of, observed, exact), rarest, n, exact)


def orders(n: int) -> Ints:
    """[orders, n] all orders of ``n`` things, or ``DRAWN`` of them, the same each time."""
    if n <= MOST_EXACT:
        return np.array(list(permutations(range(n))), dtype=np.int64).reshape(-1, n)
    chance = np.random.default_rng(0)
    return chance.permuted(np.tile(np.arange(n), (DRAWN, 1)), axis=1)


def _parts(tried: Ints) -> list[Ints]:
    return [tried[at : at + AT_ONCE] for at in range(0, len(tried), AT_ONCE)]


def _best_of(mine: Floats, size: Floats, shuffled: Floats, two_sided: bool) -> Floats:
    """[orders] the largest τ-b of any measure against each shuffled y [orders, n]."""
    first, second = np.triu_indices(shuffled.shape[1], 1)
    each = (np.sign(shuffled[:, first] - shuffled[:, second]) @ mine.T) / size
    largest: Floats = (np.abs(each) if two_sided else each).max(axis=1)
    return largest


def _share(tried: Floats, observed: float, exact: bool) -> float:
    """How often chance does as well; of drawn orders never 0, since the observed one is an order too."""
    reached = int((tried >= observed - SAME).sum())
    return reached / len(tried) if exact else (reached + 1) / (len(tried) + 1)
