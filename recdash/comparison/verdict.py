"""The verdict: which candidate to ship, in words, with the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recdash.comparison import wording as sentences
from recdash.comparison.evidence import VerdictEvidence
from recdash.comparison.verdict_state import State, state_of
from recdash.comparison.wording import Sentence, plain


@dataclass(frozen=True)
class Verdict:
    """``run``: whom to ship, or whom it is about; None where that has no answer.

    The first of ``sentences`` gives the evidence, the others what stands beside it.
    """

    state: State
    run: str | None
    headline: str
    sentences: tuple[Sentence, ...]
    weighed: VerdictEvidence

    @property
    def text(self) -> str:
        """Headline and sentences, plain."""
        told = " ".join(plain(sentence) for sentence in self.sentences)
        return f"{self.headline}. {told}".strip()

    @property
    def name(self) -> str | None:
        return self.weighed.comparison.names[self.run] if self.run else None

    def as_dict(self) -> dict[str, Any]:
        return {"state": self.state, "run": self.name, "text": self.text}


def decide(weighed: VerdictEvidence) -> Verdict:
    """The verdict that the evidence allows."""
    state, run = state_of(weighed)
    said = sentences.told(state, weighed)
    return Verdict(state, run, sentences.headline(state, run, weighed), said, weighed)
