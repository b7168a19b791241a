"""Metrics that need the lists themselves; their means are computed while a run is streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np

from recdash.domain.hits import ListMean
from recdash.domain.kinds import Floats, Ints
from recdash.engines.blocks import Block
from recdash.engines.list_means import Begin, Moments
from recdash.engines.reference import Reference
from recdash.metrics import Definition
from recdash.metrics.catalogue import CatalogueMetric

ListMetrics = Mapping[str, Begin]
"""{canonical spec without population: function that starts the metric for one pass}."""


def list_metrics(wanted: Iterable[Definition], reference: Reference, depth: int) -> ListMetrics:
    """Returns the wanted metrics that need the lists themselves. Metrics for which the reference lacks data
    are left out.
    """
    begins = {}
    for definition in wanted:
        metric = definition.metric
        if isinstance(metric, CatalogueMetric) and metric.from_lists(definition.parameters):
            begin = _FAMILIES[metric.name](reference, definition.parameters, depth)
            if begin is not None:
                begins[definition.of_lists] = begin
    return begins


class MeanOfTrainItems:
    """The mean ``worth`` [N] of those items of a list that are in the training data; a list without such an
    item has no value.
    """

    def __init__(self, train_users: Ints, worth: Floats, depth: int) -> None:
        self.depth = depth
        self.moments = Moments(depth)
        self.in_train = train_users > 0
        self.worth = worth

    def see(self, block: Block) -> None:
        n_known, total = np.zeros(block.n_lists, dtype=np.int64), np.zeros(block.n_lists)
        for k in range(1, self.depth + 1):
            lists = np.flatnonzero(block.lengths >= k)
            item = block.item[block.start[lists] + k - 1]
            known = item < len(self.in_train)
            known[known] = self.in_train[item[known]]
            n_known[lists[known]] += 1
            total[lists[known]] += self.worth[item[known]]
            some = n_known > 0
            self.moments.add(k, total[some] / n_known[some])

    def mean(self) -> ListMean:
        return self.moments.mean()


def _novelty(reference: Reference, parameters: Mapping[str, str], depth: int) -> Begin | None:
    if reference.train_users is None:
        return None
    users = reference.train_users
    size = reference.n_train_users if parameters["share"] == "users" else int(users.sum())
    most = float(np.log2(max(size, 2))) if parameters["norm"] == "max" else 1.0
    bits = -np.log2(np.maximum(users, 1) / max(size, 1)) / most
    return partial(MeanOfTrainItems, users, bits, depth)


def _popularity(reference: Reference, parameters: Mapping[str, str], depth: int) -> Begin | None:
    if reference.train_users is None:
        return None
    users = reference.train_users
    rows = max(int(users.sum()), 1) if parameters["norm"] == "rows" else 1
    return partial(MeanOfTrainItems, users, users / rows, depth)


def _diversity(reference: Reference, parameters: Mapping[str, str], depth: int) -> Begin | None:
    from recdash.engines.diversity import diversity

    return diversity(reference, parameters, depth)


_FAMILIES: Mapping[str, Callable[[Reference, Mapping[str, str], int], Begin | None]] = {
    "novelty": _novelty,
    "diversity": _diversity,
    "popularity": _popularity,
}
"""Functions that make the start function of each metric; they return None if the reference lacks the data
that it needs.
"""
