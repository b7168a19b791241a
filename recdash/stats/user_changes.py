"""Differences of single users: how many gain, how unevenly, and which users to examine.

A difference is candidate minus baseline, signed so that above zero is better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.formatting.numbers import ticks

BINS = 24
"""Approximate number of bars of a distribution."""


@dataclass(frozen=True)
class Changes:
    """Users by outcome; ``gain`` and ``loss`` are sums over users, both from 0.

    ``half_gain``: the fewest users whose gains add up to half of all gains; ``typical``: the median absolute
    change of users who change (NaN if none does).
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
    """Returns the changes in differences [n], which are 0 where nothing changed."""
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
    """Returns the fewest users whose gains add up to half of all gains; 0 if no user gains."""
    largest_first = np.sort(gains)[::-1]
    total = np.cumsum(largest_first)
    return int(np.searchsorted(total, total[-1] / 2 * (1 - 1e-12))) + 1 if len(gains) else 0


@dataclass(frozen=True)
class Bars:
    """``count`` [b] values are between ``edge[b]`` and ``edge[b + 1]``; zero is an edge if values are on both
    sides of it.
    """

    edge: Floats
    count: Ints


def bars(values: Floats, wanted: int = BINS) -> Bars:
    """Returns values in bars of a round width, aligned at zero; zeros are left out.

    A value on an edge counts on the side of zero, so that equal gains and losses look alike.
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
    """Returns at most ``n`` indexes: the largest gain, the largest loss, the second gain, and so on.

    Equal differences are ordered by how far the candidates are ``apart`` [n], most first. When one side is
    exhausted, the other continues; users without a change are never included.
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
