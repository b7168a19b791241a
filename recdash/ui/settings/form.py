"""The form of the decision rules, and the rules in it, which may not be saved yet."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from recdash.comparison.rules import CUSTOM, LONGEST_OWNER, PRESETS, DecisionRules, guardrail_title
from recdash.domain.defaults import default_k, default_metric
from recdash.formatting.html import html, markdown
from recdash.formatting.wording import capital
from recdash.metrics import define
from recdash.metrics.naming import GUARDRAILS, less_is_wanted, metric_row, metric_title
from recdash.ui.app.state import View, workspace
from recdash.ui.components import widgets

TITLES = {"strict": "Strict: 10 %", "usual": "Usual: 20 %", "none": "None", CUSTOM: "Custom"}
BOX = 260
TWO_PEOPLE = "Two people: one proposes, another decides"
NOT_MEASURED = "not measured for these runs"


@dataclass(frozen=True)
class Choice:
    """The rules and the baseline in the form."""

    rules: DecisionRules
    baseline: str


def key_of(view: View, rules: DecisionRules) -> str:
    """Returns the prefix of the widgets' keys, which changes with the stored rules so that the widgets show
    them.
    """
    stored = json.dumps([rules.as_dict(), view.experiment.baseline], sort_keys=True)
    return f"settings-{view.experiment.id}-{hashlib.sha256(stored.encode()).hexdigest()[:8]}"


def comparison(view: View, rules: DecisionRules, key: str, suggested: str) -> Choice:
    """Draws baseline, metric, k, margin and owner, and returns the rules in the form with the guardrails
    chosen so far.
    """
    baselines = {run.id: run.name for run in view.runs}
    deciding = [metric for metric in view.metrics if define(metric).is_paired] or list(view.metrics)
    metrics = {metric: metric_title(metric) for metric in deciding}
    metric = default_metric(deciding, rules.metric)
    stored_k = default_k(view.depth, rules.k)
    with st.container(horizontal=True, vertical_alignment="top"):
        baseline = st.selectbox(
            "Baseline",
            **widgets.titled(baselines),
            width=BOX,
            index=list(baselines).index(suggested),
            key=f"{key}-baseline",
            help="The run that every candidate is compared with: what serves users today, or the simplest.",
        )
        chosen_metric = st.selectbox(
            "Primary metric",
            **widgets.titled(metrics),
            width=BOX,
            index=list(metrics).index(metric),
            key=f"{key}-metric",
            help="Pages, reports and the recommendation begin with it.",
        )
        k = st.number_input("k", 1, view.depth, stored_k, key=f"{key}-k", width=120)
        margin_text = st.text_input(
            "Margin",
            margin_shown(rules.margin),
            key=f"{key}-margin",
            width=120,
            help="Smaller differences do not matter: 1 % of the baseline's value, or 0.002 of the metric.",
        )
        owner = owner_box(rules, key)
    two_people = two_people_box(rules, key)
    if view.experiment.baseline is None and view.shown:
        st.caption(
            f"No baseline is chosen yet; {markdown(baselines[suggested])} is suggested. Save the rules to "
            "choose it."
        )
    wanted = DecisionRules(
        margin_text.replace(" ", ""),
        limits(key, rules),
        chosen_metric if rules.metric or chosen_metric != metric else None,
        int(k) if rules.k or k != stored_k else None,
        owner,
        two_people,
    )
    return Choice(wanted, baseline)


def owner_box(rules: DecisionRules, key: str) -> str:
    """Draws the box for the owner, and returns the name in it."""
    owner: str = st.text_input(
        "Owner",
        rules.owner,
        width=BOX,
        key=f"{key}-owner",
        max_chars=LONGEST_OWNER,
        placeholder="Who answers for the decision",
    )
    return owner.strip()


def two_people_box(rules: DecisionRules, key: str) -> bool:
    """Draws the box for two people, which only an admin changes, and returns whether it is checked."""
    return st.checkbox(
        TWO_PEOPLE,
        rules.two_people,
        key=f"{key}-two-people",
        disabled=not workspace().person.may("admin"),
        help="Ship then needs a review, and the person who proposed a candidate cannot decide on it. Only an "
        "admin changes this.",
    )


def in_words(view: View, choice: Choice) -> list[tuple[str, str]]:
    """Returns the rules of the comparison as rows (rule, value)."""
    rules = choice.rules
    baseline = view.name(choice.baseline)
    rows = [
        ("Baseline", baseline if view.experiment.baseline else f"{baseline}, suggested"),
        ("Primary metric", metric_title(default_metric(view.metrics, rules.metric))),
        ("k", str(default_k(view.depth, rules.k))),
        ("Margin", margin_shown(rules.margin)),
        ("Owner", rules.owner),
        ("Review", TWO_PEOPLE if rules.two_people else ""),
    ]
    return [(rule, value) for rule, value in rows if value]


def guardrails_in_words(rules: DecisionRules) -> list[tuple[str, str, str]]:
    """Returns (metric, its title, how much it may change) of every metric that can have a guardrail."""
    rows = []
    for metric in GUARDRAILS:
        percent = _percent(rules.guardrails.get(metric))
        limit = "no guardrail" if percent is None else f"may {_verb(metric)} by {percent:g} %"
        rows.append((metric, capital(guardrail_title(metric)), limit))
    return rows


def _verb(metric: str) -> str:
    return "rise" if less_is_wanted(metric) else "fall"


def margin_shown(margin: str) -> str:
    """Returns a margin as it is shown: ``1 %`` for ``1%``; a margin in units of the metric unchanged."""
    return margin.replace("%", " %")


def limits(key: str, rules: DecisionRules) -> dict[str, float]:
    """Returns the guardrails in the form, {metric: share}; at first those of the rules."""
    shown = {
        metric: st.session_state.get(_box(key, metric), _percent(rules.guardrails.get(metric)))
        for metric in GUARDRAILS
    }
    return {metric: round(percent / 100, 6) for metric, percent in shown.items() if percent is not None}


def choose_preset(choice: Choice, key: str) -> None:
    """Draws the presets; a click fills in their guardrails."""
    preset = f"{key}-preset"
    st.session_state[preset] = choice.rules.preset
    presets = [*PRESETS, *([CUSTOM] if choice.rules.preset == CUSTOM else [])]
    titles = {name: TITLES[name] for name in presets}
    box = widgets.titled(titles) | {"key": preset, "required": True}
    st.segmented_control("Preset", **box, on_change=_apply, args=(key,))


def guardrails(rules: DecisionRules, key: str, today: Mapping[str, str], unknown: str) -> None:
    """Draws a row per metric: how much it may change, and how much it changes with today's recommendation;
    ``unknown`` if that is not known.
    """
    with st.container(key="settings-guardrails", gap="small"):
        for metric in GUARDRAILS:
            _row(metric, rules, key, today.get(metric, unknown))


def _row(metric: str, rules: DecisionRules, key: str, today: str) -> None:
    box = _box(key, metric)
    st.session_state.setdefault(box, _percent(rules.guardrails.get(metric)))
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"settings-row-{metric}"):
        st.number_input(
            f"{capital(guardrail_title(metric))} may {_verb(metric)} by, %",
            0.0,
            100.0,
            step=5.0,
            format="%g",
            key=box,
            width=BOX,
            placeholder="no guardrail",
            help=f"{metric_row(metric).plain} Leave it empty for no guardrail.",
        )
        finding = "no guardrail" if st.session_state[box] is None else today
        st.html(html('<p class="rd-quiet">{finding}</p>', finding=finding))


def _apply(key: str) -> None:
    """Fills in the guardrails of the chosen preset."""
    preset = PRESETS.get(st.session_state[f"{key}-preset"])
    if preset is not None:
        for metric in GUARDRAILS:
            st.session_state[_box(key, metric)] = _percent(preset.get(metric))


def _box(key: str, metric: str) -> str:
    return f"{key}-guardrail-{metric}"


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 4)
