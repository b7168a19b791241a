"""The share of users with a hit, a bar per run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from recdash.charts.layout import escape
from recdash.charts.marks import Marks, Palette

if TYPE_CHECKING:
    import pandas as pd


def reach_bars(rows: pd.DataFrame, marks: Marks, palette: Palette) -> go.Figure:
    """Returns horizontal bars in the runs' colours; ``rows``: run_id, run, value."""
    bars = go.Bar(
        x=list(rows["value"]),
        y=[escape(name) for name in rows["run"]],
        orientation="h",
        marker={"color": [marks[run].colour for run in rows["run_id"]]},
    )
    look = {"color": palette.ink}
    return go.Figure(bars).update_layout(
        height=60 + 40 * len(rows), paper_bgcolor=palette.background, font=look
    )
