"""Compares a quantile in groups of users, such as segments and days, as in the whole test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.online.analysis.comparison import Comparison
from recdash.online.analysis.quantiles import QuantileSide, compare_sides
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers


def by_cell(users: OnlineUsers, metric: OnlineMetric, cell: Ints, n_cells: int) -> list[QuantileSide]:
    """Returns the rows of the users of each cell; ``cell`` [U] is that of each user."""
    rows, n = users.values[metric.numerator], np.bincount(cell, minlength=n_cells)
    of_row, number = cell[rows.user], _number_in_cell(cell, n)[rows.user]
    order = np.argsort(of_row, kind="stable")
    ends = np.cumsum(np.bincount(of_row, minlength=n_cells)).tolist()
    parts = [order[first:end] for first, end in zip([0, *ends], ends, strict=False)]
    quantile = metric.quantile or 0.0
    return [
        QuantileSide(rows.value[part], number[part], n_users, quantile)
        for part, n_users in zip(parts, n.tolist(), strict=True)
    ]


def _number_in_cell(cell: Ints, n: Ints) -> Ints:
    """Returns [U] which user of its cell each one is, from 0, so that no cell counts the users of all others.
    ``n`` is the number of users of each cell.
    """
    number = np.empty(len(cell), dtype=np.int64)
    first = np.cumsum(n) - n
    order = np.argsort(cell, kind="stable")
    number[order] = np.arange(len(cell)) - np.repeat(first, n)
    return number


def by_day(
    users: OnlineUsers, metric: OnlineMetric, day: Ints, n: Floats, base: int, *, cumulative: bool
) -> Iterator[dict[int, Comparison]]:
    """Yields for each day {variant: its comparison with the control ``base``}.

    ``day`` is that of each row of the metric, from 0; ``n`` [variants, days] is the number of users.
    ``cumulative``: the rows are those up to the day, else those on the day.
    """
    n_variants, n_days = n.shape
    rows = users.values[metric.numerator]
    key = users.variant[rows.user] * n_days + day
    order = np.argsort(key, kind="stable")
    ends = np.searchsorted(key[order], np.arange(n_variants * n_days), side="right")
    starts = np.concatenate([[0], ends[:-1]])

    def side(code: int, at: int) -> QuantileSide:
        first = starts[code * n_days] if cumulative else starts[code * n_days + at]
        return _side(users, metric, order[first : ends[code * n_days + at]], int(n[code, at]))

    for at in range(n_days):
        control = side(base, at)
        others = [code for code in range(n_variants) if code != base]
        yield {code: compare_sides(control, side(code, at)) for code in others}


def values(sides: Sequence[QuantileSide]) -> Floats:
    """Returns the quantile of each side, NaN without rows."""
    return np.array([np.nan if side.value is None else side.value for side in sides])


def _side(users: OnlineUsers, metric: OnlineMetric, part: Ints, n_users: int) -> QuantileSide:
    rows = users.values[metric.numerator]
    return QuantileSide(rows.value[part], rows.user[part], n_users, metric.quantile or 0.0)
