"""How different the lists are from the baseline's, and what they would reach together."""

from __future__ import annotations

import streamlit as st

from recdash.formatting import numbers
from recdash.formatting.html import Html, html
from recdash.formatting.records import Row, records
from recdash.ui.app import cached, links
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.widgets import TableColumn, run_cell, table_html

RBO_SOURCE = "Webber, Moffat & Zobel 2010"


def show(view: View) -> None:
    """Nothing without a baseline and a candidate, both with lists."""
    if view.baseline is None or not view.candidates:
        return
    with st.spinner("Comparing the lists"):
        rows = records(cached.list_overlap(view, view.baseline.id))
    if len(rows) < 2:
        return
    st.html('<hr class="rd-rule">')
    widgets.section(finding(view), _explained(view))
    st.html(table_of(view, rows))
    st.html(_notes(view, rows))


def finding(view: View) -> str:
    """What all lists together reach against the best alone."""
    known = cached.headroom(view)
    if known is None:
        return "How different the lists are"
    best = view.name(_with_lists(view)[known.best_hit_rate])
    together, alone = (
        numbers.of_100(round(share * known.n_users), known.n_users)
        for share in (known.hit_rate, max(known.hit_rates))
    )
    return f"Together the lists reach {together} of 100 users; {best} alone reaches {alone}"


def _with_lists(view: View) -> list[str]:
    return [run.id for run in view.shown if run.has_lists]


def _explained(view: View) -> str:
    known = cached.headroom(view)
    if known is None:
        return ""
    best = view.name(_with_lists(view)[known.best_recall])
    together, alone = (numbers.three(100 * share) for share in (known.recall, max(known.recalls)))
    return (
        f"A hit within k = {view.k}, over {numbers.count(known.n_users)} users. Of a user's held-out items "
        f"all lists together find {together} % on average, {best} alone {alone} %."
    )


def table_of(view: View, rows: list[Row]) -> Html:
    columns = [
        TableColumn("Run"),
        TableColumn(f"Common items\nat {view.k}, %", number=True),
        TableColumn("RBO", number=True),
        TableColumn("n", number=True),
        TableColumn("Hits", number=True),
        TableColumn("Found by no\nother run", number=True),
        TableColumn("Hits won\nby switching", number=True),
        TableColumn("Hits lost\nby switching", number=True),
    ]
    bands = [place for place, row in enumerate(rows) if view.baseline and row["run_id"] == view.baseline.id]
    return table_html(columns, [_cells(view, row) for row in rows], bands=bands, kind="rd-small")


def _cells(view: View, row: Row) -> list[object]:
    is_base = view.baseline is not None and row["run_id"] == view.baseline.id
    switching = ["", ""] if is_base else [numbers.count(row[name]) for name in ("won", "lost")]
    shares = numbers.fixed(100 * row["overlap"], 1), numbers.fixed(row["rbo"], 3)
    alike = ["", "", ""] if is_base else [*shares, numbers.count(row["n_users"])]
    counts = [numbers.count(row[name]) for name in ("hits", "unique")]
    return [run_cell(view.marks[row["run_id"]]), *alike, *counts, *switching]


def _notes(view: View, rows: list[Row]) -> Html:
    base = view.base_name
    alike = (
        f"Common items: of the first {view.k} places, those that {base} fills with the same items, in any "
        f"order. RBO: rank-biased overlap of the whole lists, p = 0.9, extrapolated ({RBO_SOURCE}); 1 is the "
        f"same list, 0 no common item. Both are means over n users with both lists{_sampled(rows)}."
    )
    hits = (
        f"Hits are counted over all users who count. Won: found and not by {base}; "
        f"lost: found by {base} and not here."
    )
    return html(
        '<div class="rd-note"><p>{alike}</p><p>{hits} {items} these are.</p></div>',
        alike=alike,
        hits=hits,
        items=links.link(view, "Which items", "items", {}),
    )


def _sampled(rows: list[Row]) -> str:
    """Of large uploads not all lists are compared, and then that is said."""
    sampled = any(row["n_users"] < row["n_both"] for row in rows)
    return ": where uploads are large, a random sample of them, the same each time" if sampled else ""
