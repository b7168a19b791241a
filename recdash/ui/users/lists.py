"""One user's test items, history and lists next to each other, as HTML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.metrics.naming import metric_at
from recdash.service.offline.users import MOST_PLACES
from recdash.ui.app import cached
from recdash.ui.app.state import View
from recdash.ui.components import widgets

LONGEST_NAME = 18
"""The maximum length of a run's name above its list."""

if TYPE_CHECKING:
    from recdash.evaluation.user_detail import CatalogueItem, ListPlace, OneUser, UserList


def heading(user: OneUser) -> None:
    """Draws the user's id, and how many items the user has in the training data and the test set."""
    held_out = sum(item.relevant for item in user.held_out)
    had = f"{numbers.counted(user.n_history, 'item')} in training, " if user.n_history else ""
    counts = "" if user.counts else " None is relevant, so this user is not counted."
    in_test = numbers.counted(len(user.held_out), "item")
    if 0 < held_out < len(user.held_out):
        in_test = f"{held_out} relevant of {in_test}"
    widgets.section(f"User {user.user_id}", f"{had}{in_test} in the test set.{counts}")


def show(view: View, user: OneUser, first: str) -> None:
    """Draws the user's test items, the lists with their legend, and the history. ``first`` is the run that is
    shown next to the baseline.
    """
    values = cached.user_values(view, user.user_id) if user.counts else {}
    lists = {list_.run_id: list_ for list_ in user.lists}
    base = lists.get(view.baseline.id) if view.baseline else None
    against = view.short(base.run_id) if base and base.length else ""
    names = widgets.run_cells(view.marks, LONGEST_NAME)
    columns = [_column(view, run.id, lists.get(run.id), values, against, names) for run in view.shown]
    region = '<div class="rd-lists" tabindex="0" role="region" aria-label="Lists side by side">'
    legend, lists_side = (
        _legend(view, user, first, against),
        html(region + "{parts}</div>", parts=join(columns)),
    )
    st.html(join([_held_out(user), legend, lists_side, _history(user)]))


# ── the user's own ───────────────────────────────────────────────────────────────────────────


def _held_out(user: OneUser) -> Html:
    rows = []
    for item in user.held_out:
        grade = f"relevance {item.gain:g}" if user.graded else ""
        note = grade if item.relevant else f"relevance {item.gain:g}, does not count"
        rows.append(_own_row(item.item, note))
    return _side("Test set", numbers.counted(len(user.held_out), "item"), rows)


def _history(user: OneUser) -> Html:
    if not user.n_history:
        return Html("")
    title, order = ("Recent history", "newest first") if user.dated else ("History", "as in the file")
    count = numbers.count(user.n_history)
    some = f"{len(user.history)} of {count}" if len(user.history) < user.n_history else count
    return _side(title, f"{some}, {order}", [_own_row(item) for item in user.history])


def _side(title: str, count: str, rows: list[Html]) -> Html:
    head = html("<h3><b>{title}</b><span>{count}</span></h3>", title=title, count=count)
    return html('<div class="rd-column rd-side">{head}<ul>{rows}</ul></div>', head=head, rows=join(rows))


def _own_row(item: CatalogueItem, note: str = "") -> Html:
    return html('<li class="rd-own">{item}{aside}</li>', item=_item(item), aside=_aside(note, ""))


def _aside(text: str, meaning: str) -> Html:
    """Returns the end of an item's line, with ``meaning`` as its tooltip."""
    return html('<span class="rd-move" title="{meaning}">{text}</span>', meaning=meaning, text=text)


def _item(item: CatalogueItem) -> Html:
    """Returns an item's title with a few attributes below it; its tooltip has all of both."""
    attributes = " · ".join(item.attributes)
    under = html("<small>{text}</small>", text=attributes) if attributes else Html("")
    known = item.title if item.title == item.id else f"{item.title} (id {item.id})"
    hint = f"{known} · {attributes}" if attributes else known
    text = html("<bdi>{title}</bdi>{under}", title=item.title, under=under)
    return html('<span class="rd-what" title="{hint}">{text}</span>', hint=hint, text=text)


# ── lists ────────────────────────────────────────────────────────────────────────────────────


def _column(
    view: View,
    run_id: str,
    list_: UserList | None,
    values: Mapping[str, float],
    against: str,
    names: Mapping[str, Html],
) -> Html:
    """Returns the column of one run's list. Ranks are compared with the list of ``against``, "" for none."""
    mark, k = view.marks[run_id], min(view.k, MOST_PLACES)
    head = html(
        "<h3>{name}<span>{result}</span></h3>",
        name=names[run_id],
        result=_result(view, list_, values.get(run_id)),
    )
    is_base = mark.role == "baseline"
    if list_ is None or not list_.length:
        why = "no recommendations for this user" if list_ else _why_no_lists(view, run_id)
        rows = [html('<li class="rd-none">{why}</li>', why=why)]
    else:
        places = {place.rank: place for place in list_.places}
        against = "" if is_base else against
        rows = [_row(places.get(rank), rank, against) for rank in range(1, k + 1)]
    return html(
        '<div class="rd-column {base}">{head}<ol>{rows}</ol></div>',
        head=head,
        base="rd-base" if is_base else "",
        rows=join(rows),
    )


def _why_no_lists(view: View, run_id: str) -> str:
    is_mean = any(run.is_mean for run in view.shown if run.id == run_id)
    return "mean of several lists per user" if is_mean else "no lists stored for this run"


def _result(view: View, list_: UserList | None, value: float | None) -> str:
    """Returns the result of a list in words, such as ``4 hits, nDCG@10 0.812``; empty without a list."""
    if list_ is None:
        return ""
    hits = numbers.counted(list_.hits, "hit")
    return hits if value is None else f"{hits}, {metric_at(view.metric, view.k)} {numbers.three(value)}"


def _row(place: ListPlace | None, rank: int, against: str) -> Html:
    if place is None:
        return html('<li><span class="rd-at">{rank}</span><i>no item at position {rank}</i></li>', rank=rank)
    sign, meaning = ("●", "hit") if place.hit else ("○", "miss")
    move = _move(place, against) if against else Html("")
    return html(
        '<li class="{kind}"><span class="rd-at">{rank}</span>'
        '<span class="rd-sign" role="img" aria-label="{meaning}">{sign}</span>{what}{move}</li>',
        kind="rd-hit" if place.hit else "",
        rank=rank,
        meaning=meaning,
        sign=sign,
        what=_item(place.item),
        move=move,
    )


def _move(place: ListPlace, base: str) -> Html:
    if place.before is None:
        text, meaning = "new", f"not in {base}'s list"
    elif place.before == place.rank:
        text, meaning = "=", f"same position in {base}"
    else:
        arrow = "↑" if place.rank < place.before else "↓"
        text, meaning = f"{arrow} {abs(place.rank - place.before)}", f"position {place.before} in {base}"
    return _aside(text, meaning)


def _legend(view: View, user: OneUser, first: str, against: str) -> Html:
    parts = ["● hit", "○ miss"]
    if view.candidates and against:
        parts += [f"↑ ↓ positions moved vs {against}", "= same position", f"new: not in {against}'s list"]
        shared = (list_ for list_ in user.lists if list_.run_id == first and list_.length)
        parts += [_shared(view, list_, against) for list_ in shared]
    if view.k > MOST_PLACES:
        parts.append(f"Showing {MOST_PLACES} positions; hits count to {view.k}")
    spans = [html("<span>{part}</span>", part=part) for part in parts]
    return html('<div class="rd-legend">{parts}</div>', parts=join(spans))


def _shared(view: View, list_: UserList, base: str) -> str:
    longest = numbers.counted(min(view.k, list_.length), "item")
    return f"{view.short(list_.run_id)} and {base} share {list_.shared} of {longest}"
