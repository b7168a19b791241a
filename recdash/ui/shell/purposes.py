"""What each tab shows and needs, for stores and experiments that do not have it yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ONE_RUN = "a test set and the recommendations of at least one candidate"
TWO_RUNS = "a test set and the recommendations of two runs, one of them the baseline"
ANY = "a test set and recommendations, or an A/B test"
SERVED = "an A/B test, a test set, and the recommendations that each variant served"


@dataclass(frozen=True)
class Purpose:
    """What a tab does and which data it needs, each as the end of a sentence."""

    does: str
    needs: str

    @property
    def shows(self) -> str:
        return f"This tab {self.does}."

    @property
    def text(self) -> str:
        return f"{self.shows} It needs {self.needs}."


PURPOSES: Mapping[str, Purpose] = {
    "overview": Purpose("says which candidate to ship, why, and what speaks against it", ANY),
    "review": Purpose("collects the evidence on a candidate, and keeps what was decided and why", ANY),
    "leaderboard": Purpose("ranks the candidates by a metric, with intervals and shared ranks", TWO_RUNS),
    "metric-vs-k": Purpose(
        "shows the metrics of each candidate at every k; of several, which one leads", ONE_RUN
    ),
    "precision-recall": Purpose("shows the precision and recall of each candidate at every k", ONE_RUN),
    "tradeoffs": Purpose("shows what a gain in accuracy costs in diversity, novelty or coverage", TWO_RUNS),
    "segments": Purpose("shows for which users and items a candidate is better or worse", TWO_RUNS),
    "users": Purpose("shows which users gain and lose, with the lists of two runs", TWO_RUNS),
    "items": Purpose("shows which items each candidate recommends, and where it misses", ONE_RUN),
    "catalogue": Purpose(
        "shows which part of the catalogue each candidate recommends",
        "a test set, a catalogue, and the recommendations of at least one candidate",
    ),
    "ab-results": Purpose(
        "shows the lift of each variant, whether to trust it, and what to do next",
        "an A/B test, for example one table with a row per user, the variant, and a column for each number, "
        "such as orders",
    ),
    "offline-online": Purpose("shows whether offline results predicted the A/B test", SERVED),
    "why": Purpose(
        "looks for the reason why offline results and the A/B test disagree, in twelve checks", SERVED
    ),
    "reports": Purpose(
        "makes one file for readers: the decision or recommendation, its reasons and all numbers", ANY
    ),
    "definitions": Purpose(
        "compares the value of one metric as different libraries define it",
        ONE_RUN,
    ),
    "settings": Purpose("sets what decides: the primary metric, the margin and the guardrails", ANY),
    "runs": Purpose("lists what was uploaded, to rename, archive or delete it", ANY),
}
"""Address of the tab → its purpose; of every tab that shows stored numbers."""
