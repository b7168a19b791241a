"""How runs' places fall on the values of an attribute: a panel per run, beside the catalogue's own share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from recdash.charts.layout import axis, escape, figure, marker, muted, rgba, short, tick_labels
from recdash.charts.marks import Mark, Marks, Palette
from recdash.formatting import numbers
from recdash.formatting.records import Row, by_run, records

if TYPE_CHECKING:
    import pandas as pd

MOST_BESIDE = 5
PITCH, MARGIN, GAP = 26, (168, 8, 34, 30), 0.02
LABEL_ROOM = 0.07
"""Of a panel's axis, for each panel beside it: the narrower they are, the more a number takes."""
LINK_ALPHA = 0.45
LONGEST_VALUE = 48
"""Characters of a value where there is room for words; beside the panels there are fewer."""


def panels(run_ids: Sequence[str]) -> list[list[str]]:
    """Runs in lines of at most five, as even as can be: nine are five and four."""
    lines = max(1, math.ceil(len(run_ids) / MOST_BESIDE))
    beside = math.ceil(len(run_ids) / lines)
    return [list(run_ids[at : at + beside]) for at in range(0, len(run_ids), beside)]


def shown_by(
    rows: pd.DataFrame, run_ids: Sequence[str], beside: int, marks: Marks, palette: Palette, most: float
) -> go.Figure:
    """Figure of ``rows`` (run_id, value, share, catalogue_share): one panel per run, one row per value.

    Panels are as wide as ``beside`` of them need; ``most`` is the largest share of all figures.
    """
    of_run = {run_id: records(part) for run_id, part in by_run(rows)}
    values = list(dict.fromkeys(rows["value"]))
    chart = figure(palette, PITCH * len(values) + MARGIN[2] + MARGIN[3], MARGIN)
    chart.update_layout(
        yaxis=axis(palette, len(values) - 0.5, -0.5, showgrid=False, **_names(values, palette))
    )
    decimals = percent_decimals(most)
    for place, run_id in enumerate(run_ids):
        left, right = place / beside, (place + 1) / beside - GAP
        chart.update_layout({f"xaxis{place + 1}": _shares(palette, most, beside) | {"domain": [left, right]}})
        _draw_panel(chart, of_run[run_id], place + 1, marks[run_id], palette, decimals)
        chart.add_annotation(
            x=left, xref="paper", xanchor="left", y=1, yref="paper", yanchor="bottom", yshift=8,
            showarrow=False, text=f"<b>{short(marks[run_id].name, 110 // beside)}</b>", font={"size": 13.5},
        )  # fmt: skip
    _name_ticks(chart, palette)
    return chart


def _names(values: Sequence[str], palette: Palette) -> dict[str, Any]:
    return {
        "tickvals": list(range(len(values))),
        "ticktext": [short(value, 22) for value in values],
        "ticklabelstandoff": 8,
        "tickfont": {"size": 13, "color": palette.ink},
    }


def percent_decimals(most: float) -> int:
    """Decimals of shares in %, of which ``most`` is the largest: three digits, but never whole percents."""
    return max(1, numbers.places([100 * most]))


def _shares(palette: Palette, most: float, beside: int) -> dict[str, Any]:
    """0 to the largest share in %, with room for a number right of it."""
    ticks = numbers.ticks(0, 100 * most, 3)
    return axis(
        palette, -2.5 * most, 100 * most * (1 + LABEL_ROOM * beside), **tick_labels(ticks), anchor="y"
    )


def _draw_panel(
    chart: go.Figure, rows: Sequence[Row], panel: int, look: Mark, palette: Palette, decimals: int
) -> None:
    where = {"xaxis": f"x{panel}", "yaxis": "y"}
    pairs = [(100 * row["catalogue_share"], 100 * row["share"]) for row in rows]
    chart.add_trace(
        go.Scatter(**_between(pairs), **where, line={"color": rgba(look.colour, LINK_ALPHA), "width": 3})
    )
    chart.add_trace(
        go.Scatter(
            x=[catalogue for catalogue, _ in pairs], y=list(range(len(rows))), mode="markers", **where,
            name="catalogue", hoverinfo="skip",
            marker={"symbol": "line-ns", "size": 15, "line": {"color": palette.faint, "width": 2.4}},
        )
    )  # fmt: skip
    chart.add_trace(
        go.Scatter(
            x=[share for _, share in pairs], y=list(range(len(rows))), mode="markers", **where,
            name=escape(look.name), hoverinfo="text", hovertext=[_hover(row, look, decimals) for row in rows],
            marker=marker(look, palette, size=10), cliponaxis=False,
        )
    )  # fmt: skip
    chart.add_trace(
        go.Scatter(
            x=[max(pair) for pair in pairs], y=list(range(len(rows))), mode="text", **where, hoverinfo="skip",
            text=[f"\u2002\u2009{numbers.fixed(share, decimals)}" for _, share in pairs],
            textposition="middle right",
            textfont={"size": 12, "color": palette.muted}, name=escape(look.name), cliponaxis=False,
        )
    )  # fmt: skip


def _between(pairs: Sequence[tuple[float, float]]) -> Mapping[str, Any]:
    """A line per row from the catalogue's share to the run's, in one trace."""
    x = [end for catalogue, share in pairs for end in (catalogue, share, None)]
    y = [end for place in range(len(pairs)) for end in (place, place, None)]
    return {"x": x, "y": y, "mode": "lines", "hoverinfo": "skip", "name": "difference"}


def _hover(row: Row, look: Mark, decimals: int) -> str:
    share, catalogue = (numbers.fixed(100 * row[name], decimals) for name in ("share", "catalogue_share"))
    places, items = (numbers.count(row[name]) for name in ("places", "items"))
    return (
        f"{escape(look.name)}, {short(str(row['value']), LONGEST_VALUE)}<br>{share} % of its places: {places}"
        f"<br>{catalogue} % of the catalogue's items: {items}"
    )


def _name_ticks(chart: go.Figure, palette: Palette) -> None:
    """What the grey ticks are, above the names of the values; the unit, left of the axis."""
    grey = f'<span style="color:{palette.faint}"><b>|</b></span>'
    for y, shift, text in (
        (1, 8, f"{grey} {muted(palette, 'catalogue')}"),
        (0, -25, muted(palette, "%")),
    ):
        chart.add_annotation(
            x=0, xref="paper", xanchor="right", xshift=-8, y=y, yref="paper", yanchor="bottom", yshift=shift,
            showarrow=False, text=text, font={"size": 12.5},
        )  # fmt: skip
