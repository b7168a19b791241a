"""A decision as a card: what was decided about whom, by whom and why, with the numbers as they stood."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from recdash.decisions import ChecklistItem, Decision, shortcomings
from recdash.decisions.review import offline_of, online_of
from recdash.domain.journal import Entry
from recdash.formatting.html import Html, html, join, markdown
from recdash.formatting.wording import day
from recdash.ui.app import links, theme
from recdash.ui.app.state import View, workspace
from recdash.ui.components.decision_links import outcome_badge
from recdash.ui.components.widgets import in_words
from recdash.ui.decisions import forms, tables
from recdash.ui.decisions import tiles as decision_tiles
from recdash.ui.decisions.wording import capital, headline, lines, moment, prose, signature

ITEM_SIGNS = {"holds": ("✓", "better"), "fails": ("!", "worse"), "not known yet": ("?", "muted")}


def show(view: View, one: Decision, later: Decision | None = None) -> None:
    """``later``: the decision that has taken its place."""
    with st.container(border=True, key="decision", gap="small"):
        st.html(_card(view, one, later))
        tiles = decision_tiles.show(view, one.offline, one.online)
        if tiles:
            st.html(html('<p class="rd-aside">{told}</p>{tiles}', told=_tiles_note(one), tiles=tiles))
        _all_numbers(one)
        show_comments(one.comments)
        forms.comment(view, one.id)
        if one.is_current:
            forms.supersede(view, one)


def _card(view: View, one: Decision, later: Decision | None) -> Html:
    text = html(
        '<div><div class="rd-badges">{badges}</div><h2>{headline}</h2>{prose}{although}'
        '<p class="rd-quiet">{by}</p>{later}</div>',
        badges=join(_badges(view, one)), headline=headline(one), prose=prose(one.text),
        although=_although(one), by=_by(one), later=_superseded_by(view, later),
    )  # fmt: skip
    return html('<div class="rd-card rd-decision">{text}{checks}</div>', text=text,
                checks=checks(one.checklist, "When it was decided"))  # fmt: skip


def _badges(view: View, one: Decision) -> list[Html]:
    found = [outcome_badge(one.outcome)]
    if one.subject.run:
        found.append(theme.chip(decision_tiles.mark_of(view, one.subject.run)))
    if one.review:
        found.append(html('<span class="rd-badge">answers a review</span>'))
    if not one.is_current:
        found.append(html('<span class="rd-badge rd-badge-worse">superseded</span>'))
    return found


def _although(one: Decision) -> Html:
    """What did not hold when it was approved, and why that was accepted."""
    left = shortcomings(one.checklist)
    if one.outcome != "ship" or not left:
        return Html("")
    does = "Approved" if one.review else "Decided"
    reason = html(": {reason}", reason=lines(one.although)) if one.although else "."
    return html('<p class="rd-although"><b>{does} although {left}</b>{reason}</p>',
                does=does, left=left, reason=reason)  # fmt: skip


def _superseded_by(view: View, later: Decision | None) -> Html:
    if later is None:
        return Html("")
    way = links.link(view, headline(later), "reports", {"dec": later.id})
    return html('<p class="rd-quiet">Superseded by: {way} ({by})</p>', way=way, by=signature(later.entry))


def _by(one: Decision) -> str:
    asked = one.subject
    base = f" against {asked.baseline.name}" if asked.baseline else ""
    return f"{signature(one.entry)} · {asked.where}{base}"


def _tiles_note(one: Decision) -> str:
    base = one.subject.baseline.name if one.subject.baseline else "the baseline"
    online = "; online against the control" if one.online else ""
    stood = f"Numbers as they stood on {day(one.created)}"
    return f"{stood}: change against {base}{online}. One scale, the tick is zero."


def checks(items: Sequence[ChecklistItem], when: str) -> Html:
    """The checklist in short, for the side of a card."""
    if not items:
        return Html("")
    rows = [
        html('<li title="{why}"><span><span class="rd-{tone}">{sign}</span> {name}</span><b>{state}</b></li>',
             why=one.reason, tone=tone, sign=sign, name=one.name, state=one.state)
        for one in items
        for sign, tone in (ITEM_SIGNS[one.state],)
    ]  # fmt: skip
    return html('<div class="rd-split"><h3>Checklist. {when}</h3><ul>{rows}</ul></div>',
                when=when, rows=join(rows))  # fmt: skip


# ── the numbers ──────────────────────────────────────────────────────────────────────────────


def _all_numbers(one: Decision) -> None:
    with st.expander(f"All numbers as they stood on {moment(one.created)}"):
        numbers, definitions, provenance = st.tabs(["Numbers", "Definitions", "Where they come from"])
        with numbers:
            _since(one.id)
            tables.show(one.offline, one.online)
            tables.download(one.entry.facts, f"decision-{one.id}")
        with definitions:
            tables.show_definitions(one.offline, one.online)
        with provenance:
            tables.show_provenance(one.provenance)


@st.fragment(parallel=True)
@in_words
def _since(entry_id: str) -> None:
    """Worked out beside the page, since the verdict is asked again."""
    tables.show_since(workspace().decisions.since(entry_id))


def show_evidence(entry: Entry) -> None:
    """The numbers of evidence that is attached to a review."""
    offline, online = offline_of(entry), online_of(entry)
    what = capital(entry.kind) if offline else f"A/B test {online[0].test.name}"
    with st.expander(f"{markdown(what)} · {markdown(signature(entry))}"):
        if entry.text:
            st.html(prose(entry.text, "rd-quiet"))
        _since(entry.id)
        tables.show(offline, online)
        tables.show_definitions(offline, online)
        tables.show_provenance(entry.facts.get("provenance", {}))
        tables.download(entry.facts, f"evidence-{entry.id}")


def show_comments(comments: Sequence[Entry]) -> None:
    if not comments:
        return
    rows = [
        html('<li><b>{by}</b>{prose}</li>', by=signature(one), prose=prose(one.text, ""))
        for one in comments
    ]  # fmt: skip
    st.html(html('<ul class="rd-comments">{rows}</ul>', rows=join(rows)))
