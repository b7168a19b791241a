"""What a report opens with: the verdict with its evidence, or why there is none."""

from __future__ import annotations

from recdash.comparison.badges import badge_of
from recdash.comparison.headlines import best_value, standing_sentence, values
from recdash.comparison.verdict import Verdict
from recdash.comparison.wording import plain
from recdash.domain.results import WHOLE
from recdash.formatting import numbers
from recdash.formatting.wording import many
from recdash.report.context import ReportContext
from recdash.report.document import Lead, Split


def lead(asked: ReportContext) -> Lead:
    if asked.verdict is not None:
        return _judged(asked, asked.verdict)
    return _one_run(asked) if len(asked.contenders) < 2 else _by_value(asked)


def _judged(asked: ReportContext, verdict: Verdict) -> Lead:
    badge, evidence = badge_of(verdict), verdict.evidence
    told = [*(plain(sentence) for sentence in verdict.sentences), _standing(asked)]
    pair = evidence.leader if verdict.state != "not comparable" else None
    split = None
    if pair is not None:
        paired = pair.paired
        split = Split(evidence.name, evidence.base, paired.wins, paired.ties, paired.losses)
    return Lead(
        badge.sign, badge.name, badge.tone, badge.why,  # type: ignore[arg-type]
        verdict.headline, tuple(filter(None, told)), split,
    )  # fmt: skip


def _standing(asked: ReportContext) -> str:
    """Where the best of the runs stands between floor and ceiling; of everybody only."""
    if asked.question.scope != WHOLE:
        return ""
    own = [
        run
        for run in values(asked.scores(asked.question.metric), asked.question.metric)
        if _is_own(asked, run)
    ]
    return standing_sentence(
        asked.space.scores.standing(asked.contenders, asked.question.metric, asked.question.k), own
    )


def _is_own(asked: ReportContext, run: str) -> bool:
    return run in asked.contenders and not asked.all_runs[run].reference


def _one_run(asked: ReportContext) -> Lead:
    score = asked.scores(asked.question.metric)
    value = numbers.three(float(score["value"].iloc[0])) if len(score) else numbers.NONE
    counted = many(int(score["n_users"].iloc[0]) if len(score) else 0, "user")
    said = f"{asked.base} has {asked.where} {value} over {counted}."
    return Lead(
        "–", "No verdict", "same", "Nothing to compare", f"{asked.base} is the only run",
        tuple(filter(None, (said, _standing(asked) or "One number alone decides nothing."))),
    )  # fmt: skip


def _by_value(asked: ReportContext) -> Lead:
    """A metric without a value per user: who is first, and why nothing is judged."""
    known = values(asked.scores(asked.question.metric), asked.question.metric)
    named = {asked.names[run]: value for run, value in known.items() if run in asked.contenders}
    why = "This metric has no value per user: there are no intervals, and nothing is judged."
    return Lead("–", "No verdict", "same", "Values only", best_value(named, asked.where), (why,))
