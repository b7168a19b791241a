"""Machines among the users: one rule, fixed before looking and the same in every variant."""

from __future__ import annotations

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.online import times
from recdash.online.logs.user_totals import SessionRows
from recdash.online.rules import OnlineRules


def among(rows: SessionRows, counts: Mask, n_units: int, rules: OnlineRules) -> Mask:
    """[units] true for who on some day clicked, or came, more often than ``rules`` allow.

    ``counts`` [rows] which of the rows are of the test.
    """
    found = np.zeros(n_units, dtype=np.bool_)
    limits = ((rules.bot_clicks, rows.numbers["clicks"]), (rules.bot_sessions, rows.session >= 0))
    for limit, amount in limits:
        # Who stays below the limit over all days need not be looked at day by day.
        if limit is not None:
            total = np.bincount(rows.unit, amount * counts, minlength=n_units)
            busy = (total > limit)[rows.unit] & counts
            day = times.day(rows.at[busy])
            found |= _beyond(rows.unit[busy], day, amount[busy].astype(np.float64), n_units, limit)
    return found


def _beyond(unit: Ints, day: Ints, amount: Floats, n_units: int, limit: float) -> Mask:
    """[units] true where a day's amount is above the limit."""
    found = np.zeros(n_units, dtype=np.bool_)
    if len(unit):
        days, place = np.unique(np.stack([unit, day]), axis=1, return_inverse=True)
        of_day = np.bincount(place.ravel(), amount)
        found[days[0, of_day > limit]] = True
    return found
