"""What each tab shows and needs, for stores and experiments that do not have it yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

OFFLINE = "a test set and the recommendations of two candidates"
ANY = "a test set and recommendations, or an A/B test"
SERVED = "an A/B test, a test set, and the recommendations that each variant served"


@dataclass(frozen=True)
class Purpose:
    """``shows`` says what a tab shows, as a sentence; ``needs`` which data it needs, as its object."""

    shows: str
    needs: str

    @property
    def text(self) -> str:
        return f"{self.shows} Needs {self.needs}."


PURPOSES: Mapping[str, Purpose] = {
    "overview": Purpose("Says which candidate to ship, why, and what speaks against it.", ANY),
    "review": Purpose("Collects the evidence on a candidate, and keeps what was decided and why.", ANY),
    "leaderboard": Purpose("Ranks the candidates by a metric, with intervals and shared ranks.", OFFLINE),
    "metric-vs-k": Purpose("Shows which candidate leads at which list length k.", OFFLINE),
    "precision-recall": Purpose("Shows the precision and recall of each candidate at every k.", OFFLINE),
    "tradeoffs": Purpose("Shows what a gain in accuracy costs in diversity, novelty or coverage.", OFFLINE),
    "segments": Purpose("Shows for which users and items a candidate is better or worse.", OFFLINE),
    "users": Purpose("Shows which users gain and lose, with the lists of two candidates.", OFFLINE),
    "items": Purpose("Shows which items each candidate recommends, and where it misses.", OFFLINE),
    "catalogue": Purpose(
        "Shows which part of the catalogue each candidate recommends.",
        "a test set, a catalogue, and the recommendations of two candidates",
    ),
    "ab-results": Purpose(
        "Shows the lift of each variant, whether to trust it, and what to do next.",
        "one CSV: a row per user with the variant and a column for each number, such as orders or revenue",
    ),
    "offline-online": Purpose("Shows whether offline results predicted the A/B test.", SERVED),
    "why": Purpose("Checks why offline results and the A/B test disagree, with twelve checks.", SERVED),
    "reports": Purpose(
        "Makes one file for readers: the decision or recommendation, its reasons and all numbers.", ANY
    ),
    "definitions": Purpose(
        "Compares the value of one metric as different libraries define it.",
        "a test set and the recommendations of one candidate",
    ),
    "settings": Purpose("Sets what decides: the primary metric, the margin and the guardrails.", OFFLINE),
    "runs": Purpose("Lists what was uploaded, to rename, archive or delete it.", ANY),
}
"""Address of the tab → its purpose; of every tab that shows stored numbers."""
