"""The rules of an A/B test as a form: they are fixed before looking, and hold for every variant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import streamlit as st

from recdash.formatting.html import markdown
from recdash.online import OnlineRules
from recdash.ui.ab_results.health import changes
from recdash.ui.ab_results.page import AbTest
from recdash.ui.app import state
from recdash.ui.components.online_rules import RULE_TITLES

Save = Callable[[str, Callable[[], object], Sequence[str]], None]
WARNING = (
    "Rules belong to the plan of a test, and are fixed before looking. Who tries rules until a result is "
    "significant finds one by chance. What you change here is said on top of the page, and stays written "
    "among the rules in force."
)


def show(ab_test: AbTest, save: Save) -> None:
    st.warning(WARNING)
    test, rules = ab_test.test, ab_test.rules
    with st.form(f"ab-rules-{test.id}", border=False):
        settings = _split(ab_test)
        if ab_test.census is not None:
            settings |= _counting(ab_test, rules) | _bots(rules)
        if ab_test.test.kind == "events":
            st.caption("By which rules events were added up to sessions is fixed by the upload.")
        if not st.form_submit_button("Count by these rules", key="ab-rules-save"):
            return
    wanted = OnlineRules(**{**rules.as_dict(), **settings})
    changed = changes(rules, wanted)
    if not changed:
        st.info("These are the rules in force.")
        return
    save(test.id, lambda: state.workspace().online_tests.set_rules(test.id, wanted), changed)


def _split(ab_test: AbTest) -> dict[str, Any]:
    """Shares of any size; all alike is an even split."""
    st.markdown("**Planned split**, as shares of any size: 2 and 1 send two thirds to the first.")
    split = ab_test.rules.split
    with st.container(horizontal=True):
        shares = {
            variant: st.number_input(
                markdown(variant), 0.001, 1e6, float(split.get(variant, 1.0)), format="%g",
                key=f"ab-split-{ab_test.test.id}-{variant}", width=170,
            )
            for variant in ab_test.results.variants
        }  # fmt: skip
    return {"split": {} if len(set(shares.values())) == 1 else shares}


def _counting(ab_test: AbTest, rules: OnlineRules) -> dict[str, Any]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        quantile = st.number_input(
            RULE_TITLES["winsorise"], 0.5, 0.9999, rules.winsorise, format="%g", placeholder="off",
            key=f"ab-winsorise-{ab_test.test.id}", width=330,
            help="0.99: what the top hundredth of users have is cut to what begins it. It tames few users "
            "who watch all day, and makes the value of every variant smaller.",
        )  # fmt: skip
        planned = st.number_input(
            RULE_TITLES["planned_users"], 1, 10**9, rules.planned_users, placeholder="not planned",
            key=f"ab-planned-{ab_test.test.id}", width=330,
            help="Control and variant together. The interval for every look is narrowest there.",
        )  # fmt: skip
        settings: dict[str, Any] = {"winsorise": quantile, "planned_users": planned}
        if "exposures" not in ab_test.test.tables:
            settings["starts"] = _starts(ab_test, rules)
        else:
            settings["grace_min"] = st.number_input(
                RULE_TITLES["grace_min"], 0.0, 1440.0, float(rules.grace_min), format="%g",
                key=f"ab-grace-{ab_test.test.id}", width=260,
                help="An exposure belongs to the session it falls into, or that ended so shortly before.",
            )  # fmt: skip
    return settings


def _starts(ab_test: AbTest, rules: OnlineRules) -> str | None:
    """An ISO date; a time within a day is kept as long as its day is."""
    known = date.fromisoformat(rules.starts[:10]) if rules.starts else None
    chosen: date | None = st.date_input(
        RULE_TITLES["starts"], known, key=f"ab-starts-{ab_test.test.id}", width=260, format="YYYY-MM-DD",
        help="Sessions before it are what users did before the test: CUPED adjusts the lifts by them.",
    )  # fmt: skip
    if chosen == known:
        return rules.starts
    return chosen.isoformat() if chosen else None


def _bots(rules: OnlineRules) -> dict[str, Any]:
    with st.container(horizontal=True):
        return {
            name: st.number_input(
                RULE_TITLES[name], 1, 1_000_000, getattr(rules, name), placeholder="off", width=260,
                key=f"ab-{name}",
            )
            for name in ("bot_clicks", "bot_sessions")
        }  # fmt: skip
