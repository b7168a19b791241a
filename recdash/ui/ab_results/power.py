"""Shows minimum detectable effects, and the number of users that a chosen effect needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from recdash.formatting import numbers
from recdash.formatting.html import html, join, markdown
from recdash.formatting.tables import number_columns, text_columns
from recdash.formatting.wording import lowered, many
from recdash.online import OnlineRow
from recdash.ui.ab_results import cached
from recdash.ui.ab_results.page import AbTest
from recdash.ui.ab_results.wording import variant_cell
from recdash.ui.app import state
from recdash.ui.components import widgets

FOR_WHAT = "This is for the effect that you choose here; the results say how many a lift as observed needs."
USUAL_EFFECT, LEAST_EFFECT, MOST_EFFECT = 2.0, 0.01, 500.0


def show(ab_test: AbTest, metric: str) -> None:
    widgets.section(
        f"{ab_test.titles[metric]}: sample size",
        "80 % power, two-sided α = 5 %, at the observed split and variance.",
    )
    if not ab_test.has_sums:
        st.caption("Not available for aggregated data.")
        return
    analysis, open_ = state.workspace().online_analysis, open_variants(ab_test.results.rows, metric)
    smallest = cached.ask(analysis.detectable, ab_test.test, metric)
    texts, missing, more = [can_detect(ab_test.titles[metric], smallest)], {}, []
    if open_:
        effect = _effect()
        missing = {
            variant: cached.ask(analysis.more_users, ab_test.test, metric, variant, effect / 100)
            for variant in open_
        }
        alone = open_ if len(ab_test.challengers) > 1 else []
        names = {variant: ab_test.names[variant] for variant in alone}
        texts.append(f"{sentence(ab_test.titles[metric], effect, missing, names)} {FOR_WHAT}")
        more = [f"More users to\ndetect {_signed(effect)}"]
    st.html(join([html('<p class="rd-lead">{text}</p>', text=text) for text in texts if text]))
    now, least = "Users now,\ncontrol included", "Minimum\ndetectable effect"
    columns = [*text_columns("Variant"), *number_columns(now, least, *more)]
    users = ab_test.results.health.users_of(metric, ab_test.results.users)
    rows = []
    for variant in ab_test.challengers:
        lift, n_now = smallest.get(variant), users[variant] + users[ab_test.control]
        lift_text = numbers.NONE if lift is None else f"±{numbers.three(numbers.percent(lift))} %"
        text = _missing_text(missing[variant]) if variant in missing else "significant already"
        needed = [text] if open_ else []
        rows.append([variant_cell(ab_test, variant), numbers.count(n_now), lift_text, *needed])
    st.html(widgets.table_html(columns, rows, kind="rd-wrapped"))


def open_variants(rows: Sequence[OnlineRow], metric: str) -> list[str]:
    """Returns the variants whose change in the metric is not significant: only these need more users."""
    words = ("better", "worse", "holds", "broken")
    return [
        row.variant for row in rows if row.metric == metric and not row.is_control and row.word not in words
    ]


def effect_of(text: str) -> float | None:
    """Returns the effect in a link, in %; None for a text that is not a number in the allowed range."""
    try:
        effect = float(text)
    except ValueError:
        return None
    return effect if LEAST_EFFECT <= effect <= MOST_EFFECT else None


def _effect() -> float:
    """Draws the box for the effect to detect, and returns the effect in %; the URL keeps it."""
    text = state.params().get("eff", f"{USUAL_EFFECT:g}")
    wanted = effect_of(text)
    if wanted is None:
        st.warning(
            f'Effect "{markdown(text)}" isn\'t between {LEAST_EFFECT:g} and {MOST_EFFECT:g} %; '
            f"showing {USUAL_EFFECT:g} %."
        )
    box = widgets.bound_to_url("eff", "ab-effect", wanted or USUAL_EFFECT, "{:g}".format)
    ends = (LEAST_EFFECT, MOST_EFFECT)
    effect = st.number_input("Effect to detect, %", *ends, step=0.5, format="%g", width=180, **box)
    state.write("eff", f"{effect:g}")
    return float(effect)


def can_detect(title: str, smallest: Mapping[str, float | None]) -> str:
    """Returns what the test can detect with its users; empty if this is unknown. ``smallest`` is the minimum
    detectable effect by variant, as a share.
    """
    known = [lift for lift in smallest.values() if lift is not None]
    if not known:
        return ""
    largest = f"±{numbers.three(numbers.percent(max(known)))} %"
    each = " in every variant" if len(known) > 1 else ""
    return f"With its users, this test can detect {largest} in {lowered(title)}{each}."


def sentence(
    title: str, effect: float, missing: dict[str, int | None], names: Mapping[str, str] | None = None
) -> str:
    """Returns a sentence such as ``To detect +2 % in engagement rate, this test needs about 41,000 more
    users.``

    ``missing`` is the number of further users by variant, None if no sample size detects the effect. A single
    variant is named by ``names`` if the test has others, which need no more users.
    """
    effect_in_metric = f"{_signed(effect)} in {lowered(title)}"
    known = [n for n in missing.values() if n is not None]
    if not known:
        return f"No sample size detects {effect_in_metric}, or the control does not vary."
    if not any(known):
        return f"This test is large enough to detect {effect_in_metric}."
    most = many(numbers.rounded(max(known)), "more user")
    if len(missing) == 1:
        name = (names or {}).get(next(iter(missing)))
        needs = f"the comparison of {name} needs" if name else "this test needs"
        return f"To detect {effect_in_metric}, {needs} about {most}."
    return f"To detect {effect_in_metric} in every variant, this test needs up to {most} per comparison."


def _signed(effect: float) -> str:
    return f"+{effect:g} %"


def _missing_text(users: int | None) -> str:
    if users is None:
        return numbers.NONE
    return f"about {numbers.count(numbers.rounded(users))}" if users else "none"
