"""Draws users' changes from the baseline: one bar of better, same and worse per run, and histograms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from recdash.charts.layout import axis, escape, figure, row_axis, short_labels, tick_labels, value_axis
from recdash.charts.marks import Marks, Palette
from recdash.charts.traces import Trace, bars, note, zero_line
from recdash.formatting import numbers
from recdash.formatting.records import Row, records

if TYPE_CHECKING:
    import pandas as pd

    from recdash.stats.user_changes import Bars

PITCH, THICK, MARGIN = 40, 0.62, (180, 50, 24, 4)
NUMBER_ROOM = 46
"""The room in px between the names and the bars, for the numbers of users who gain."""
NARROWEST = 6.0
"""A part of a bar that is narrower (in users of 100) has no room for its number."""
HEIGHT = 236


def better_same_worse(changes: pd.DataFrame, marks: Marks, palette: Palette) -> go.Figure:
    """Returns the figure of ``changes`` (run_id, n_users, better, same, worse): one bar per run, as wide as
    100 users. The numbers of users who gain and lose are left and right of it, however few they are.
    """
    rows, names = records(changes), short_labels(marks, 18)
    y = range(len(rows))
    traces: list[Trace] = []
    for word, fill in (("better", palette.better), ("same", palette.same), ("worse", palette.worse)):
        look = {"color": fill, "line": {"color": palette.background, "width": 2}}
        hover = [
            f"{escape(marks[row['run_id']].name)}<br>{word} for {numbers.count(row[word])} of "
            f"{numbers.count(row['n_users'])} users"
            for row in rows
        ]
        traces.append(bars([_share(row, word) for row in rows], y, word, look, hover, orientation="h"))
    layout = {
        "barmode": "stack",
        "bargap": 1 - THICK,
        "xaxis": axis(palette, 0, 100, showgrid=False, tickvals=[]),
        "yaxis": row_axis(palette, [names[row["run_id"]] for row in rows], standoff=NUMBER_ROOM),
        "annotations": list(_numbers(rows, palette)),
    }
    left, right, top, bottom = MARGIN
    return figure(palette, PITCH * len(rows) + top + bottom, (left, right, top, bottom), traces, layout)


def _share(row: Row, word: str) -> float:
    """Returns how many of 100 users have this outcome."""
    return float(100 * row[word] / row["n_users"])


def _numbers(rows: Sequence[Row], palette: Palette) -> Iterator[Trace]:
    """Yields the numbers of users of 100, and above them the words for the outcomes. The shares of a run add
    up to 100.
    """
    look: Trace = {"yref": "paper", "yanchor": "bottom", "yshift": 3}
    left: Trace = {"xanchor": "right", "xshift": -8}
    right: Trace = {"xanchor": "left", "xshift": 8}
    yield note(0, 1, "better", **look, **left, font={"size": 12.5, "color": palette.better})
    yield note(50, 1, "same", **look, font={"size": 12.5, "color": palette.muted})
    yield note(100, 1, "worse", **look, **right, font={"size": 12.5, "color": palette.worse})
    for y, row in enumerate(rows):
        same, better, worse = numbers.shares_of_100([row[word] for word in ("same", "better", "worse")])
        yield note(0, y, f"<b>{better}</b>", **left, font={"size": 13, "color": palette.better})
        yield note(100, y, f"<b>{worse}</b>", **right, font={"size": 13, "color": palette.worse})
        if _share(row, "same") >= NARROWEST:
            middle = _share(row, "better") + _share(row, "same") / 2
            yield note(middle, y, same, font={"size": 13, "color": palette.ink})


def distribution(groups: Bars, palette: Palette, title: str, *, signed: bool = True) -> go.Figure:
    """Returns a histogram of users by a number of theirs. With ``signed``, numbers below zero are worse and
    numbers above are better.
    """
    edges = [float(edge) for edge in groups.edge]
    counts = [int(count) for count in groups.count]
    top = max(counts, default=1)
    low, high = (min(edges[0], 0), max(edges[-1], 0)) if counts else (-1.0, 1.0)
    room = 0.02 * (edges[-1] - edges[0] if counts else 2.0)
    colours = [
        palette.worse if signed and first + last < 0 else palette.better for first, last in pairwise(edges)
    ]
    look = {"color": colours if signed else palette.muted, "line": {"width": 0}}
    widths = [0.94 * (edges[1] - edges[0])] * len(counts) if counts else []
    middles = [(first + last) / 2 for first, last in pairwise(edges)]
    hover = _bar_texts(edges, counts, signed=signed)
    x_axis = value_axis(palette, (low, high), 5, sign=signed, showgrid=False, title=escape(title))
    whole_ticks = [tick for tick in numbers.ticks(0, top, 4) if tick == round(tick)]
    layout = {
        "bargap": 0.06,
        "xaxis": x_axis | {"range": [low - room, high + room]},
        "yaxis": axis(palette, 0, 1.06 * top, title="Users", **tick_labels(whole_ticks), ticklabelstandoff=6),
    }
    traces = [
        bars(middles, counts, "users", look, hover, width=widths),
        zero_line(palette, [0.0, 0.0], [0, 1.06 * top]),
    ]
    return figure(palette, HEIGHT, (70, 8, 10, 46), traces, layout)


def _bar_texts(edges: Sequence[float], counts: Sequence[int], *, signed: bool) -> list[str]:
    decimals = numbers.tick_decimals(edges)
    write = numbers.signed if signed else numbers.fixed
    return [
        f"{write(first, decimals)} to {write(last, decimals)}<br>{numbers.count(count)} users"
        for first, last, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
