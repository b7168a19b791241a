"""Draws how much the folds or seeds of each candidate differ: one row per run, one point per replicate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from recdash.charts.layout import (
    escape,
    figure,
    marker,
    muted,
    rgba,
    row_axis,
    short,
    short_labels,
    span,
    value_axis,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.charts.traces import Trace, dots, line, margin_note, rectangle, straight
from recdash.formatting import numbers
from recdash.formatting.records import Row, by_run, records

if TYPE_CHECKING:
    import pandas as pd

LEAST_FOR_BOX = 3
"""Fewest replicates for which quartiles are drawn; with fewer, there are points and their mean only."""
PITCH, MARGIN = 58, (160, 236, 4, 30)
BOX_HALF, MEAN_HALF, OFFSETS = 0.2, 0.27, (0.0, -0.12, 0.12)
BOX_ALPHA, POINT_ALPHA = 0.14, 0.85


def replicate_spread(
    rows: pd.DataFrame, values: Mapping[str, float], marks: Marks, palette: Palette, scale: float = 1.0
) -> go.Figure:
    """Returns the figure of ``rows`` (run_id, replicate, value, n_users). ``values`` is {run id: the run's
    own value}.

    Each run of ``values`` has a row, in their order, with its replicates and their mean; a run without
    replicates has its own value. Numbers are multiplied by ``scale`` (100 for %).
    """
    replicates = {
        run_id: [row | {"value": scale * row["value"]} for row in records(part)]
        for run_id, part in by_run(rows)
    }
    alone = [scale * value for run_id, value in values.items() if run_id not in replicates]
    drawn = [*alone, *(row["value"] for part in replicates.values() for row in part)]
    traces: list[Trace] = []
    shapes: list[Trace] = []
    texts = []
    names = short_labels(marks, 20)
    for y, (run_id, value) in enumerate(values.items()):
        mark, part = marks[run_id], replicates.get(run_id, [])
        if part:
            traces += _of_replicates(part, y, mark, palette)
            shapes += _box([row["value"] for row in part], y, mark)
        else:
            hover = [f"{escape(mark.name)}<br>{numbers.three(scale * value)}, uploaded once"]
            traces.append(dots([scale * value], [y], escape(mark.name), marker(mark, palette), hover))
        text = _numbers([row["value"] for row in part], scale * value, palette, numbers.places(drawn))
        texts.append(margin_note(y, text))
    layout = {
        "xaxis": value_axis(palette, span(drawn), 5),
        "yaxis": row_axis(palette, [names[run_id] for run_id in values]),
        "shapes": shapes,
        "annotations": texts,
    }
    return figure(palette, PITCH * len(values) + MARGIN[2] + MARGIN[3], MARGIN, traces, layout)


def _of_replicates(rows: Sequence[Row], y: int, mark: Mark, palette: Palette) -> tuple[Trace, Trace]:
    """Returns one point per replicate, and a line at their mean."""
    values = [row["value"] for row in rows]
    mean = float(np.mean(values))
    heights = [y + OFFSETS[index % len(OFFSETS)] for index in range(len(rows))]
    look = marker(mark, palette, size=9) | {"opacity": POINT_ALPHA}
    hover = [
        f"{escape(mark.name)}, {short(str(row['replicate']), 60)}<br>{numbers.three(row['value'])}"
        f"<br>{numbers.count(row['n_users'])} users"
        for row in rows
    ]
    return (
        dots(values, heights, escape(mark.name), look, hover, cliponaxis=False),
        line([mean, mean], [y - MEAN_HALF, y + MEAN_HALF], "mean", palette.ink, 2.5),
    )


def _box(values: Sequence[float], y: int, mark: Mark) -> Iterator[Trace]:
    """Yields a box of quartiles and median, with whiskers to the smallest and the largest value; nothing for
    fewer than three values.
    """
    if len(values) < LEAST_FOR_BOX:
        return
    lowest, first, middle, third, highest = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
    y_range = (y - BOX_HALF, y + BOX_HALF)
    edge = {"color": mark.colour, "width": 1.5}
    yield rectangle((first, third), y_range, rgba(mark.colour, BOX_ALPHA)) | {"line": edge}
    for x_ends, y_ends in (
        ((lowest, first), (y, y)),
        ((third, highest), (y, y)),
        ((middle, middle), y_range),
    ):
        yield straight(x_ends, y_ends, mark.colour, 1.5, layer="below")


def _numbers(values: Sequence[float], alone: float, palette: Palette, decimals: int) -> str:
    """Returns the mean of the replicates and their range as text; for a run without replicates, its own
    value.
    """
    if not values:
        return f"{numbers.fixed(alone, decimals)}  {muted(palette, 'uploaded once')}"
    bounds = f"{numbers.fixed(min(values), decimals)} to {numbers.fixed(max(values), decimals)}"
    mean = numbers.fixed(float(np.mean(values)), decimals)
    return f"{mean}  {muted(palette, f'{bounds}, n = {len(values)}')}"
