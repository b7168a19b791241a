"""The five states of a verdict, and which of them the evidence allows."""

from __future__ import annotations

from typing import Literal

from recdash.comparison.weighing import Weighed

State = Literal["ship", "tie", "trade-off", "not enough evidence", "not comparable"]
STATES: tuple[State, ...] = ("ship", "tie", "trade-off", "not enough evidence", "not comparable")


def state_of(weighed: Weighed) -> tuple[State, str | None]:
    """State, and the id of the run to ship or that it is about.

    *ship* names the baseline where every candidate is worse.
    """
    leader = weighed.leader
    if weighed.blocking or leader is None:
        return "not comparable", None
    if leader.judged.word == "not settled" or does_not_outlive(weighed):
        return "not enough evidence", leader.candidate
    if leader.judged.word == "tie":
        return "tie", leader.candidate
    if leader.judged.word == "worse":
        return "ship", leader.baseline
    return ("trade-off" if losses(weighed) else "ship"), leader.candidate


def does_not_outlive(weighed: Weighed) -> bool:
    """Is the leader better over the users, but not over its folds or seeds?"""
    leader, over = weighed.leader, weighed.over_replicates
    better = leader is not None and leader.judged.word == "better"
    return better and over is not None and over.outlives is False


def losses(weighed: Weighed) -> bool:
    """Does the leader lose by another accuracy metric, in a slice or online, or break a guardrail?"""
    return (
        any(pair.judged.word == "worse" for _, pair in weighed.metrics)
        or any(rail.is_broken for rail in weighed.guardrails)
        or any(part.pair.judged.word == "worse" for part in weighed.parts)
        or bool(weighed.lost_online)
    )
