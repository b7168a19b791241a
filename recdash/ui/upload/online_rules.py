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


def zone_box(desk: UploadState) -> str | None:
    """Where times that say none were written; None for UTC."""
    return st.selectbox(
        RULE_TITLES["zone"], zones(), index=None, placeholder="UTC", key=desk.key("zone"), width=WIDTH,
        help="Times such as 2026-11-02 09:00 say no zone. Choose the one in which the log was written.",
    )  # fmt: skip


def rules_form(desk: UploadState, kind: OnlineKind, *, has_exposures: bool, zone: str | None) -> OnlineRules:
    """The rules that the tables leave open, in an expander."""
    if kind == "aggregates":
        return replace(USUAL, zone=zone)
    with st.expander("Rules: what counts, and who is left out"):
        st.caption(WHY)
        asked = _events(desk) if kind == "events" else {}
        asked |= _bots(desk)
        asked |= _of_users(desk, has_exposures)
    return OnlineRules(zone=zone, **asked)


def _events(desk: UploadState) -> dict[str, Any]:
    with st.container(horizontal=True):
        threshold = _number(
            desk, "threshold_s", USUAL.threshold_s, 0.0, 86_400.0,
            "Strictly longer, per user, session and item. Events are folded by it: it stays as it is.",
        )  # fmt: skip
        cap = _number(
            desk, "item_cap_s", USUAL.item_cap_s, 1.0, 86_400.0,
            "What was watched beyond it does not count: a film that went on in an empty room.",
        )  # fmt: skip
    return {"threshold_s": USUAL.threshold_s if threshold is None else threshold, "item_cap_s": cap}


def _bots(desk: UploadState) -> dict[str, Any]:
    with st.container(horizontal=True):
        return {
            name: st.number_input(
                RULE_TITLES[name], 1, 1_000_000, getattr(USUAL, name), placeholder="off", width=WIDTH,
                key=desk.key(name), help="Users with more on any day are left out, in every variant alike.",
            )
            for name in ("bot_clicks", "bot_sessions")
        }  # fmt: skip


def _of_users(desk: UploadState, has_exposures: bool) -> dict[str, Any]:
    with st.container(horizontal=True):
        since: dict[str, Any] = _exposures(desk) if has_exposures else {"starts": _starts(desk)}
        cut = _number(
            desk, "winsorise", USUAL.winsorise, 0.5, 0.9999,
            "0.99: what the top hundredth of users have is cut to what begins it.",
        )  # fmt: skip
        planned: int | None = st.number_input(
            RULE_TITLES["planned_users"], 1, 10**9, None, placeholder="not planned",
            key=desk.key("planned_users"), width=WIDTH,
            help="Control and variant together. The interval for every look is narrowest there.",
        )  # fmt: skip
    return {**since, "winsorise": cut, "planned_users": planned}


def _exposures(desk: UploadState) -> dict[str, Any]:
    name: str | None = st.text_input(
        RULE_TITLES["exposures_of"], None, key=desk.key("exposures_of"), width=WIDTH,
        placeholder="the only one",
        help="Its name in the column experiment_id, where the table holds the exposures of several.",
    )  # fmt: skip
    return {"grace_min": _grace(desk), "exposures_of": (name or "").strip() or None}


def _grace(desk: UploadState) -> float:
    found = _number(
        desk, "grace_min", USUAL.grace_min, 0.0, 1440.0,
        "An exposure belongs to the session it falls into, or that ended so shortly before.",
    )  # fmt: skip
    return USUAL.grace_min if found is None else found


def _starts(desk: UploadState) -> str | None:
    chosen: date | None = st.date_input(
        RULE_TITLES["starts"], None, key=desk.key("starts"), width=WIDTH, format="YYYY-MM-DD",
        help="Sessions before it are what users did before the test: CUPED adjusts the lifts by them.",
    )  # fmt: skip
    return chosen.isoformat() if chosen else None


def _number(
    desk: UploadState, name: str, usual: float | None, low: float, high: float, meaning: str
) -> float | None:
    found: float | None = st.number_input(
        RULE_TITLES[name], low, high, usual, format="%g", placeholder="off", key=desk.key(name),
        width=WIDTH, help=meaning,
    )  # fmt: skip
    return found


def split_boxes(desk: UploadState, variants: Sequence[str]) -> dict[str, float]:
    """The planned share of each variant; empty for an even split."""
    with st.expander("Planned split, where it was not even"):
        st.caption("Shares of any size: 2 and 1 send two thirds of the users to the first.")
        with st.container(horizontal=True):
            shares = {
                one: st.number_input(
                    markdown(one), 0.001, 1e6, 1.0, format="%g", key=f"{desk.key('split')}_{one}", width=170
                )
                for one in variants
            }
    return {} if len(set(shares.values())) == 1 else shares
