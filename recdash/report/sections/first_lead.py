"""The opening of reports of the first format: the offline verdict on the best candidate.

Reports that are made today open with ``lead``; older ones are made again in their own format.
"""

from __future__ import annotations

from collections.abc import Mapping

from recdash.comparison.evidence import VerdictEvidence
from recdash.comparison.verdict import decide
from recdash.comparison.verdict_state import State
from recdash.comparison.wording import plain
from recdash.formatting.tables import Tone
from recdash.report.context import ReportContext
from recdash.report.document import Lead
from recdash.report.sections.lead import split_of, standing_of_best, without_comparison

KEEP: tuple[str, str, Tone, str, str] = (
    "▼", "Keep the baseline", "worse", "The best candidate is worse", "Keep {base}",
)  # fmt: skip
STATES: Mapping[State, tuple[str, str, Tone, str, str]] = {
    "ship": ("▲", "Ship", "better", "Clear gain, no guardrail broken", "Ship {name}"),
    "tie": ("=", "Tie", "same", "No difference that matters", "{name} and {base} are a tie"),
    "trade-off": ("⇄", "Trade-off", "same", "Wins some metrics, loses others", "{name} is a trade-off"),
    "not enough evidence": (
        "?", "Not enough evidence", "same", "The interval includes zero", "Not enough evidence for {name}",
    ),
    "not comparable": (
        "≠", "Not comparable", "worse", "Nothing is judged", "These runs cannot be compared",
    ),
}  # fmt: skip
"""The sign, badge, tone, reason and headline for each state of the offline verdict."""


def first_lead(context: ReportContext) -> Lead:
    evidence = context.evidence
    return without_comparison(context) if evidence is None else _judged(context, evidence)


def _judged(context: ReportContext, evidence: VerdictEvidence) -> Lead:
    verdict = decide(evidence, former=True)
    is_kept = verdict.state == "ship" and verdict.run == evidence.comparison.query.baseline
    sign, name, tone, why, headline = KEEP if is_kept else STATES[verdict.state]
    sentences = [*map(plain, verdict.sentences), standing_of_best(context)]
    return Lead(
        sign,
        name,
        tone,
        why,
        headline.format(name=evidence.name, base=evidence.base),
        tuple(filter(None, sentences)),
        split_of(evidence) if verdict.state != "not comparable" else None,
    )
