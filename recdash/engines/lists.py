"""Metrics that need the lists themselves: their means are taken while the run passes by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Protocol

import numpy as np

from recdash.domain import Floats, Ints, ListMean
from recdash.engines.blocks import Block
from recdash.engines.reference import Reference
from recdash.metrics import Definition
from recdash.metrics.catalogue import CatalogueMetric
from recdash.metrics.formulas import standard_error


class ListMetric(Protocol):
    """Sees every block of lists of the users who count, in order and cut at the depth; then says the mean."""

    def see(self, block: Block) -> None: ...

    def mean(self) -> ListMean: ...


ListMetrics = Mapping[str, Callable[[], ListMetric]]
"""By canonical spec: what begins to look at the lists of one pass."""


def list_metrics(wanted: Iterable[Definition], reference: Reference, depth: int) -> ListMetrics:
    """Those of the metrics that need the lists, where the reference has what they need."""
    begun = {}
    for definition in wanted:
        metric = definition.metric
        if isinstance(metric, CatalogueMetric) and metric.from_lists(definition.parameters):
            begin = _FAMILIES[metric.name](reference, definition.parameters, depth)
            if begin is not None:
                begun[str(definition)] = begin
    return begun


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


class NoveltyOfSeen:
    """Mean −log2 popularity of those items of a list that train knows; a list without any is left out."""

    def __init__(self, train_users: Ints, n_train_users: int, depth: int) -> None:
        self.depth, self.moments = depth, Moments(depth)
        self.seen = train_users > 0
        self.bits = -np.log2(np.maximum(train_users, 1) / max(n_train_users, 1))

    def see(self, block: Block) -> None:
        seen, bits = np.zeros(block.n_lists, dtype=np.int64), np.zeros(block.n_lists)
        for k in range(1, self.depth + 1):
            lists = np.flatnonzero(block.lengths >= k)
            item = block.item[block.start[lists] + k - 1]
            known = item < len(self.seen)
            known[known] = self.seen[item[known]]
            seen[lists[known]] += 1
            bits[lists[known]] += self.bits[item[known]]
            some = seen > 0
            self.moments.add(k, bits[some] / seen[some])

    def mean(self) -> ListMean:
        return self.moments.mean()


def _novelty(reference: Reference, parameters: Mapping[str, str], depth: int) -> Begin | None:
    if reference.train_users is None:
        return None
    return partial(NoveltyOfSeen, reference.train_users, reference.n_train_users, depth)


Begin = Callable[[], ListMetric]
_FAMILIES: Mapping[str, Callable[[Reference, Mapping[str, str], int], Begin | None]] = {"novelty": _novelty}
"""How each of them begins; None where the reference lacks what it needs."""
