"""Draws the offline differences of all stored A/B tests against the lifts that followed, with a regression
line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import plotly.graph_objects as go

from recdash.charts.layout import (
    INTERVAL,
    DrawnArea,
    LabelArea,
    escape,
    figure,
    marker,
    place_labels_at_sizes,
    rgba,
    short_labels,
    span,
    value_axis,
)
from recdash.charts.marks import CONTEXT_GREY, Mark, Marks, Palette
from recdash.charts.traces import CLEAR, Trace, area, cross, dots, end_label, line, zero_line
from recdash.formatting import numbers
from recdash.stats import NORMAL_95

HEIGHT, MARGIN = 400, (62, 16, 8, 52)
STEPS = 40
WIDTHS = (280, 510, 1080)
"""Widths of the drawn area in px: on a phone, beside the table of metrics, and alone in a wide window."""
Titles = tuple[str, str]


class Point(Protocol):
    """One variant of one A/B test, with both results in the units of their axes."""

    @property
    def experiment(self) -> str: ...
    @property
    def test(self) -> str: ...
    @property
    def test_id(self) -> str: ...
    @property
    def run(self) -> str: ...
    @property
    def run_id(self) -> str: ...
    @property
    def offline(self) -> float: ...
    @property
    def offline_error(self) -> float: ...
    @property
    def online(self) -> float: ...
    @property
    def online_error(self) -> float: ...
    @property
    def calls(self) -> bool | None: ...


class Calibration(Protocol):
    """The line from offline differences to expected lifts, with their prediction interval."""

    def predict(self, offline: float, offline_error: float) -> tuple[float, float, float]: ...


class TrackRecord(Protocol):
    """The tests of the past: see ``recdash.online.agreement.track_record``."""

    @property
    def signs(self) -> tuple[int, int]: ...
    @property
    def shown_points(self) -> Sequence[Point]: ...
    @property
    def shown_calibration(self) -> Calibration | None: ...
    @property
    def usual_offline_error(self) -> float: ...
    def offline_text(self, point: Any) -> str: ...


def track_record(
    record: TrackRecord, test_id: str, marks: Marks, palette: Palette, titles: Titles
) -> go.Figure:
    """Returns a figure with one point per variant of each test, with both 95 % intervals as a cross.

    Online numbers are in %; offline ones too, except in a record ``in_units``.

    An axis of which less is better runs backwards. Runs of the test ``test_id`` have their own marks, those
    of other tests are grey. If the record has a calibration, the figure has its line, and a band for the
    true lift of a new test.
    """
    points = record.shown_points
    x = _around_zero([_ends(point.offline, point.offline_error) for point in points])
    y = _around_zero([_ends(point.online, point.online_error) for point in points])
    traces = []
    if record.shown_calibration:
        traces += _band(record.shown_calibration, x, record.usual_offline_error, palette)
    x, y = (ends if sign > 0 else ends[::-1] for ends, sign in zip((x, y), record.signs, strict=True))
    traces += [zero_line(palette, x, [0, 0]), zero_line(palette, [0, 0], y)]
    for point in sorted(points, key=lambda point: point.test_id == test_id):  # the current test on top
        traces += _cross(point, record.offline_text(point), _mark(point, test_id, marks), palette)
    layout = {
        "xaxis": value_axis(palette, x, 5, sign=True, showgrid=False, title=escape(titles[0])),
        "yaxis": value_axis(palette, y, 5, sign=True, title=escape(titles[1]), ticklabelstandoff=6),
        "annotations": list(_names(points, test_id, marks, palette, x, y)),
    }
    return figure(palette, HEIGHT, MARGIN, traces, layout)


def _ends(value: float, error: float) -> tuple[float, float]:
    return value - NORMAL_95 * error, value + NORMAL_95 * error


def _around_zero(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return span([end for pair in ends for end in pair], zero=True, pad=0.1)


def _mark(point: Point, test_id: str, marks: Marks) -> Mark:
    if point.test_id == test_id and point.run_id in marks:
        return marks[point.run_id]
    return Mark(point.run_id, point.run, CONTEXT_GREY, "circle", "context")


def _cross(point: Point, offline: str, mark: Mark, palette: Palette) -> list[Trace]:
    """Returns both intervals and the mark on top of them; the mark is hollow if one of the sides is not
    significant.
    """
    x, y, name = point.offline, point.online, escape(mark.name)
    values = f"offline {offline}, online {numbers.change(y, ' %')}"
    hover = f"{escape(point.run)}<br>{escape(point.test)}, {escape(point.experiment)}<br>{values}"
    x_ends, y_ends = _ends(x, point.offline_error), _ends(y, point.online_error)
    look = marker(mark, palette, size=11, hollow=point.calls is None)
    return [
        *cross((x, y), x_ends, y_ends, name, mark.colour, INTERVAL - 1.2),
        dots([x], [y], name, look, hover),
    ]


def _names(
    points: Sequence[Point],
    test_id: str,
    marks: Marks,
    palette: Palette,
    x: tuple[float, float],
    y: tuple[float, float],
) -> Iterator[Trace]:
    """Yields the names of the current test's runs, such that they avoid each other, all points and the lines
    at zero.
    """
    drawings = [DrawnArea(x, y, HEIGHT - MARGIN[2] - MARGIN[3], width) for width in WIDTHS]
    named = [point for point in points if point.test_id == test_id and point.run_id in marks]
    short = short_labels(marks, 22)
    texts = [short[point.run_id] for point in named]
    offsets = place_labels_at_sizes([_label_area(drawing, named, points) for drawing in drawings], texts)
    for point, text, (across, down) in zip(named, texts, offsets, strict=True):
        is_above = drawings[0].down(point.online) < drawings[0].down(0)
        offset = across, down or (-16.0 if is_above else 16.0)
        colour = marks[point.run_id].colour
        where = (point.offline, point.online)
        yield end_label(palette, text, where, offset, colour, bgcolor=CLEAR, standoff=8)


def _label_area(drawing: DrawnArea, named: Sequence[Point], points: Sequence[Point]) -> LabelArea:
    """Returns where names can be in one drawing: beside all points, the ends of their intervals, and zero."""
    ends = [(x_end, point.online) for point in points for x_end in _ends(point.offline, point.offline_error)]
    ends += [(point.offline, y_end) for point in points for y_end in _ends(point.online, point.online_error)]
    marked = [*((point.offline, point.online) for point in points), *ends]
    obstacles = [*(drawing.pixel(*place) for place in marked), *drawing.along_zero()]
    starts = [drawing.pixel(point.offline, point.online) for point in named]
    return LabelArea(starts, obstacles, (drawing.width, drawing.height))


def _band(calibration: Calibration, x: tuple[float, float], error: float, palette: Palette) -> list[Trace]:
    """Returns the prediction band of offline differences with this standard error, and the calibration's line
    on top of it.
    """
    offline = [x[0] + (x[1] - x[0]) * step / STEPS for step in range(STEPS + 1)]
    predicted = [calibration.predict(value, error) for value in offline]
    middle, low, high = (list(values) for values in zip(*predicted, strict=True))
    return [
        area(offline, low, high, "95 % of new tests", rgba(palette.faint, 0.2)),
        line(offline, middle, "expected lift", palette.muted, 2),
    ]
