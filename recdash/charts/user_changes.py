"""Users against the baseline: a bar of better, same and worse per run, and how far single users move."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from recdash.charts.layout import axis, escape, figure, short, tick_labels, zero_line
from recdash.charts.marks import Marks, Palette
from recdash.formatting import numbers
from recdash.formatting.records import Row, records

if TYPE_CHECKING:
    import pandas as pd

    from recdash.stats.user_changes import Bars

PITCH, THICK = 48, 0.58
NARROWEST = 6.0
"""Of 100: a part that is narrower has no room for its number."""
ROOM_FOR_WORD, INDENT = 17.0, 0.9
HEIGHT = 236
WORDS = ("better", "same", "worse")


def better_same_worse(changes: pd.DataFrame, marks: Marks, palette: Palette) -> go.Figure:
    """Figure of ``changes`` (run_id, n_users, better, same, worse): a row per run, 100 users wide."""
    rows = records(changes)
    chart = figure(palette, PITCH * len(rows) + 8, (140, 4, 4, 4))
    chart.update_layout(barmode="stack", bargap=1 - THICK)
    chart.update_xaxes(axis(palette, 0, 100, showgrid=False, tickvals=[]))
    names = [short(marks[row["run_id"]].name, 20) for row in rows]
    labels: dict[str, Any] = {"tickvals": list(range(len(rows))), "ticktext": names, "ticklabelstandoff": 8}
    ink = {"size": 14, "color": palette.ink}
    chart.update_yaxes(axis(palette, len(rows) - 0.5, -0.5, showgrid=False, tickfont=ink, **labels))
    for word, fill, written in (
        ("better", palette.better, palette.background),
        ("same", palette.same, palette.ink),
        ("worse", palette.worse, palette.background),
    ):
        chart.add_trace(_bar(rows, word, fill, marks, palette))
        chart.add_trace(_inside(rows, word, written))
    return chart


def _share(row: Row, *words: str) -> float:
    """Of 100 users."""
    return sum(100 * row[word] / row["n_users"] for word in words)


def _bar(rows: Sequence[Row], word: str, fill: str, marks: Marks, palette: Palette) -> go.Bar:
    return go.Bar(
        x=[_share(row, word) for row in rows], y=list(range(len(rows))), orientation="h", name=word,
        marker={"color": fill, "line": {"color": palette.background, "width": 2}}, hoverinfo="text",
        hovertext=[_hover(row, word, marks) for row in rows],
    )  # fmt: skip


def _inside(rows: Sequence[Row], word: str, ink: str) -> go.Scatter:
    """The numbers inside the bars, where there is room; the word beside one of them."""
    before = WORDS[: WORDS.index(word)]
    widest = max(range(len(rows)), key=lambda place: min(_share(rows[place], word), ROOM_FOR_WORD))
    texts = [_text(_share(row, word), word if place == widest else "") for place, row in enumerate(rows)]
    return go.Scatter(
        x=[_share(row, *before) + INDENT for row in rows], y=list(range(len(rows))), mode="text", text=texts,
        textposition="middle right", textfont={"size": 13, "color": ink}, hoverinfo="skip", name=word,
    )  # fmt: skip


def _text(share: float, word: str) -> str:
    if share < NARROWEST:
        return ""
    number = f"<b>{numbers.fixed(share, 0)}</b>"
    return f"{number} {word}" if word and share >= ROOM_FOR_WORD else number


def _hover(row: Row, word: str, marks: Marks) -> str:
    counts = f"{numbers.count(row[word])} of {numbers.count(row['n_users'])} users"
    return f"{escape(marks[row['run_id']].name)}<br>{word} for {counts}"


def distribution(bars: Bars, palette: Palette, title: str, *, signed: bool = True) -> go.Figure:
    """Users by a number of theirs, in bars; ``signed``: below zero is worse, above it better."""
    edges = [float(edge) for edge in bars.edge]
    counts = [int(count) for count in bars.count]
    top = max(counts, default=1)
    chart = figure(palette, HEIGHT, (52, 8, 10, 46))
    chart.update_layout(bargap=0.06)
    low, high = (edges[0], edges[-1]) if counts else (-1.0, 1.0)
    room = (high - low) * 0.02
    chart.update_xaxes(
        axis(palette, min(low, 0) - room, max(high, 0) + room, showgrid=False,
             **tick_labels(numbers.ticks(min(low, 0), max(high, 0), 5), sign=signed))
    )  # fmt: skip
    chart.update_xaxes(title_text=escape(title))
    whole = [tick for tick in numbers.ticks(0, top, 4) if tick == round(tick)]
    chart.update_yaxes(axis(palette, 0, 1.06 * top, **tick_labels(whole), ticklabelstandoff=6))
    middles = [(first + last) / 2 for first, last in pairwise(edges)]
    colours = [palette.worse if signed and middle < 0 else palette.better for middle in middles]
    chart.add_trace(
        go.Bar(
            x=middles, y=counts, width=[0.94 * (edges[1] - edges[0])] * len(counts) if counts else [],
            marker={"color": colours if signed else palette.muted, "line": {"width": 0}}, name="users",
            hoverinfo="text", hovertext=_between(edges, counts, signed=signed),
        )
    )  # fmt: skip
    chart.add_trace(zero_line(palette, [0, 1.06 * top]))
    return chart


def _between(edges: Sequence[float], counts: Sequence[int], *, signed: bool) -> list[str]:
    decimals = numbers.tick_decimals(edges)
    write = numbers.signed if signed else numbers.fixed
    return [
        f"{write(first, decimals)} to {write(last, decimals)}<br>{numbers.count(count)} users"
        for first, last, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
