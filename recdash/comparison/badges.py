"""Badges of verdict states: a sign, a name and a colour, the same on pages, in reports and in digests."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recdash.comparison.verdict import Verdict


@dataclass(frozen=True)
class Badge:
    """A state's sign, name, colour, and a short reason."""

    sign: str
    name: str
    tone: str
    why: str


SHIP = Badge("▲", "Ship", "better", "Clear gain, no guardrail broken")
KEEP = Badge("▼", "Keep the baseline", "worse", "The best candidate is worse")
BADGES = {
    "tie": Badge("=", "Tie", "same", "No difference that matters"),
    "trade-off": Badge("⇄", "Trade-off", "same", "Wins some metrics, loses others"),
    "not enough evidence": Badge("?", "Not enough evidence", "same", "The interval includes zero"),
    "not comparable": Badge("≠", "Not comparable", "worse", "Nothing is judged"),
}

UNKNOWN = Badge("?", "Not enough evidence", "same", "There is no valid interval")
UNSTABLE = Badge("?", "Not enough evidence", "same", "It does not hold across folds or seeds")


def badge_of(verdict: Verdict) -> Badge:
    """Returns the badge of a verdict's state."""
    evidence, leader = verdict.evidence, verdict.evidence.leader
    if verdict.state == "ship":
        return KEEP if verdict.run == evidence.comparison.query.baseline else SHIP
    if verdict.state == "not enough evidence" and leader is not None:
        if evidence.leader_over_replicates:
            if leader.judged.word != "not settled":
                return UNSTABLE
        elif isnan(leader.judged.corrected.low):
            return UNKNOWN
    return BADGES[verdict.state]
