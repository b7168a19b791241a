"""What is left to check before a recommendation is followed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recdash.comparison.recommendation import open_guardrails, untested_rivals
from recdash.formatting.wording import small

if TYPE_CHECKING:
    from recdash.comparison.recommendation import Recommendation
    from recdash.comparison.sensitivity import WhatIf

TITLE = "Left to check"


def open_points(today: Recommendation, what_ifs: Sequence[WhatIf], *, untested: str) -> list[str]:
    """Returns sentences on what the evidence leaves open: A/B tests, guardrails of them, training again, and
    questions that too few users answer.

    ``untested`` is the sentence for candidates that were in no A/B test; empty if tests do not count.
    """
    points = [untested_rivals(today), open_guardrails(today)]
    was_tested = any(case.was_tested or case.was_tested_elsewhere for case in today.cases)
    if not was_tested and today.action != "test":
        points.append(untested)
    evidence = today.evidence
    if evidence.leader is not None and evidence.leader_over_replicates is None:
        once = f"{evidence.name} was trained once"
        points.append(f"{once}: another training run may give another difference.")
    groups = [small(what_if.question).removeprefix("only ") for what_if in what_ifs if what_if.is_open]
    if groups:
        points.append(f"Inconclusive with the users there are: {'; '.join(groups)}.")
    return [point for point in points if point]
