"""Badges of recommendations: a sign, a name and a colour, the same on pages, in reports and in digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recdash.comparison.recommendation import Action, Recommendation


@dataclass(frozen=True)
class Badge:
    """The short form of a recommended action: its sign, name and colour, and the reason for it (``why``)."""

    sign: str
    name: str
    tone: str
    why: str = ""


BADGES: Mapping[Action, Badge] = {
    "ship": Badge("▲", "Ship", "better"),
    "keep": Badge("=", "Keep the baseline", "same"),
    "test": Badge("⇄", "Run an A/B test", "same"),
    "collect data": Badge("?", "Not enough data", "same"),
    "not comparable": Badge("≠", "Cannot be compared", "worse"),
}


def badge_of(recommendation: Recommendation) -> Badge:
    """Returns the badge of the recommended action. Its reason is the case of the candidate in question, or
    ``Nothing is judged`` if the runs cannot be compared or there is no candidate.
    """
    badge, leader = BADGES[recommendation.action], recommendation.evidence.leader
    case = recommendation.case_of(leader.candidate) if leader else None
    is_judged = case is not None and recommendation.action != "not comparable"
    return replace(badge, why=case.words if case and is_judged else "Nothing is judged")
