"""The rules that the logs of an A/B test are counted by: their names, and the boxes to fill them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import streamlit as st

from recdash.formatting.html import markdown

RULE_TITLES = {
    "threshold_s": "A video counts when watched longer than, s",
    "item_cap_s": "Most seconds of one item in a session",
    "grace_min": "Minutes that a session stays open",
    "zone": "Zone of times without one",
    "exposures_of": "Experiment in the exposures",
    "starts": "First day of the test",
    "bot_clicks": "Most clicks a day, else a bot",
    "bot_sessions": "Most sessions a day, else a bot",
    "winsorise": "Quantile of users at which totals are cut",
    "planned_users": "Users with whom the test was to end",
    "split": "Planned split",
}
WIDTH, SHARE_WIDTH = 330, 170
DAY_S = 86_400.0
RANGES: Mapping[str, tuple[float, float]] = {
    "threshold_s": (0.0, DAY_S),
    "item_cap_s": (1.0, DAY_S),
    "grace_min": (0.0, 1440.0),
    "bot_clicks": (1, 1_000_000),
    "bot_sessions": (1, 1_000_000),
    "winsorise": (0.5, 0.9999),
    "planned_users": (1, 10**9),
}
"""Rule → the least and largest value that a page offers; whole numbers where these are."""
MEANINGS = {
    "threshold_s": "Strictly longer, per user, session and item. Events are folded by it: it stays as it is.",
    "item_cap_s": "What was watched beyond it does not count: a film that went on in an empty room.",
    "grace_min": "An exposure belongs to the session it falls into, or that ended so shortly before.",
    "bot_clicks": "Users with more on any day are left out, in every variant alike.",
    "bot_sessions": "Users with more on any day are left out, in every variant alike.",
    "winsorise": "0.99: what the top hundredth of users have is cut to what begins it.",
    "planned_users": "Control and variant together. The interval for every look is narrowest there.",
}


def number_box(
    name: str, value: float | None, key: str, *, width: int = WIDTH, meaning: str | None = None
) -> Any:
    """The number of a rule as it is filled in; None, where the box is empty, switches the rule off.

    ``meaning``: another hint than the usual one, "" for none.
    """
    least, most = RANGES[name]
    number: Any = type(least)  # int or float: of the box and of its ends alike
    if value is not None:  # rules from Python may lie beyond the range, or have 15 for 15.0 and the reverse
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


def first_day_box(known: date | None, key: str, *, width: int = WIDTH) -> date | None:
    """The day on which the test began; None where that is left open."""
    meaning = "Sessions before it are what users did before the test: CUPED adjusts the lifts by them."
    title = RULE_TITLES["starts"]
    return st.date_input(title, known, key=key, width=width, format="YYYY-MM-DD", help=meaning)


def split_boxes(variants: Sequence[str], split: Mapping[str, float], key: str) -> dict[str, float]:
    """The planned share of each variant, of any size; empty where all are alike: an even split."""
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
