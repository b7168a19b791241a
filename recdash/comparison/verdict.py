"""The offline verdict on one candidate: its state, and sentences that give the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash.comparison.evidence import VerdictEvidence
from recdash.comparison.verdict_state import State, state_of
from recdash.formatting.result_table import frame

if TYPE_CHECKING:
    import pandas as pd
from recdash.comparison.wording import RichText, plain, sentences_of


@dataclass(frozen=True)
class OfflineVerdict:
    """The verdict on one candidate by the primary metric, which a recommendation quotes.

    ``run``: the run to ship, or the candidate that the verdict is about; None if the runs cannot be compared.
    The first of ``sentences`` gives the difference from the baseline, the others add to it.
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

    def table(self) -> pd.DataFrame:
        """Returns a frame with one row: state, run and text."""
        facts = self.as_dict()
        return frame([facts], tuple(facts))

    def as_dict(self) -> dict[str, Any]:
        return {"state": self.state, "run": self.name, "text": self.text}


def decide(evidence: VerdictEvidence, *, former: bool = False) -> OfflineVerdict:
    """Returns the offline verdict that follows from the evidence; ``former``: see ``sentences_of``."""
    state, run = state_of(evidence)
    return OfflineVerdict(state, run, sentences_of(state, evidence, former=former), evidence)
