"""The rows of Home, one per experiment: recommendation, decision, A/B tests and last change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from time import monotonic
from urllib.parse import urlencode

import streamlit as st

from recdash.comparison.badges import badge_of
from recdash.formatting.html import Html, html, join
from recdash.formatting.wording import day, many
from recdash.online.analysis.next_step import STEP_LOOKS
from recdash.service.catalog.overview import Card, CardVerdict, TestStatus, Today
from recdash.ui.app import links, state
from recdash.ui.components import widgets

TITLES = ("Experiment", "Recommendation", "Decision", "A/B tests", "Last change")
NONE_YET = "none yet"
WEEK = timedelta(days=7)
MOST_TESTS = 2
SECONDS_BETWEEN = 0.5
"""The minimum time in seconds between two updates of the list while recommendations are computed."""
_KNOWN = "recdash.home-known"


@st.fragment(parallel=True)
@widgets.show_errors
def draw(cards: Sequence[Card]) -> None:
    """Draws the list at once, and adds each recommendation when it is computed."""
    place, workspace = st.empty(), state.workspace()
    known: dict[str, Today] = st.session_state.setdefault(_KNOWN, {})
    if any(card.experiment.id not in known for card in cards):
        place.html(list_html(cards, known, workspace.now()))
    drawn = monotonic()
    for card in cards:
        known[card.experiment.id] = workspace.overview.today(card)
        if monotonic() - drawn > SECONDS_BETWEEN:
            place.html(list_html(cards, known, workspace.now()))
            drawn = monotonic()
    place.html(list_html(cards, known, workspace.now()))


def list_html(cards: Sequence[Card], known: Mapping[str, Today], now: datetime) -> Html:
    """Returns the list. ``known`` are {experiment id: what its evidence says}, as far as it is computed."""
    head = join([html("<span>{title}</span>", title=title) for title in TITLES])
    rows = [row_html(card, known.get(card.experiment.id), now) for card in cards]
    return html(
        '<div class="rd-home"><div class="rd-home-head" aria-hidden="true">{head}</div><ul>{rows}</ul></div>',
        head=head,
        rows=join(rows),
    )


def row_html(card: Card, today: Today | None, now: datetime) -> Html:
    """Returns one experiment as a list item, whose cells are below each other on a phone."""
    name = html("<h2>{name} {marks}</h2>{about}", name=_name(card), marks=_marks(card), about=_about(card))
    if today is None:
        waiting = widgets.muted("working it out …")
        cells = [waiting, _decision(card, None), Html("")]
    else:
        cells = [_recommendation(today.verdict), _decision(card, today), _tests(card, today.tests)]
    cells.append(_change(card, now))
    labelled = [
        html('<div class="{kind}"><i>{title}</i>{cell}</div>', kind=kind, title=title, cell=cell)
        for title, cell in zip(TITLES[1:], cells, strict=True)
        for kind in ["" if cell else "rd-none"]
    ]
    return html("<li><div>{name}</div>{cells}</li>", name=name, cells=join(labelled))


# ── the cells ────────────────────────────────────────────────────────────────────────────────


def _name(card: Card) -> Html:
    """Returns the experiment's name as a link to its decision; plain text if it is archived."""
    if card.experiment.archived is not None:
        return html("<bdi>{name}</bdi>", name=card.experiment.name)
    to = _address("./", card)
    return html('<a class="rd-name" href="{to}"><bdi>{name}</bdi></a>', to=to, name=card.experiment.name)


def _address(page: str, card: Card, **params: str) -> str:
    return f"{page}?{urlencode({'e': card.experiment.id, **params, **links.embedded()})}"


def _marks(card: Card) -> Html:
    marks = [*(["Demo"] if card.experiment.demo else []), *(["Archived"] if card.experiment.archived else [])]
    return join(list(map(widgets.badge, marks)), " ")


def _about(card: Card) -> Html:
    """Returns the experiment's owner, note, and numbers of runs and users."""
    owner = card.rules.owner if card.experiment.truth is not None else ""
    size = many(len(card.own_runs), "run") if card.own_runs else ""
    n_users = card.experiment.settings.get("truth_users", 0)
    users = f"{many(n_users, 'user')} in the test set" if card.own_runs else ""
    facts = [*([f"Owner: {owner}"] if owner else []), *filter(None, (size, users))]
    lines = [text for text in (" · ".join(facts), card.experiment.note) if text]
    return join([html("<p>{line}</p>", line=line) for line in lines])


def _recommendation(card: CardVerdict) -> Html:
    """Returns the recommendation's sign, headline and metric, or why there is none."""
    if card.verdict is None:
        return html("<b>{why}</b>", why=card.why_not)
    badge, base = badge_of(card.verdict), card.verdict.evidence.base
    return html(
        '<span class="rd-{tone}" aria-hidden="true">{sign}</span> <b>{headline}</b><p>{where} vs {base}</p>',
        tone=badge.tone,
        sign=badge.sign,
        headline=card.verdict.headline,
        where=card.metric,
        base=base,
    )


def _decision(card: Card, today: Today | None) -> Html:
    """Returns the decision that applies, whether today's evidence agrees with it, and the open review."""
    parts = []
    if card.decision:
        by = f"{card.decision.author}, {day(card.decision.created)}"
        parts.append(html("<b>{headline}</b><p>{by}</p>", headline=card.decision.named_headline, by=by))
    if today is not None and today.standing is not None:
        agrees = today.standing.agrees
        tone = "same" if agrees is None else "better" if agrees else "worse"
        sign = "?" if agrees is None else "✓" if agrees else "≠"
        standing = '<p><span class="rd-{tone}" aria-hidden="true">{sign}</span> {text}</p>'
        parts.append(html(standing, tone=tone, sign=sign, text=today.standing.text))
    if card.review:
        about, stage = card.review.about, card.review.state
        parts.append(html("<p>In review: {about}, {stage}</p>", about=about, stage=stage))
    return join(parts) if parts else widgets.muted(NONE_YET)


def _tests(card: Card, tests: Sequence[TestStatus]) -> Html:
    """Returns what the newest A/B tests say to do; a single one without runs refers to the recommendation."""
    if not tests:
        return widgets.muted(NONE_YET)
    if not card.own_runs and len(tests) == 1:
        return widgets.muted("1, see the recommendation")
    lines = [_test(card, test) for test in tests[:MOST_TESTS]]
    if more := len(tests) - MOST_TESTS:
        lines += [html("<p>and {more}</p>", more=many(more, "older test"))] if more > 0 else []
    return join(lines)


def _test(card: Card, test: TestStatus) -> Html:
    sign, tone = STEP_LOOKS[test.action] if test.action else ("–", "muted")
    name = html("<bdi>{name}</bdi>", name=test.name)
    if card.experiment.archived is None:
        name = html('<a href="{to}">{name}</a>', to=_address("ab-results", card, t=test.id), name=name)
    return html(
        '<p class="rd-home-test"><span class="rd-{tone}" aria-hidden="true">{sign}</span> '
        "<b>{headline}</b> <small>{name}</small></p>",
        tone=tone,
        sign=sign,
        headline=test.headline,
        name=name,
    )


def _change(card: Card, now: datetime) -> Html:
    """Returns when and how the experiment changed last, and the number of changes in the last seven days."""
    last, recent = card.last_change, card.changed_since(now - WEEK)
    more = f", and {many(recent - 1, 'more change')} this week" if recent > 1 else ""
    words = f"{last}{more}"
    return html("{when}<p>{words}</p>", when=day(last.when), words=words)
