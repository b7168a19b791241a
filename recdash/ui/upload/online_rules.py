"""The rules of an A/B test where it is uploaded: fixed before the first look at a result."""

from __future__ import annotations

import zoneinfo
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import streamlit as st

from recdash.domain.kinds import OnlineKind
from recdash.online import OnlineRules
from recdash.online.rules import USUAL
from recdash.ui.components import online_rules
from recdash.ui.components.online_rules import RULE_TITLES, WIDTH
from recdash.ui.upload.state import UploadState

WHY = (
    "Rules are fixed before looking, and the same in every variant. What each of them leaves out is counted."
)


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

    def number(name: str) -> Any:
        return online_rules.number_box(name, getattr(USUAL, name), upload.key(name))

    rules: dict[str, Any] = {}
    with st.expander("Rules: what counts, and who is left out"):
        st.caption(WHY)
        if kind == "events":
            with st.container(horizontal=True):
                rules |= {name: number(name) for name in ("threshold_s", "item_cap_s")}
        with st.container(horizontal=True):
            rules |= {name: number(name) for name in ("bot_clicks", "bot_sessions")}
        with st.container(horizontal=True):
            if has_exposures:
                rules |= {"exposures_of": _exposures_of(upload), "grace_min": number("grace_min")}
            else:
                first = online_rules.first_day_box(None, upload.key("starts"))
                rules["starts"] = first.isoformat() if first else None
            rules |= {name: number(name) for name in ("winsorise", "planned_users")}
    always = {name: getattr(USUAL, name) for name in ("threshold_s", "grace_min") if rules.get(name) is None}
    return OnlineRules(**rules | always, zone=zone)


def _exposures_of(upload: UploadState) -> str | None:
    name: str | None = st.text_input(
        RULE_TITLES["exposures_of"],
        None,
        key=upload.key("exposures_of"),
        width=WIDTH,
        placeholder="the only one",
        help="Its name in the column experiment_id, where the table holds the exposures of several.",
    )
    return (name or "").strip() or None


def split_boxes(upload: UploadState, variants: Sequence[str]) -> dict[str, float]:
    """The planned share of each variant; empty for an even split."""
    with st.expander("Planned split, where it was not even"):
        st.caption("Shares of any size: 2 and 1 send two thirds of the users to the first.")
        return online_rules.split_boxes(variants, {}, upload.key("split"))
