"""One-line warnings above numbers that are not fully comparable, with a button that changes what is
compared.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import streamlit as st

from recdash.errors import Problem
from recdash.evaluation.comparability import LISTS_MISSING
from recdash.formatting.html import Html, html
from recdash.formatting.wording import capital
from recdash.metrics import define
from recdash.metrics.naming import base, metric_title
from recdash.metrics.populations import POPULATION, WHO_COUNTS
from recdash.metrics.ratings import RatingMetric
from recdash.ui.app import state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import fallback_offer

WITH_LISTS, ANY_LIST = "both", "run"
EXCLUDING = "ndcg"
"""The metric of lists that may exclude users without recommendations."""
DISMISSED = "recdash.dismissed"


def banner(view: View, run_ids: Sequence[str], *, without: Collection[str] = ()) -> None:
    """Draws a warning for each reason why these runs' numbers may not be comparable; nothing if they are.

    ``without`` are the codes of problems that do not matter on this page. Runs are named in the frame's
    order, the same on each page.
    """
    names = {run_id: view.short(run_id) for run_id in view.run_ids}
    in_order = [*(run_id for run_id in view.shown_ids if run_id in run_ids), *run_ids]
    known = {run_id: names.get(run_id, run_id) for run_id in dict.fromkeys(in_order)}
    problems = workspace().scores.comparability(list(known), known, alike=True)
    for place, problem in enumerate(problems):
        is_hidden = problem.code in without or problem in _dismissed()
        if not is_hidden and (problem.code != LISTS_MISSING or reads_lists(view.metric)):
            _line(view, problem, list(known), f"warning-{place}")


def _line(view: View, problem: Problem, run_ids: Sequence[str], key: str) -> None:
    """Draws a warning about the runs, which opens to show what to do, with the button of ``switch_of``, the
    offer to complete runs, and a button that hides it.
    """
    switch = switch_of(view.metric) if problem.code == LISTS_MISSING else None
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False, key=key):
        st.html(warning_html(problem, view.metric), width="content")
        if switch:
            label, metric = switch
            st.button(label, key=f"{key}-switch", type="tertiary", on_click=_choose, args=(metric,))
        if problem.code == LISTS_MISSING:
            fallback_offer.in_popover(run_ids, view.verdict_query, view.candidate_ids, f"{key}-complete")
        st.button(
            "Hide",
            key=f"{key}-hide",
            type="tertiary",
            help="Hide this warning here",
            on_click=_dismissed().append,
            args=(problem,),
        )


def warning_html(problem: Problem, metric: str) -> Html:
    """Returns the problem as one line, which opens to show what to do.

    If the metric excludes users without recommendations, it says that in place of the problem.
    """
    finding, fix = problem.found, problem.fix
    if problem.code == LISTS_MISSING and excludes(metric):
        finding = f"users without recommendations are excluded from {metric_title(base(metric))}"
        compared = ": compare the paired differences, which use those they share"
        fix = f"Each run counts its own users{compared if define(metric).is_paired else ''}."
    elif problem.code == LISTS_MISSING and switch_of(metric) is None:
        fix = f"{fix} To exclude them, choose {metric_title(EXCLUDING)} above."
    return html(
        '<div class="rd-warning" role="note" aria-label="Comparability"><b class="rd-worse">!</b>'
        "<details><summary>{sentence}.</summary><p>{fix}</p></details></div>",
        sentence=capital(finding.rstrip(".")),
        fix=fix,
    )


def excludes(metric: str) -> bool:
    """Returns whether the metric counts only users who have recommendations."""
    return define(metric).parameters.get(POPULATION.name) in (WITH_LISTS, ANY_LIST)


def reads_lists(metric: str) -> bool:
    """Returns whether the metric depends on lists, unlike the errors of predicted ratings."""
    return not isinstance(define(metric).metric, RatingMetric)


def switch_of(metric: str) -> tuple[str, str] | None:
    """Returns the label of the button that changes the population, and the metric to which it changes.

    None if the metric has no such parameter.
    """
    known = define(metric)
    if known.parameters.get(POPULATION.name) not in (WHO_COUNTS, WITH_LISTS):
        return None
    users, label = (WHO_COUNTS, "Count them as 0") if excludes(metric) else (WITH_LISTS, "Exclude them")
    return label, str(replace(known, parameters={**known.parameters, POPULATION.name: users}))


def _choose(metric: str) -> None:
    state.choose(m=metric)


def _dismissed() -> list[Problem]:
    """Returns the warnings that this person has hidden in this session."""
    closed: list[Problem] = st.session_state.setdefault(DISMISSED, [])
    return closed
