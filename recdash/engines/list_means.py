"""What a metric of lists is to the pass, and the sums that its mean is taken from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from recdash.domain.hits import ListMean
from recdash.domain.kinds import Floats
from recdash.engines.blocks import Block
from recdash.metrics.formulas import standard_error


class ListMetric(Protocol):
    """Sees every block of lists of the users who count, in order and cut at the depth; then says the mean."""

    def see(self, block: Block) -> None: ...

    def mean(self) -> ListMean: ...


Begin = Callable[[], ListMetric]
"""What begins to look at the lists of one pass."""


class Moments:
    """Sums of a value that lists have, at every k; a list that has none at k is left out there."""

    def __init__(self, depth: int) -> None:
        self.total, self.squares = np.zeros(depth), np.zeros(depth)
        self.lists = np.zeros(depth, dtype=np.int64)

    def add(self, k: int, values: Floats) -> None:
        """Values at cutoff k (from 1) of the lists that have one."""
        self.total[k - 1] += values.sum()
        self.squares[k - 1] += values @ values
        self.lists[k - 1] += len(values)

    def mean(self) -> ListMean:
        mean = np.divide(self.total, self.lists, out=np.full(len(self.total), np.nan), where=self.lists > 0)
        by_k = zip(self.total, self.squares, self.lists.tolist(), strict=True)
        errors = [standard_error(np.array(total), np.array(squares), n) for total, squares, n in by_k]
        return ListMean(mean, np.array(errors), self.lists)
