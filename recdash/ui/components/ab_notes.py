"""What A/B tests said of the runs on a page of offline numbers, in a line."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from recdash.comparison.candidate_case import metric_of
from recdash.comparison.wording import lift_name
from recdash.domain.results import OnlineLift
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.ui.app import links
from recdash.ui.app.state import View, workspace

PAGE = "ab-results"


def show(view: View) -> None:
    """Draws the line of ``ab_line``; nothing if it is empty."""
    if line := ab_line(view):
        st.html(line)


def ab_line(view: View) -> Html:
    """Returns a line with the A/B test result of each shown candidate, losses first, with links to it, such
    as ``In the A/B test against Popular: Two-tower lost (session watch time −12 %), ALS won (engagement rate
    +4.8 %).`` Empty if none was in a test, and for a segment, for which tests have no results.
    """
    if view.baseline is None or view.scope.slice:
        return Html("")
    tested = [
        (view.short(run.id), lifts)
        for run in view.candidates
        if (lifts := workspace().comparisons.online_lifts(run.id, view.baseline.id))
    ]
    if not tested:
        return Html("")
    results = [
        links.link(view, f"{name} {result_words(lifts)}", PAGE, metric_of(_telling(lifts)))
        for name, lifts in sorted(tested, key=lambda item: not any(lift.is_lost for lift in item[1]))
    ]
    template = '<p class="rd-note">In the A/B test against {base}: {results}.</p>'
    return html(template, base=view.base_name, results=join(results, ", "))


def result_words(lifts: Sequence[OnlineLift]) -> str:
    """Returns the result of a candidate's A/B tests, such as ``lost (session watch time −12 %)``: its first
    loss, else its first gain.
    """
    lift = _telling(lifts)
    if not (lift.is_lost or lift.is_won):
        return "inconclusive"
    verb = "lost" if lift.is_lost else "won"
    change = 100 * lift.change
    decimals = 0 if abs(change) >= 10 else 1
    return f"{verb} ({lift_name(lift)} {numbers.signed(change, decimals)} %)"


def _telling(lifts: Sequence[OnlineLift]) -> OnlineLift:
    """Returns the first significant loss, else the first significant gain, else the first goal."""
    return min(lifts, key=lambda lift: (not lift.is_lost, not lift.is_won, not lift.is_goal))
