"""The rules of an A/B test on the page Add data, where they are fixed before any result is seen."""

from __future__ import annotations

import zoneinfo
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import streamlit as st

from recdash.online import OnlineRules
from recdash.online.rules import USUAL
from recdash.service.catalog.intake import TestPlan
from recdash.ui.components import online_rules
from recdash.ui.components.online_rules import RULE_TITLES, WIDTH
from recdash.ui.upload.state import UploadState

WHY = "Fix the rules before you look at results. They are the same in every variant."


@lru_cache(maxsize=1)
def zones() -> tuple[str, ...]:
    return tuple(sorted(zoneinfo.available_timezones()))


def zone_box(upload: UploadState, zone: str | None) -> None:
    """Draws the box for the time zone of timestamps that state none; empty means UTC."""
    key = upload.key("zone")
    st.session_state[key] = zone
    st.selectbox(
        RULE_TITLES["zone"],
        zones(),
        index=None,
        placeholder="UTC",
        key=key,
        on_change=lambda: upload.change_settings(zone=st.session_state[key]),
        width=WIDTH,
        help="Times such as 2026-11-02 09:00 say no zone. Choose the one in which the log was written.",
    )


def rules_boxes(upload: UploadState, test: TestPlan, known: OnlineRules) -> None:
    """Draws the boxes of rules that apply to the tables; a change is stored in the plan."""
    rules = _filled_in(upload, test, known)
    if rules != known:
        upload.change_settings(rules=rules)
        st.rerun()


def _filled_in(upload: UploadState, test: TestPlan, known: OnlineRules) -> OnlineRules:
    def number(name: str) -> Any:
        return online_rules.number_box(name, getattr(USUAL, name), upload.key(f"rule_{name}"))

    has_exposures = "exposures" in test.files
    rules: dict[str, Any] = {}
    st.caption(WHY)
    with st.container(horizontal=True):
        if test.kind == "events":
            rules |= {name: number(name) for name in ("threshold_s", "item_cap_s")}
        rules |= {name: number(name) for name in ("bot_clicks", "bot_sessions")}
        if has_exposures:
            rules |= {"exposures_of": _exposures_of(upload), "grace_min": number("grace_min")}
        else:
            first = online_rules.first_day_box(None, upload.key("starts"))
            rules["starts"] = first.isoformat() if first else None
        rules |= {name: number(name) for name in ("winsorise", "planned_users")}
    rules["split"] = _split(upload, test.variants)
    always = {name: getattr(USUAL, name) for name in ("threshold_s", "grace_min") if rules.get(name) is None}
    return replace(known, **rules | always)


def _exposures_of(upload: UploadState) -> str | None:
    name: str | None = st.text_input(
        RULE_TITLES["exposures_of"],
        None,
        key=upload.key("exposures_of"),
        width=WIDTH,
        placeholder="the only one",
        help="Its name in the column experiment_id, if the table holds the exposures of several.",
    )
    return (name or "").strip() or None


def _split(upload: UploadState, variants: Sequence[str]) -> dict[str, float]:
    """Draws the boxes of the planned split and returns the shares; empty for an even split."""
    if len(variants) < 2:
        return {}
    st.caption("Planned split, if it was not even: 2 and 1 send two thirds of the users to the first.")
    return online_rules.split_boxes(variants, {}, upload.key("split"))
