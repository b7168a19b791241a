"""Users against the baseline: a bar of better, same and worse per run, and how far single users move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from recdash import numbers
from recdash.charts.frames import axis, escape, figure, short, tick_labels, zero_line
from recdash.charts.marks import Marks, Palette
from recdash.charts.rows import Row, records

if TYPE_CHECKING:
    import pandas as pd

    from recdash.stats.changes import Bars

PITCH, THICK = 48, 0.58
NARROWEST = 6.0
"""Of 100: a part that is narrower has no room for its number."""
ROOM_FOR_WORD = 17.0
HEIGHT = 236


@dataclass(frozen=True)
class _Part:
    word: str
    fill: str
    ink: str


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
    for part in (
        _Part("better", palette.better, palette.background),
        _Part("same", palette.same, palette.ink),
        _Part("worse", palette.worse, palette.background),
    ):
        chart.add_trace(_bar(rows, part, marks, palette))
    return chart


def _bar(rows: Sequence[Row], part: _Part, marks: Marks, palette: Palette) -> go.Bar:
    shares = [100 * row[part.word] / row["n_users"] for row in rows]
    return go.Bar(
        x=shares, y=list(range(len(rows))), orientation="h", name=part.word, cliponaxis=False,
        marker={"color": part.fill, "line": {"color": palette.background, "width": 2}},
        text=[_inside(share, part.word, first=place == 0) for place, share in enumerate(shares)],
        textposition="inside", insidetextanchor="start", textangle=0, constraintext="none",
        textfont={"size": 13, "color": part.ink}, hoverinfo="text",
        hovertext=[_hover(row, part.word, marks) for row in rows],
    )  # fmt: skip


def _inside(share: float, word: str, first: bool) -> str:
    """The number of 100 users; in the first row with its word."""
    if share < NARROWEST:
        return ""
    number = f"<b>{numbers.fixed(share, 0)}</b>"
    return f"{number} {word}" if first and share >= ROOM_FOR_WORD else number


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
