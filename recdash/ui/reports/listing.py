"""The list of reports about an experiment: open, download, share, archive and delete them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from recdash.domain.journal import Report
from recdash.formatting.html import Html, html, join, markdown
from recdash.formatting.tables import Cell, Number, text_columns
from recdash.formatting.wording import day, listed, many
from recdash.report.formats.pdf import why_no_pdf
from recdash.report.formats.registry import FORMS
from recdash.report.reports import Reports, deletion_days
from recdash.service import SharedLink
from recdash.service.access.sharing import MOST_DAYS, USUAL_DAYS
from recdash.ui.app import links
from recdash.ui.app.state import View, workspace
from recdash.ui.components import actions, online_tests, widgets

LINK = "recdash.report-link"


def _how_to_begin(view: View, *, may_write: bool) -> str:
    """Returns what to do so that there is a report."""
    if not view.runs and not online_tests.tests(view):
        return "A report needs a test set and recommendations, or an A/B test."
    return "Make one below." if may_write else "An editor can make one."


def show(view: View) -> None:
    """Draws the list of reports."""
    may_write = workspace().person.may("editor")
    active = Reports(workspace()).all(view.experiment.id)
    if active:
        subtitle = (
            "The newest first. A live report follows the data, a snapshot keeps its numbers. "
            "A downloaded file never changes and needs no network."
        )
        widgets.title(many(len(active), "report"), subtitle)
    else:
        widgets.title("No report yet", _how_to_begin(view, may_write=may_write))
    if active:
        columns = text_columns("Report", "It says", "By", "Made", "Numbers", "Download")
        rows = [
            [
                _named(report),
                _headline(report),
                report.author,
                day(report.created),
                _numbers(report),
                _downloads(report),
            ]
            for report in active
        ]
        st.html(widgets.stacked_table_html(columns, rows))
        if reason := why_no_pdf():
            st.caption(f"No PDF: {markdown(reason)}")


def manage(view: View) -> None:
    """Draws the forms that share, archive and delete reports; nothing for viewers, and without a report."""
    if not workspace().person.may("editor"):
        return
    known = Reports(workspace()).all(view.experiment.id, archived=True)
    if known:
        _manage(view, known)


def _named(report: Report) -> Html:
    return html('<span class="rd-lead">{way}</span>', way=linked(report))


def linked(report: Report) -> Html:
    """Returns the title of a report as a link that opens it."""
    link = '<a href="reports/{id}" target="_blank" rel="noopener">{title}</a>'
    return html(link, id=report.id, title=report.title)


def _numbers(report: Report) -> str:
    """Returns whether the report's numbers follow the data, and when data behind them were deleted."""
    if not report.document:
        return "Live, follows the data"
    days = deletion_days(workspace(), report.experiment, report.created)
    when = f"; data of users were deleted from the experiment on {listed(list(map(day, days)))}"
    return f"Snapshot, keeps its numbers{when if days else ''}"


def _headline(report: Report) -> Cell:
    """Returns what the report says to do."""
    return Reports(workspace()).headline(report) or Number(None, why="open the report to see what is missing")


def _downloads(report: Report) -> Html:
    wanted = [form for form in FORMS.values() if form.name != "pdf" or not why_no_pdf()]
    link = '<a href="reports/{id}.{form}" download>{title}</a>'
    made = [html(link, id=report.id, form=form.name, title=form.title) for form in wanted]
    return html('<span class="rd-quiet">{made}</span>', made=join(made, " · "))


# ── for editors ──────────────────────────────────────────────────────────────────────────────


def _manage(view: View, reports: Sequence[Report]) -> None:
    with st.expander("Manage a report"):
        names = {}
        for report in reports:
            archived = ", archived" if report.archived else ""
            names[report.id] = f"{report.title} ({day(report.created)}{archived})"
        chosen = st.selectbox("Report", **widgets.titled(names), key="report-chosen", width=560)
        report = next(report for report in reports if report.id == chosen)
        share, archive, delete = st.tabs(["Share", "Archive", "Delete"])
        with share:
            _share(view, report)
        with archive:
            _archive(report)
        with delete:
            for_good = partial(Reports(workspace()).delete, report.id)
            actions.delete_form("report", report.title, report.id, for_good, called="title")


def _share(view: View, report: Report) -> None:
    """Draws the form for a share link to this report only; the link is shown once."""
    made: SharedLink | None = st.session_state.get(LINK)
    if made is not None and made.link.report == report.id:
        address = f"{links.home()}s/{made.token}"
        st.caption(f"Copy the link now: it is not shown again.{links.local_only_warning(address)}")
        st.code(address, language=None, wrap_lines=True)
        return
    st.caption(
        f"Anyone with the link can view this report (no sign-in).{links.local_only_warning(links.home())}"
    )
    with st.form(f"share-report-{report.id}", border=False):
        days = st.number_input("Days until the link expires", 1, MOST_DAYS, USUAL_DAYS, width=220)
        if st.form_submit_button("Create link", key=f"share-report-go-{report.id}"):
            actions.attempt(lambda: _make_link(view, report, int(days)), "The link is created.")


def _make_link(view: View, report: Report, days: int) -> None:
    st.session_state[LINK] = workspace().sharing.share(
        view.experiment.id, report_id=report.id, days=days, label=report.title[:60]
    )


def _archive(report: Report) -> None:
    reports = Reports(workspace())
    if report.archived is not None:
        st.caption("This report is archived: only editors see it, in this form.")
        if st.button("Unarchive", key=f"report-unarchive-{report.id}"):
            actions.attempt(lambda: reports.unarchive(report.id), "Unarchived.")
        return
    st.caption("An archived report is not listed, and can be unarchived here.")
    if st.button("Archive", key=f"report-archive-{report.id}"):
        actions.attempt(lambda: reports.archive(report.id), "Archived. You can unarchive it here.")
