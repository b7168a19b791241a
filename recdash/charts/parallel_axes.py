"""Draws runs by several metrics: one vertical axis per metric, each with its own range; higher is better on
all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan

import plotly.graph_objects as go

from recdash.charts.layout import (
    LABEL_PITCH,
    LINE,
    axis,
    escape,
    figure,
    marker,
    muted,
    rgba,
    short_labels,
    spread,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.charts.traces import Trace, dots, end_label, note
from recdash.formatting import numbers

HEIGHT, MARGIN = 400, (64, 214, 74, 34)
FEW_ASIDE, FEW_ALPHA, MANY_ALPHA = 20, 0.4, 0.16
"""With more grey lines than this, they are drawn fainter; then the opacity of few and of many of them."""


@dataclass(frozen=True)
class ParallelAxis:
    """The axis of one metric: its name, its unit, and {run id: value}."""

    name: str
    unit: str
    values: Mapping[str, float]
    less_is_better: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """Returns the values at the bottom and at the top of the axis; NaN if no run has a value."""
        known = [value for value in self.values.values() if isfinite(value)] or [nan]
        return (max(known), min(known)) if self.less_is_better else (min(known), max(known))

    def height(self, run_id: str) -> float | None:
        """Returns the run's height on the axis, from 0 (bottom) to 1 (top); 0.5 if all runs have the same
        value, None if the run has none.
        """
        value, (worst, best) = self.values.get(run_id, nan), self.ends
        if not isfinite(value):
            return None
        return 0.5 if worst == best else (value - worst) / (best - worst)


def parallel(axes: Sequence[ParallelAxis], order: Sequence[str], marks: Marks, palette: Palette) -> go.Figure:
    """Returns the figure of the runs in ``order`` as lines over the axes; a line is interrupted where the run
    lacks the metric.
    """
    n = len(axes)
    few = sum(marks[run_id].role == "context" for run_id in order) <= FEW_ASIDE
    roles = ("context", "baseline", "candidate")
    traces = [
        _of_run(run_id, axes, marks[run_id], palette, FEW_ALPHA if few else MANY_ALPHA)
        for run_id in sorted(order, key=lambda run_id: roles.index(marks[run_id].role))
    ]
    titles = [title for x, parallel_axis in enumerate(axes) for title in _titles(x, parallel_axis, palette)]
    chosen = [run_id for run_id in order if marks[run_id].role != "context"]
    pixels = max(HEIGHT - MARGIN[2] - MARGIN[3], LABEL_PITCH * len(chosen))
    x_axis = axis(palette, -0.02, max(1, n - 1) + 0.02, tickvals=list(range(n)), ticktext=[""] * n)
    layout = {
        "xaxis": x_axis | {"gridcolor": palette.border, "gridwidth": 1.5},
        "yaxis": axis(palette, -0.03, 1.03, showgrid=False, tickvals=[]),
        "annotations": [*titles, *_end_labels(chosen, axes, marks, palette, pixels)],
    }
    return figure(palette, pixels + MARGIN[2] + MARGIN[3], MARGIN, traces, layout)


def _titles(x: int, parallel_axis: ParallelAxis, palette: Palette) -> Iterator[Trace]:
    """Yields the name and unit above an axis, and the values at its ends."""
    worst, best = parallel_axis.ends
    decimals = numbers.places((worst, best))
    title = f"<b>{escape(parallel_axis.name)}</b><br>{muted(palette, escape(parallel_axis.unit))}"
    for y, anchor, shift, text in (
        (1, "bottom", 26, title),
        (1, "bottom", 6, muted(palette, numbers.fixed(best, decimals))),
        (0, "top", -6, muted(palette, numbers.fixed(worst, decimals))),
    ):
        yield note(x, y, text, yanchor=anchor, yshift=shift, font={"size": 12.5})


def _of_run(run_id: str, axes: Sequence[ParallelAxis], mark: Mark, palette: Palette, alpha: float) -> Trace:
    heights = [parallel_axis.height(run_id) for parallel_axis in axes]
    name, grey = escape(mark.name), mark.role == "context"
    hover = []
    for parallel_axis in axes:
        value = numbers.fixed(parallel_axis.values.get(run_id, nan), numbers.places(parallel_axis.ends))
        hover.append(f"{name}<br>{escape(parallel_axis.name)}{escape(parallel_axis.unit)}: {value}")
    look = {
        "mode": "lines" if grey else "lines+markers",
        "line": {
            "color": rgba(mark.colour, alpha) if grey else mark.colour,
            "width": 1 if grey else LINE,
            "dash": mark.dash,
        },
        "connectgaps": False,
        "cliponaxis": False,
    }
    drawn = marker(mark, palette, size=9, hollow=mark.role == "baseline")
    return dots(range(len(axes)), heights, name, drawn, hover, **look)


def _end_labels(
    run_ids: Sequence[str], axes: Sequence[ParallelAxis], marks: Marks, palette: Palette, pixels: int
) -> Iterator[Trace]:
    """Yields the runs' names in the right margin, moved apart; each is connected with the last point of its
    line.
    """
    last: dict[str, tuple[int, float]] = {}
    for run_id in run_ids:
        for x, parallel_axis in enumerate(axes):
            if (height := parallel_axis.height(run_id)) is not None:
                last[run_id] = (x, height)
    names = short_labels(marks, 20)
    wanted = [(1.03 - height) / 1.06 * pixels for _, height in last.values()]
    placed = spread(wanted, LABEL_PITCH, 0, pixels)
    for (run_id, point), wanted_y, y in zip(last.items(), wanted, placed, strict=True):
        mark = marks[run_id]
        text = names[run_id] + (muted(palette, ", baseline") if mark.role == "baseline" else "")
        yield end_label(palette, text, point, (26, y - wanted_y), mark.colour)
