"""The verdict: which candidate to ship, in words, with the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recdash.comparison.evidence import VerdictEvidence
from recdash.comparison.verdict_state import State, state_of
from recdash.comparison.wording import RichText, headline, plain, sentences_of


@dataclass(frozen=True)
class Verdict:
    """Which candidate to ship, in words, with the evidence.

    ``run``: the run to ship, or the subject of the verdict; None without an answer. The first of
    ``sentences`` gives the evidence, the others add to it.
    """

    state: State
    run: str | None
    headline: str
    sentences: tuple[RichText, ...]
    evidence: VerdictEvidence

    @property
    def text(self) -> str:
        """Returns headline and sentences as plain text."""
        return " ".join([f"{self.headline}.", *map(plain, self.sentences)])

    @property
    def name(self) -> str | None:
        return self.evidence.comparison.names[self.run] if self.run else None

    def as_dict(self) -> dict[str, Any]:
        return {"state": self.state, "run": self.name, "text": self.text}


def decide(evidence: VerdictEvidence) -> Verdict:
    """Returns the verdict that the evidence allows."""
    state, run = state_of(evidence)
    return Verdict(state, run, headline(state, run, evidence), sentences_of(state, evidence), evidence)
