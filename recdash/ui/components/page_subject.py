"""The candidate that a page is about unless the person chooses another."""

from __future__ import annotations

from collections.abc import Collection

from recdash.errors import RecdashError
from recdash.ui.app.state import View, workspace


def candidate_in_question(view: View, among: Collection[str]) -> str | None:
    """Returns the id of the decided candidate, else of the one that the recommendation is about; None if
    neither is ``among`` the candidates of the page.
    """
    decided = workspace().overview.decided_run(view.experiment.id)
    if decided in among:
        return decided
    try:
        leader = workspace().comparisons.recommendation(view.verdict_query).evidence.leader
    except RecdashError:  # nothing to recommend by this metric: the page has its own order
        return None
    return leader.candidate if leader and leader.candidate in among else None
