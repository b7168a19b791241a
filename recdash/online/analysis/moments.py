"""Sums and sums of squares over users, per variant, day and segment, from which lifts follow as from users.

They are kept as means and centred second moments, which can be merged without loss of digits.

Letters in shapes: ``G`` groups of users, of which each has one variant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.errors import InputError, Problem
from recdash.ingest.moment_columns import MomentColumn
from recdash.online.metrics import OnlineMetric
from recdash.online.users import Segment

if TYPE_CHECKING:
    import pyarrow as pa

Pair = tuple[str, str]
IMPOSSIBLE = 1e-6
"""Share by which second moments may be impossible, because sums are written with few digits."""


def pair_of(first: str, second: str) -> Pair:
    """Returns the key of a product: the two names in alphabetical order."""
    return (first, second) if first <= second else (second, first)


@dataclass(frozen=True)
class GroupedMoments:
    """The moments of totals per user in groups of users.

    ``variant`` [G] are indexes into ``variants``, ``n`` [G] numbers of users. ``means`` maps each total to
    its mean [G], ``moments`` each pair of totals to Σ (x − mean of x)(y − mean of y) [G]; a pair that is
    missing is unknown. ``day`` [G] are days since 1970 on which the users were first exposed, None if
    unknown. ``segments`` has the groups' values of each attribute. Each user is in one group.
    """

    variants: tuple[str, ...]
    variant: Ints
    n: Floats
    means: Mapping[str, Floats]
    moments: Mapping[Pair, Floats]
    day: Ints | None = None
    segments: Mapping[str, Segment] = field(default_factory=dict)

    def knows(self, metric: OnlineMetric) -> bool:
        """Returns True if the metric's totals, their squares and their product are known."""
        names = [metric.numerator, *([metric.denominator] if metric.denominator else [])]
        return all(name in self.means for name in names) and all(
            pair_of(first, second) in self.moments for first in names for second in names
        )

    def merged(self, cell: Ints, n_cells: int) -> tuple[Floats, dict[str, Floats], dict[Pair, Floats]]:
        """Returns [cells] numbers of users, means and second moments of groups that are put together.

        ``cell`` [G] is the cell of each group. The moments are merged as by Chan, Golub and LeVeque (1983).
        """

        def total(values: Floats) -> Floats:
            return np.bincount(cell, values, minlength=n_cells).astype(np.float64)

        n = total(self.n)
        users = np.maximum(n, 1)
        means = {name: total(self.n * mean) / users for name, mean in self.means.items()}
        apart = {name: mean - means[name][cell] for name, mean in self.means.items()}
        moments = {
            (a, b): total(moment) + total(self.n * apart[a] * apart[b])
            for (a, b), moment in self.moments.items()
        }
        return n, means, moments

    def arms(self) -> dict[str, Any]:
        """Returns tea-tasting's aggregates per variant, as ``results.arms_of`` does for users."""
        return dict(zip(self.variants, self.cells(self.variant, len(self.variants)), strict=True))

    def cells(self, cell: Ints, n_cells: int) -> list[Any]:
        """Returns tea-tasting's aggregates of each cell; ``cell`` [G] is the cell of each group."""
        from tea_tasting.aggr import Aggregates

        n, means, moments = self.merged(cell, n_cells)
        cells = []
        for place in range(n_cells):
            free = max(float(n[place]) - 1, 1.0)
            spread = {pair: float(values[place]) / free for pair, values in moments.items()}
            cells.append(
                Aggregates(
                    int(n[place]),
                    {total: float(values[place]) for total, values in means.items()},
                    {first: value for (first, second), value in spread.items() if first == second},
                    {pair: value for pair, value in spread.items() if pair[0] != pair[1]},
                )
            )
        return cells


def centred(n: Floats, sums: Mapping[str, Floats], products: Mapping[Pair, Floats]) -> dict[Pair, Floats]:
    """Returns Σ (x − mean)(y − mean) [G] of each pair, from the sums of products Σ xy [G]."""
    users = np.maximum(n, 1)
    return {
        (a, b): product - sums[a] * (sums[b] / users)
        for (a, b), product in products.items()
        if a in sums and b in sums
    }


def impossible(groups: GroupedMoments) -> list[tuple[Pair, int]]:
    """Returns the pairs of totals whose second moments no users can have, with the number of such groups.

    A sum of squares is at least the squared sum ÷ n, and a covariance is bounded by both variances.
    """
    faults = []
    for (a, b), moment in groups.moments.items():
        if a == b:
            scale = np.abs(moment) + groups.n * groups.means[a] ** 2
            bad = moment < -IMPOSSIBLE * scale
        elif (a, a) in groups.moments and (b, b) in groups.moments:
            size = np.sqrt(np.maximum(groups.moments[a, a], 0) * np.maximum(groups.moments[b, b], 0))
            scale = size + groups.n * np.abs(groups.means[a] * groups.means[b])
            bad = np.abs(moment) > size + IMPOSSIBLE * scale
        else:
            continue
        if bad.any():
            faults.append(((a, b), int(bad.sum())))
    return faults


def is_aggregates(source: Any) -> bool:
    """Returns True for {variant: tea-tasting's aggregates}, as ``tea_tasting.aggr.read_aggregates`` gives."""
    is_mapping = isinstance(source, Mapping) and bool(source)
    return is_mapping and all(hasattr(side, "mean_") and hasattr(side, "cov_") for side in source.values())


def table_of(arms: Mapping[Any, Any]) -> pa.Table:
    """Returns tea-tasting's aggregates per variant as an aggregated table: n, means, variances, covariances.

    Totals that some variant lacks are left out. Raises InputError for aggregates without a count.
    """
    import pyarrow as pa

    sides = list(arms.values())
    lacking = [str(variant) for variant, side in arms.items() if side.count_ is None]
    if lacking:
        fix = "Read them with has_count=True."
        message = f"the aggregates of {', '.join(lacking)} have no count"
        raise InputError(Problem("missing-column", "aggregates", message, fix))
    columns: dict[MomentColumn, list[float]] = {}
    for name in _in_all([side.mean_ for side in sides]):
        columns[MomentColumn("mean", (name,))] = [side.mean_[name] for side in sides]
    for name in _in_all([side.var_ for side in sides]):
        columns[MomentColumn("var", (name,))] = [side.var_[name] for side in sides]
    spreads = [{pair_of(*pair): value for pair, value in side.cov_.items()} for side in sides]
    for pair in _in_all(spreads):
        columns[MomentColumn("cov", pair)] = [spread[pair] for spread in spreads]
    return pa.table(
        {
            "variant": [str(variant) for variant in arms],
            "n": [float(side.count_) for side in sides],
            **{str(moment): [float(value) for value in values] for moment, values in columns.items()},
        }
    )


def _in_all(sides: Sequence[Mapping[Any, Any]]) -> list[Any]:
    return [key for key in sides[0] if all(key in side for side in sides)]
