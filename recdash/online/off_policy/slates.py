"""Estimates what a new policy would have earned per slate: the items of one request, one in each position.

The estimators differ in what the reward of a position may depend on:

- independent (IIPS; Li et al. 2018): on the item there. Each reward has the weight of its own row.
- reward interaction (RIPS; McInerney et al. 2020): also on the items above it, as for users who read from the
  top. Each reward has the product of the weights down to its row.
- standard (IPS): on all items of the slate. All rewards have the product of all weights.

The more a reward may depend on, the fewer slates count. A propensity is the probability of an item in its
position given the items above it, or positions are drawn independently.

Letters in shapes: ``n`` rows of the log, ``s`` slates.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.online.off_policy.estimates import SlateEstimate, SlateEstimates, effective, mean_estimate
from recdash.online.off_policy.target import MOST_WEIGHT, LoggedRows, Target, codes_of, weights

if TYPE_CHECKING:
    import pyarrow as pa

SLATE_NAMES = ("slate_id", "request_id", "rec_id", "recommendation_id", "list_id", "impression_id", "page_id")
"""Names by which the column of slates is recognised, likeliest first."""


def slate_estimates(log: LoggedRows, rows: pa.Table, target: Target) -> SlateEstimates | None:
    """Returns the estimates per slate; None if the log has no positions, or no column that names slates, and
    if products of weights are beyond all numbers.

    Errors are by user if the log names users, else by slate. The user of a slate is that of its first row.
    """
    slate = _slates(rows)
    if slate is None or "position" not in rows.column_names:
        return None
    order = np.lexsort((rows["position"].to_numpy(), slate))
    slate, reward = slate[order], log.reward[order]
    weight = weights(log, target)[order]
    start = np.flatnonzero(np.diff(slate, prepend=-1))
    user = None if log.user is None else np.unique(log.user[order][start], return_inverse=True)[1]
    row_user = None if user is None else user[slate]
    with np.errstate(over="ignore", invalid="ignore"):
        down_to = _products(weight, start)
    if not down_to.max(initial=0.0) <= MOST_WEIGHT:
        return None
    whole = down_to[np.append(start[1:], len(slate)) - 1]

    def total(values: Floats) -> Floats:
        return np.bincount(slate, values).astype(np.float64)

    floor = 0.0 if (reward >= 0).all() else -math.inf

    def estimated(values: Floats, weights: Floats, of: Ints | None) -> SlateEstimate:
        mean = mean_estimate(weights, user=of)
        zero = float((total((weight == 0).astype(np.float64)) > 0).mean())
        of_slates = mean_estimate(values, floor, user)
        return SlateEstimate(of_slates, effective(weights), mean.value or 0.0, mean.std_error or 0.0, zero)

    return SlateEstimates(
        n=len(start),
        observed=mean_estimate(total(reward), floor, user),
        independent=estimated(total(weight * reward), weight, row_user),
        reward_interaction=estimated(total(down_to * reward), whole, user),
        standard=estimated(whole * total(reward), whole, user),
    )


def _slates(rows: pa.Table) -> Ints | None:
    """Returns [n] codes of slates; None if no column with a usual name has them."""
    by_name = {name.strip().casefold(): name for name in reversed(rows.column_names)}
    name = next((by_name[name] for name in SLATE_NAMES if name in by_name), None)
    if name is None:
        return None
    codes, ids = codes_of(rows[name])
    return None if any(not slate.strip() for slate in ids) else codes


def _products(weight: Floats, start: Ints) -> Floats:
    """Returns [n] the product of the weights of a slate's rows down to each row; rows are by slate and
    position, and a slate begins at each ``start`` [s].
    """
    products = weight.copy()
    place = np.arange(len(weight)) - np.repeat(start, np.diff(np.append(start, len(weight))))
    for depth in range(1, int(place.max(initial=0)) + 1):
        rows = np.flatnonzero(place == depth)
        products[rows] *= products[rows - 1]
    return products
