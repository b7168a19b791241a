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


MUST = ("threshold_s", "grace_min", "clock_min")
"""Rules that cannot be turned off."""


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
        rules |= {name: number(name) for name in _of_totals(test)}
        if has_exposures:
            name = "grace_min" if "sessions" in test.offers.totals else "clock_min"
            rules |= {"exposures_of": _exposures_of(upload), name: number(name)}
        else:
            first = online_rules.first_day_box(None, upload.key("starts"))
            rules["starts"] = first.isoformat() if first else None
        rules |= {name: number(name) for name in ("winsorise", "planned_users")}
        rules["activated_by"] = _activated_by(upload, test, known)
    rules["split"] = _split(upload, test.variants)
    always = {name: getattr(USUAL, name) for name in MUST if rules.get(name) is None}
    return replace(known, **rules | always)


def _of_totals(test: TestPlan) -> list[str]:
    """Returns the rules of watch time, clicks and sessions, of which the tables have any."""
    totals = test.offers.totals
    names = ["threshold_s", "item_cap_s"] if test.kind == "events" and "watch_min" in totals else []
    names += ["bot_clicks"] if "clicks" in totals and "sessions" in totals else []
    return [*names, *(["bot_sessions"] if "sessions" in totals else [])]


def _activated_by(upload: UploadState, test: TestPlan, known: OnlineRules) -> str | None:
    chosen = known.activated_by
    names = list(dict.fromkeys([*test.offers.activations, *([chosen] if chosen else [])]))
    return online_rules.activation_box(names, chosen, upload.key("activated_by")) if names else None


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
