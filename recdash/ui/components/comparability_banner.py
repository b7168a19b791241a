"""The banner above numbers that stand side by side and are not quite comparable."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from recdash.errors import Problem
from recdash.formatting.html import Html, html, join
from recdash.ui.app.state import workspace


def banner(run_ids: Sequence[str]) -> None:
    """Why these runs' numbers may not be compared as they are; nothing where they may."""
    found = workspace().scores.comparability(list(dict.fromkeys(run_ids)))
    if found:
        st.html(banner_html(found))


def banner_html(found: Sequence[Problem]) -> Html:
    lines = join(
        [html("<p><b>{what}.</b> {fix}</p>", what=_sentence(one.found), fix=one.fix) for one in found]
    )
    return html('<div class="rd-banner" role="note" aria-label="Comparability">'
                '<b class="rd-worse">!</b><div>{lines}</div></div>', lines=lines)  # fmt: skip


def _sentence(found: str) -> str:
    return found[:1].upper() + found[1:].rstrip(".")
