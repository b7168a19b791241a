"""Detects bots by one rule, which is fixed in advance and the same in every variant."""

from __future__ import annotations

import numpy as np

from recdash.domain.kinds import Mask
from recdash.online import times
from recdash.online.logs.user_totals import SessionRows
from recdash.online.rules import OnlineRules


def among(rows: SessionRows, counts: Mask, n_units: int, rules: OnlineRules) -> Mask:
    """Returns [units] True for users with more clicks or sessions on one day than ``rules`` allow.

    ``counts`` [rows] marks the rows that belong to the test.
    """
    is_bot = np.zeros(n_units, dtype=np.bool_)
    if not rows.has_sessions:  # a row per user does not say what happened on which day
        return is_bot
    limits = ((rules.bot_clicks, rows.numbers.get("clicks")), (rules.bot_sessions, rows.session >= 0))
    for limit, amount in limits:
        if limit is None or amount is None:
            continue
        # Only users above the limit over all days need a check day by day.
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
