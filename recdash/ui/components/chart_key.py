"""The key of a chart for narrow pages, on which its labels are not shown."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.charts.marks import Marks
from recdash.formatting.html import Html, html, join
from recdash.ui.components import widgets


def key_below(marks: Marks, heading: str, values: Sequence[tuple[str, str]], kind: str = "") -> Html:
    """Returns the marks and names of runs, which only narrow pages show; ``values`` are run ids with a
    text. ``kind`` is a further CSS class, such as ``rd-points`` below a chart of points.
    """
    names = widgets.run_cells(marks)
    row = "<span>{name} {value}</span>"
    rows = [html(row, name=names[run], value=value) for run, value in values]
    title = html("<b>{heading}</b>", heading=heading) if heading else Html("")
    template = '<div class="{kinds}">{title}{rows}</div>'
    return html(template, kinds=f"rd-legend rd-key {kind}".strip(), title=title, rows=join(rows))
