"""The banner above numbers that stand side by side and are not quite comparable."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from recdash.errors import Problem
from recdash.formatting.html import Html, html
from recdash.formatting.wording import capital
from recdash.ui.app.state import workspace
from recdash.ui.components import widgets


def banner(run_ids: Sequence[str]) -> None:
    """Why these runs' numbers may not be compared as they are; nothing where they may."""
    problems = workspace().scores.comparability(list(dict.fromkeys(run_ids)))
    if problems:
        st.html(banner_html(problems))


def banner_html(problems: Sequence[Problem]) -> Html:
    lines = []
    for problem in problems:
        sentence = capital(problem.found.rstrip("."))
        lines.append(html("<b>{sentence}.</b> {fix}", sentence=sentence, fix=problem.fix))
    return widgets.banner(widgets.paragraphs(lines), "Comparability")
