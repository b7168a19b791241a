"""The verdict as a card: badge, headline, sentences that lead to their charts, and who gains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recdash.comparison.badges import badge_of
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.wording import many
from recdash.ui.app import links

if TYPE_CHECKING:
    from recdash.comparison.pairs import Pair
    from recdash.comparison.sensitivity import WhatIf
    from recdash.comparison.verdict import Verdict
    from recdash.comparison.wording import RichText
    from recdash.ui.app.state import View

FEW = 100
"""Of fewer users each is counted, instead of a share of 100."""


def card(view: View, verdict: Verdict, aside: str = "") -> Html:
    """Badge, headline and sentences, with the users who gain and lose beside them."""
    badge, leader = badge_of(verdict), verdict.evidence.leader
    first, *others = verdict.sentences
    lines = [_paragraph(view, [first], "rd-lead"), _paragraph(view, others, "rd-lead rd-muted")]
    text = html(
        '<div><div class="rd-badges"><span class="rd-badge rd-badge-{tone}">{sign} {name}</span>'
        '<span class="rd-badge">{why}</span></div><h1>{headline}</h1>{lines}{aside}</div>',
        tone=badge.tone, sign=badge.sign, name=badge.name, why=badge.why, headline=verdict.headline,
        lines=join(lines), aside=_plain_paragraph(aside),
    )  # fmt: skip
    comparable = leader is not None and verdict.state != "not comparable"
    split = user_split(leader, verdict.evidence.name, verdict.evidence.base) if comparable and leader else ""
    return html('<div class="rd-card">{text}{split}</div>', text=text, split=split)


def _paragraph(view: View, sentences: Sequence[RichText], kind: str) -> Html:
    if not sentences:
        return Html("")
    told = [
        join([links.link(view, one.text, one.page, one.params, one.hint) for one in words])
        for words in sentences
    ]
    return html('<p class="{kind}">{told}</p>', kind=kind, told=join(told, " "))


def _plain_paragraph(text: str) -> Html:
    return html('<p class="rd-lead rd-muted">{text}</p>', text=text) if text else Html("")


def user_split(pair: Pair, name: str, base: str) -> Html:
    """Better, no change and worse, of 100 users."""
    n = pair.paired.n
    parts = (
        ("better", "▲", "better for", pair.paired.wins),
        ("same", "=", "no change for", pair.paired.ties),
        ("worse", "▼", "worse for", pair.paired.losses),
    )
    bar = [
        html('<span style="flex:{n};background:var(--{tone})"></span>', n=count, tone=tone)
        for tone, _, _, count in parts
    ]
    rows = [
        html('<li><span><span class="rd-{tone}">{sign}</span> {text}</span><b>{share}</b></li>',
             tone=tone, sign=sign, text=text, share=numbers.of_100(count, n) if n >= FEW else count)
        for tone, sign, text, count in parts
    ]  # fmt: skip
    return html(
        '<div class="rd-split"><h2>{name} against {base}, of {of}</h2><div class="rd-bar">{bar}</div>'
        "<ul>{rows}</ul></div>", name=name, base=base, of=many(min(n, FEW), "user"),
        bar=join(bar), rows=join(rows),
    )  # fmt: skip


def changes(view: View, found: Sequence[WhatIf]) -> Html:
    """The questions under the card and their answers, each leading to the view that shows it."""
    if not found:
        return Html("")
    cells = [
        html("<div><b>{question}</b>{answer}</div>", question=_question(view, one), answer=_answer(one))
        for one in found
    ]
    return html('<div class="rd-cells"><h2>What would change this</h2>{cells}</div>', cells=join(cells))


def _question(view: View, change: WhatIf) -> Html:
    params = dict(change.params)
    if not params and change.question.startswith("k = "):
        return links.link(view, change.question, "metric-vs-k", params)
    page = "segments" if "by" in params else "overview" if params else ""
    return links.link(view, change.question, page, params)


def _answer(change: WhatIf) -> Html:
    sign = html('<span class="rd-worse">≠</span> ') if change.matters else Html("")
    return html('<span class="{kind}">{sign}{answer}</span>', kind="rd-matters" if change.matters else "",
                sign=sign, answer=change.answer)  # fmt: skip
