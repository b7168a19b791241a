"""Machines among the users: one rule, fixed before looking and the same in every variant."""

from __future__ import annotations

import numpy as np

from recdash.domain.kinds import Mask
from recdash.online import times
from recdash.online.logs.user_totals import SessionRows
from recdash.online.rules import OnlineRules


def among(rows: SessionRows, counts: Mask, n_units: int, rules: OnlineRules) -> Mask:
    """[units] true for users who on some day clicked, or came, more often than ``rules`` allow.

    ``counts`` [rows] which of the rows are of the test.
    """
    is_bot = np.zeros(n_units, dtype=np.bool_)
    limits = ((rules.bot_clicks, rows.numbers["clicks"]), (rules.bot_sessions, rows.session >= 0))
    for limit, amount in limits:
        if limit is None:
            continue
        # Only users above the limit over all days need to be looked at day by day.
        total = np.bincount(rows.unit, amount * counts, minlength=n_units)
        busy = (total > limit)[rows.unit] & counts
        if busy.any():
            unit_days = np.stack([rows.unit[busy], times.day(rows.at[busy])])
            days, index = np.unique(unit_days, axis=1, return_inverse=True)
            of_day = np.bincount(index.ravel(), amount[busy].astype(np.float64))
            is_bot[days[0, of_day > limit]] = True
    return is_bot


def rule_in_words(rules: OnlineRules) -> str:
    limits = [(rules.bot_clicks, "clicks"), (rules.bot_sessions, "sessions")]
    exceeded = " or ".join(f"{limit:,} {action}" for limit, action in limits if limit is not None)
    return f"had more than {exceeded} in one day"
