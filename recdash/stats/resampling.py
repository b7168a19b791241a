"""Resampling: the bootstrap over users, and the permutation test that swaps the labels of two runs.

All pairs of many runs are computed at once: sums are resampled per run, not per pair, since the mean of a
difference is the difference of the means.

Letters in shapes: ``c`` columns (one per run), ``p`` pairs of columns, ``n`` groups of users.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from recdash.domain.kinds import Floats, Ints
from recdash.stats.groups import Groups
from recdash.stats.paired import LEVEL
from recdash.stats.sparse import TIE

DRAWS, GROUPS = 1 << 14, 1 << 13
"""With so many draws, the ends of a 95 % interval vary by 0.5 % of its width.

With so many groups, by 0.4 %.
"""
_AT_ONCE = 256


def resampled_means(groups: Groups, draws: int = DRAWS, seed: int = 0) -> Floats:
    """Returns [draws, c] the means of the columns over users drawn with replacement.

    All columns use the same drawn users, so that differences between columns are paired.
    """
    blocks = (
        _weights(len(groups.sizes), size, seed, number).astype(np.float64) for number, size in _blocks(draws)
    )
    return np.concatenate([block @ groups.sums / (block @ groups.sizes)[:, None] for block in blocks])


def bootstrap(
    runs: Groups, pairs: Ints, level: float = LEVEL, draws: int = DRAWS, seed: int = 0
) -> tuple[Floats, Floats]:
    """Returns [p] the low and [p] the high ends of the percentile intervals of mean differences (Efron 1979).

    ``pairs`` [p, 2] has the columns of candidate and baseline of each pair.
    """
    means = resampled_means(runs.merged(GROUPS), draws, seed).T
    tail, ends = (1 - level) / 2, np.empty((2, len(pairs)))
    for some in _parts(len(pairs)):
        candidate, baseline = pairs[some].T
        ends[:, some] = np.quantile(means[candidate] - means[baseline], (tail, 1 - tail), axis=1)
    ends[np.abs(ends) < TIE] = 0.0
    return ends[0], ends[1]


def permutation(runs: Groups, pairs: Ints, draws: int = DRAWS, seed: int = 0) -> Floats:
    """Returns [p] two-sided p-values of a mean difference of 0, by swapping the labels of users at random.

    ``pairs`` [p, 2] has the columns of candidate and baseline of each pair. A p-value is at least 1 / (draws
    + 1), since the observed labels are counted too. Differences closer than ``TIE`` count as equal.
    """
    runs, rng = runs.merged(GROUPS), np.random.default_rng(seed)
    candidate, baseline = pairs.T
    sums = runs.sums.sum(axis=0)
    seen = np.abs(sums[candidate] - sums[baseline]) - TIE * runs.n
    as_far = np.zeros(len(pairs), dtype=np.int64)
    for _, some in _blocks(draws):
        signed = _signs(rng, some, len(runs.sizes)) @ runs.sums
        for part in _parts(len(pairs)):
            far = np.abs(signed[:, candidate[part]] - signed[:, baseline[part]]) >= seen[part]
            as_far[part] += far.sum(axis=0)
    return (as_far + 1) / (draws + 1)


def _blocks(draws: int) -> Iterator[tuple[int, int]]:
    """Yields for each block of draws its index and its number of draws."""
    for begin in range(0, draws, _AT_ONCE):
        yield begin // _AT_ONCE, min(_AT_ONCE, draws - begin)


def _parts(n: int) -> Iterator[slice]:
    return (slice(begin, begin + _AT_ONCE) for begin in range(0, n, _AT_ONCE))


def _signs(rng: np.random.Generator, draws: int, n: int) -> Floats:
    """Returns [draws, n] random signs, −1 or 1, eight from each random byte."""
    random = np.frombuffer(rng.bytes(draws * n // 8 + 1), dtype=np.uint8)
    bits = np.unpackbits(random, count=draws * n).reshape(draws, n)
    return 2.0 * bits.astype(np.float64) - 1.0


@lru_cache(maxsize=16)
def _weights(n: int, draws: int, seed: int, block: int) -> npt.NDArray[np.uint8]:
    """Returns [draws, n] how often each of n groups is drawn.

    The result is cached, since a page often needs the same draws again.
    """
    rng = np.random.default_rng((seed, block))
    weights = np.empty((draws, n), dtype=np.uint8)
    for row in weights:
        row[:] = np.bincount(rng.integers(0, n, n), minlength=n)
    return weights
