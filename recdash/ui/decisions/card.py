"""A decision as a card: outcome, run, author, reasons, and the numbers at that time."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from recdash.decisions import ChecklistItem, Decision, shortcomings
from recdash.decisions.checklist import ITEM_SIGNS
from recdash.decisions.review import offline_of, online_of
from recdash.domain.journal import Entry
from recdash.formatting.html import Html, html, join, markdown
from recdash.formatting.wording import capital, day, moment
from recdash.ui.app import links, theme
from recdash.ui.app.state import View, workspace
from recdash.ui.components.decision_links import outcome_badge
from recdash.ui.components.widgets import badge, opened, show_errors, small_paragraphs, toned
from recdash.ui.decisions import forms, tables
from recdash.ui.decisions import tiles as decision_tiles
from recdash.ui.decisions.wording import lines, prose, signature


def show(view: View, decision: Decision, later: Decision | None = None) -> None:
    """Draws the card of a decision. ``later`` is the decision that superseded it, if any."""
    with st.container(border=True, key="decision", gap="small"):
        st.html(_card(view, decision, later))
        tiles = decision_tiles.show(view, decision.offline, decision.online)
        if tiles:
            st.html(html('<p class="rd-aside">{note}</p>{tiles}', note=_tiles_note(decision), tiles=tiles))
        _all_numbers(decision)
        show_comments(decision.comments)
        forms.comment(view, decision.id)
        if decision.is_current:
            forms.supersede(view, decision)


def _card(view: View, decision: Decision, later: Decision | None) -> Html:
    subject = decision.subject
    controls = [test.control for test in decision.online] if subject.variant else []
    base = subject.baseline.name if subject.baseline else next(iter(controls), "")
    against = f" against {base}" if base else ""
    notes = [html("{by}", by=f"{signature(decision.entry)} · {subject.where}{against}")]
    if later is not None:
        way, by = links.link(view, later.named_headline, "reports", {"dec": later.id}), signature(later.entry)
        notes.append(html("Replaced by: {way} ({by})", way=way, by=by))
    return html(
        '<div class="rd-card rd-decision"><div><div class="rd-badges">{badges}</div><h2>{headline}</h2>'
        "{prose}{although}{notes}</div>{checks}</div>",
        badges=join(_badges(view, decision)),
        headline=decision.named_headline,
        prose=prose(decision.text),
        although=_although(decision),
        notes=small_paragraphs(notes),
        checks=checks(decision.checklist, f"on {day(decision.created)}"),
    )


def _badges(view: View, decision: Decision) -> list[Html]:
    badges = [outcome_badge(decision.outcome)]
    if decision.subject.run:
        badges.append(theme.chip(decision_tiles.mark_of(view, decision.subject.run)))
    if decision.review:
        badges.append(badge("Reviewed"))
    if not decision.is_current:
        badges.append(badge("Replaced", "worse"))
    return badges


def _although(decision: Decision) -> Html:
    """Returns which checks failed when the run was approved, and why that was accepted; empty if none
    failed.
    """
    left = shortcomings(decision.checklist)
    if decision.outcome != "ship" or not left:
        return Html("")
    does = "Approved" if decision.review else "Decided"
    reason = html(": {reason}", reason=lines(decision.although)) if decision.although else "."
    text = '<p class="rd-although"><b>{does} although {left}</b>{reason}</p>'
    return html(text, does=does, left=left, reason=reason)


def _tiles_note(decision: Decision) -> str:
    base = decision.subject.baseline.name if decision.subject.baseline else "the baseline"
    online = "; online against the control, corrected over the goals" if decision.online else ""
    rails = "; guardrails are not corrected" if decision.offline and decision.offline.guardrails else ""
    corrected = decision.offline.terms.partition(";")[0] if decision.offline else ""
    offline = f"change against {base}{f', {corrected}' if corrected else ''}"
    stood = f"Numbers as they stood on {day(decision.created)}"
    return f"{stood}: {offline}{online}{rails}. The strips share one scale; the tick marks zero."


def checks(items: Sequence[ChecklistItem], when: str) -> Html:
    """Returns the checklist in short, for the side of a card; empty without items."""
    if not items:
        return Html("")
    row = '<li title="{why}"><span>{sign} {name}</span><b>{state}</b></li>'
    rows = []
    for item in items:
        sign = toned(*ITEM_SIGNS[item.state])
        rows.append(html(row, why=item.reason, sign=sign, name=item.title, state=item.state))
    checklist = '<div class="rd-split"><h3>Checklist {when}</h3><ul>{rows}</ul></div>'
    return html(checklist, when=when, rows=join(rows))


# ── the numbers ──────────────────────────────────────────────────────────────────────────────


@st.fragment
@show_errors
def _all_numbers(decision: Decision) -> None:
    """Draws the numbers at that time in an expander, once it is opened: they are most of the page."""
    label = f"All numbers as they stood on {moment(decision.created)}"
    box = opened(label, f"numbers-{decision.id}")
    if box is None:
        return
    with box:
        numbers, definitions, provenance = st.tabs(["Numbers", "Definitions", "Where they come from"])
        with numbers:
            _since(decision.id)
            tables.show(decision.offline, decision.online)
            tables.download(decision.entry.facts, f"decision-{decision.id}")
        with definitions:
            tables.show_definitions(decision.offline, decision.online)
        with provenance:
            tables.show_provenance(decision.provenance)


@st.fragment(parallel=True)
@show_errors
def _since(entry_id: str) -> None:
    """Shows what changed since the entry, in a separate fragment, as this computes the verdict again."""
    tables.show_since(workspace().decisions.since(entry_id))


@st.fragment
@show_errors
def show_evidence(entry: Entry) -> None:
    """Draws the numbers of a review's evidence in an expander, once it is opened."""
    offline, online = offline_of(entry), online_of(entry)
    title = capital(entry.kind) if offline else f"A/B test {online[0].test.name}"
    label = f"{markdown(title)} · {markdown(signature(entry))}"
    box = opened(label, f"evidence-{entry.id}")
    if box is None:
        return
    with box:
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
    row = "<li><b>{by}</b>{prose}</li>"
    rows = [html(row, by=signature(comment), prose=prose(comment.text, "")) for comment in comments]
    st.html(html('<ul class="rd-comments">{rows}</ul>', rows=join(rows)))
