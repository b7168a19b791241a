"""The recommendation as a card: headline, reasons, a risk, three numbers, and what would change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recdash.comparison import open_points
from recdash.comparison.badges import badge_of
from recdash.comparison.key_numbers import KeyNumber, MeasuredNumber, measured_numbers, whose_numbers
from recdash.comparison.sensitivity import TITLE, summary_of
from recdash.comparison.wording import MANY, slice_words
from recdash.domain.results import WHOLE
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.signs import sign_of
from recdash.formatting.wording import CORRECTIONS, capital, day, listed, tone
from recdash.metrics.naming import metric_row, metric_title
from recdash.online.metrics import METRICS, SERVED_METRICS
from recdash.ui.app import links, state
from recdash.ui.components import online_tests, widgets
from recdash.ui.components.decision_links import REVIEWS, excerpt, outcome_badge
from recdash.ui.components.widgets import NO_LINK

if TYPE_CHECKING:
    from recdash.comparison.evidence import SliceDifference, VerdictEvidence
    from recdash.comparison.off_rules import OffRules
    from recdash.comparison.recommendation import Recommendation
    from recdash.comparison.sensitivity import Kind, WhatIf
    from recdash.comparison.wording import RichText
    from recdash.decisions.standing import DecisionStanding
    from recdash.domain.records import OnlineTest
    from recdash.ui.app.state import View


MOST_ALTHOUGH = 400
"""The most characters of why a decision was approved despite risks, which has the width of the page."""
CHANCE = " Each question is tested by itself: a change for one of many may be chance."
OPEN = (
    f" Open: inconclusive there, but the candidate is ahead, and at most {MANY} times the users would decide "
    "it: collect more data. Any other inconclusive difference keeps the baseline."
)
MOST_NAMED = 2
WITHOUT_VIEW: Mapping[Kind, tuple[str, str]] = {
    "cutoff": ("metric-vs-k", ""),
    "guardrails": ("settings", "Guardrails are changed in Settings"),
}
"""Kind of a question without parameters of a view → the page that it leads to, and a tooltip."""


def card(
    view: View,
    today: Recommendation,
    standing: DecisionStanding | None = None,
    beside: OffRules | None = None,
    why_equal: str = "",
) -> Html:
    """Returns the card with the decision that applies, else the recommendation; then reasons, a risk and
    three numbers.

    A part of the experiment has its own recommendation, with a line on the decision about the whole. If the
    rules of the experiment give another recommendation (``beside``), a line says which. ``why_equal`` is why
    the primary metric is equal for every user.
    """
    if view.scope != WHOLE:
        decided = _decided_on_whole(view, standing) if standing else _by_rules(view, beside)
        head, standing = join([_recommended(view, today), decided]), None
    elif standing:
        head = join([_decided(view, standing), _of_this_view(today, beside)])
    else:
        head = join([_recommended(view, today), _by_rules(view, beside)])
    sentences = [paragraph(view, today.why, "rd-lead"), paragraph(view, today.gravest_risk, "rd-lead")]
    if standing and (beside or not standing.agrees):
        sentences = []
    first, *others = measured_numbers(today.evidence) or (None,)
    known = [_with_reason(first, why_equal), *others] if first else []
    figures = [_explained_figure(view, measured, today.evidence) for measured in known]
    key_figures = html(
        '<p class="rd-muted">{whose}</p><div class="rd-tiles rd-figures">{figures}</div>',
        whose=view.with_short_names(whose_numbers(today)),
        figures=join(figures),
    )
    return html(
        '<div class="rd-decide">{head}{sentences}{numbers}</div>',
        head=head,
        sentences=join(sentences),
        numbers=key_figures if figures else "",
    )


def _recommended(view: View, today: Recommendation) -> Html:
    badge = badge_of(today)
    badges = [widgets.badge(f"{badge.sign} {badge.name}", badge.tone), widgets.badge(badge.why)]
    compared = len(view.verdict_query.runs)
    known = sum(not run.reference for run in view.others)
    if today.cases and compared < known:
        best = "the best " if "c" not in state.params() else ""
        badges.append(widgets.badge(capital(f"{best}{compared} of {known} candidates compared")))
    return html(
        '<div class="rd-badges">{badges}</div><h1>{headline}</h1>',
        badges=join(badges),
        headline=today.headline,
    )


def _decided(view: View, standing: DecisionStanding) -> Html:
    """Returns the decision's headline, author and day, and whether today's evidence agrees with it."""
    decision = standing.decision
    by = f"Decided by {decision.author}, {day(decision.created)}"
    compared = f" It compared {view.with_short_names(decision.compared)}." if decision.compared else ""
    way = links.link(view, by, REVIEWS, {"dec": decision.id})
    reason = excerpt(decision.although, MOST_ALTHOUGH)
    return html(
        '<div class="rd-badges">{badges}</div><h1>{headline}</h1>'
        '<p class="rd-lead">{way}.{compared} <span class="rd-{tone}">{sign}</span> {today}{although}</p>',
        badges=join([widgets.badge("Decided"), outcome_badge(decision.outcome)]),
        headline=decision.named_headline,
        way=way,
        compared=widgets.unbroken(compared),
        tone="worse" if standing.agrees is False else "better" if standing.agrees else "same",
        sign="✓" if standing.agrees else "≠" if standing.agrees is False else "?",
        today=widgets.unbroken(standing.text),
        although=f" {decision.although_text(reason)}" if reason else "",
    )


def _decided_on_whole(view: View, standing: DecisionStanding) -> Html:
    """Returns a line on the decision about the whole experiment."""
    decision = standing.decision
    way = links.link(view, decision.named_headline, REVIEWS, {"dec": decision.id})
    return html(
        '<p class="rd-muted">Already decided for the whole experiment: {way} ({by}).</p>',
        way=way,
        by=f"{decision.author}, {day(decision.created)}",
    )


def _by_rules(view: View, beside: OffRules | None) -> Html:
    """Returns a line with the recommendation by the experiment's rules, which leads to it; empty if the
    view's is the same.
    """
    if beside is None:
        return Html("")
    return html(
        '<p class="rd-lead rd-by-rules">By the rules of this experiment ({rules}): '
        '<a href="{to}">{headline}</a>.</p>',
        rules=view.with_short_names(beside.rules),
        to=links.to_rules(view),
        headline=view.with_short_names(beside.by_rules.headline),
    )


def _of_this_view(today: Recommendation, beside: OffRules | None) -> Html:
    """Returns a line with the recommendation for the view below a decision by the experiment's rules; empty
    if they recommend the same.
    """
    if beside is None:
        return Html("")
    where = today.evidence.comparison.query.where
    return html(
        '<p class="rd-lead">This view ({where}) would give another recommendation: {headline}.</p>',
        where=where,
        headline=today.headline,
    )


def paragraph(view: View, sentences: Sequence[RichText], kind: str) -> Html:
    """Returns the sentences as a paragraph with this CSS class, in which words link to charts; empty for no
    sentences.
    """
    if not sentences:
        return Html("")
    texts = []
    for words in sentences:
        parts = [
            links.link(
                view,
                widgets.unbroken(view.with_short_names(part.text)),
                part.page,
                part.params,
                part.hint,
            )
            for part in words
        ]
        texts.append(join(parts))
    return html('<p class="{kind}">{text}</p>', kind=kind, text=join(texts, " "))


def _with_reason(measured: MeasuredNumber, reason: str) -> MeasuredNumber:
    """Returns the key number with a reason after its note; unchanged without one."""
    if not reason:
        return measured
    return replace(measured, number=replace(measured.number, note=f"{measured.number.note}: {reason}"))


def _who_loses(view: View, evidence: VerdictEvidence) -> Html:
    """Returns a sentence on whether the users who lose are in a segment, which leads to the segments; empty
    if no user loses, or if no segment was compared.
    """
    pair = evidence.leader
    if pair is None or not pair.paired.losses or not evidence.slices:
        return Html("")
    worse = [slice_words(part) for part in evidence.slices if part.pair.judged.word == "worse"]
    words = f"Worse for {listed(worse, MOST_NAMED)}." if worse else _spread(evidence.slices)
    return html(" {way}", way=links.link(view, words, "segments", {}))


def _spread(parts: Sequence[SliceDifference]) -> str:
    """Returns in how many of the compared segments there are users who lose, where no segment is worse."""
    n_losing = sum(part.pair.paired.losses > 0 for part in parts)
    where = f"all {len(parts)}" if n_losing == len(parts) else f"{n_losing} of {len(parts)}"
    spread = f": users lose in {where}" if len(parts) > 1 else ""
    return f"No segment is significantly worse{spread}."


def _explained_figure(view: View, measured: MeasuredNumber, evidence: VerdictEvidence) -> Html:
    """Returns the tile of a key number, with links to what the guide says of what it measures and of its
    test.
    """
    rule = CORRECTIONS.get(evidence.comparison.query.terms.correction)
    test = links.explained(view, "holm", rule) if rule and rule in measured.number.note else NO_LINK
    if measured.source == "users":
        what = links.explained(view, "users-gain", "users who gain and lose")
        test = links.explained(view, "users-gain", "sign test")
        return figure_html(measured.number, what, test, _who_loses(view, evidence))
    if measured.source == "online":
        what = online_metric_link(view, measured.metric)
        return figure_html(measured.number, what, test, _rates(view, evidence))
    row = metric_row(measured.metric)
    what = links.explained(view, row.name, metric_title(row.name))
    return figure_html(measured.number, what, test)


def _rates(view: View, evidence: VerdictEvidence) -> Html:
    """Returns the values of a rate in the A/B test, such as ``64.7 %, control 61.7 %``, beside which a lift
    in % cannot be taken for points; empty for other metrics, and for a candidate that was the control.
    """
    lift, candidate = evidence.telling_online[0], evidence.leader.candidate if evidence.leader else ""
    test = next((test for test in online_tests.tests(view) if test.name == lift.test), None)
    if test is None or lift.is_reversed:
        return NO_LINK
    rows = [row for row in test.results if row["metric"] == lift.metric and row["unit"] == online_tests.SHARE]
    of_variant = {str(row["variant"]): row["value"] for row in rows}
    control = of_variant.pop(test.control, None)
    value = next((of_variant[name] for name in of_variant if test.links.get(name) == candidate), None)
    if value is None or control is None:
        return NO_LINK
    decimals = numbers.places([100 * value, 100 * control])
    reached, of_control = (numbers.fixed(100 * share, decimals) for share in (value, control))
    return html("<br>{reached} %, control {of_control} %", reached=reached, of_control=of_control)


def online_metric_link(view: View, metric: str) -> Html:
    """Returns a "?" that opens what the guide says of a metric of A/B tests; empty for a metric of the user's
    own.
    """
    known = {row.name: row.title for row in (*METRICS, *SERVED_METRICS)}
    return links.explained(view, "online-metrics", known[metric]) if metric in known else NO_LINK


def figure_html(
    figure: KeyNumber, metric: Html = NO_LINK, correction: Html = NO_LINK, end: Html = NO_LINK
) -> Html:
    """Returns the tile of a key number; ``metric`` and ``correction`` are links to the guide beside title and
    note, after which ``end`` stands.
    """
    tile = html(
        '<div class="rd-tile"><p>{title}{metric}</p><div class="rd-value">{value}</div>'
        '<div><b class="rd-{tone}">{sign} {finding}</b></div><small>{explained}{end}</small></div>',
        **vars(figure),
        metric=metric,
        explained=_with_link(figure.note, correction),
        end=end,
        tone=tone(figure.finding),
        sign=sign_of(figure.finding),
    )
    return widgets.unbroken_html(tile)


def _with_link(text: str, link: Html) -> Html:
    """Returns the text with a link such as "?" on the line of its last word."""
    start, _, last = text.rpartition(" ")
    return html('{start} <span class="rd-nowrap">{last}{link}</span>', start=start, last=last, link=link)


def changes(view: View, what_ifs: Sequence[WhatIf]) -> Html:
    """Returns what would change the recommendation, each question as a link to the view that shows the
    answer.

    Empty if there are no questions.
    """
    if not what_ifs:
        return Html("")
    cells = []
    for change in what_ifs:
        page, hint = ("overview", "") if change.params else WITHOUT_VIEW.get(change.kind, ("", ""))
        question = links.link(view, change.question, page, dict(change.params), hint)
        answer = widgets.unbroken(view.with_short_names(change.answer))
        kind = "rd-matters" if change.matters else ""
        cell = '<div><b>{question}</b><span class="{kind}">{answer}</span></div>'
        cells.append(html(cell, question=question, kind=kind, answer=answer))
    head, summary = '<h2>{title}</h2><p class="rd-muted">{summary}.{chance}{unsure}</p>', summary_of(what_ifs)
    by_chance = any(what_if.matters and what_if.kind != "segment" for what_if in what_ifs)
    return html(
        f'<div class="rd-cells">{head}{{cells}}</div>',
        title=TITLE,
        summary=summary,
        chance=CHANCE if by_chance else "",
        unsure=OPEN if any(what_if.is_open for what_if in what_ifs) else "",
        cells=join(cells),
    )


def left_to_check(
    view: View, today: Recommendation, what_ifs: Sequence[WhatIf], tests: Sequence[OnlineTest]
) -> Html:
    """Returns a list of what the evidence leaves open; empty if nothing is."""
    untested = "No A/B test is linked to a candidate." if tests else "No candidate was in an A/B test."
    points = open_points.open_points(today, what_ifs, untested="" if view.scope.slice else untested)
    if not points:
        return Html("")
    rows = join([html("<li>{point}</li>", point=view.with_short_names(point)) for point in points])
    return html(
        '<div class="rd-left"><h2>{title}</h2><ul>{rows}</ul></div>', title=open_points.TITLE, rows=rows
    )
