"""The choice on the page Add data of what each metric of an A/B test is for, before results are seen."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from recdash.formatting.html import as_label, markdown
from recdash.formatting.wording import listed, many
from recdash.online.proposals import USUAL_MARGIN, MetricPurpose
from recdash.ui.components import widgets
from recdash.ui.upload.state import UploadState

PURPOSES = {
    MetricPurpose("goal", "up"): "Goal: should rise",
    MetricPurpose("goal", "down"): "Goal: should fall",
    MetricPurpose("guardrail", "up"): "Guardrail: must not fall",
    MetricPurpose("guardrail", "down"): "Guardrail: must not rise",
    MetricPurpose("other", "up"): "For information, higher is better",
    MetricPurpose("other", "down"): "For information, lower is better",
}
MOST_BOXES = 12
WIDTH = 260
WHY = (
    "What each metric is for: choose it before you look at results. A guardrail holds if a loss beyond its "
    f"margin is ruled out: {100 * USUAL_MARGIN:g} % unless another one is planned. *Results* changes the "
    "margin."
)


def boxes(upload: UploadState, purposes: Mapping[str, MetricPurpose]) -> None:
    """Draws a box for each metric, and the question whether those of which less is better are guardrails;
    nothing without metrics.
    """
    if not purposes:
        return
    st.caption(WHY)
    with st.container(horizontal=True, gap="small"):
        for place, (name, purpose) in enumerate([*purposes.items()][:MOST_BOXES]):
            _box(upload, place, name, purpose)
    left = len(purposes) - MOST_BOXES
    if left > 0:
        st.caption(f"{many(left, 'more metric')}: *Results* changes what they are for.")
    _ask_for_guardrails(upload, purposes)


def _box(upload: UploadState, place: int, name: str, purpose: MetricPurpose) -> None:
    key = upload.key(f"purpose_{place}")
    st.session_state[key] = purpose
    st.selectbox(
        as_label(name),
        **widgets.titled(PURPOSES),
        key=key,
        width=WIDTH,
        on_change=lambda: _choose(upload, {name: st.session_state[key]}),
    )


def _choose(upload: UploadState, purposes: Mapping[str, MetricPurpose]) -> None:
    upload.change_plan(lambda plan: plan.with_settings(purposes={**plan.settings.purposes, **purposes}))


def suggested_guardrails(purposes: Mapping[str, MetricPurpose]) -> list[str]:
    """Returns the goals of which less is better; none if there is a guardrail, or no other goal."""
    falling = [name for name, purpose in purposes.items() if purpose == MetricPurpose("goal", "down")]
    rises = any(purpose == MetricPurpose("goal", "up") for purpose in purposes.values())
    has_guardrail = any(purpose.role == "guardrail" for purpose in purposes.values())
    return falling if rises and not has_guardrail else []


def _ask_for_guardrails(upload: UploadState, purposes: Mapping[str, MetricPurpose]) -> None:
    falling = suggested_guardrails(purposes)
    if not falling:
        return
    names, is_one = listed(falling), len(falling) == 1
    usual = "it is a guardrail, not a goal" if is_one else "they are guardrails, not goals"
    st.info(markdown(f"No guardrail is set. Less of {names} is better: usually {usual}."))
    wanted = dict.fromkeys(falling, MetricPurpose("guardrail", "down"))
    st.button(
        f"Make {as_label(names)} {'a guardrail' if is_one else 'guardrails'}",
        key=upload.key("suggested_guardrails"),
        on_click=lambda: _choose(upload, wanted),
    )
