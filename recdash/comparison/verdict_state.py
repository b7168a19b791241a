"""The five states of an offline verdict, and how one of them follows from the evidence."""

from __future__ import annotations

from typing import Literal

from recdash.comparison.evidence import VerdictEvidence

State = Literal["ship", "tie", "trade-off", "not enough evidence", "not comparable"]
STATES: tuple[State, ...] = ("ship", "tie", "trade-off", "not enough evidence", "not comparable")


def state_of(evidence: VerdictEvidence) -> tuple[State, str | None]:
    """Returns the state, and the id of the run to ship or of the candidate that the verdict is about; None as
    the id if the runs cannot be compared.

    If every candidate is worse, the state is *ship* with the baseline's id.
    """
    leader = evidence.leader
    if evidence.blocking or leader is None:
        return "not comparable", None
    finding = evidence.finding
    if finding == "not settled":
        return "not enough evidence", leader.candidate
    if finding == "tie":
        return "tie", leader.candidate
    if finding == "worse":
        return "ship", leader.baseline
    return ("trade-off" if losses(evidence) else "ship"), leader.candidate


def losses(evidence: VerdictEvidence) -> bool:
    """Returns whether the leader is worse in another accuracy metric or a slice, lost an A/B test, or breaks
    a guardrail.
    """
    return (
        any(pair.judged.word == "worse" for _, pair in evidence.metrics)
        or any(rail.is_broken for rail in evidence.guardrails)
        or any(part.pair.judged.word == "worse" for part in evidence.slices)
        or bool(evidence.lost_online)
    )
