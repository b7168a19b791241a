"""Runs by two metrics: right and up are better, the front is a line of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go

from recdash.charts.curves import DrawnArea
from recdash.charts.layout import (
    MARKER,
    axis,
    end_label,
    escape,
    figure,
    marker,
    muted,
    place_labels,
    short,
    span,
    tick_labels,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number

HEIGHT, MARGIN = 480, (74, 24, 16, 58)
USUAL_WIDTH = 1010
"""Of the drawn area, in px; labels are placed for it."""
MOST_GREY_LABELS = 8
LONGEST_NAME = 30
SMALL, ASIDE = 8, 0.45


@dataclass(frozen=True)
class Direction:
    """One of the two metrics: what its axis is called, and whether it runs backwards."""

    title: str
    less_is_better: bool = False


@dataclass(frozen=True)
class TradeOffPoint:
    """A run's values, and half the width of their 95 % intervals: 0 where there is none."""

    run_id: str
    x: float
    y: float
    x_half: float = 0.0
    y_half: float = 0.0


def trade_off(
    dots: Sequence[TradeOffPoint],
    front: Sequence[str],
    directions: tuple[Direction, Direction],
    marks: Marks,
    palette: Palette,
) -> go.Figure:
    """Figure of ``dots``; ``front``: run ids from the best by y to the best by x. Labels never overlap.

    Named are baseline and candidates, and of the other runs those of the front.
    """
    chart = figure(palette, HEIGHT, MARGIN)
    area = _area(dots, directions, marks)
    title = {"standoff": 12, "font": {"size": 13, "color": palette.muted}}
    x_text, y_text = (
        {"text": f"{escape(one.title)} · better {arrow}"} for one, arrow in zip(directions, "→↑", strict=True)
    )
    chart.update_xaxes(axis(palette, *area.x, **_ticks(area.x, 6), title=title | x_text))
    chart.update_yaxes(axis(palette, *area.y, **_ticks(area.y, 5), title=title | y_text, ticklabelstandoff=6))
    known = {dot.run_id: dot for dot in dots}
    steps = [known[run] for run in front if run in known]
    _draw_front(chart, steps, area, palette)
    decimals = (numbers.places(dot.x for dot in dots), numbers.places(dot.y for dot in dots))
    for dot in sorted(
        dots, key=lambda dot: ("context", "baseline", "candidate").index(marks[dot.run_id].role)
    ):
        _draw_dot(chart, dot, marks[dot.run_id], palette, decimals, on_front=dot in steps)
    _name(chart, dots, steps, area, marks, palette)
    return chart


def _area(dots: Sequence[TradeOffPoint], directions: tuple[Direction, Direction], marks: Marks) -> DrawnArea:
    """Ends of the axes, swapped where less is better; intervals are drawn of chosen runs only."""
    shown = [(dot, 0 if marks[dot.run_id].role == "context" else 1) for dot in dots]
    x = span([dot.x + side * there * dot.x_half for dot, there in shown for side in (-1, 1)], pad=0.07)
    y = span([dot.y + side * there * dot.y_half for dot, there in shown for side in (-1, 1)], pad=0.07)
    x, y = (
        (high, low) if one.less_is_better else (low, high)
        for one, (low, high) in zip(directions, (x, y), strict=True)
    )
    return DrawnArea(x, y, HEIGHT - MARGIN[2] - MARGIN[3])


def _ticks(ends: tuple[float, float], wanted: int) -> dict[str, Any]:
    return tick_labels(numbers.ticks(min(ends), max(ends), wanted))


def _steps(known: Sequence[TradeOffPoint], area: DrawnArea) -> tuple[list[float], list[float]]:
    """x and y: from the left edge along the best y, down at each run to the next, to the floor."""
    x, y = [area.x[0]], [known[0].y]
    for step, after in zip(known, [*known[1:], None], strict=True):
        x += [step.x, step.x]
        y += [step.y, after.y if after else area.y[0]]
    return x, y


def _draw_front(chart: go.Figure, known: Sequence[TradeOffPoint], area: DrawnArea, palette: Palette) -> None:
    if not known:
        return
    x, y = _steps(known, area)
    line = {"color": palette.muted, "width": 1.6, "dash": "dot"}
    chart.add_trace(go.Scatter(x=x, y=y, mode="lines", hoverinfo="skip", name="front", line=line))


def _draw_dot(
    chart: go.Figure,
    dot: TradeOffPoint,
    look: Mark,
    palette: Palette,
    decimals: tuple[int, int],
    *,
    on_front: bool,
) -> None:
    """What is neither chosen nor on the front steps back."""
    if look.role != "context":
        _draw_cross(chart, dot, look)
    size = SMALL if look.role == "context" else MARKER
    drawn = marker(look, palette, size=size, hollow=look.role == "baseline")
    chart.add_trace(
        go.Scatter(
            x=[dot.x], y=[dot.y], mode="markers", name=escape(look.name), hoverinfo="text",
            hovertext=f"{escape(look.name)}<br>{_value(dot.x, dot.x_half, decimals[0])}"
            f"<br>{_value(dot.y, dot.y_half, decimals[1])}",
            marker=drawn | {"opacity": ASIDE if look.role == "context" and not on_front else 1},
            cliponaxis=False,
        )
    )  # fmt: skip


def _draw_cross(chart: go.Figure, dot: TradeOffPoint, look: Mark) -> None:
    for x, y in (
        ([dot.x - dot.x_half, dot.x + dot.x_half], [dot.y, dot.y]),
        ([dot.x, dot.x], [dot.y - dot.y_half, dot.y + dot.y_half]),
    ):
        if x[0] < x[1] or y[0] < y[1]:
            line = {"color": look.colour, "width": 2}
            chart.add_trace(
                go.Scatter(x=x, y=y, mode="lines", hoverinfo="skip", name=escape(look.name), line=line)
            )


def _value(value: float, half: float, decimals: int) -> str:
    text = numbers.fixed(value, decimals)
    if not is_number(half) or not half:
        return text
    return (
        f"{text}, 95 % CI {numbers.fixed(value - half, decimals)} to {numbers.fixed(value + half, decimals)}"
    )


def _name(
    chart: go.Figure,
    dots: Sequence[TradeOffPoint],
    steps: Sequence[TradeOffPoint],
    area: DrawnArea,
    marks: Marks,
    palette: Palette,
) -> None:
    kept = _named(dots, [dot.run_id for dot in steps], marks)
    named = [dot for dot in dots if dot.run_id in kept]

    def place(dot: TradeOffPoint) -> tuple[float, float]:
        return area.across(dot.x, USUAL_WIDTH), area.pixel(dot.y)

    points, texts = [place(dot) for dot in named], [_label(marks[dot.run_id]) for dot in named]
    obstacles = [point for point in map(place, dots) for _ in range(8)]
    obstacles += [*map(place, _along_crosses(dots, marks)), *map(place, _along(steps, area))]
    offsets = place_labels(points, texts, obstacles, (USUAL_WIDTH, area.pixels))
    for dot, offset in zip(named, offsets, strict=True):
        look = marks[dot.run_id]
        text = short(look.name, LONGEST_NAME)
        text += muted(palette, ", baseline") if look.role == "baseline" else ""
        chart.add_annotation(end_label(palette, text, (dot.x, dot.y), offset, look.colour))


def _along_crosses(dots: Sequence[TradeOffPoint], marks: Marks) -> list[TradeOffPoint]:
    """Points along the intervals, which labels had better not cover."""
    return [
        TradeOffPoint(
            dot.run_id, dot.x + part * dot.x_half * across, dot.y + part * dot.y_half * (1 - across)
        )
        for dot in dots
        if marks[dot.run_id].role != "context"
        for across in (0, 1)
        for part in (-1, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1)
    ]


def _along(steps: Sequence[TradeOffPoint], area: DrawnArea) -> list[TradeOffPoint]:
    """Points along the front's line, about one every 10 px of its longest step."""
    if not steps:
        return []
    corners = list(zip(*_steps(steps, area), strict=True))
    return [
        TradeOffPoint("", x0 + (x1 - x0) * at / 60, y0 + (y1 - y0) * at / 60)
        for (x0, y0), (x1, y1) in pairwise(corners)
        for at in range(61)
    ]


def _label(look: Mark) -> str:
    name = look.name if len(look.name) <= LONGEST_NAME else look.name[:LONGEST_NAME]
    return f"{name}, baseline" if look.role == "baseline" else name


def _named(dots: Sequence[TradeOffPoint], front: Sequence[str], marks: Marks) -> set[str]:
    """Everybody who is chosen, and some of the front's others, spread along it."""
    chosen = {dot.run_id for dot in dots if marks[dot.run_id].role != "context"}
    others = [run for run in front if run not in chosen]
    few = min(MOST_GREY_LABELS, len(others))
    return chosen | {others[round(at * (len(others) - 1) / max(1, few - 1))] for at in range(few)}
