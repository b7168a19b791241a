"""The rules of an A/B test where it is uploaded: fixed before the first look at a result."""

from __future__ import annotations

import zoneinfo
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache
from typing import Any

import streamlit as st

from recdash.domain.kinds import OnlineKind
from recdash.formatting.html import markdown
from recdash.online import OnlineRules
from recdash.online.rules import USUAL
from recdash.ui.components.online_rules import RULE_TITLES
from recdash.ui.upload.state import UploadState

WHY = (
    "Rules are fixed before looking, and the same in every variant. What each of them leaves out is counted."
)
WIDTH = 330


@lru_cache(maxsize=1)
def zones() -> tuple[str, ...]:
    return tuple(sorted(zoneinfo.available_timezones()))


def zone_box(upload: UploadState) -> str | None:
    """The time zone of times without one; None for UTC."""
    return st.selectbox(
        RULE_TITLES["zone"],
        zones(),
        index=None,
        placeholder="UTC",
        key=upload.key("zone"),
        width=WIDTH,
        help="Times such as 2026-11-02 09:00 say no zone. Choose the one in which the log was written.",
    )


def rules_form(
    upload: UploadState, kind: OnlineKind, *, has_exposures: bool, zone: str | None
) -> OnlineRules:
    """The rules that the tables leave open, in an expander."""
    if kind == "aggregates":
        return replace(USUAL, zone=zone)
    with st.expander("Rules: what counts, and who is left out"):
        st.caption(WHY)
        rules = _event_rules(upload) if kind == "events" else {}
        with st.container(horizontal=True):
            for name in ("bot_clicks", "bot_sessions"):
                meaning = "Users with more on any day are left out, in every variant alike."
                rules[name] = _whole_number(upload, name, 1_000_000, getattr(USUAL, name), "off", meaning)
        with st.container(horizontal=True):
            rules |= _exposure_rules(upload) if has_exposures else {"starts": _starts(upload)}
            meaning = "0.99: what the top hundredth of users have is cut to what begins it."
            rules["winsorise"] = _number(upload, "winsorise", USUAL.winsorise, 0.5, 0.9999, meaning)
            meaning = "Control and variant together. The interval for every look is narrowest there."
            rules["planned_users"] = _whole_number(
                upload, "planned_users", 10**9, None, "not planned", meaning
            )
    return OnlineRules(zone=zone, **rules)


def _event_rules(upload: UploadState) -> dict[str, Any]:
    with st.container(horizontal=True):
        meaning = "Strictly longer, per user, session and item. Events are folded by it: it stays as it is."
        threshold = _number(upload, "threshold_s", USUAL.threshold_s, 0.0, 86_400.0, meaning)
        meaning = "What was watched beyond it does not count: a film that went on in an empty room."
        cap = _number(upload, "item_cap_s", USUAL.item_cap_s, 1.0, 86_400.0, meaning)
    return {"threshold_s": USUAL.threshold_s if threshold is None else threshold, "item_cap_s": cap}


def _exposure_rules(upload: UploadState) -> dict[str, Any]:
    name: str | None = st.text_input(
        RULE_TITLES["exposures_of"],
        None,
        key=upload.key("exposures_of"),
        width=WIDTH,
        placeholder="the only one",
        help="Its name in the column experiment_id, where the table holds the exposures of several.",
    )
    meaning = "An exposure belongs to the session it falls into, or that ended so shortly before."
    grace = _number(upload, "grace_min", USUAL.grace_min, 0.0, 1440.0, meaning)
    return {
        "grace_min": USUAL.grace_min if grace is None else grace,
        "exposures_of": (name or "").strip() or None,
    }


def _starts(upload: UploadState) -> str | None:
    chosen: date | None = st.date_input(
        RULE_TITLES["starts"],
        None,
        key=upload.key("starts"),
        width=WIDTH,
        format="YYYY-MM-DD",
        help="Sessions before it are what users did before the test: CUPED adjusts the lifts by them.",
    )
    return chosen.isoformat() if chosen else None


def _whole_number(
    upload: UploadState, name: str, most: int, default: int | None, empty: str, meaning: str
) -> int | None:
    number: int | None = st.number_input(
        RULE_TITLES[name],
        1,
        most,
        default,
        placeholder=empty,
        key=upload.key(name),
        width=WIDTH,
        help=meaning,
    )
    return number


def _number(
    upload: UploadState, name: str, default: float | None, low: float, high: float, meaning: str
) -> float | None:
    number: float | None = st.number_input(
        RULE_TITLES[name],
        low,
        high,
        default,
        format="%g",
        placeholder="off",
        key=upload.key(name),
        width=WIDTH,
        help=meaning,
    )
    return number


def split_boxes(upload: UploadState, variants: Sequence[str]) -> dict[str, float]:
    """The planned share of each variant; empty for an even split."""
    with st.expander("Planned split, where it was not even"):
        st.caption("Shares of any size: 2 and 1 send two thirds of the users to the first.")
        with st.container(horizontal=True):
            shares = {
                variant: st.number_input(
                    markdown(variant),
                    0.001,
                    1e6,
                    1.0,
                    format="%g",
                    key=f"{upload.key('split')}_{variant}",
                    width=170,
                )
                for variant in variants
            }
    return {} if len(set(shares.values())) == 1 else shares
