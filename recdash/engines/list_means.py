"""Protocol of metrics over lists, and the sums that their means are computed from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from recdash.domain.hits import ListMean
from recdash.domain.kinds import Floats
from recdash.engines.blocks import Block
from recdash.metrics.formulas import standard_error


class ListMetric(Protocol):
    """Sees every block of lists of the counted users, in order and cut at the depth; then returns the
    mean.
    """

    def see(self, block: Block) -> None: ...

    def mean(self) -> ListMean: ...


Begin = Callable[[], ListMetric]
"""A function that starts observing the lists of one pass."""


class Moments:
    """Sums of a per-list value at every k; a list without a value at k is left out there."""

    def __init__(self, depth: int) -> None:
        self.total, self.squares = np.zeros(depth), np.zeros(depth)
        self.lists = np.zeros(depth, dtype=np.int64)

    def add(self, k: int, values: Floats) -> None:
        """Adds values at cutoff k (from 1) of the lists that have one."""
        self.total[k - 1] += values.sum()
        self.squares[k - 1] += values @ values
        self.lists[k - 1] += len(values)

    def mean(self) -> ListMean:
        mean = np.divide(self.total, self.lists, out=np.full(len(self.total), np.nan), where=self.lists > 0)
        by_k = zip(self.total, self.squares, self.lists.tolist(), strict=True)
        errors = [standard_error(np.array(total), np.array(squares), n) for total, squares, n in by_k]
        return ListMean(mean, np.array(errors), self.lists)
