"""One metric against k: a line and a ribbon per run, labelled where the line ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from recdash.charts.layout import (
    CLEAR,
    LABEL_PITCH,
    LINE,
    RIBBON_ALPHA,
    SMALL_MARKER,
    assembled,
    axis,
    end_label,
    escape,
    marker,
    muted,
    rgba,
    short,
    span,
    spread,
    tick_labels,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.formatting import numbers
from recdash.formatting.records import Row, by_run, last_of_run
from recdash.stats import NORMAL_95

if TYPE_CHECKING:
    import pandas as pd

Trace = dict[str, Any]
HEIGHT, MARGIN = 300, (46, 176, 12, 34)


@dataclass(frozen=True)
class DrawnArea:
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


def with_interval(curves: pd.DataFrame) -> pd.DataFrame:
    """``curves`` with the 95 % interval of each mean by itself: low and high."""
    half = NORMAL_95 * curves["std_error"]
    return curves.assign(low=curves["value"] - half, high=curves["value"] + half)


def metric_curve(
    curves: pd.DataFrame, marks: Marks, palette: Palette, k: int, ends: Mapping[str, int | None],
    *, ribbon: bool = True, percent: bool = False, delta: bool = False,
) -> go.Figure:  # fmt: skip
    """Figure of one metric's ``curves`` (run_id, k, value, low, high); ``k`` is marked.

    ``ends`` maps a run to the last k it is drawn at (None: to the end). ``delta``: values are differences to
    the baseline, which is zero and the heaviest line.
    """
    scale = 100 if percent else 1
    scaled = curves.assign(**{name: curves[name] * scale for name in ("value", "low", "high")})
    drawn = until_lists_end(scaled.sort_values("k"), ends)
    depth = int(curves["k"].max())
    low, high = _y_range(drawn, ribbon=ribbon, delta=delta)
    area = DrawnArea((1 - depth * 0.01, depth), (low, high), HEIGHT - MARGIN[2] - MARGIN[3])
    ordered = sorted(by_run(drawn), key=lambda pair: marks[pair[0]].role == "candidate")
    write = _writer(numbers.places(drawn["value"]), delta=delta)
    last = [row | {"end": ends.get(row["run_id"]), "text": write(row["value"])} for row in last_of_run(drawn)]
    traces: list[Trace] = []
    for run_id, rows in ordered:
        if delta and marks[run_id].role == "baseline":
            traces.append(_heavy_zero(palette, depth))
        else:
            traces += _of_run(rows, marks[run_id], palette, write, ribbon=ribbon, every=delta)
    y_ticks = tick_labels(numbers.ticks(low, high, 4), sign=delta)
    layout = {
        "xaxis": axis(palette, *area.x, showgrid=False, **_k_ticks(depth)),
        "yaxis": axis(palette, low, high, **y_ticks, ticklabelstandoff=6),
        "shapes": [_line_at(palette, k)],
        "annotations": [_label_of(palette, k), *_end_labels(last, marks, palette, area)],
    }
    return assembled(palette, HEIGHT, MARGIN, traces, layout)


def _writer(decimals: int, *, delta: bool) -> Callable[[float], str]:
    return lambda value: numbers.signed(value, decimals) if delta else numbers.fixed(value, decimals)


def _y_range(drawn: pd.DataFrame, *, ribbon: bool, delta: bool) -> tuple[float, float]:
    ends = [*drawn["low"].dropna(), *drawn["high"].dropna()] if ribbon else []
    low, high = span([*drawn["value"], *ends], pad=0.06, zero=delta)
    return (max(low, 0.0) if not delta and drawn["value"].min() >= 0 else low), high


def _heavy_zero(palette: Palette, depth: int) -> Trace:
    return {
        "type": "scatter", "x": [1, depth], "y": [0, 0], "mode": "lines", "hoverinfo": "skip", "name": "zero",
        "line": {"color": palette.ink, "width": 2.5},
    }  # fmt: skip


def _k_ticks(depth: int) -> dict[str, Any]:
    values = [1.0, *(tick for tick in numbers.ticks(1, depth, 5) if tick > 1 + depth * 0.04)]
    return tick_labels(values)


def _line_at(palette: Palette, k: int) -> dict[str, Any]:
    line = {"color": palette.faint, "width": 1, "dash": "dot"}
    return {
        "type": "line",
        "x0": k,
        "x1": k,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": line,
    }


def _label_of(palette: Palette, k: int) -> dict[str, Any]:
    return {
        "x": k, "y": 1, "yref": "paper", "xanchor": "left", "yanchor": "top", "xshift": 4, "showarrow": False,
        "text": f"k = {k}", "font": {"size": 12, "color": palette.muted},
    }  # fmt: skip


def _of_run(
    rows: pd.DataFrame, look: Mark, palette: Palette, write: Callable[[float], str], *, ribbon: bool,
    every: bool,
) -> list[Trace]:  # fmt: skip
    """Ribbon, line and marks; ``every``: a mark at each cutoff, where these are few."""
    shared: Trace = {"type": "scatter", "name": escape(look.name)}
    hover = [
        f"{escape(look.name)}<br>k = {k:.0f}: {write(value)}"
        for k, value in zip(rows["k"], rows["value"], strict=True)
    ]
    line: Trace = {
        "x": list(rows["k"]), "y": list(rows["value"]), "mode": "lines", "hoverinfo": "text",
        "hovertext": hover, "line": {"color": look.colour, "width": LINE * look.heft, "dash": look.dash},
    }  # fmt: skip
    if look.role != "candidate":
        return [shared | line]
    few = rows if every else rows[(rows["k"] == 1) | (rows["k"] % _marker_step(rows) == 0)]
    dots: Trace = {
        "x": list(few["k"]), "y": list(few["value"]), "mode": "markers", "hoverinfo": "skip",
        "marker": marker(look, palette, size=SMALL_MARKER), "cliponaxis": False,
    }  # fmt: skip
    ribbons = _ribbon(rows, look) if ribbon else []
    return [shared | one for one in (*ribbons, line, dots)]


def _marker_step(rows: pd.DataFrame) -> int:
    return max(1, round(float(rows["k"].max()) / 50)) * 10


def _ribbon(rows: pd.DataFrame, look: Mark) -> list[Trace]:
    known = rows.dropna(subset=["low", "high"])
    if known.empty:
        return []
    outline = {
        "x": [*known["k"], *known["k"][::-1]], "y": [*known["high"], *known["low"][::-1]], "fill": "toself",
        "mode": "lines", "fillcolor": rgba(look.colour, RIBBON_ALPHA), "line": {"width": 0},
        "hoverinfo": "skip",
    }  # fmt: skip
    return [outline]


def _end_labels(
    last: Sequence[Row], marks: Marks, palette: Palette, area: DrawnArea
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Names in the right margin, pushed apart; lists that end early are labelled at their end.

    ``last``: each run's last row, with its value as ``text`` and the ``end`` of its lists.
    """
    wanted = [area.pixel(row["value"]) for row in last]
    placed = spread(wanted, LABEL_PITCH, 6, area.pixels + 10)
    width = area.x[1] - area.x[0]
    for row, here, there in zip(last, wanted, placed, strict=True):
        look, end = marks[row["run_id"]], row["end"]
        text = f"{short(look.name, 20)}  {muted(palette, row['text'])}"
        if end is not None:
            text += muted(palette, f" at {end}")
        gap = (area.x[1] - row["k"]) / width
        yield _margin_label(palette, text, row, there - here, look, gap)


def _margin_label(
    palette: Palette, text: str, row: Row, shift: float, look: Mark, gap: float
) -> dict[str, Any]:
    """The label of a line that reaches the margin, or of one whose lists end ``gap`` before it."""
    if gap <= 0.02:
        return end_label(palette, text, (row["k"], row["value"]), (22, shift), look.colour)
    ending = muted(palette, f"lists end at {row['end'] or row['k']:.0f}")
    early = f"{short(look.name, 20)}:<br>{ending}"
    return end_label(palette, early, (row["k"], row["value"]), (14, 34), look.colour) | {"bgcolor": CLEAR}
