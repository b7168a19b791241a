"""The form for an A/B test's counting rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import streamlit as st

from recdash.online import OnlineRules
from recdash.ui.ab_results import cached
from recdash.ui.ab_results.health import changes
from recdash.ui.ab_results.page import AbTest
from recdash.ui.app import state
from recdash.ui.components import online_rules

Save = Callable[[str, Callable[[], object], Sequence[str]], None]
WARNING = (
    "Counting rules belong to the plan of a test. Changing rules after seeing results inflates false "
    "positives. Changes are shown on top of this page and among the rules in force."
)
WINSORISED = "It limits the influence of a few heavy users, and lowers the value of every variant."
NARROW = 260


def show(ab_test: AbTest, save: Save) -> None:
    st.warning(WARNING)
    test, rules = ab_test.test, ab_test.rules
    with st.form(f"ab-rules-{test.id}", border=False):
        settings: dict[str, Any] = {"split": _split(ab_test)}
        if ab_test.sample is not None:
            settings |= _counting(ab_test)
        if test.kind == "events":
            st.caption("How events are grouped into sessions was fixed by the upload.")
        if not st.form_submit_button("Apply rules", key="ab-rules-save"):
            return
    wanted = OnlineRules(**{**rules.as_dict(), **settings})
    changed = changes(rules, wanted)
    if not changed:
        st.info("Nothing changed: these rules apply already.")
        return
    save(test.id, lambda: state.workspace().online_tests.set_rules(test.id, wanted), changed)


def _split(ab_test: AbTest) -> dict[str, float]:
    st.markdown("**Planned split**, in shares: 2 and 1 assign two thirds of the users to the first.")
    key = f"ab-split-{ab_test.test.id}"
    return online_rules.split_boxes(ab_test.results.variants, ab_test.rules.split, key)


def _counting(ab_test: AbTest) -> dict[str, Any]:
    def number(name: str, width: int = online_rules.WIDTH, meaning: str | None = None) -> Any:
        value, key = getattr(ab_test.rules, name), f"ab-{name}-{ab_test.test.id}"
        return online_rules.number_box(name, value, key, width=width, meaning=meaning)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        meaning = f"{online_rules.MEANINGS['winsorise']} {WINSORISED}"
        settings = {"winsorise": number("winsorise", meaning=meaning)}
        settings["planned_users"] = number("planned_users")
        if "exposures" in ab_test.test.tables:
            has_sessions = ab_test.sample is not None and ab_test.sample.has_sessions
            if has_sessions or ab_test.rules.clock_min is None:
                settings["grace_min"] = number("grace_min", NARROW)
            else:
                settings["clock_min"] = number("clock_min", NARROW) or 0.0
        else:
            settings["starts"] = _starts(ab_test)
    with st.container(horizontal=True):
        if ab_test.sample is not None and ab_test.sample.has_sessions:
            settings |= {name: number(name, NARROW, "") for name in ("bot_clicks", "bot_sessions")}
        names = cached.ask(state.workspace().online_tests.activations, ab_test.test)
        if names:
            key, chosen = f"ab-activated-{ab_test.test.id}", ab_test.rules.activated_by
            settings["activated_by"] = online_rules.activation_box(names, chosen, key, width=NARROW)
    return settings


def _starts(ab_test: AbTest) -> str | None:
    """Draws the box for the first day, and returns the day as an ISO date; None if it is empty.

    If the day is not changed, a time of day that was stored with it stays.
    """
    starts = ab_test.rules.starts
    known = date.fromisoformat(starts[:10]) if starts else None
    chosen = online_rules.first_day_box(known, f"ab-starts-{ab_test.test.id}", width=NARROW)
    if chosen == known:
        return starts
    return chosen.isoformat() if chosen else None
