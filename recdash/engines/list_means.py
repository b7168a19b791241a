"""The protocol of metrics over lists, and the sums from which their means are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from recdash.domain.hits import ListMean
from recdash.domain.kinds import Floats
from recdash.engines.blocks import Block
from recdash.metrics.formulas import standard_error


class ListMetric(Protocol):
    """Computes the mean of a metric over lists: it is shown every block of the counted users' lists, in order
    and cut at the depth.
    """

    def see(self, block: Block) -> None: ...

    def mean(self) -> ListMean: ...


class AddableMetric(ListMetric, Protocol):
    """A metric over lists whose sums over the lists of several passes can be added."""

    moments: Moments


Begin = Callable[[], ListMetric]
"""A function that starts a metric for one pass over the lists."""


class Moments:
    """Sums of a value per list at every k; lists without a value at a k do not count there."""

    def __init__(self, depth: int) -> None:
        self.total, self.squares = np.zeros(depth), np.zeros(depth)
        self.lists = np.zeros(depth, dtype=np.int64)

    def add(self, k: int, values: Floats) -> None:
        """Adds the values at cutoff k (from 1) of the lists that have one."""
        self.total[k - 1] += values.sum()
        self.squares[k - 1] += values @ values
        self.lists[k - 1] += len(values)

    def add_all(self, others: Moments) -> None:
        """Adds the sums of other lists."""
        self.total += others.total
        self.squares += others.squares
        self.lists += others.lists

    def mean(self) -> ListMean:
        mean = np.divide(self.total, self.lists, out=np.full(len(self.total), np.nan), where=self.lists > 0)
        by_k = zip(self.total, self.squares, self.lists.tolist(), strict=True)
        errors = [standard_error(np.array(total), np.array(squares), n) for total, squares, n in by_k]
        return ListMean(mean, np.array(errors), self.lists)
