"""What the page Reach shows of a view: the share of users with a hit within k, a bar per run."""

from __future__ import annotations

from recdash.charts.reach import reach_bars
from recdash.formatting import numbers
from recdash.ui.app import cached, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets


def show(view: View) -> None:
    """Draws the finding, the chart and its table."""
    rows = cached.scoreboard(view, view.shown_ids, ("hit_rate",), view.k).sort_values("value")
    best = rows.iloc[-1]
    finding = f"{best['run']} has a hit for {numbers.three(100 * best['value'])} % of users"
    widgets.title(finding, f"Share of users with at least one relevant item in their first {view.k}.")
    widgets.chart(reach_bars(rows, view.marks, theme.palette()), "reach", finding)
    widgets.table_behind(rows[["run", "value", "n_users"]], "reach")
