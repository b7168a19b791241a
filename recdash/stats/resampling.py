"""What chance alone could have done: users drawn again, and the labels of a pair swapped."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from recdash.domain import Floats
from recdash.stats.groups import Groups
from recdash.stats.paired import LEVEL, TIE

_DRAWN_IN_ALL = 1 << 26
DRAWS = (1_000, 10_000)
_AT_ONCE = 250


def draws_for(groups: Groups) -> int:
    """How often to draw: more often where there are few users."""
    return int(np.clip(_DRAWN_IN_ALL // max(len(groups.sizes), 1), *DRAWS))


def resampled_means(groups: Groups, draws: int | None = None, seed: int = 0) -> Floats:
    """[draws, c] means of the columns, over users drawn with replacement.

    The same users are drawn for every column, so that differences of columns are paired.
    """
    weights = _weights(len(groups.sizes), draws or draws_for(groups), seed)
    blocks = (weights[at : at + _AT_ONCE].astype(np.float64) for at in range(0, len(weights), _AT_ONCE))
    return np.concatenate([block @ groups.sums / (block @ groups.sizes)[:, None] for block in blocks])


def bootstrap(
    groups: Groups, level: float = LEVEL, draws: int | None = None, seed: int = 0
) -> tuple[Floats, Floats]:
    """[c] low and [c] high ends of the percentile interval of each column's mean (Efron 1979)."""
    tail = (1 - level) / 2
    low, high = np.quantile(resampled_means(groups, draws, seed), (tail, 1 - tail), axis=0)
    return low, high


def permutation(differences: Groups, draws: int | None = None, seed: int = 0) -> Floats:
    """[c] two-sided p that the mean of each column of differences is 0, from pairs swapped at random.

    At least 1 / (draws + 1): the order that was seen is one of those that could have been.
    """
    draws = draws or draws_for(differences)
    seen = np.abs(differences.sums.sum(axis=0)) * (1 - TIE)
    rng = np.random.default_rng(seed)
    as_far = np.zeros(differences.sums.shape[1], dtype=np.int64)
    for at in range(0, draws, _AT_ONCE):
        signs = _signs(rng, min(_AT_ONCE, draws - at), len(differences.sizes))
        as_far += (np.abs(signs @ differences.sums) >= seen).sum(axis=0)
    return (as_far + 1) / (draws + 1)


def _signs(rng: np.random.Generator, draws: int, n: int) -> Floats:
    """[draws, n] of −1 and 1; eight from each random byte."""
    random = np.frombuffer(rng.bytes(draws * n // 8 + 1), dtype=np.uint8)
    bits = np.unpackbits(random, count=draws * n).reshape(draws, n)
    return 2.0 * bits.astype(np.float64) - 1.0


@lru_cache(maxsize=4)
def _weights(n: int, draws: int, seed: int) -> npt.NDArray[np.uint8]:
    """[draws, n] how often each is drawn; kept, since a page asks for the same number of users again."""
    rng = np.random.default_rng(seed)
    weights = np.empty((draws, n), dtype=np.uint8)
    for row in weights:
        row[:] = np.bincount(rng.integers(0, n, n), minlength=n)
    return weights
