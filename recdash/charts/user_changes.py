"""Draws users' changes from the baseline: one bar of better, same and worse per run, and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from recdash.charts.layout import axis, escape, figure, row_axis, short_labels, tick_labels, value_axis
from recdash.charts.marks import Marks, Palette
from recdash.charts.traces import Trace, bars, scatter, zero_line
from recdash.formatting import numbers
from recdash.formatting.records import Row, records

if TYPE_CHECKING:
    import pandas as pd

    from recdash.stats.user_changes import Bars

PITCH, THICK = 48, 0.58
NARROWEST = 6.0
"""A part of a bar that is narrower (in users of 100) has no room for its number."""
ROOM_FOR_WORD, INDENT = 24.0, 0.9
HEIGHT = 236
WORDS = ("better", "same", "worse")


def better_same_worse(changes: pd.DataFrame, marks: Marks, palette: Palette) -> go.Figure:
    """Returns the figure of ``changes`` (run_id, n_users, better, same, worse): one bar per run, as wide as
    100 users.
    """
    rows, names = records(changes), short_labels(marks, 18)
    y = range(len(rows))
    traces: list[Trace] = []
    for word, fill, ink in (
        ("better", palette.better, palette.background),
        ("same", palette.same, palette.ink),
        ("worse", palette.worse, palette.background),
    ):
        look = {"color": fill, "line": {"color": palette.background, "width": 2}}
        hover = [
            f"{escape(marks[row['run_id']].name)}<br>{word} for {numbers.count(row[word])} of "
            f"{numbers.count(row['n_users'])} users"
            for row in rows
        ]
        traces.append(bars([_share(row, word) for row in rows], y, word, look, hover, orientation="h"))
        traces.append(_numbers_inside(rows, word, ink))
    layout = {
        "barmode": "stack",
        "bargap": 1 - THICK,
        "xaxis": axis(palette, 0, 100, showgrid=False, tickvals=[]),
        "yaxis": row_axis(palette, [names[row["run_id"]] for row in rows]),
    }
    return figure(palette, PITCH * len(rows) + 8, (140, 4, 4, 4), traces, layout)


def _share(row: Row, *words: str) -> float:
    """Returns how many of 100 users have one of these outcomes."""
    return sum(100 * row[word] / row["n_users"] for word in words)


def _whole(row: Row, word: str) -> str:
    """Returns the share in users of 100 as a whole number; the shares of a run add up to 100."""
    same, better, worse = numbers.whole_shares([row[outcome] for outcome in ("same", "better", "worse")])
    return str({"better": better, "same": same, "worse": worse}[word])


def _numbers_inside(rows: Sequence[Row], word: str, ink: str) -> Trace:
    """Returns the numbers inside the bars, where there is room; the widest part also has the outcome's
    word.
    """
    before = WORDS[: WORDS.index(word)]
    widest = max(range(len(rows)), key=lambda index: min(_share(rows[index], word), ROOM_FOR_WORD))
    texts = []
    for index, row in enumerate(rows):
        share = _share(row, word)
        text = f"<b>{_whole(row, word)}</b>" if share >= NARROWEST else ""
        texts.append(f"{text} {word}" if index == widest and share >= ROOM_FOR_WORD else text)
    x = [_share(row, *before) + INDENT for row in rows]
    look = {"textposition": "middle right", "textfont": {"size": 13, "color": ink}}
    return scatter("text", x, range(len(rows)), word, text=texts, **look)


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
        "yaxis": axis(palette, 0, 1.06 * top, **tick_labels(whole_ticks), ticklabelstandoff=6),
    }
    traces = [
        bars(middles, counts, "users", look, hover, width=widths),
        zero_line(palette, [0.0, 0.0], [0, 1.06 * top]),
    ]
    return figure(palette, HEIGHT, (52, 8, 10, 46), traces, layout)


def _bar_texts(edges: Sequence[float], counts: Sequence[int], *, signed: bool) -> list[str]:
    decimals = numbers.tick_decimals(edges)
    write = numbers.signed if signed else numbers.fixed
    return [
        f"{write(first, decimals)} to {write(last, decimals)}<br>{numbers.count(count)} users"
        for first, last, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
