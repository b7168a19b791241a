"""What a report opens with: the verdict with its evidence, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping

from recdash.comparison.headlines import NOTHING_IS_JUDGED, best_value, only_run, standing_sentence, values
from recdash.comparison.verdict import OfflineVerdict
from recdash.comparison.verdict_state import State
from recdash.comparison.wording import plain
from recdash.domain.results import WHOLE
from recdash.formatting.tables import Tone
from recdash.report.context import ReportContext
from recdash.report.document import Lead, Split

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
"""Of each state: sign, badge, colour, reason and headline."""


def lead(context: ReportContext) -> Lead:
    if context.verdict is not None:
        return _judged(context, context.verdict)
    return _one_run(context) if len(context.verdict_query.shown) < 2 else _by_value(context)


def _judged(context: ReportContext, verdict: OfflineVerdict) -> Lead:
    evidence, base = verdict.evidence, verdict.evidence.base
    is_kept = verdict.state == "ship" and verdict.run == evidence.comparison.query.baseline
    sign, name, tone, why, headline = KEEP if is_kept else STATES[verdict.state]
    sentences = [*(plain(sentence) for sentence in verdict.sentences), _standing(context)]
    split = None
    if evidence.leader is not None and verdict.state != "not comparable":
        paired = evidence.leader.paired
        split = Split(evidence.name, evidence.base, paired.wins, paired.ties, paired.losses)
    texts = tuple(filter(None, sentences))
    return Lead(sign, name, tone, why, headline.format(name=evidence.name, base=base), texts, split)


def _standing(context: ReportContext) -> str:
    """Where the best of the runs standing_sentence between floor and ceiling; of everybody only."""
    if context.query.scope != WHOLE:
        return ""
    metric = context.query.metric
    own = [
        run
        for run in values(context.scores(metric), metric)
        if run in context.verdict_query.shown and not context.all_runs[run].reference
    ]
    return standing_sentence(
        context.workspace.scores.standing(context.verdict_query.shown, metric, context.query.k), own
    )


def _one_run(context: ReportContext) -> Lead:
    score = context.scores(context.query.metric)
    sentences = only_run(context.base, context.query.where, score, _standing(context))
    headline = f"{context.base} is the only run"
    return Lead("–", "No verdict", "same", "Nothing to compare", headline, sentences)


def _by_value(context: ReportContext) -> Lead:
    """A metric without a value per user: who is first, and why nothing is judged."""
    known = values(context.scores(context.query.metric), context.query.metric)
    named = {context.names[run]: value for run, value in known.items() if run in context.verdict_query.shown}
    return Lead(
        "–", "No verdict", "same", "Values only", best_value(named, context.query.where), (NOTHING_IS_JUDGED,)
    )
