"""Machines among the users: one rule, fixed before looking and the same in every variant."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from recdash.domain import Floats, Ints
from recdash.online.rules import Rules

Bools = npt.NDArray[np.bool_]


def among(unit: Ints, day: Ints, clicks: Floats, sessions: Bools, n_units: int, rules: Rules) -> Bools:
    """[units] true for who on some day clicked, or came, more often than ``rules`` allow.

    ``unit``, ``day``, ``clicks`` and ``sessions`` (whether it is one) [rows] of the test.
    """
    found = np.zeros(n_units, dtype=np.bool_)
    limits = ((rules.bot_clicks, clicks), (rules.bot_sessions, sessions.astype(np.float64)))
    for limit, amount in limits:
        # Who stays below the limit over all days need not be looked at day by day.
        if limit is not None:
            total = np.bincount(unit, amount, minlength=n_units)
            rows = (total > limit)[unit]
            found |= _beyond(unit[rows], day[rows], amount[rows], n_units, limit)
    return found


def _beyond(unit: Ints, day: Ints, amount: Floats, n_units: int, limit: float) -> Bools:
    """[units] true where a day's amount is above the limit."""
    found = np.zeros(n_units, dtype=np.bool_)
    if len(unit):
        days, place = np.unique(np.stack([unit, day]), axis=1, return_inverse=True)
        of_day = np.bincount(place.ravel(), amount)
        found[days[0, of_day > limit]] = True
    return found
