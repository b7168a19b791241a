"""Offline differences of all stored A/B tests against the lifts that followed, and the line through them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from recdash.charts.curves import DrawnArea
from recdash.charts.layout import (
    CLEAR,
    INTERVAL,
    assembled,
    axis,
    end_label,
    escape,
    marker,
    place_labels,
    rgba,
    short,
    span,
    tick_labels,
)
from recdash.charts.marks import CONTEXT_GREY, Mark, Marks, Palette
from recdash.formatting import numbers
from recdash.stats import NORMAL_95

if TYPE_CHECKING:
    from recdash.online.agreement.track_record import Calibration, Point, TrackRecord

Trace = dict[str, Any]
HEIGHT, MARGIN = 400, (62, 16, 8, 52)
STEPS = 40
USUAL_WIDTH = 600  # px of the drawn area in a window of 1440
Titles = tuple[str, str]


def track_record(
    record: TrackRecord, test_id: str, marks: Marks, palette: Palette, titles: Titles
) -> go.Figure:
    """A point with a cross of 95 % intervals for each variant of each test; all numbers in %.

    The runs of ``test_id`` have their own marks, those of other tests are grey. With a calibration there is
    its line, and a band for a new test's true lift.
    """
    x = _around_zero([_ends(point.offline, point.offline_error) for point in record.points])
    y = _around_zero([_ends(point.online, point.online_error) for point in record.points])
    band = _band(record.calibration, x, palette) if record.calibration else []
    own = sorted(record.points, key=lambda point: point.test_id == test_id)  # the shown test on top
    crosses = [trace for point in own for trace in _cross(point, _look(point, test_id, marks), palette)]
    zero = [_zero(palette, list(x), [0, 0]), _zero(palette, [0, 0], list(y))]
    layout = {
        "xaxis": _axis(palette, x, titles[0], "xaxis"),
        "yaxis": _axis(palette, y, titles[1], "yaxis") | {"ticklabelstandoff": 6},
        "annotations": _names(record.points, test_id, marks, palette, x=x, y=y),
    }
    return assembled(palette, HEIGHT, MARGIN, [*band, *zero, *crosses], layout)


def _ends(value: float, error: float) -> tuple[float, float]:
    return value - NORMAL_95 * error, value + NORMAL_95 * error


def _around_zero(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return span([end for pair in ends for end in pair], zero=True, pad=0.1)


def _axis(palette: Palette, ends: tuple[float, float], title: str, name: str) -> dict[str, Any]:
    named = {"text": escape(title), "standoff": 8, "font": {"size": 13, "color": palette.muted}}
    marked = tick_labels(numbers.ticks(*ends, 5), sign=True)
    return axis(palette, *ends, showgrid=name == "yaxis", title=named, **marked)


def _zero(palette: Palette, x: list[float], y: list[float]) -> Trace:
    return {
        "type": "scatter", "x": x, "y": y, "mode": "lines", "hoverinfo": "skip", "name": "zero",
        "line": {"color": palette.ink, "width": 2.5},
    }  # fmt: skip


def _look(point: Point, test_id: str, marks: Marks) -> Mark:
    known = marks.get(point.run_id)
    if point.test_id == test_id and known is not None:
        return known
    return Mark(point.run_id, point.run, CONTEXT_GREY, "circle", "context")


def _cross(point: Point, look: Mark, palette: Palette) -> list[Trace]:
    """The intervals of both sides, and over them the mark: hollow where a side is not settled."""
    x, y = point.offline, point.online
    line = {"color": look.colour, "width": INTERVAL - 1.2}
    shared: Trace = {"type": "scatter", "name": escape(look.name)}
    arms = [
        shared | {"x": xs, "y": ys, "mode": "lines", "hoverinfo": "skip", "line": line}
        for xs, ys in (
            (list(_ends(x, point.offline_error)), [y, y]),
            ([x, x], list(_ends(y, point.online_error))),
        )
    ]
    told = f"offline {_percent(x)}, online {_percent(y)}"
    hover = f"{escape(point.run)}<br>{escape(point.test)}, {escape(point.experiment)}<br>{told}"
    dot = {
        "x": [x], "y": [y], "mode": "markers", "hoverinfo": "text", "hovertext": hover,
        "marker": marker(look, palette, size=11, hollow=point.calls is None),
    }  # fmt: skip
    return [*arms, shared | dot]


def _names(
    points: Sequence[Point],
    test_id: str,
    marks: Marks,
    palette: Palette,
    *,
    x: tuple[float, float],
    y: tuple[float, float],
) -> list[dict[str, Any]]:
    """The runs of the shown test by name, clear of each other, of all points and of zero."""
    pixels = HEIGHT - MARGIN[2] - MARGIN[3]
    area = DrawnArea(x, y, pixels)
    at = [(area.across(one.offline, USUAL_WIDTH), area.pixel(one.online)) for one in points]
    own = [place for place, one in enumerate(points) if one.test_id == test_id and one.run_id in marks]
    texts = [short(marks[points[place].run_id].name, 22) for place in own]
    zero = [(area.across(0, USUAL_WIDTH), pixels * step / STEPS) for step in range(STEPS + 1)]
    zero += [(USUAL_WIDTH * step / STEPS, area.pixel(0)) for step in range(STEPS + 1)]
    offsets = place_labels([at[place] for place in own], texts, [*at, *zero], (USUAL_WIDTH, pixels))
    return [
        end_label(
            palette,
            text,
            (points[place].offline, points[place].online),
            (across, down or (-16.0 if points[place].online > 0 else 16.0)),
            marks[points[place].run_id].colour,
        )
        | {"bgcolor": CLEAR, "standoff": 8}
        for place, text, (across, down) in zip(own, texts, offsets, strict=True)
    ]


def _percent(value: float) -> str:
    return f"{numbers.signed(value, numbers.places([value]))} %"


def _band(line: Calibration, x: tuple[float, float], palette: Palette) -> list[Trace]:
    """The prediction band and, over it, the line."""
    at = [x[0] + (x[1] - x[0]) * step / STEPS for step in range(STEPS + 1)]
    predicted = [line.predict(place) for place in at]
    middle, low, high = (list(one) for one in zip(*predicted, strict=True))
    shared: Trace = {"type": "scatter", "mode": "lines", "hoverinfo": "skip"}
    area = {
        "x": [*at, *reversed(at)], "y": [*low, *reversed(high)], "name": "95 % of new tests",
        "fill": "toself", "fillcolor": rgba(palette.faint, 0.2), "line": {"width": 0},
    }  # fmt: skip
    drawn = {"x": at, "y": middle, "name": "expected lift", "line": {"color": palette.muted, "width": 2}}
    return [shared | area, shared | drawn]
