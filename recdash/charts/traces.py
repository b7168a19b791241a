"""Makes traces, shapes and annotations as the plain dicts that plotly reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recdash.charts.layout import LABEL_PITCH, LINE, escape, muted, short_labels
from recdash.charts.marks import Mark, Marks, Palette
from recdash.formatting.names import shortened

Trace = dict[str, Any]
Hover = str | Sequence[str] | None
"""The text that is shown when the pointer is over a mark: one for all marks, or one for each; None for no
text.
"""
Pair = tuple[float, float]
LONGEST_TITLES, LONGEST_TITLE = {1: 80, 2: 36}, 22
"""Number of characters of titles above panels in the narrowest window: {number of panels in a row:
characters}, and for more panels.
"""
RING = 2.4
"""Width of the line of an open mark in px."""
CLEAR = "rgba(0,0,0,0)"


def scatter(
    mode: str, x: Sequence[Any], y: Sequence[Any], name: str, hover: Hover = None, /, **options: Any
) -> Trace:
    """Returns a scatter trace; ``name`` and ``hover`` must be escaped. None in ``x`` and ``y`` interrupts the
    line.
    """
    hovering = {"hoverinfo": "skip"} if hover is None else {"hoverinfo": "text", "hovertext": hover}
    return {"type": "scatter", "mode": mode, "x": list(x), "y": list(y), "name": name, **hovering, **options}


def line(
    x: Sequence[Any],
    y: Sequence[Any],
    name: str,
    colour: str,
    width: float,
    *,
    dash: str = "",
    hover: Hover = None,
    **options: Any,
) -> Trace:
    """Returns a line through the points."""
    look = {"color": colour, "width": width} | ({"dash": dash} if dash else {})
    return scatter("lines", x, y, name, hover, line=look, **options)


def dots(
    x: Sequence[Any], y: Sequence[Any], name: str, marker: Trace, hover: Hover = None, **options: Any
) -> Trace:
    """Returns a trace with a mark at each point; ``marker`` is a result of
    :func:`recdash.charts.layout.marker`.
    """
    return scatter("markers", x, y, name, hover, marker=marker, **options)


def rings(x: Sequence[Any], y: Sequence[Any], mark: Mark, size: float, **options: Any) -> Trace:
    """Returns a trace with the open outline of the run's mark at each point; outlines of several runs at one
    point can all be seen.
    """
    look = {"symbol": f"{mark.shape}-open", "size": size, "color": mark.edge, "line": {"width": RING}}
    return dots(x, y, escape(mark.name), look, **options)


def bars(x: Sequence[Any], y: Sequence[Any], name: str, marker: Trace, hover: Hover, **options: Any) -> Trace:
    return {
        "type": "bar",
        "x": list(x),
        "y": list(y),
        "name": name,
        "marker": marker,
        "hoverinfo": "text",
        "hovertext": hover,
        **options,
    }


def zero_line(palette: Palette, x: Sequence[Any], y: Sequence[Any]) -> Trace:
    """Returns the line at zero, which is the heaviest one. It is a trace, because the grid would cover a
    shape.
    """
    return line(x, y, "zero", palette.ink, 2.5)


def area(x: Sequence[float], low: Sequence[float], high: Sequence[float], name: str, fill: str) -> Trace:
    """Returns a filled band from ``low`` to ``high``."""
    edge = {"fill": "toself", "fillcolor": fill, "line": {"width": 0}}
    return scatter("lines", [*x, *reversed(x)], [*high, *reversed(low)], name, **edge)


def cross(point: Pair, x_ends: Pair, y_ends: Pair, name: str, colour: str, width: float) -> list[Trace]:
    """Returns two lines through the point (x, y): a horizontal one from one end of the interval of x to the
    other, and a vertical one for y.
    """
    x, y = point
    return [line(x_ends, [y, y], name, colour, width), line([x, x], y_ends, name, colour, width)]


# ── shapes ───────────────────────────────────────────────────────────────────────────────────


def rectangle(x: Pair, y: Pair, fill: str, **options: Any) -> Trace:
    """Returns a filled rectangle behind the traces."""
    corners = {"x0": x[0], "x1": x[1], "y0": y[0], "y1": y[1]}
    return {"type": "rect", **corners, "fillcolor": fill, "line": {"width": 0}, "layer": "below", **options}


def straight(x: Pair, y: Pair, colour: str, width: float, **options: Any) -> Trace:
    """Returns a straight line as a shape."""
    corners = {"x0": x[0], "x1": x[1], "y0": y[0], "y1": y[1]}
    return {"type": "line", **corners, "line": {"color": colour, "width": width}, **options}


def row_band(palette: Palette, y: int) -> Trace:
    """Returns the coloured background of a row from edge to edge, as in the table next to the figure."""
    return rectangle((-1, 2), (y - 0.5, y + 0.5), palette.panel, xref="paper")


def row_rule(y: int, colour: str) -> Trace:
    """Returns the line below a row from edge to edge, as in the table next to the figure."""
    return straight((-1, 2), (y + 0.5, y + 0.5), colour, 1, xref="paper")


# ── annotations ──────────────────────────────────────────────────────────────────────────────


def note(x: float, y: float, text: str, **options: Any) -> Trace:
    """Returns an annotation without an arrow; ``text`` must be escaped."""
    return {"x": x, "y": y, "text": text, "showarrow": False, **options}


def margin_note(y: float, text: str) -> Trace:
    """Returns an annotation in the right margin next to the row ``y``; ``text`` must be escaped."""
    return note(1, y, text, xref="paper", xanchor="left", xshift=16, yref="y", align="left")


def above_panel(left: float, text: str, **options: Any) -> Trace:
    """Returns an annotation above a panel that begins at ``left`` (0..1); ``text`` must be escaped."""
    paper = {"xref": "paper", "xanchor": "left", "yref": "paper", "yanchor": "bottom", "yshift": 8}
    return note(left, 1, f"<b>{text}</b>", **paper, font={"size": 13.5}, **options)


def panel_names(names: Iterable[str], beside: int, longest: int = 80) -> Mapping[str, str]:
    """Returns {name: short name} for titles of panels, ``beside`` of which are in a row; cut to the room
    above a panel and to ``longest`` characters, not escaped.
    """
    return shortened(names, min(LONGEST_TITLES.get(beside, LONGEST_TITLE), longest))


def panel_title(name: str, short: str, left: float) -> Trace:
    """Returns the short name as the title of a panel; the full name appears when the pointer is over it."""
    return above_panel(left, escape(short), hovertext=escape(name))


def run_key(
    palette: Palette, marks: Marks, runs: Sequence[tuple[str, str]], longest: int, heading: str = ""
) -> tuple[list[Trace], list[Trace]]:
    """Returns the shapes and annotations of a key in the right margin: below ``heading`` one row for each of
    ``runs`` (run id, value as text), with a piece of its line and its name in at most ``longest`` characters.
    """
    names = short_labels(marks, longest)
    font = {"size": 12.5, "color": palette.ink}
    look = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "middle", "font": font}
    in_px = {"xref": "paper", "xsizemode": "pixel", "xanchor": 1}
    in_px |= {"yref": "paper", "ysizemode": "pixel", "yanchor": 1}
    samples = []
    texts = [note(1, 1, f"<b>{heading}</b>", xshift=16, yshift=-6, **look)] if heading else []
    for place, (run_id, value) in enumerate(runs, start=len(texts)):
        mark, down = marks[run_id], -6 - place * LABEL_PITCH
        sample = straight((16, 40), (down, down), mark.colour, LINE * mark.heft, **in_px)
        sample["line"]["dash"] = mark.dash
        samples.append(sample)
        text = f"{names[run_id]}  {muted(palette, value)}" if value else names[run_id]
        texts.append(note(1, 1, text, xshift=46, yshift=down, **look))
    return samples, texts


def end_label(palette: Palette, text: str, point: Pair, offset: Pair, colour: str, **options: Any) -> Trace:
    """Returns a label that is ``offset`` px from ``point`` (in data units) and connected with it by a thin
    line; ``text`` must be escaped.
    """
    return {
        "x": point[0],
        "y": point[1],
        "ax": offset[0],
        "ay": offset[1],
        "text": text,
        "showarrow": True,
        "arrowhead": 0,
        "arrowwidth": 1,
        "arrowcolor": colour,
        "xanchor": "left" if offset[0] >= 0 else "right",
        "yanchor": "middle",
        "align": "left",
        "standoff": 4,
        "font": {"size": 12.5, "color": palette.ink},
        "bgcolor": palette.background,
        "borderpad": 1,
        **options,
    }
