"""Differences of single users: how many users gain, how unevenly, and which ones to look at.

A difference is candidate minus baseline, with its sign set so that above 0 is better.

Letters in shapes: ``n`` users, ``b`` bars.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.formatting.numbers import ticks

BINS = 24
"""Approximate number of bars of a histogram."""


@dataclass(frozen=True)
class Changes:
    """Numbers of users who gain, lose or stay the same.

    ``gain`` and ``loss`` are the sums of their changes, both ≥ 0. ``half_gain`` is the smallest number of
    users whose gains add up to half of all gains. ``typical`` is the median absolute change of the users who
    change; NaN if none does.
    """

    n_users: int
    better: int
    same: int
    worse: int
    gain: float
    loss: float
    half_gain: int
    typical: float


def changes(difference: Floats) -> Changes:
    """Returns the summary of the users' differences [n]; a difference of 0 is no change."""
    gains, losses = difference[difference > 0], difference[difference < 0]
    n, better, worse = len(difference), len(gains), len(losses)
    moved = np.abs(difference[difference != 0])
    return Changes(
        n_users=n,
        better=better,
        same=n - better - worse,
        worse=worse,
        gain=float(gains.sum()),
        loss=float(np.abs(losses).sum()),
        half_gain=users_with_half(gains),
        typical=float(np.median(moved)) if len(moved) else float("nan"),
    )


def users_with_half(gains: Floats) -> int:
    """Returns the smallest number of users whose gains add up to half of all gains; 0 if no user gains."""
    largest_first = np.sort(gains)[::-1]
    total = np.cumsum(largest_first)
    return int(np.searchsorted(total, total[-1] / 2 * (1 - 1e-12))) + 1 if len(gains) else 0


@dataclass(frozen=True)
class Bars:
    """A histogram: ``count`` [b] values lie between ``edge[b]`` and ``edge[b + 1]``.

    Zero is an edge if there are values on both sides of it.
    """

    edge: Floats
    count: Ints


def bars(values: Floats, wanted: int = BINS) -> Bars:
    """Returns a histogram of the nonzero values, with bars of a round width that are aligned at 0.

    A value on an edge counts in the bar nearer to 0, so that equal gains and losses look alike. Without
    nonzero values there are no bars.
    """
    values = values[values != 0]
    if len(values) == 0:
        return Bars(np.zeros(1), np.zeros(0, dtype=np.int64))
    span = max(float(values.max()), 0.0) - min(float(values.min()), 0.0)
    round_values = ticks(0.0, span, wanted)
    width = round_values[1] - round_values[0] if len(round_values) > 1 else span / wanted or math.inf
    steps = np.abs(values) / width
    place = (np.sign(values) * np.maximum(np.ceil(steps - 1e-9), 1)).astype(np.int64)
    place[place > 0] -= 1
    low, high = int(place.min()), int(place.max())
    edge = width * np.arange(low, high + 2, dtype=np.float64)
    return Bars(edge, np.bincount(place - low, minlength=high - low + 1))


def largest_changes(difference: Floats, apart: Floats, n: int) -> Ints:
    """Returns the indexes of at most ``n`` users: largest gain, largest loss, second largest gain, and so on.

    Equal differences are ordered by ``apart`` [n], how far the compared candidates' values are apart, largest
    first. When one side is exhausted, the other continues. Users without a change are never included.
    """
    sides = []
    for is_on_side in (difference > 0, difference < 0):
        places = np.flatnonzero(is_on_side)
        largest_first = np.lexsort((-apart[places], -np.abs(difference[places]).round(12)))
        sides.append(places[largest_first[:n]])
    place = np.concatenate([np.arange(len(side)) for side in sides])
    side = np.repeat([0, 1], [len(of_side) for of_side in sides])
    order = np.lexsort((side, place))
    return np.concatenate(sides)[order][:n]
