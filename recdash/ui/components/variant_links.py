"""The boxes that link variants of an A/B test to runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from recdash.domain.records import Run
from recdash.formatting import html

NOT_LINKED = ""


def link_boxes(
    key: str, runs: Sequence[Run], variants: Sequence[str], links: Mapping[str, str] | None
) -> dict[str, str]:
    """One box per variant: the run that it served. Without ``links`` yet, runs of the same name.

    An archived run is offered only where it is linked already, so that saving keeps the link.
    """
    linked = set((links or {}).values())
    offered = {run.id: _called(run) for run in runs if run.archived is None or run.id in linked}
    names = {NOT_LINKED: "not linked", **offered}
    by_name = {run.name.casefold(): run.id for run in runs if run.archived is None}
    guess = {variant: by_name.get(variant.casefold(), NOT_LINKED) for variant in variants}
    shown = guess if links is None else links
    with st.container(horizontal=True):
        chosen = {one: _link_box(f"{key}_{one}", one, names, shown.get(one, NOT_LINKED)) for one in variants}
    return {variant: run for variant, run in chosen.items() if run != NOT_LINKED}


def _called(run: Run) -> str:
    return run.name if run.archived is None else f"{run.name} (archived)"


def _link_box(key: str, variant: str, names: Mapping[str, str], shown: str) -> str:
    options = list(names)
    run: str = st.selectbox(
        f"{html.markdown(variant)} served", options, format_func=names.__getitem__,
        index=options.index(shown) if shown in names else 0, key=key, width=260,
    )  # fmt: skip
    return run
