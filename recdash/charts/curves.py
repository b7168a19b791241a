"""One metric against k: a line and a ribbon per run, labelled where the line ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from recdash import numbers
from recdash.charts.frames import (
    CLEAR,
    LABEL_PITCH,
    LINE,
    RIBBON_ALPHA,
    SMALL_MARKER,
    axis,
    end_label,
    escape,
    figure,
    marker,
    muted,
    rgba,
    short,
    span,
    spread,
    tick_labels,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.charts.rows import Row, by_run, last_of_run

if TYPE_CHECKING:
    import pandas as pd

HEIGHT, MARGIN = 300, (46, 176, 12, 34)
Z_95 = 1.959963984540054


@dataclass(frozen=True)
class Frame:
    """The drawn area in data units; ``pixels`` high."""

    x: tuple[float, float]
    y: tuple[float, float]
    pixels: int

    def across(self, x: float, width: int) -> float:
        """Distance of ``x`` from the left edge in px, of a drawn area about ``width`` px wide."""
        return (x - self.x[0]) / (self.x[1] - self.x[0]) * width

    def pixel(self, y: float) -> float:
        """Distance of ``y`` from the top edge in px."""
        return (self.y[1] - y) / (self.y[1] - self.y[0]) * self.pixels


def until_lists_end(curves: pd.DataFrame, ends: Mapping[str, int | None]) -> pd.DataFrame:
    """Rows up to the last k at which most of a run's lists still have an item."""
    last = curves["run_id"].map({run: end for run, end in ends.items() if end is not None})
    return curves[~(curves["k"] > last)]


def metric_curve(
    curves: pd.DataFrame, marks: Marks, palette: Palette, k: int, ends: Mapping[str, int | None],
    *, ribbon: bool = True, percent: bool = False,
) -> go.Figure:  # fmt: skip
    """Figure of one metric's ``curves`` (run_id, k, value, std_error); ``k`` is marked.

    ``ends`` maps a run to the last k it is drawn at (None: to the end). Ribbons are value ± 1.96 std_error.
    """
    scaled = curves.assign(
        **{name: curves[name] * (100 if percent else 1) for name in ("value", "std_error")}
    )
    drawn = until_lists_end(scaled.sort_values("k"), ends)
    depth = int(curves["k"].max())
    room = (drawn["std_error"].fillna(0) * (Z_95 if ribbon else 0)).to_numpy()
    low, high = span([*(drawn["value"] - room), *(drawn["value"] + room)], pad=0.06)
    low = max(low, 0.0) if drawn["value"].min() >= 0 else low
    chart = figure(palette, HEIGHT, MARGIN)
    area = Frame((1 - depth * 0.01, depth), (low, high), HEIGHT - MARGIN[2] - MARGIN[3])
    chart.update_xaxes(axis(palette, *area.x, showgrid=False, **_k_ticks(depth)))
    chart.update_yaxes(
        axis(palette, low, high, **tick_labels(numbers.ticks(low, high, 4)), ticklabelstandoff=6)
    )
    _mark_k(chart, palette, k)
    ordered = sorted(by_run(drawn), key=lambda pair: marks[pair[0]].role == "candidate")
    decimals = numbers.places(drawn["value"])
    for run_id, rows in ordered:
        _draw_run(chart, rows, marks[run_id], palette, decimals, ribbon)
    _label_ends(chart, drawn, marks, palette, area, ends)
    return chart


def _k_ticks(depth: int) -> dict[str, Any]:
    values = [1.0, *(tick for tick in numbers.ticks(1, depth, 5) if tick > 1 + depth * 0.04)]
    return tick_labels(values)


def _mark_k(chart: go.Figure, palette: Palette, k: int) -> None:
    chart.add_shape(
        type="line", x0=k, x1=k, yref="paper", y0=0, y1=1, layer="below",
        line={"color": palette.faint, "width": 1, "dash": "dot"},
    )  # fmt: skip
    chart.add_annotation(
        x=k, y=1, yref="paper", xanchor="left", yanchor="top", xshift=4, showarrow=False,
        text=f"k = {k}", font={"size": 12, "color": palette.muted},
    )  # fmt: skip


def _draw_run(
    chart: go.Figure, rows: pd.DataFrame, look: Mark, palette: Palette, decimals: int, ribbon: bool
) -> None:
    if ribbon and look.role == "candidate":
        _draw_ribbon(chart, rows, look)
    values = [numbers.fixed(value, decimals) for value in rows["value"]]
    hover = [
        f"{escape(look.name)}<br>k = {k:.0f}: {value}" for k, value in zip(rows["k"], values, strict=True)
    ]
    chart.add_trace(
        go.Scatter(
            x=list(rows["k"]), y=list(rows["value"]), mode="lines", name=escape(look.name),
            hoverinfo="text", hovertext=hover,
            line={"color": look.colour, "width": LINE, "dash": look.dash},
        )
    )  # fmt: skip
    if look.role == "candidate":
        few = rows[(rows["k"] == 1) | (rows["k"] % _marker_step(rows) == 0)]
        chart.add_trace(
            go.Scatter(
                x=list(few["k"]), y=list(few["value"]), mode="markers", hoverinfo="skip",
                name=escape(look.name), marker=marker(look, palette, size=SMALL_MARKER), cliponaxis=False,
            )
        )  # fmt: skip


def _marker_step(rows: pd.DataFrame) -> int:
    return max(1, round(float(rows["k"].max()) / 50)) * 10


def _draw_ribbon(chart: go.Figure, rows: pd.DataFrame, look: Mark) -> None:
    known = rows.dropna(subset=["std_error"])
    if known.empty:
        return
    upper, lower = known["value"] + Z_95 * known["std_error"], known["value"] - Z_95 * known["std_error"]
    chart.add_trace(
        go.Scatter(
            x=[*known["k"], *known["k"][::-1]], y=[*upper, *lower[::-1]], fill="toself", mode="lines",
            fillcolor=rgba(look.colour, RIBBON_ALPHA), line={"width": 0}, name=escape(look.name),
            hoverinfo="skip",
        )
    )  # fmt: skip


def _label_ends(
    chart: go.Figure, drawn: pd.DataFrame, marks: Marks, palette: Palette, area: Frame,
    ends: Mapping[str, int | None],
) -> None:  # fmt: skip
    """Names in the right margin, pushed apart; lists that end early are labelled at their end."""
    last = last_of_run(drawn)
    decimals = numbers.places(row["value"] for row in last)
    wanted = [area.pixel(row["value"]) for row in last]
    placed = spread(wanted, LABEL_PITCH, 6, area.pixels + 10)
    width = area.x[1] - area.x[0]
    for row, here, there in zip(last, wanted, placed, strict=True):
        look, end = marks[row["run_id"]], ends.get(row["run_id"])
        value = muted(palette, numbers.fixed(row["value"], decimals))
        text = f"{short(look.name, 20)}  {value}"
        if end is not None:
            text += muted(palette, f" at {end}")
        gap = (area.x[1] - row["k"]) / width
        chart.add_annotation(_margin_label(palette, text, row, there - here, look, gap))


def _margin_label(
    palette: Palette, text: str, row: Row, shift: float, look: Mark, gap: float
) -> dict[str, Any]:
    """The label of a line that reaches the margin, or of one whose lists end ``gap`` before it."""
    if gap <= 0.02:
        return end_label(palette, text, (row["k"], row["value"]), (22, shift), look.colour)
    ending = muted(palette, f"lists end at {row['k']:.0f}")
    early = f"{short(look.name, 20)}:<br>{ending}"
    return end_label(palette, early, (row["k"], row["value"]), (14, 34), look.colour) | {"bgcolor": CLEAR}
