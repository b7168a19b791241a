"""The form that makes a report of the current view: its sections and their order, title, text, and kind."""

from __future__ import annotations

from typing import Any

import streamlit as st

from recdash.comparison.headlines import MOST_NAMED
from recdash.domain.journal import Report
from recdash.domain.records import OnlineTest
from recdash.formatting.html import html, markdown
from recdash.formatting.wording import listed, many
from recdash.metrics.naming import metric_at
from recdash.report.reports import MOST_NARRATIVE, MOST_TITLE, Reports
from recdash.report.sections import BLOCKS, DECISION_ONLY, kinds_of
from recdash.ui.app import links, state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import idempotent_form, online_tests, widgets
from recdash.ui.reports import listing

FORM = "report"
MADE = "recdash.report-made"
KINDS = {
    "snapshot": "Snapshot: keeps today's numbers",
    "live": "Live: follows the data",
}
LENGTHS = {
    "full": "Full report",
    "decision": "Decision only: two pages, with what would change it",
}


def show(view: View) -> None:
    """Draws the form; nothing for viewers, and if there is neither a run nor an A/B test."""
    if not workspace().person.may("editor") or not (view.runs or online_tests.tests(view)):
        return
    is_first = not Reports(workspace()).all(view.experiment.id)
    _show_made()
    # with the key of the form, so that it is closed again once the report is made
    with st.expander("Make a report", expanded=is_first, key=f"make-report-{idempotent_form.key(FORM)}"):
        st.caption("One file that opens with the decision or recommendation. It needs no network.")
        st.caption(markdown(_about(view)))
        with st.form("make-report", border=False):
            fields = _fields(view)

            def make(sent: idempotent_form.Sent) -> None:
                _make(view, fields | sent)

            done, key = "The report is made.", "make-report-go"
            idempotent_form.submit(FORM, "Make report", make, done, key=key)


def _about(view: View) -> str:
    """Returns what the report will be about: the comparison that the frame shows, else the A/B test."""
    if not view.runs:
        test = _named_test(view) or online_tests.tests(view)[0]
        return f"It is about the A/B test {test.name}."
    about = view.candidates or view.runs[:1]
    names = [view.short(run.id) for run in about]
    runs = listed(names) if len(names) <= MOST_NAMED else many(len(names), "candidate")
    against = f" against {view.short(view.baseline.id)}" if view.baseline and view.candidates else ""
    return f"It is about {metric_at(view.metric, view.k)} of {runs}{against}, as chosen above."


def _named_test(view: View) -> OnlineTest | None:
    """Returns the A/B test that the address names; None if it names none of this experiment."""
    named = state.params().get("t")
    return next((test for test in online_tests.tests(view) if test.id == named), None)


def _fields(view: View) -> dict[str, Any]:
    key = idempotent_form.key(FORM)
    title = st.text_input("Title", view.experiment.name, max_chars=MOST_TITLE, key=f"report-title-{key}")
    narrative = st.text_area(
        "Summary for readers",
        key=f"report-narrative-{key}",
        max_chars=MOST_NARRATIVE,
        height=120,
        help="Shown on the first page. An empty line begins a new paragraph.",
    )
    kinds = kinds_of(has_runs=bool(view.runs))
    titles = widgets.titled({name: BLOCKS[name].title for name in kinds})
    lengths = LENGTHS if view.candidates else LENGTHS | {"decision": "Decision only: two pages"}
    length = st.radio("Length", list(lengths), format_func=lengths.__getitem__, key=f"report-length-{key}")
    label, blocks_key = "What to show in a full report, in this order", f"report-blocks-{key}"
    source, experiment_id = workspace(), view.experiment.id
    empty = {
        "online": not source.online_tests.all(experiment_id),
        "interleaving": not source.interleaving.all(experiment_id),
        "changes": not view.candidates,
        "decisions": not source.journal.entries(experiment_id),
    }
    usual = [name for name in kinds if not empty.get(name)]
    blocks = st.multiselect(label, **titles, default=usual, key=blocks_key)
    kind = st.radio("Numbers", **widgets.titled(KINDS), key=f"report-kind-{key}")
    chosen = DECISION_ONLY if length == "decision" else blocks
    return {"title": title, "narrative": narrative, "blocks": chosen, "live": kind == "live"}


def _make(view: View, fields: dict[str, Any]) -> None:
    reports, test = Reports(workspace()), _named_test(view)
    query = view.query if view.runs else None
    question = reports.question(view.experiment.id, query, test=test.id if test else None)
    with st.spinner("Gathering every number"):
        state.until_left()[MADE] = reports.make(question, home=links.home(), **fields)


def _show_made() -> None:
    """Says which report was just made, with a link to it; nothing before, and after a visit to another
    page.
    """
    made: Report | None = state.until_left().get(MADE)
    if made is None:
        return
    then = "To make another, open the form."
    template = '<p class="rd-lead" role="status">The report is made: {way}. {then}</p>'
    st.html(html(template, way=listing.linked(made), then=then))
