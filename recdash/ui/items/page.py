"""What the page Items shows: which test items each run hits, and which are never recommended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import streamlit as st

from recdash.formatting import numbers
from recdash.formatting.html import Html, html
from recdash.formatting.records import Row, records
from recdash.formatting.tables import Cell, Number, RunName, count, number_columns, text_columns
from recdash.formatting.wording import cut, listed
from recdash.ui.app import cached, state
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.widgets import stacked_table_html

if TYPE_CHECKING:
    import pandas as pd

SEARCH, WHICH, ORDER = "item", "which", "order"
"""Names of parameters in the URL."""
MOST_ROWS, LONGEST_TITLE, FEW_RUNS = 20, 60, 6
ALL, MISSED, NEVER = "all", "nobody", "never"
USERS, TITLE = "users", "title"


@dataclass(frozen=True)
class Items:
    """The rows of ``Overlap.found_items`` for the runs in the frame that have lists."""

    frame: pd.DataFrame
    run_ids: tuple[str, ...]

    @cached_property
    def n_missed(self) -> int:
        return int((self.frame["finders"] == 0).sum())

    @cached_property
    def n_never_shown(self) -> int:
        return int((self.frame["showers"] == 0).sum())

    def n_found(self, run_id: str) -> int:
        """Returns the number of items that the run hits for at least one user."""
        return int((self.frame[f"found {run_id}"] > 0).sum())

    def n_shown(self, run_id: str) -> int:
        return int((self.frame[f"shown {run_id}"] > 0).sum())

    def unique_hits(self, run_id: str) -> pd.DataFrame:
        """Returns the items that this run hits and no other run does."""
        return self.frame[(self.frame[f"found {run_id}"] > 0) & (self.frame["finders"] == 1)]


def gather(view: View) -> Items | None:
    """Returns the items of the runs in the frame; None if no run has lists."""
    run_ids = tuple(run.id for run in view.shown if run.has_lists)
    return Items(cached.found_items(run_ids, view.k), run_ids) if run_ids else None


# ── in words ─────────────────────────────────────────────────────────────────────────────────


def finding(view: View, items: Items) -> str:
    """Returns a headline on the items that no run hits, such as ``71 % of 4,478 test items are hit by no
    run``.

    Of fewer than 100 items it gives the number rather than the share.
    """
    total = len(items.frame)
    if items.n_missed == 0:
        return f"Every one of {numbers.counted(total, 'test item')} is a hit of at least one run"
    of = f"{items.n_missed} of {numbers.counted(total, 'test item')}"
    if total >= 100:
        of = f"{numbers.of_100(items.n_missed, total)} % of {numbers.count(total)} test items"
    if len(items.run_ids) == 1:
        return f"{view.short(items.run_ids[0])} misses {of}"
    verb = "is" if items.n_missed == 1 else "are"
    none = "neither run" if len(items.run_ids) == 2 else "no run"
    if len(items.run_ids) < len(view.runs):
        none = f"none of the {len(items.run_ids)} chosen runs"
    return f"{of} {verb} hit by {none}"


def subtitle(view: View, items: Items) -> str:
    most = max(items.run_ids, key=lambda run_id: len(items.unique_hits(run_id)))
    alone = len(items.unique_hits(most))
    text = f"Hits within k = {view.k}, on items that are relevant to at least one user."
    if items.n_never_shown:
        verb = "is" if items.n_never_shown == 1 else "are"
        none = "none of their lists" if len(items.run_ids) < len(view.runs) else "no list"
        text += f" {numbers.counted(items.n_never_shown, 'test item')} {verb} in {none}."
    if len(items.run_ids) > 1 and alone:
        if len(items.run_ids) == 2:
            text += f" {view.short(most)} hits {numbers.counted(alone, 'item')} that the other run misses."
        else:
            text += f" {view.short(most)} has the most items that no other run hits: {numbers.count(alone)}."
    return text


def summary(view: View, items: Items) -> Html:
    """Returns a table with a row per run: how many test items it hits, hits as the only run, and
    recommends.
    """
    total = len(items.frame)
    hit_of = f"Share of\n{numbers.count(total)}, %"
    alone = ["Items only\nthis run hits"] if len(items.run_ids) > 1 else []
    titles = ["Test items\nhit", hit_of, *alone, "Test items\nrecommended", "Recommended,\nnever hit"]
    columns = [*text_columns("Run"), *number_columns(*titles)]
    rows: list[list[Cell]] = []
    for run_id in items.run_ids:
        n_hit, n_shown = items.n_found(run_id), items.n_shown(run_id)
        share = Number(n_hit / total, 1, scale=100)
        hit_alone = [count(len(items.unique_hits(run_id))) for _ in alone]
        rows.append(
            [RunName(run_id), count(n_hit), share, *hit_alone, count(n_shown), count(n_shown - n_hit)]
        )
    return stacked_table_html(columns, rows, view.marks, kind="rd-small")


# ── choice of items ──────────────────────────────────────────────────────────────────────────


def choose(view: View, items: Items) -> pd.DataFrame:
    """Draws the choices of which items, in which order, and with which words, and returns these items; the
    URL keeps them.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        which = _select("Which items", WHICH, which_options(view, items), ALL, 340)
        order = _select("Sorted by", ORDER, _orders(view, items), USERS, 300)
        text = widgets.search("Search titles and ids", SEARCH, "items-search", "title or id", width=220)
    return in_order(matching(chosen(items, which), text), order)


def which_options(view: View, items: Items) -> dict[str, str]:
    only = {
        run_id: f"Only {view.short(run_id)} hits ({numbers.count(len(items.unique_hits(run_id)))})"
        for run_id in items.run_ids
        if len(items.run_ids) > 1
    }
    return {
        ALL: f"All ({numbers.count(len(items.frame))})",
        MISSED: f"Hit by no run ({numbers.count(items.n_missed)})",
        NEVER: f"Never recommended ({numbers.count(items.n_never_shown)})",
        **only,
    }


def _orders(view: View, items: Items) -> dict[str, str]:
    runs = {f"found {run_id}": f"Hits of {view.short(run_id)}" for run_id in items.run_ids}
    shows = {f"shown {run_id}": f"Times recommended by {view.short(run_id)}" for run_id in items.run_ids}
    return {USERS: "Users it is relevant to", TITLE: "Title", **runs, **shows}


def _select(label: str, name: str, options: Mapping[str, str], default: str, width: int) -> str:
    value = state.option(name, default, list(options))
    return widgets.select(label, name, options, value, f"items-{name}", width)


def chosen(items: Items, which: str) -> pd.DataFrame:
    if which in items.run_ids:
        return items.unique_hits(which)
    column = {MISSED: "finders", NEVER: "showers"}.get(which)
    return items.frame if column is None else items.frame[items.frame[column] == 0]


def matching(frame: pd.DataFrame, text: str) -> pd.DataFrame:
    """Returns the items whose title or id contains the text, in upper or lower case; all for an empty
    text.
    """
    wanted = text.strip()
    if not wanted:
        return frame
    inside = [frame[name].str.contains(wanted, case=False, regex=False) for name in ("title", "item_id")]
    return frame[inside[0] | inside[1]]


def in_order(frame: pd.DataFrame, order: str) -> pd.DataFrame:
    """Returns the items in this order: titles from A, numbers from the largest, then by the number of users
    for which the item is relevant.
    """
    if order == TITLE:
        return frame.sort_values(TITLE, key=lambda titles: titles.str.casefold(), kind="stable")
    return frame.sort_values(list(dict.fromkeys((order, USERS))), ascending=False, kind="stable")


# ── the table ────────────────────────────────────────────────────────────────────────────────


def table(view: View, items: Items, rows: pd.DataFrame) -> None:
    """Draws the first items as a table, with a CSV of all of them."""
    if rows.empty:
        st.html(html('<p class="rd-muted">No item matches.</p>'))
        return
    names = widgets.run_cells(view.marks, 20 if len(items.run_ids) > FEW_RUNS else 28)
    heads = (names[run_id] for run_id in items.run_ids)
    columns = [*text_columns("Item"), *number_columns("Users it is\nrelevant to", *heads)]
    cells = [_cells(row, items.run_ids) for row in records(rows.head(MOST_ROWS))]
    st.html(_note(len(rows)))
    st.html(stacked_table_html(columns, cells, kind="rd-small rd-items rd-sticky", label="Items"))
    widgets.table_behind(tidy(view, items, rows), "items", "All items as a table")


def _cells(row: Row, run_ids: Sequence[str]) -> list[Cell]:
    title, item_id = row["title"], row["item_id"]
    name = html(
        '<span title="{hint}">{short}</span>',
        short=cut(title, LONGEST_TITLE),
        hint=title if title == item_id else f"{title} (id {item_id})",
    )
    return [name, count(row["users"]), *(_counts(row, run_id) for run_id in run_ids)]


def _counts(row: Row, run_id: str) -> Html:
    """Returns a cell with the run's hits on the item and how often it recommends it; a dash if it never
    does.
    """
    finders, lists = row[f"found {run_id}"], row[f"shown {run_id}"]
    if not lists:
        return html('<span class="rd-muted" title="never recommended">{none}</span>', none=numbers.NONE)
    number = html("<b>{n}</b>" if finders else "{n}", n=numbers.count(finders))
    return html('{n} <wbr><small class="rd-muted">of {lists}</small>', n=number, lists=numbers.count(lists))


def _note(n_rows: int) -> Html:
    counts = f"Each run: hits, of the number of lists that recommend it. {numbers.NONE}: in no list."
    some = f"Showing {MOST_ROWS} of {numbers.count(n_rows)} items; “All items as a table” has all."
    lines = [counts, some] if n_rows > MOST_ROWS else [counts]
    return widgets.note_html(lines)


def tidy(view: View, items: Items, rows: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows with names of runs in the column titles, and also the id if two runs have the same
    name.
    """
    names = [view.name(run_id) for run_id in items.run_ids]
    heads = {
        f"{count} {run_id}": f"{count} by {name}"
        if names.count(name) == 1
        else f"{count} by {name} ({run_id})"
        for run_id, name in zip(items.run_ids, names, strict=True)
        for count in ("found", "shown")
    }
    return rows.rename(columns={**heads, "finders": "found by runs", "showers": "shown by runs"})


def left_out(view: View) -> str:
    """Returns sentences on runs that have no lists, or several for each user; empty if there are none."""
    means = [run.name for run in view.shown if run.is_mean]
    names = [run.name for run in view.shown if not run.has_lists and not run.is_mean]
    reasons = {
        "several lists per user, so not shown here": means,
        "no lists stored, so not shown here": names,
    }
    return " ".join(f"{listed(runs)}: {reason}." for reason, runs in reasons.items() if runs)
