"""Draws how runs' recommendations are distributed over the values of an attribute: one panel per run,
compared with the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from recdash.charts.layout import (
    axis,
    escape,
    figure,
    marker,
    muted,
    panel_number,
    rgba,
    row_axis,
    short,
    short_labels,
    tick_labels,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.charts.traces import Trace, above_panel, dots, line, note, scatter
from recdash.formatting import numbers
from recdash.formatting.names import shortened
from recdash.formatting.records import Row, by_run, records

if TYPE_CHECKING:
    import pandas as pd

MOST_BESIDE = 5
PITCH, MARGIN, GAP = 26, (168, 8, 34, 30), 0.02
LABEL_ROOM = 0.07
"""Share of a panel's axis for its numbers on either side, for each panel in a row; the narrower the panels,
the more of them numbers need.
"""
LINK_ALPHA = 0.45
GAP_TO_MARK = "\u2002\u2002"
LONGEST_VALUE = 48
"""Number of characters of a value's name in texts; in charts, names are shorter."""


def panels(run_ids: Sequence[str]) -> list[list[str]]:
    """Returns the runs in rows of at most five panels, as evenly as possible: nine runs become five and
    four.
    """
    lines = max(1, math.ceil(len(run_ids) / MOST_BESIDE))
    beside = math.ceil(len(run_ids) / lines)
    return [list(run_ids[start : start + beside]) for start in range(0, len(run_ids), beside)]


def percent_decimals(most: float) -> int:
    """Returns the number of decimals for shares in %: enough for three digits of ``most``, the largest share,
    but at least one.
    """
    return max(1, numbers.places([100 * most]))


def shown_by(
    rows: pd.DataFrame, run_ids: Sequence[str], beside: int, marks: Marks, palette: Palette, most: float
) -> go.Figure:
    """Returns the figure of ``rows`` (run_id, value, share, catalogue_share): one panel per run, one row per
    value.

    Panels are as wide as if ``beside`` of them were in a row; ``most`` is the largest share in all figures.
    """
    rows_by_run = {run_id: records(part) for run_id, part in by_run(rows)}
    values = [escape(value) for value in shortened(map(str, dict.fromkeys(rows["value"])), 22).values()]
    ticks = tick_labels(numbers.ticks(0, 100 * most, 3))
    room = 100 * most * LABEL_ROOM * beside
    ends = -room, 100 * most + room
    layout: dict[str, Any] = {"yaxis": row_axis(palette, values, size=13)}
    traces: list[Trace] = []
    titles, names = [], short_labels(marks, min(110 // beside, 60))
    for index, run_id in enumerate(run_ids):
        mark, panel, left = marks[run_id], panel_number(index), index / beside
        domain = [left, (index + 1) / beside - GAP]
        layout[f"xaxis{panel}"] = axis(palette, *ends, **ticks, anchor="y", domain=domain)
        shares = _shares(rows_by_run[run_id], mark, palette, percent_decimals(most))
        traces += [trace | {"xaxis": f"x{panel}", "yaxis": "y"} for trace in shares]
        titles.append(above_panel(left, names[run_id]))
    layout["annotations"] = [*titles, *_legend(palette)]
    return figure(palette, PITCH * len(values) + MARGIN[2] + MARGIN[3], MARGIN, traces, layout)


def _shares(rows: Sequence[Row], mark: Mark, palette: Palette, decimals: int) -> Iterator[Trace]:
    """Yields the catalogue's shares, the run's shares, lines between them, and the run's numbers, each on the
    side of its mark that is away from the catalogue's.
    """
    catalogue = [100 * row["catalogue_share"] for row in rows]
    shares = [100 * row["share"] for row in rows]
    y, name = list(range(len(rows))), escape(mark.name)
    x_links = [end for pair in zip(catalogue, shares, strict=True) for end in (*pair, None)]
    y_links = [end for row in y for end in (row, row, None)]
    yield line(x_links, y_links, "difference", rgba(mark.colour, LINK_ALPHA), 3)
    tick = {"symbol": "line-ns", "size": 15, "line": {"color": palette.faint, "width": 2.4}}
    yield dots(catalogue, y, "catalogue", tick)
    hover = [_hover(row, mark, decimals) for row in rows]
    yield dots(shares, y, name, marker(mark, palette, size=10), hover, cliponaxis=False)
    sides = ["left" if share < of else "right" for share, of in zip(shares, catalogue, strict=True)]
    texts = [f"{GAP_TO_MARK}{numbers.fixed(share, decimals)}{GAP_TO_MARK}" for share in shares]
    at = [f"middle {side}" for side in sides]
    look = {"textposition": at, "textfont": {"size": 12, "color": palette.muted}}
    yield scatter("text", shares, y, name, text=texts, cliponaxis=False, **look)


def _hover(row: Row, mark: Mark, decimals: int) -> str:
    share, catalogue = (numbers.fixed(100 * row[name], decimals) for name in ("share", "catalogue_share"))
    places, items = (numbers.count(row[name]) for name in ("places", "items"))
    return (
        f"{escape(mark.name)}, {short(str(row['value']), LONGEST_VALUE)}<br>{share} % of its slots: {places}"
        f"<br>{catalogue} % of the catalogue's items: {items}"
    )


def _legend(palette: Palette) -> Iterator[Trace]:
    """Yields the explanation of the grey ticks, above the names of the values, and the unit to the left of
    the axis.
    """
    grey = f'<span style="color:{palette.faint}"><b>|</b></span>'
    for y, shift, text in ((1, 8, f"{grey} {muted(palette, 'catalogue')}"), (0, -25, muted(palette, "%"))):
        left = {"xref": "paper", "xanchor": "right", "xshift": -8, "font": {"size": 12.5}}
        yield note(0, y, text, yref="paper", yanchor="bottom", yshift=shift, **left)
