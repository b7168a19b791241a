"""The names of an A/B test's counting rules, and the boxes with which they are chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import streamlit as st

from recdash.formatting.html import markdown

RULE_TITLES = {
    "threshold_s": "Minimum watch time of a view, s",
    "item_cap_s": "Maximum watch time per item and session, s",
    "grace_min": "Session stays open for, min",
    "clock_min": "Clocks may differ by, min",
    "zone": "Time zone for timestamps without one",
    "exposures_of": "Experiment in the exposures",
    "starts": "First day of the test",
    "bot_clicks": "Bot filter: max clicks per day",
    "bot_sessions": "Bot filter: max sessions per day",
    "winsorise": "Outlier capping: quantile of users",
    "planned_users": "Planned sample size, users",
    "split": "Planned split",
    "activated_by": "Only users with any",
}
WIDTH, SHARE_WIDTH = 330, 170
DAY_S = 86_400.0
EVERY_USER = ""
"""Stands for no limit to activated users."""
RANGES: Mapping[str, tuple[float, float]] = {
    "threshold_s": (0.0, DAY_S),
    "item_cap_s": (1.0, DAY_S),
    "grace_min": (0.0, 1440.0),
    "clock_min": (0.0, 1440.0),
    "bot_clicks": (1, 1_000_000),
    "bot_sessions": (1, 1_000_000),
    "winsorise": (0.5, 0.9999),
    "planned_users": (1, 10**9),
}
"""Rule → the smallest and largest value that a page offers; integers for rules with whole numbers."""
MEANINGS = {
    "threshold_s": "Strictly longer, per user, session and item. It is fixed once events are uploaded.",
    "item_cap_s": "Watch time beyond it does not count, such as a film left running.",
    "grace_min": "An exposure also belongs to a session that ended at most so long before.",
    "clock_min": "What happened at most so long before the exposure counts, too. At 0 it counts from the "
    "exposure on.",
    "bot_clicks": "Users with more on any day are excluded from every variant.",
    "bot_sessions": "Users with more on any day are excluded from every variant.",
    "winsorise": "At 0.99, totals of the top 1 % of users are capped at their 99th percentile.",
    "planned_users": "Control and variant together. The always-valid interval is narrowest at this size.",
    "activated_by": "Users who reached what the test changes, such as its page. Others are excluded from "
    "every variant, and the split of these users is checked again.",
}


def number_box(
    name: str, value: float | None, key: str, *, width: int = WIDTH, meaning: str | None = None
) -> Any:
    """Draws the box of a rule and returns its number; None if it is empty, which turns the rule off.

    ``meaning`` replaces the default hint; "" shows none.
    """
    least, most = RANGES[name]
    number: Any = type(least)  # int or float, the same for the value and the limits
    if value is not None:  # rules set in Python may be out of range, or be 15 for 15.0
        least, most = min(least, value), max(most, value)
        number = number if float(value).is_integer() else float
    return st.number_input(
        RULE_TITLES[name],
        number(least),
        number(most),
        None if value is None else number(value),
        format=None if number is int else "%g",
        placeholder="not planned" if name == "planned_users" else "off",
        key=key,
        width=width,
        help=MEANINGS[name] if meaning is None else meaning or None,
    )


def activation_box(names: Sequence[str], chosen: str | None, key: str, *, width: int = WIDTH) -> str | None:
    """Draws the box for the total that users need, and returns its name; None for all users."""
    options = [EVERY_USER, *names]
    name = st.selectbox(
        RULE_TITLES["activated_by"],
        options,
        index=options.index(chosen) if chosen is not None and chosen in names else 0,
        format_func=lambda name: name.replace("_", " ") or "all users count",
        key=key,
        width=width,
        help=MEANINGS["activated_by"],
    )
    return name or None


def first_day_box(known: date | None, key: str, *, width: int = WIDTH) -> date | None:
    """Draws the box for the first day of the test and returns the day; None if it is empty."""
    meaning = "Earlier sessions are pre-test data, by which CUPED adjusts the lifts."
    title = RULE_TITLES["starts"]
    return st.date_input(title, known, key=key, width=width, format="YYYY-MM-DD", help=meaning)


def split_boxes(variants: Sequence[str], split: Mapping[str, float], key: str) -> dict[str, float]:
    """Draws a box for each variant and returns the planned shares; empty for an even split."""
    shares: dict[str, float] = {}
    with st.container(horizontal=True):
        for variant in variants:
            shares[variant] = st.number_input(
                markdown(variant),
                0.001,
                1e6,
                float(split.get(variant, 1.0)),
                format="%g",
                key=f"{key}-{variant}",
                width=SHARE_WIDTH,
            )
    return {} if len(set(shares.values())) == 1 else shares
