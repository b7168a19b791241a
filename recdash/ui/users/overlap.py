"""Shows how different the lists are from the baseline's, and how many users they reach together."""

from __future__ import annotations

import streamlit as st

from recdash.formatting import numbers
from recdash.formatting.html import Html, html
from recdash.formatting.records import Row, records
from recdash.formatting.tables import Cell, Number, RunName, count, number_columns, number_of, text_columns
from recdash.ui.app import cached, links
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.widgets import table_html

RBO_SOURCE = "Webber, Moffat & Zobel 2010"


def show(view: View) -> None:
    """Draws the overlap; nothing unless the baseline and a candidate have lists."""
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
    """Returns a headline on how many users get a hit from any run, and how many from the best run."""
    known = cached.headroom(view)
    if known is None:
        return "Overlap with the baseline's lists"
    best = view.short(_with_lists(view)[known.best_hit_rate])
    together, alone = (
        numbers.of_100(round(share * known.n_users), known.n_users)
        for share in (known.hit_rate, max(known.hit_rates))
    )
    n_shown = len(_with_lists(view))
    either = "either run" if n_shown == 2 else "at least one run"
    if 1 < n_shown < len(view.runs):
        either = f"at least one of the {n_shown} chosen runs"
    return f"{together} % of users get a hit from {either}; {best} by itself reaches {alone} %"


def _with_lists(view: View) -> list[str]:
    return [run.id for run in view.shown if run.has_lists]


def _explained(view: View) -> str:
    known = cached.headroom(view)
    if known is None:
        return ""
    best = view.short(_with_lists(view)[known.best_recall])
    together, alone = (numbers.three(100 * share) for share in (known.recall, max(known.recalls)))
    return (
        f"Hits within k = {view.k}, {numbers.count(known.n_users)} users. "
        f"Mean recall: their lists together {together} %, {best} by itself {alone} %."
    )


def table_of(view: View, rows: list[Row]) -> Html:
    columns = [
        *text_columns("Run"),
        *number_columns(f"Shared items\nat {view.k}, %", "RBO", "n", "Hits", "Hits of\nthis run only"),
        *number_columns("Hits won\nby switching", "Hits lost\nby switching"),
    ]
    base = view.baseline.id if view.baseline else None
    bands = [place for place, row in enumerate(rows) if row["run_id"] == base]
    cells = [_cells(row, is_base=row["run_id"] == base) for row in rows]
    return table_html(columns, cells, view.marks, bands=bands, kind="rd-small")


def _cells(row: Row, *, is_base: bool) -> list[Cell]:
    likeness: list[Cell] = [
        Number(number_of(row["overlap"]), 1, scale=100),
        Number(number_of(row["rbo"]), 3),
        count(row["n_users"]),
    ]
    hits = [count(row[name]) for name in ("hits", "unique")]
    switching = [count(row[name]) for name in ("won", "lost")]
    run = RunName(row["run_id"])
    none = numbers.NONE
    return [run, none, none, none, *hits, none, none] if is_base else [run, *likeness, *hits, *switching]


def _notes(view: View, rows: list[Row]) -> Html:
    base = view.short(view.shown[0].id)
    alike = (
        f"Shared items: items that {base} also has in its first {view.k} positions. "
        f"RBO: rank-biased overlap of whole lists, 1 = same list (p = 0.9, {RBO_SOURCE}). "
        f"Means over n users with both lists{_sampled(rows)}."
    )
    hits = f"Hits won: {base} misses them, the run does not. Hits lost: {base} finds them, the run does not."
    return html(
        '<div class="rd-note"><p>{alike}</p><p>{hits} {items}</p></div>',
        alike=alike,
        hits=hits,
        items=links.link(view, "View the items", "items", {}),
    )


def _sampled(rows: list[Row]) -> str:
    """Returns a remark if only a sample of the lists was compared, because uploads are large; else empty."""
    sampled = any(row["n_users"] < row["n_both"] for row in rows)
    return " (of large uploads a fixed random sample)" if sampled else ""
