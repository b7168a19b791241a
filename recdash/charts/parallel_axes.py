"""Runs by several metrics: an upright axis for each, with its own ends, on which up is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan

import plotly.graph_objects as go

from recdash.charts.layout import (
    LABEL_PITCH,
    LINE,
    axis,
    end_label,
    escape,
    figure,
    marker,
    muted,
    rgba,
    short,
    spread,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.formatting import numbers

HEIGHT, MARGIN = 400, (64, 214, 74, 34)
FEW_ASIDE, FEW_ALPHA, MANY_ALPHA = 20, 0.4, 0.16
"""Grey lines are fainter where there are more than a few."""


@dataclass(frozen=True)
class Upright:
    """One metric's axis: its name and unit in two lines, and the values of the runs by id."""

    name: str
    unit: str
    values: Mapping[str, float]
    less_is_better: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """The value at the bottom and that on top; NaN where no run has one."""
        known = [value for value in self.values.values() if isfinite(value)] or [nan]
        return (max(known), min(known)) if self.less_is_better else (min(known), max(known))

    def height(self, run_id: str) -> float | None:
        """0 at the bottom, 1 on top; in the middle where all runs are alike; None where it has no value."""
        value, (worst, best) = self.values.get(run_id, nan), self.ends
        if not isfinite(value):
            return None
        return 0.5 if worst == best else (value - worst) / (best - worst)


def parallel(uprights: Sequence[Upright], order: Sequence[str], marks: Marks, palette: Palette) -> go.Figure:
    """Figure of the runs in ``order`` as lines over the axes, broken where a run lacks the metric."""
    chart = figure(palette, HEIGHT, MARGIN)
    places = list(range(len(uprights)))
    chart.update_xaxes(
        axis(palette, -0.02, max(1, len(places) - 1) + 0.02, tickvals=places, ticktext=[""] * len(places))
        | {"gridcolor": palette.border, "gridwidth": 1.5}
    )
    chart.update_yaxes(axis(palette, -0.03, 1.03, showgrid=False, tickvals=[]))
    for place, one in enumerate(uprights):
        _name_axis(chart, place, one, palette)
    few = sum(marks[run_id].role == "context" for run_id in order) <= FEW_ASIDE
    roles = ("context", "baseline", "candidate")
    for run_id in sorted(order, key=lambda run_id: roles.index(marks[run_id].role)):
        _draw_run(chart, run_id, uprights, marks[run_id], palette, FEW_ALPHA if few else MANY_ALPHA)
    _label_ends(chart, [run for run in order if marks[run].role != "context"], uprights, marks, palette)
    return chart


def _name_axis(chart: go.Figure, place: int, one: Upright, palette: Palette) -> None:
    worst, best = one.ends
    decimals = numbers.places((worst, best))
    title = f"<b>{escape(one.name)}</b><br>{muted(palette, escape(one.unit))}"
    for y, anchor, shift, text in (
        (1, "bottom", 26, title),
        (1, "bottom", 6, muted(palette, numbers.fixed(best, decimals))),
        (0, "top", -6, muted(palette, numbers.fixed(worst, decimals))),
    ):
        chart.add_annotation(
            x=place, y=y, yanchor=anchor, yshift=shift, text=text, showarrow=False, font={"size": 12.5}
        )


def _draw_run(
    chart: go.Figure, run_id: str, uprights: Sequence[Upright], look: Mark, palette: Palette, alpha: float
) -> None:
    heights = [one.height(run_id) for one in uprights]
    grey = look.role == "context"
    drawn = marker(look, palette, size=9, hollow=look.role == "baseline")
    chart.add_trace(
        go.Scatter(
            x=list(range(len(uprights))), y=heights, mode="lines" if grey else "lines+markers",
            name=escape(look.name), connectgaps=False, cliponaxis=False, hoverinfo="text",
            hovertext=[f"{escape(look.name)}<br>{_said(one, run_id)}" for one in uprights],
            line={"color": rgba(look.colour, alpha) if grey else look.colour,
                  "width": 1 if grey else LINE, "dash": look.dash},
            marker=drawn,
        )
    )  # fmt: skip


def _said(one: Upright, run_id: str) -> str:
    value = numbers.fixed(one.values.get(run_id, nan), numbers.places(one.ends))
    return f"{escape(one.name)}{escape(one.unit)}: {value}"


def _label_ends(
    chart: go.Figure, run_ids: Sequence[str], uprights: Sequence[Upright], marks: Marks, palette: Palette
) -> None:
    """Names in the right margin, pushed apart, each tied to its line's last point."""
    ends = {run: last for run in run_ids if (last := _last(run, uprights))}
    pixels = HEIGHT - MARGIN[2] - MARGIN[3]
    wanted = [(1.03 - height) / 1.06 * pixels for _, height in ends.values()]
    placed = spread(wanted, LABEL_PITCH, 0, pixels)
    for (run, (place, height)), here, there in zip(ends.items(), wanted, placed, strict=True):
        look = marks[run]
        is_baseline = look.role == "baseline"
        text = short(look.name, 18) + muted(palette, ", baseline") if is_baseline else short(look.name, 24)
        chart.add_annotation(end_label(palette, text, (place, height), (26, there - here), look.colour))


def _last(run_id: str, uprights: Sequence[Upright]) -> tuple[int, float] | None:
    """The last axis on which the run has a value, and its height there."""
    known = [(place, one.height(run_id)) for place, one in enumerate(uprights)]
    return next(((place, height) for place, height in reversed(known) if height is not None), None)
