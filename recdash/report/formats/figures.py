"""Draws the figures of a document as charts, in the colours of one theme."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import TYPE_CHECKING, Any

from recdash.charts.mark_html import ROLES
from recdash.charts.marks import CONTEXT_GREY, Mark, Marks, Palette, colour, shape
from recdash.formatting import numbers
from recdash.formatting.signs import former_sign, sign_of
from recdash.formatting.wording import count_range, shown
from recdash.report.document import Document, Figure, FigureKind

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from recdash.charts.forest import ForestLayout
    from recdash.charts.segments import SegmentPoint

Data = Mapping[str, Any]
THEMELESS = Palette(dark=False, **{role: f"#A000{place:02X}" for place, role in enumerate(ROLES)})
"""Placeholder colours, one for each role, for figures that follow the theme of their reader."""
DIGITS, KEPT, BAR_NAMES = 5, 6, 150
"""The significant digits of numbers that are drawn (DIGITS) or stored to be drawn (KEPT), of which a pixel
needs fewer; and the pixels left of bars for names (BAR_NAMES).
"""


def marks_of(document: Document, palette: Palette) -> Marks:
    """Returns {run id: the mark with which the run is drawn}."""

    def look(slot: int, role: str) -> tuple[str, str]:
        if role == "baseline":
            return palette.baseline, "circle"
        return (CONTEXT_GREY if role == "context" else colour(slot)), shape(slot)

    return {
        run.run_id: Mark(run.run_id, run.name, *look(run.slot, run.role), run.role, run.slot)
        for run in document.runs
    }


def names_by_length(document: Document) -> list[str]:
    """Returns the names of runs and the experiment, the longest first.

    The page's script does not format numbers in them.
    """
    return sorted(sorted({document.experiment, *document.names.values()}), key=len, reverse=True)


def drawn(document: Document, figure: Figure, palette: Palette = THEMELESS) -> dict[str, Any]:
    """Returns a figure as plain values: the ``data`` (traces) and ``layout`` of Plotly."""
    return _plain(DRAWN[figure.kind](figure.data, marks_of(document, palette), palette))


def _plain(chart: go.Figure) -> dict[str, Any]:
    plain = json.loads(chart.whole().to_json(), parse_float=lambda text: float(f"{float(text):.{DIGITS}g}"))
    plain["layout"].pop("template", None)
    return {"data": plain["data"], "layout": plain["layout"]}


def drawn_narrow(document: Document, figure: Figure, palette: Palette = THEMELESS) -> dict[str, Any] | None:
    """Returns a chart of differences for the width of a phone, without the numbers beside it; None for other
    figures.
    """
    if figure.kind != "forest":
        return None
    from recdash.charts.forest import ForestLayout

    narrow = ForestLayout(values=False, left=150, right=16)
    return _plain(_forest(figure.data, marks_of(document, palette), palette, narrow))


def shortened(data: Any) -> Any:
    """Returns a figure's data rounded to the digits that can be visible; the figure's table keeps all
    digits.
    """
    if isinstance(data, Mapping):
        return {name: shortened(part) for name, part in data.items()}
    if isinstance(data, list | tuple):
        return [shortened(part) for part in data]
    return float(f"{data:.{KEPT}g}") if isinstance(data, float) else data


def _frame(rows: Mapping[str, Sequence[Any]]) -> Any:
    """Returns the columns as a data frame; in columns of numbers, None becomes NaN."""
    import pandas as pd

    return pd.DataFrame({name: _numeric(values) for name, values in rows.items()})


def _in_percent(rows: Mapping[str, Sequence[Any]], names: Sequence[str]) -> Any:
    """Returns the columns as a data frame, with the named columns converted from shares to per cent."""
    shares = {name: [None if value is None else 100 * value for value in rows[name]] for name in names}
    return _frame({**rows, **shares})


def _numeric(values: Sequence[Any]) -> list[Any]:
    known = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in known):
        return list(values)
    return [nan if value is None else value for value in values]


# ── one function per kind ────────────────────────────────────────────────────────────────────


def _forest(data: Data, marks: Marks, palette: Palette, layout: ForestLayout | None = None) -> go.Figure:
    from recdash.charts.forest import ForestLayout, forest

    signs = data.get("sign") or [former_sign(word) for word in data["word"]]
    rows = _frame({**data, "sign": signs})
    return forest(rows, list(data["run_id"]), marks, palette, layout or ForestLayout())


def _curve(data: Data, marks: Marks, palette: Palette) -> go.Figure:
    import pandas as pd

    from recdash.charts.curves import metric_curve, with_interval

    names = ("k", "value", "std_error")
    parts = [
        pd.DataFrame({"run_id": line["run_id"], **{name: _numeric(line[name]) for name in names}})
        for line in data["lines"]
    ]
    rows = with_interval(pd.concat(parts, ignore_index=True))
    return metric_curve(rows, marks, palette, data["k"], data["ends"], percent=data["percent"])


def _precision_recall(data: Data, marks: Marks, palette: Palette) -> go.Figure:
    from recdash.charts.precision_recall import precision_recall

    rows = _frame(data["rows"])
    total = rows["precision"] + rows["recall"]
    f1 = (2 * rows["precision"] * rows["recall"] / total.where(total > 0)).fillna(0.0)
    return precision_recall(rows.assign(f1=f1), marks, palette, data["k"], data["ends"])


def _bars(data: Data, marks: Marks, palette: Palette) -> go.Figure:
    from recdash.charts.offline_online import Side, bars

    names = [name for name in data["rows"] if name != "run_id"]
    rows = _in_percent(data["rows"], names) if data["lifts"] else _frame(data["rows"])
    sign = sign_of if "open" in data else former_sign
    unit = " %" if data["lifts"] else ""
    lower = data.get("lower_is_better", False)
    side = Side(
        names[0], names[1], names[2], unit=unit, judged=data["judged"], sign=sign, lower_is_better=lower
    )
    # Charts are measured for the font of the dashboard; fonts of readers may be wider.
    return bars(rows, marks, palette, side).update_layout(margin_l=BAR_NAMES)


def _quadrants(data: Data, marks: Marks, palette: Palette) -> go.Figure:
    from recdash.charts.offline_online import quadrants

    rows = _in_percent(data["rows"], ["online_lift", "online_low", "online_high"])
    judged, lower = data["judged"], data.get("lower_is_better", False)
    offline_lower = data.get("offline_lower_is_better", False)
    return quadrants(
        rows, marks, palette, *data["titles"],
        judged=judged, lower_is_better=lower, offline_lower_is_better=offline_lower,
    )  # fmt: skip


def _segments(data: Data, marks: Marks, palette: Palette) -> go.Figure:
    from recdash.charts.layout import span
    from recdash.charts.segments import SegmentRow, segment_panels

    beside = len(data["runs"])
    titles = [str(line["title"]) for line in data["lines"]]
    dots = {
        run["run_id"]: [
            _dot(dot, f"{marks[run['run_id']].name}, {title}", data, beside)
            for dot, title in zip(run["dots"], titles, strict=True)
        ]
        for run in data["runs"]
    }
    lines = [SegmentRow(str(line["title"]), f"n = {count_range(line['n'])}") for line in data["lines"]]
    ends = span(data["span"], zero=not data["by_value"])
    return segment_panels(lines, dots, beside, marks, palette, ends)


def _dot(dot: Data, name: str, data: Data, beside: int) -> SegmentPoint:
    from recdash.charts.layout import escape
    from recdash.charts.segments import SegmentPoint as Point

    names = ("value", "base", "difference", "low", "high")
    value, base, difference, low, high = (nan if dot[key] is None else dot[key] for key in names)
    if data["by_value"]:
        scale = 100 if data["percent"] else 1
        text = numbers.three(value * scale)
        hover = f"{escape(name)}<br>{text}, n = {numbers.count(dot['n'])}"
        return Point(value * scale, text, hover, tick=base * scale)
    if not dot["word"]:
        text = numbers.NONE if beside > 3 else f"{numbers.NONE} {dot['why'] or 'not scored'}"
        return Point(difference, text, f"{escape(name)}<br>{dot['why']}", look="faint")
    digits = numbers.places([difference, low, high])
    amount, bounds = numbers.signed(difference, digits), numbers.interval(low, high, digits)
    hover = f"{escape(name)}<br>{amount} ({bounds})<br>{shown(dot['word'])}, n = {numbers.count(dot['n'])}"
    words = [dot["sign"], *([amount] if beside < 3 else []), *([shown(dot["word"])] if beside < 4 else [])]
    settled = dot["word"] in {"better", "worse"}
    return Point(difference, " ".join(words), hover, low, high, look="filled" if settled else "hollow")


DRAWN: Mapping[FigureKind, Callable[[Data, Marks, Palette], Any]] = {
    "forest": _forest,
    "curve": _curve,
    "precision-recall": _precision_recall,
    "bars": _bars,
    "quadrants": _quadrants,
    "segments": _segments,
}
"""The function that draws each kind of figure.

To add a kind, add its name to ``FigureKind`` and its row here.
"""
