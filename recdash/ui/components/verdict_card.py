"""The verdict as a card: badge, headline, sentences that lead to their charts, and who gains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recdash.comparison.badges import badge_of
from recdash.comparison.wording import user_split
from recdash.formatting.html import Html, html, join
from recdash.ui.app import links
from recdash.ui.components import widgets

if TYPE_CHECKING:
    from recdash.comparison.pairs import Pair
    from recdash.comparison.recommendation import Recommendation
    from recdash.comparison.sensitivity import WhatIf
    from recdash.comparison.wording import RichText
    from recdash.ui.app.state import View


def card(view: View, verdict: Recommendation, aside: str = "") -> Html:
    """Badge, headline and sentences, with the users who gain and lose beside them."""
    badge, leader = badge_of(verdict), verdict.evidence.leader
    first, *others = verdict.sentences
    lines = [_paragraph(view, [first], "rd-lead"), _paragraph(view, others, "rd-lead rd-muted")]
    if aside:
        lines.append(html('<p class="rd-lead rd-muted">{aside}</p>', aside=aside))
    badges = join([widgets.badge(f"{badge.sign} {badge.name}", badge.tone), widgets.badge(badge.why)])
    template = '<div><div class="rd-badges">{badges}</div><h1>{headline}</h1>{lines}</div>'
    text = html(template, badges=badges, headline=verdict.headline, lines=join(lines))
    comparable = leader is not None and verdict.state != "not comparable"
    split = split_html(leader, verdict.evidence.name, verdict.evidence.base) if comparable and leader else ""
    return html('<div class="rd-card">{text}{split}</div>', text=text, split=split)


def _paragraph(view: View, sentences: Sequence[RichText], kind: str) -> Html:
    if not sentences:
        return Html("")
    texts = []
    for words in sentences:
        parts = [links.link(view, part.text, part.page, part.params, part.hint) for part in words]
        texts.append(join(parts))
    return html('<p class="{kind}">{text}</p>', kind=kind, text=join(texts, " "))


def split_html(pair: Pair, name: str, base: str) -> Html:
    """Better, no change and worse, of 100 users."""
    of, parts = user_split(pair.paired.wins, pair.paired.ties, pair.paired.losses)
    bar = [
        html('<span style="flex:{n};background:var(--{tone})"></span>', n=part.count, tone=part.tone)
        for part in parts
    ]
    row = "<li><span>{sign} {text}</span><b>{share}</b></li>"
    rows = [
        html(row, sign=widgets.toned(part.sign, part.tone), text=part.words, share=part.share)
        for part in parts
    ]
    split = '<div class="rd-split"><h2>{title}</h2><div class="rd-bar">{bar}</div><ul>{rows}</ul></div>'
    return html(split, title=f"{name} against {base}, of {of}", bar=join(bar), rows=join(rows))


def changes(view: View, what_ifs: Sequence[WhatIf]) -> Html:
    """The questions under the card and their answers, each leading to the view that shows it."""
    if not what_ifs:
        return Html("")
    cells = []
    for change in what_ifs:
        params = dict(change.params)
        page = "segments" if "by" in params else "overview" if params else ""
        if not params and change.question.startswith("k = "):
            page = "metric-vs-k"
        question, answer = links.link(view, change.question, page, params), html("{text}", text=change.answer)
        if change.matters:
            answer = html('<span class="rd-worse">≠</span> {answer}', answer=answer)
        kind = "rd-matters" if change.matters else ""
        cell = '<div><b>{question}</b><span class="{kind}">{answer}</span></div>'
        cells.append(html(cell, question=question, kind=kind, answer=answer))
    return html('<div class="rd-cells"><h2>What would change this</h2>{cells}</div>', cells=join(cells))
