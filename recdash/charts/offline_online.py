"""Draws offline results next to online results: bars in the same order and colours, and a scatter plot with
quadrants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from recdash.charts.layout import (
    INTERVAL,
    DrawnArea,
    escape,
    figure,
    marker,
    muted,
    rgba,
    row_axis,
    short_labels,
    span,
    value_axis,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.charts.traces import CLEAR, Trace, cross, dots, end_label, line, note, rectangle, zero_line
from recdash.charts.traces import bars as bar_trace
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number
from recdash.formatting.records import Row, records
from recdash.formatting.signs import sign_of
from recdash.formatting.wording import finding

if TYPE_CHECKING:
    import pandas as pd

PITCH, AXIS_ROOM = 58, 34
USUAL_TICKS = 5
FEW_TICKS = 3
"""For pages: bars have 110 px on a phone, where more labels would be turned by 90°."""
SCATTER_HEIGHT, SCATTER_MARGIN = 420, (62, 16, 8, 52)
USUAL_WIDTH = 620  # px of the drawn area in a window of 1440
NARROW_WIDTH = 280  # px of the drawn area on a phone
MOST_LABELS = 4
"""The number of runs whose names have room on a narrow page, which shows no more."""
NAMED_WIDTH = 510  # px of the drawn area on the narrowest page that shows the names of more runs
BETWEEN_ENDS = 7
CORNERS = (
    ("lost offline, won online", 0.02, 0.98, "left", "top"),
    ("won both", 0.98, 0.98, "right", "top"),
    ("lost both", 0.02, 0.02, "left", "bottom"),
    ("won offline, lost online", 0.98, 0.02, "right", "bottom"),
)


@dataclass(frozen=True)
class Side:
    """The columns of a frame that a bar chart draws, and the unit of its numbers.

    ``judged`` False: bars are hollow and have no sign, even if their interval excludes zero.
    ``own_decimals``: each row has the decimals that its own numbers need, as lifts have in the tables of
    pages; else all rows have those of the largest. ``sign`` returns the sign of a finding. If
    ``lower_is_better``, a fall is better.
    """

    value: str
    low: str
    high: str
    unit: str = ""
    judged: bool = True
    own_decimals: bool = False
    sign: Callable[[str], str] = sign_of
    lower_is_better: bool = False


def bars(
    frame: pd.DataFrame, marks: Marks, palette: Palette, side: Side, n_ticks: int = USUAL_TICKS
) -> go.Figure:
    """Returns a figure of horizontal bars from zero, with intervals: one per row of ``frame``, from top to
    bottom.
    """
    rows = records(frame)
    bounds = [row[name] for row in rows for name in (side.low, side.value, side.high)]
    short = short_labels(marks, 18)
    names = [short[row["run_id"]] for row in rows]
    y_ends = (len(rows) - 0.5, -0.5)
    traces: list[Trace] = []
    texts = []
    for y, row in enumerate(rows):
        text = numbers.NONE
        if is_number(row[side.value]):
            own = [row[name] for name in (side.low, side.value, side.high)]
            decimals = numbers.places(own if side.own_decimals else bounds)
            drawn, text = _bar(row, y, marks[row["run_id"]], palette, side, decimals)
            traces += drawn
        texts.append(note(1, y, text, xref="paper", xanchor="right", xshift=118, align="right"))
    traces.append(zero_line(palette, [0.0, 0.0], y_ends[::-1]))
    layout = {
        "xaxis": value_axis(palette, span(bounds, zero=True), n_ticks, sign=True),
        "yaxis": row_axis(palette, names),
        "annotations": texts,
    }
    return figure(palette, PITCH * len(rows) + AXIS_ROOM, (128, 122, 0, AXIS_ROOM), traces, layout)


def _bar(
    row: Row, y: int, mark: Mark, palette: Palette, side: Side, decimals: int
) -> tuple[list[Trace], str]:
    """Returns the traces of the bar and its interval, and the text next to it."""
    value, low, high = row[side.value], row[side.low], row[side.high]
    word = finding(low, high, lower_is_better=side.lower_is_better)
    bounds = numbers.interval(low, high, decimals)
    amount = f"{numbers.signed(value, decimals)}{side.unit}"
    hollow = word == "not settled" or not side.judged
    look = {
        "color": palette.background if hollow else mark.colour,
        "line": {"color": mark.colour, "width": 2 if hollow else 0},
    }
    name = escape(mark.name)
    hover = f"{name}<br>{amount}<br>95 % CI {bounds}"
    bar = bar_trace([value], [y], name, look, hover, orientation="h", width=0.52)
    caps = {"symbol": "line-ns", "size": 11, "line": {"color": palette.ink, "width": 1.6}}
    whisker = line([low, high], [y, y], "95 % CI", palette.ink, 1.6, mode="lines+markers", marker=caps)
    written = f"{side.sign(word)} {amount}" if side.judged else amount
    return [bar, whisker], f"<b>{written}</b><br>{muted(palette, bounds)}"


def quadrants(
    frame: pd.DataFrame,
    marks: Marks,
    palette: Palette,
    x_title: str,
    y_title: str,
    *,
    judged: bool = True,
    narrow: bool = False,
    lower_is_better: bool = False,
    offline_lower_is_better: bool = False,
) -> go.Figure:
    """Returns a scatter plot of offline_delta against online_lift, with both intervals of each run as a
    cross.

    ``frame``: run_id, offline_delta, offline_low, offline_high, online_lift, online_low, online_high, in the
    units of the axis titles. ``judged`` False: all marks are hollow. ``narrow``: the labels fit a phone too;
    a report, which is not drawn that narrow, has them on one line. If less of the online metric is better
    (``lower_is_better``), the y axis runs downwards, so that better is always above; if less of the offline
    metric is, the x axis runs to the left, so that better is always on the right.
    """
    rows = [r for r in records(frame) if is_number(r["offline_delta"]) and is_number(r["online_lift"])]
    x = _around_zero([r[name] for r in rows for name in ("offline_low", "offline_high", "offline_delta")])
    y = _around_zero([r[name] for r in rows for name in ("online_low", "online_high", "online_lift")])
    if lower_is_better:
        y = y[::-1]
    if offline_lower_is_better:
        x = x[::-1]
    traces = [zero_line(palette, [0.0, 0.0], y), zero_line(palette, x, [0, 0])]
    for row in rows:
        traces += _cross(row, marks[row["run_id"]], palette, judged=judged)
    shade = rgba(palette.same, 0.28)
    font = {"size": 11.5 if narrow else 12.5, "color": palette.muted}
    joint = ",<br>" if narrow else ", "
    corners = [
        note(
            across, up, text.capitalize().replace(", ", joint),
            xref="paper", yref="paper", xanchor=side, yanchor=edge, font=font,
        )
        for text, across, up, side, edge in CORNERS
    ]  # fmt: skip
    if narrow:
        corners = [corner | {"align": corner["xanchor"]} for corner in corners]
    narrowest = NARROW_WIDTH if len(rows) <= MOST_LABELS else NAMED_WIDTH
    layout = {
        "xaxis": value_axis(palette, x, 5, sign=True, showgrid=False, title=escape(x_title)),
        "yaxis": value_axis(
            palette, y, 5, sign=True, showgrid=False, title=escape(y_title), ticklabelstandoff=6
        ),
        "shapes": [rectangle((x[0], 0), (0, y[1]), shade), rectangle((0, x[1]), (y[0], 0), shade)],
        "annotations": [
            *corners,
            *_names(rows, marks, palette, x, y, narrowest if narrow else USUAL_WIDTH),
        ],
    }
    return figure(palette, SCATTER_HEIGHT, SCATTER_MARGIN, traces, layout)


def _around_zero(values: Sequence[float]) -> tuple[float, float]:
    """Returns a range with room for the quadrants' names on both sides of zero."""
    low, high = span(values, zero=True, pad=0.18)
    return min(low, -0.35 * high), max(high, -0.35 * low)


def _cross(row: Row, mark: Mark, palette: Palette, *, judged: bool) -> list[Trace]:
    x, y, name = row["offline_delta"], row["online_lift"], escape(mark.name)
    offline = (row["offline_low"], row["offline_high"])
    online = (row["online_low"], row["online_high"])
    hollow = not (judged and numbers.excludes_zero(*offline) and numbers.excludes_zero(*online))
    hover = f"{name}<br>offline {numbers.three(x)}, online {numbers.three(y)}"
    return [
        *cross((x, y), offline, online, name, mark.colour, INTERVAL - 0.6),
        dots([x], [y], name, marker(mark, palette, hollow=hollow), hover),
    ]


def _along(low: float, high: float, n_between: int) -> list[float]:
    """Returns both ends, and as many points evenly between them."""
    return [low, *(low + (high - low) * step / (n_between + 1) for step in range(1, n_between + 1)), high]


def _names(
    rows: Sequence[Row],
    marks: Marks,
    palette: Palette,
    x: tuple[float, float],
    y: tuple[float, float],
    width: int,
) -> Iterator[Trace]:
    """Yields the runs' names next to their marks, such that they avoid each other and the crosses."""
    area = DrawnArea(x, y, SCATTER_HEIGHT - SCATTER_MARGIN[2] - SCATTER_MARGIN[3], width)
    points = [(row["offline_delta"], row["online_lift"]) for row in rows]
    pixels = [area.pixel(*point) for point in points]
    n_between = BETWEEN_ENDS if width == NARROW_WIDTH else 0  # labels are near the crosses there
    ends = []
    for row in rows:
        offline, online = row["offline_delta"], row["online_lift"]
        ends += [(offline, end) for end in _along(row["online_low"], row["online_high"], n_between)]
        ends += [(end, online) for end in _along(row["offline_low"], row["offline_high"], n_between)]
    short = short_labels(marks, 22)
    texts = [short[row["run_id"]] for row in rows]
    obstacles = [*pixels, *(area.pixel(*end) for end in ends), *area.along_zero()]
    offsets = area.place_labels(pixels, texts, obstacles)
    for row, point, text, (across, down) in zip(rows, points, texts, offsets, strict=True):
        colour = marks[row["run_id"]].colour
        is_below = area.down(point[1]) > area.down(0)
        aside = 16.0 if width == NARROW_WIDTH and is_below else -16.0  # away from the zero line
        yield end_label(palette, text, point, (across, down or aside), colour, bgcolor=CLEAR, standoff=8)
