"""The offline verdict: what the numbers of one candidate say, sentence by sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recdash.comparison.evidence import VerdictEvidence
from recdash.comparison.verdict_state import State, state_of
from recdash.comparison.wording import RichText, plain, sentences_of


@dataclass(frozen=True)
class OfflineVerdict:
    """What the evidence says of one candidate by the primary metric; it is evidence of a recommendation.

    ``run``: the run to ship, or the subject of the verdict; None without an answer. The first of
    ``sentences`` gives the evidence, the others add to it.
    """

    state: State
    run: str | None
    sentences: tuple[RichText, ...]
    evidence: VerdictEvidence

    @property
    def text(self) -> str:
        """Returns the sentences as plain text."""
        return " ".join(map(plain, self.sentences))

    @property
    def name(self) -> str | None:
        return self.evidence.comparison.names[self.run] if self.run else None

    def as_dict(self) -> dict[str, Any]:
        return {"state": self.state, "run": self.name, "text": self.text}


def decide(evidence: VerdictEvidence) -> OfflineVerdict:
    """Returns the offline verdict that the evidence allows."""
    state, run = state_of(evidence)
    return OfflineVerdict(state, run, sentences_of(state, evidence), evidence)
