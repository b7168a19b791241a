"""How large an A/B test would have to be: what it could find, and how many users it is short of."""

from __future__ import annotations

from math import nan

import streamlit as st

from recdash.formatting import numbers
from recdash.formatting.html import html, markdown
from recdash.formatting.tables import number_columns, text_columns
from recdash.formatting.wording import lowered, many
from recdash.ui.ab_results import cached
from recdash.ui.ab_results.page import AbTest
from recdash.ui.ab_results.wording import variant_cell
from recdash.ui.app import state
from recdash.ui.components import widgets

USUAL_EFFECT, LEAST_EFFECT, MOST_EFFECT = 2.0, 0.01, 500.0
TWO_DIGITS = ".2g"


def show(ab_test: AbTest, metric: str) -> None:
    widgets.section(
        f"How many users does {lowered(ab_test.titles[metric])} need?",
        "To find a lift in four of five tests (power 80 %, two-sided, 5 %), at the split and spread seen.",
    )
    if ab_test.census is None:
        why = "the table was added up before the upload, and its users are not known"
        st.caption(f"It cannot be told: {why}.")
        return
    effect = _effect()
    analysis = state.workspace().online_analysis
    smallest = cached.ask(analysis.detectable, ab_test.test, metric)
    missing = {
        variant: cached.ask(analysis.more_users, ab_test.test, metric, variant, effect / 100)
        for variant in ab_test.challengers
    }
    st.html(html('<p class="rd-lead">{text}</p>', text=sentence(ab_test.titles[metric], effect, missing)))
    now, least = "Users now,\nwith the control", "Smallest lift that\nthis test could find"
    more = f"More users to find\n{_signed(effect)}"
    columns = [*text_columns("Variant"), *number_columns(now, least, more)]
    users = ab_test.results.users
    rows = []
    for variant in ab_test.challengers:
        lift, n_now = smallest.get(variant), users[variant] + users[ab_test.control]
        lift_text = numbers.NONE if lift is None else f"±{numbers.three(numbers.percent(lift))} %"
        more = _missing_text(missing[variant])
        rows.append([variant_cell(ab_test.marks[variant]), numbers.count(n_now), lift_text, more])
    widgets.table(columns, rows)


def _effect() -> float:
    """The lift to look for in %, kept in the URL; the default, with a warning, for an unusable one."""
    text = state.params().get("eff", f"{USUAL_EFFECT:g}")
    try:
        wanted = float(text)
    except ValueError:
        wanted = nan
    if not LEAST_EFFECT <= wanted <= MOST_EFFECT:
        st.warning(
            f"The link's lift, {markdown(text)}, is not between {LEAST_EFFECT:g} and {MOST_EFFECT:g} %; "
            f"{USUAL_EFFECT:g} % is shown."
        )
        wanted = USUAL_EFFECT
    box = widgets.bound("eff", "ab-effect", wanted, "{:g}".format)
    ends = (LEAST_EFFECT, MOST_EFFECT)
    effect = st.number_input("Lift worth finding, %", *ends, step=0.5, format="%g", width=180, **box)
    state.write("eff", f"{effect:g}")
    return float(effect)


def sentence(title: str, effect: float, missing: dict[str, int | None]) -> str:
    """``To find +2 % in engagement rate this test needs about 41,000 more users``."""
    to_find = f"To find {_signed(effect)} in {lowered(title)}"
    known = [n for n in missing.values() if n is not None]
    if not known:
        return f"{to_find}: no number of users is enough, or the control does not vary."
    if not any(known):
        return f"{to_find} this test is large enough."
    most = many(_rounded(max(known)), "more user")
    if len(missing) == 1:
        return f"{to_find} this test needs about {most}."
    return f"{to_find} in every variant this test needs up to {most} per comparison."


def _signed(effect: float) -> str:
    return f"+{effect:g} %"


def _rounded(users: int) -> int:
    """Rounded to two digits, as precise as a forecast is."""
    return int(float(f"{users:{TWO_DIGITS}}"))


def _missing_text(users: int | None) -> str:
    if users is None:
        return numbers.NONE
    return f"about {numbers.count(_rounded(users))}" if users else "none"
