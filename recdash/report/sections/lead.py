"""What a report opens with: the verdict with its evidence, or why there is none."""

from __future__ import annotations

from typing import cast

from recdash.comparison.badges import badge_of
from recdash.comparison.headlines import NOTHING_IS_JUDGED, best_value, only_run, standing_sentence, values
from recdash.comparison.recommendation import Recommendation
from recdash.comparison.wording import plain
from recdash.domain.results import WHOLE
from recdash.formatting.tables import Tone
from recdash.report.context import ReportContext
from recdash.report.document import Lead, Split


def lead(context: ReportContext) -> Lead:
    if context.verdict is not None:
        return _judged(context, context.verdict)
    return _one_run(context) if len(context.verdict_query.shown) < 2 else _by_value(context)


def _judged(context: ReportContext, verdict: Recommendation) -> Lead:
    badge, evidence = badge_of(verdict), verdict.evidence
    sentences = [*(plain(sentence) for sentence in verdict.sentences), _standing(context)]
    split = None
    if evidence.leader is not None and verdict.state != "not comparable":
        paired = evidence.leader.paired
        split = Split(evidence.name, evidence.base, paired.wins, paired.ties, paired.losses)
    tone = cast("Tone", badge.tone)
    texts = tuple(filter(None, sentences))
    return Lead(badge.sign, badge.name, tone, badge.why, verdict.headline, texts, split)


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
