"""The opening of a report: the decision that applies, else the recommendation, or why there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from recdash.comparison.badges import badge_of
from recdash.comparison.evidence import VerdictEvidence
from recdash.comparison.headlines import NOTHING_IS_JUDGED, best_value, only_run, standing_sentence, values
from recdash.comparison.key_numbers import LIFT_LEVEL, KeyNumber, key_numbers
from recdash.comparison.recommendation import Recommendation
from recdash.comparison.sensitivity import summary_of
from recdash.comparison.wording import allowed_losses, level, plain
from recdash.decisions.standing import standing
from recdash.domain.results import WHOLE
from recdash.evaluation.comparability import LISTS_MISSING
from recdash.formatting.tables import Tone
from recdash.formatting.wording import capital, listed
from recdash.metrics import define
from recdash.report.context import ReportContext
from recdash.report.document import (
    ANSWERS_WORDING,
    LISTS_WORDING,
    RISKS_WORDING,
    THRESHOLD_WORDING,
    TIES_WORDING,
    Decided,
    Figure,
    Lead,
    Split,
)
from recdash.report.sections.evidence import forest
from recdash.report.sections.online import quadrants

MOST_NAMED = 3
NO_RISK = (
    "None of the other accuracy metrics, guardrails and segments of users shows a significant loss. Segments "
    "of items and metrics without a guardrail are not part of this check: see the appendix."
)


def lead(context: ReportContext) -> Lead:
    recommendation = context.recommendation
    opening = _recommended(context, recommendation) if recommendation else without_comparison(context)
    return _with_decision(opening, context)


def headline(context: ReportContext) -> str:
    """Returns the headline with which a report opens: the decision, else the recommendation."""
    if context.decision is not None:
        return context.decision.headline
    query = context.verdict_query
    if not query.runs or not define(query.metric).is_paired:
        return without_comparison(context).headline
    return context.workspace.comparisons.verdict(
        query
    ).headline  # which is cached, unlike that of the context


def _recommended(context: ReportContext, recommendation: Recommendation) -> Lead:
    badge, evidence = badge_of(recommendation), context.evidence
    opening = Lead(
        badge.sign,
        badge.name,
        cast("Tone", badge.tone),
        badge.why,
        recommendation.headline,
        (*map(plain, recommendation.why), *_missing_lists(context)),
        chart=_chart(context),
    )
    if evidence is None or recommendation.action == "not comparable":
        return opening
    return replace(
        opening,
        split=split_of(evidence),
        numbers=_numbers(context, evidence),
        risks=(*_risks(context, recommendation), *_open_questions(context)),
    )


def _numbers(context: ReportContext, evidence: VerdictEvidence) -> tuple[KeyNumber, ...]:
    """Returns the key numbers without the last, which is how many users gain: the split shows it."""
    lift_level = LIFT_LEVEL if context.wording > THRESHOLD_WORDING else level(evidence)
    return key_numbers(evidence, lift_level, former=not context.tells_equal_users)[:-1]


def _missing_lists(context: ReportContext) -> tuple[str, ...]:
    """Returns a sentence on the users who get no recommendations from the candidate in question or the
    baseline and count as 0, in older reports from any run. Empty if there are few, if the metric names the
    users who count, and in reports that are older still.
    """
    if context.wording <= LISTS_WORDING or define(context.query.metric).own_rule is not None:
        return ()
    runs = list(context.verdict_query.shown)
    if context.wording > RISKS_WORDING:
        runs = [run for run in runs if run in (context.query.baseline, context.subject)]
    problems = context.workspace.scores.comparability(runs)
    return tuple(f"{capital(problem.found)}." for problem in problems if problem.code == LISTS_MISSING)


def split_of(evidence: VerdictEvidence) -> Split | None:
    """Returns how many users the candidate in question is better, equal and worse for; None without one."""
    if evidence.leader is None:
        return None
    paired = evidence.leader.paired
    return Split(evidence.name, evidence.base, paired.wins, paired.ties, paired.losses)


def _with_decision(opening: Lead, context: ReportContext) -> Lead:
    """Returns the opening with the decision that applies, and whether today's evidence agrees with it.

    Unchanged if there is no decision.
    """
    decision = context.decision
    if decision is None:
        return opening
    today = standing(decision, context.recommendation, context.links)
    moment = decision.created.isoformat()
    why = () if today.agrees is False else opening.sentences  # they explain another outcome
    risks, evidence = opening.risks, today.text
    if context.wording > RISKS_WORDING:
        evidence += f" {decision.although_text(decision.although)}" if decision.although else ""
        evidence += f" The decision compared {decision.compared}." if decision.compared else ""
    elif context.wording > ANSWERS_WORDING and decision.although:
        risks = (*risks, f"Approved despite risks: {decision.although}")
    decided = Decided(decision.author, moment, decision.text, evidence, today.agrees)
    return replace(
        opening,
        headline=decision.headline,
        decision=decided,
        sentences=why,
        risks=risks,
    )


def _risks(context: ReportContext, recommendation: Recommendation) -> tuple[str, ...]:
    """Returns what speaks against the candidate in question as sentences, the greatest risk first.

    If the baseline is kept and nothing was decided, it returns when a candidate should be shipped
    nevertheless.
    """
    decision = context.decision
    if decision is None and context.subject != recommendation.run:
        return tuple(plain(risk) for risk in recommendation.risks)
    if context.subject == recommendation.run:
        risks = [capital(plain(risk).removeprefix("But ")) for risk in recommendation.risks]
    else:
        case = recommendation.case_of(context.subject) if context.subject else None
        risks = list(case.risk_sentences) if case else []
    is_shipped = decision.outcome == "ship" if decision else recommendation.action == "ship"
    if is_shipped and context.wording > THRESHOLD_WORDING and context.evidence is not None:
        risks += map(plain, allowed_losses(context.evidence))
    return tuple(risks) or ((NO_RISK,) if is_shipped else ())


def _open_questions(context: ReportContext) -> tuple[str, ...]:
    """Returns which candidates were not tested, in which segments nothing changes for any user, and how many
    other questions would change the recommendation; empty in reports of ``TIES_WORDING`` and older.
    """
    if context.wording <= TIES_WORDING:
        return ()
    sentences = []
    served = set(context.test.links.values()) if context.test else set()
    untested = [context.short_names[run] for run in context.verdict_query.runs if run not in served]
    if served and untested:
        sentences.append(f"Not in the A/B test: {listed(untested, MOST_NAMED)}.")
    evidence = context.evidence
    same = [row.title for row in evidence.slices if row.pair.is_identical] if evidence else []
    if evidence and same:
        text = f"{evidence.name} equals {evidence.base} for every user of these segments"
        sentences.append(f"{text}: {listed(same, MOST_NAMED)}.")
    if answers := context.answers:
        changing = [answer.question for answer in answers if answer.matters]
        named = f": {listed(changing, MOST_NAMED)}" if changing else ""
        sentences.append(f"{summary_of(answers)}{named}.")
    return tuple(sentences)


def _chart(context: ReportContext) -> Figure | None:
    """Returns the chart of offline against online results if there is an A/B test, else the differences from
    the baseline; with another relevance threshold always these, which have it.
    """
    of_test = quadrants(context) if context.query.scope == WHOLE else None
    return of_test or forest(context)


# ── without a comparison ─────────────────────────────────────────────────────────────────────


def without_comparison(context: ReportContext) -> Lead:
    """Returns the opening for a single run, or for a metric without a value per user."""
    return _one_run(context) if len(context.verdict_query.shown) < 2 else _by_value(context)


def standing_of_best(context: ReportContext) -> str:
    """Returns a sentence on where the best run is between the reference candidates; empty for a part of the
    users or items.
    """
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
    sentences = only_run(context.base, context.query.where, score, standing_of_best(context))
    headline = f"{context.base} is the only run"
    return Lead("–", "No verdict", "same", "Nothing to compare", headline, sentences)


def _by_value(context: ReportContext) -> Lead:
    """Returns the opening for a metric without a value per user: which run has the best value, and why
    nothing is tested.
    """
    known = values(context.scores(context.query.metric), context.query.metric)
    named = {context.names[run]: value for run, value in known.items() if run in context.verdict_query.shown}
    return Lead(
        "–", "No verdict", "same", "Values only", best_value(named, context.query.where), (NOTHING_IS_JUDGED,)
    )
