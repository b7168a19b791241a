"""Draws runs by two metrics: better is right and up, and the Pareto front is a line of steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import plotly.graph_objects as go

from recdash.charts.layout import (
    MARK,
    MARKER,
    DrawnArea,
    escape,
    figure,
    marker,
    muted,
    span,
    value_axis,
)
from recdash.charts.marks import Mark, Marks, Palette, short_names
from recdash.charts.traces import Trace, cross, dots, end_label, line
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number

HEIGHT, MARGIN = 480, (74, 24, 16, 58)
LEAST_WIDTH = 800
"""Smallest width of the drawn area in px, for which labels are placed."""
MOST_GREY_LABELS = 8
LONGEST_NAME = 26
SMALL, ASIDE = 8, 0.45


@dataclass(frozen=True)
class Direction:
    """The axis of one metric: its title, and whether it runs backwards."""

    title: str
    less_is_better: bool = False


@dataclass(frozen=True)
class TradeOffPoint:
    """A run's values by two metrics, and half the widths of their 95 % intervals; 0 without an interval."""

    run_id: str
    x: float
    y: float
    x_half: float = 0.0
    y_half: float = 0.0


def trade_off(
    points: Sequence[TradeOffPoint],
    front: Sequence[str],
    directions: tuple[Direction, Direction],
    marks: Marks,
    palette: Palette,
) -> go.Figure:
    """Returns the figure of ``points``; ``front`` are the run ids of the Pareto front, from the best by y to
    the best by x.

    Baseline and candidates have labels, and so have some other runs of the front. Labels never overlap.
    """
    area = _area(points, directions, marks)
    by_id = {point.run_id: point for point in points}
    steps = [by_id[run] for run in front if run in by_id]
    decimals = (numbers.places(point.x for point in points), numbers.places(point.y for point in points))
    traces: list[Trace] = []
    if steps:
        traces.append(line(*_corners(steps, area), "front", palette.muted, 1.6, dash="dot"))
    roles = ("context", "baseline", "candidate")
    for point in sorted(points, key=lambda point: roles.index(marks[point.run_id].role)):
        traces += _of_run(point, marks[point.run_id], palette, decimals, on_front=point in steps)
    x_title, y_title = (
        f"{escape(direction.title)} · better {arrow}"
        for direction, arrow in zip(directions, "→↑", strict=True)
    )
    layout = {
        "xaxis": value_axis(palette, area.x, 6, title=x_title, standoff=12),
        "yaxis": value_axis(palette, area.y, 7, title=y_title, standoff=12, ticklabelstandoff=6),
        "annotations": list(_names(points, steps, area, marks, palette)),
    }
    return figure(palette, HEIGHT, MARGIN, traces, layout)


def _area(
    points: Sequence[TradeOffPoint], directions: tuple[Direction, Direction], marks: Marks
) -> DrawnArea:
    """Returns the drawn area; an axis of which less is better runs backwards. Only intervals of baseline and
    candidates count, because others are not drawn.
    """
    x, y = [], []
    for point in points:
        drawn = 0 if marks[point.run_id].role == "context" else 1
        x += [point.x - drawn * point.x_half, point.x + drawn * point.x_half]
        y += [point.y - drawn * point.y_half, point.y + drawn * point.y_half]
    x_ends, y_ends = (
        (high, low) if direction.less_is_better else (low, high)
        for direction, (low, high) in zip(directions, (span(x, pad=0.07), span(y, pad=0.07)), strict=True)
    )
    return DrawnArea(x_ends, y_ends, HEIGHT - MARGIN[2] - MARGIN[3], LEAST_WIDTH)


def _corners(steps: Sequence[TradeOffPoint], area: DrawnArea) -> tuple[list[float], list[float]]:
    """Returns the x and y of the front's line: from the left edge along the best y, down at each run, to the
    bottom edge.
    """
    x, y = [area.x[0]], [steps[0].y]
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        x += [step.x, step.x]
        y += [step.y, after.y if after else area.y[0]]
    return x, y


def _of_run(
    point: TradeOffPoint, mark: Mark, palette: Palette, decimals: tuple[int, int], *, on_front: bool
) -> Iterator[Trace]:
    """Yields a run's intervals and its mark; a run that is neither baseline nor candidate has no
    intervals.
    """
    name, aside = escape(mark.name), mark.role == "context"
    x_ends = (point.x - point.x_half, point.x + point.x_half)
    y_ends = (point.y - point.y_half, point.y + point.y_half)
    x_bar, y_bar = cross((point.x, point.y), x_ends, y_ends, name, mark.colour, 2)
    if point.x_half > 0 and not aside:
        yield x_bar
    if point.y_half > 0 and not aside:
        yield y_bar
    values = f"{_value(point.x, point.x_half, decimals[0])}<br>{_value(point.y, point.y_half, decimals[1])}"
    look = marker(mark, palette, size=SMALL if aside else MARKER, hollow=mark.role == "baseline")
    look["opacity"] = ASIDE if aside and not on_front else 1
    yield dots([point.x], [point.y], name, look, f"{name}<br>{values}", cliponaxis=False)


def _value(value: float, half: float, decimals: int) -> str:
    text = numbers.fixed(value, decimals)
    if not is_number(half) or not half:
        return text
    ends = f"{numbers.fixed(value - half, decimals)} to {numbers.fixed(value + half, decimals)}"
    return f"{text}, 95 % CI {ends}"


def _on_markers(points: Sequence[TradeOffPoint], area: DrawnArea) -> Iterator[tuple[float, float]]:
    """Yields the centre and the corners of each marker, in px, as often as a marker counts."""
    half = MARKER / 2
    for point in points:
        x, y = area.pixel(point.x, point.y)
        for across, down in ((0, 0), (half, 0), (-half, 0), (0, half), (0, -half)):
            yield from [(x + across, y + down)] * MARK


def _names(
    points: Sequence[TradeOffPoint],
    steps: Sequence[TradeOffPoint],
    area: DrawnArea,
    marks: Marks,
    palette: Palette,
) -> Iterator[Trace]:
    named = _named(points, [point.run_id for point in steps], marks)
    labelled = [point for point in points if point.run_id in named]
    starts = [area.pixel(point.x, point.y) for point in labelled]
    short = short_names(marks, LONGEST_NAME)
    texts = [_label(short[point.run_id], marks[point.run_id]) for point in labelled]
    lines = [*_along_crosses(points, marks), *_along_front(steps, area)]
    obstacles = [*_on_markers(points, area), *(area.pixel(*obstacle) for obstacle in lines)]
    offsets = area.place_labels(starts, texts, obstacles)
    for point, offset in zip(labelled, offsets, strict=True):
        mark = marks[point.run_id]
        text = escape(short[point.run_id])
        text += muted(palette, ", baseline") if mark.role == "baseline" else ""
        yield end_label(palette, text, (point.x, point.y), offset, mark.colour)


def _along_crosses(points: Sequence[TradeOffPoint], marks: Marks) -> list[tuple[float, float]]:
    """Returns points along the intervals, which labels avoid."""
    return [
        (point.x + part * point.x_half * across, point.y + part * point.y_half * (1 - across))
        for point in points
        if marks[point.run_id].role != "context"
        for across in (0, 1)
        for part in (-1, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1)
    ]


def _along_front(steps: Sequence[TradeOffPoint], area: DrawnArea) -> list[tuple[float, float]]:
    """Returns points along the front's line, which labels avoid; about one every 10 px on its longest
    step.
    """
    if not steps:
        return []
    return [
        (x0 + (x1 - x0) * part / 60, y0 + (y1 - y0) * part / 60)
        for (x0, y0), (x1, y1) in pairwise(zip(*_corners(steps, area), strict=True))
        for part in range(61)
    ]


def _label(name: str, mark: Mark) -> str:
    """Returns the name without markup as it is drawn, from which the label's width is computed."""
    return name + (", baseline" if mark.role == "baseline" else "")


def _named(points: Sequence[TradeOffPoint], front: Sequence[str], marks: Marks) -> set[str]:
    """Returns the ids of the runs with a label: baseline, candidates, and some other runs, spread along the
    front.
    """
    chosen = {point.run_id for point in points if marks[point.run_id].role != "context"}
    others = [run for run in front if run not in chosen]
    few = min(MOST_GREY_LABELS, len(others))
    return chosen | {others[round(index * (len(others) - 1) / max(1, few - 1))] for index in range(few)}
