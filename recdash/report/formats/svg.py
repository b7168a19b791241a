"""Draws figures as SVG, from the traces, shapes and annotations that ``recdash.charts`` makes for Plotly.

A browser shows them without a script; a figure takes 10 KB, where Plotly's script takes 1.9 MB. Only the part
of Plotly that charts of reports use is supported: axes with a fixed range, lines, markers, areas, bars from
zero, and text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import groupby
from math import cos, hypot, pi, sin
from typing import Any

from markupsafe import Markup, escape

from recdash.charts.mark_html import ROLES
from recdash.formatting.sanitize import CONTROL
from recdash.report.formats.figures import THEMELESS

Values = Mapping[str, Any]
Corners = Sequence[tuple[float, float]]
TAGS = re.compile(r"(</?b>|<span [^<>]*>|</span>)")
STYLE = re.compile(r"(color|font-size):([^;\"]+)")
RGBA = re.compile(r"rgba\((\d+),(\d+),(\d+),([\d.]+)\)")
VARIABLES = {getattr(THEMELESS, role): f"var(--{role})" for role in ROLES}
DASHES = {"dot": (1,), "dash": (3,), "dashdot": (3, 1, 1, 1), "longdash": (5,), "longdashdot": (5, 2, 1, 2)}
"""The lengths of the dashes and gaps of a line, as multiples of its width; one length is that of both."""
ANCHORS = {"left": "start", "center": "middle", "right": "end"}
LINE_HEIGHT, BASELINE = 1.3, 0.35
"""Distances as multiples of the font size: between lines of text (LINE_HEIGHT), and from the middle of a line
down to its baseline (BASELINE).
"""


def _around(corners: int, *radii: float, turn: float = 0.0) -> Corners:
    """Returns the corners of a polygon around (0, 0), clockwise from the top, with these radii in turn.

    ``turn`` rotates it by so many corners.
    """
    angles = [2 * pi * (corner + turn) / corners for corner in range(corners)]
    return [
        (radii[corner % len(radii)] * sin(angle), -radii[corner % len(radii)] * cos(angle))
        for corner, angle in enumerate(angles)
    ]


def _turned(corners: Corners, angle: float) -> Corners:
    return [(x * cos(angle) - y * sin(angle), x * sin(angle) + y * cos(angle)) for x, y in corners]


ARM = ((-0.4, -1.2), (0.4, -1.2), (0.4, -0.4))
CROSS = [corner for quarter in range(4) for corner in _turned(ARM, quarter * pi / 2)]
POLYGONS: Mapping[str, Corners] = {
    "square": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
    "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
    "cross": CROSS,
    "x": _turned(CROSS, pi / 4),
    "hexagon": _around(6, 1),
    "pentagon": _around(5, 1),
    "star": _around(10, 1.4, 0.55),
    "octagon": _around(8, 1, turn=0.5),
    "hourglass": [(-1, -1), (1, -1), (-1, 1), (1, 1)],
    "line-ns": [(0, -1.4), (0, 1.4)],
}
"""The corners of each marker with a size of 2."""


@dataclass(frozen=True)
class Axis:
    """An axis from the value ``low`` at the pixel ``start`` to the value ``high`` at the pixel ``end``."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


@dataclass(frozen=True)
class Plot:
    """The axes of a figure by their names in Plotly ("paper" is the whole plot), and the font of its
    texts.
    """

    x: Mapping[str, Axis]
    y: Mapping[str, Axis]
    font: Values


def to_svg(figure: Values, title: str, width: int) -> Markup:
    """Returns a figure as an element ``svg`` of this width in pixels, with ``title`` as its accessible name.

    ``figure`` is what ``figures.drawn`` returns.
    """
    layout, plot = figure["layout"], _plot(figure["layout"], width)
    shapes = [(shape, _shape(shape, plot)) for shape in layout.get("shapes", ()) if _is_placed(shape)]
    parts = [
        *(drawn for shape, drawn in shapes if shape.get("layer") == "below"),
        *_grids(layout, plot),
        *_traces(figure["data"], plot),
        *(drawn for shape, drawn in shapes if shape.get("layer") != "below"),
        *(_note(note, plot) for note in layout.get("annotations", ()) if _is_placed(note)),
    ]
    box = f"0 0 {width} {layout['height']}"
    return _tag("svg", *parts, viewBox=box, role="img", aria_label=CONTROL.sub(" ", title), class_="chart")


def _is_placed(part: Values) -> bool:
    """Returns whether all coordinates of a shape or annotation are numbers; others are not drawn."""
    return all(part.get(end, 0) is not None for end in ("x", "y", "x0", "x1", "y0", "y1"))


def _plot(layout: Values, width: int) -> Plot:
    margin, height = layout["margin"], layout["height"]
    left, right, top, bottom = margin["l"], width - margin["r"], margin["t"], height - margin["b"]
    x, y = {"paper": Axis(0, 1, left, right)}, {"paper": Axis(0, 1, bottom, top)}
    for name, axis in layout.items():
        if name.startswith(("xaxis", "yaxis")):
            across = name[0] == "x"
            whole = (x if across else y)["paper"]
            start, end = (whole.at(share) for share in axis.get("domain", (0, 1)))
            low, high = axis["range"]
            (x if across else y)[name.replace("axis", "")] = Axis(low, high, start, end)
    return Plot(x, y, layout["font"])


# ── elements ─────────────────────────────────────────────────────────────────────────────────


def _tag(name: str, /, *content: Markup, **attributes: object) -> Markup:
    """Returns an element; the attribute ``stroke_width`` is written as ``stroke-width``, and None is
    omitted.
    """
    written = "".join(
        f' {attribute.rstrip("_").replace("_", "-")}="{escape(_short(value))}"'
        for attribute, value in attributes.items()
        if value is not None
    )
    # Content that is not Markup is escaped by join.
    return Markup(f"<{name.rstrip('_')}{written}>{Markup().join(content)}</{name.rstrip('_')}>")  # noqa: S704


def _short(value: object) -> object:
    """Returns a number rounded to one decimal, which is a tenth of a pixel; other values unchanged."""
    return f"{round(value, 1):g}" if isinstance(value, float) else value


def _paint(what: str, colour: str | None) -> dict[str, object]:
    """Returns the attributes that give ``fill`` or ``stroke`` this colour; "none" for None.

    A colour that is a placeholder for a role follows the reader's theme.
    """
    if colour is None:
        return {what: "none"}
    opacity = None
    if mixed := RGBA.fullmatch(colour):
        colour, opacity = "#" + "".join(f"{int(part):02X}" for part in mixed.groups()[:3]), mixed[4]
    return {what: VARIABLES.get(colour, colour), f"{what}_opacity": opacity}


def _stroke(line: Values) -> dict[str, object]:
    width = line.get("width", 2)
    unit = float(max(width, 3))
    dash = " ".join(str(_short(unit * part)) for part in DASHES.get(line.get("dash", ""), ()))
    return {**_paint("stroke", line.get("color")), "stroke_width": width, "stroke_dasharray": dash or None}


def _points(points: Corners) -> str:
    return " ".join(f"{_short(float(x))},{_short(float(y))}" for x, y in points)


def _text(text: str, x: float, y: float, font: Values, side: str = "center", edge: str = "middle",
          **options: object) -> Markup:  # fmt: skip
    """Returns lines of text at a point; ``side`` and ``edge`` say which side and edge of the text are at the
    point.
    """
    lines, size = text.split("<br>"), font["size"]
    step = LINE_HEIGHT * size
    first = y - {"top": 0, "middle": 0.5, "bottom": 1}[edge] * step * len(lines)
    spans = [
        _tag("tspan", *_pieces(line), x=float(x), y=float(first + (row + 0.5) * step + BASELINE * size))
        for row, line in enumerate(lines)
    ]
    look = {**_paint("fill", font["color"]), "font_size": size, "text_anchor": ANCHORS[side]}
    return _tag("text", *spans, **look, **options)


def _pieces(line: str) -> Iterator[Markup]:
    """Yields the parts of a line, with bold, colours and sizes from Plotly's tags; all else is escaped as
    text.
    """
    for part in TAGS.split(line):
        if part == "<b>":
            yield Markup('<tspan font-weight="600">')
        elif part.startswith("<span "):
            style = dict(STYLE.findall(part))
            look = _paint("fill", style["color"]) if "color" in style else {}
            yield Markup(_tag("tspan", **look, font_size=style.get("font-size")).removesuffix("</tspan>"))  # noqa: S704
        elif part in {"</b>", "</span>"}:
            yield Markup("</tspan>")
        else:
            yield escape(CONTROL.sub(" ", unescape(part)))


def _hover(text: str | None) -> list[Markup]:
    """Returns the element with the text that a browser shows while the pointer rests on a marker; empty
    without text.
    """
    if not text:
        return []
    lines = [CONTROL.sub(" ", unescape(line)) for line in TAGS.sub("", text).split("<br>")]
    return [_tag("title", escape("\n".join(lines)))]


# ── axes, traces, shapes, notes ──────────────────────────────────────────────────────────────


def _grids(layout: Values, plot: Plot) -> Iterator[Markup]:
    """Yields for each axis its grid lines, its numbers or names, and its title."""
    left, right = plot.x["paper"].start, plot.x["paper"].end
    bottom, top = plot.y["paper"].start, plot.y["paper"].end
    for name, axis in layout.items():
        if not name.startswith(("xaxis", "yaxis")):
            continue
        across = name[0] == "x"
        scale = (plot.x if across else plot.y)[name.replace("axis", "")]
        font, title, off = axis["tickfont"], axis["title"], axis.get("ticklabelstandoff", 0) + 3
        for value, text in zip(axis["tickvals"], axis.get("ticktext", ()), strict=False):
            at = scale.at(value)
            if axis["showgrid"]:
                ends = {"x1": at, "x2": at, "y1": top, "y2": bottom}
                if not across:
                    ends = {"x1": left, "x2": right, "y1": at, "y2": at}
                yield _tag("line", **ends, **_paint("stroke", axis["gridcolor"]))
            place = (at, bottom + off, font, "center", "top") if across else (left - off, at, font, "right")
            yield _text(text, *place)
        if title["text"] and across:
            below = bottom + LINE_HEIGHT * font["size"] + title["standoff"]
            yield _text(title["text"], (scale.start + scale.end) / 2, below, title["font"], "center", "top")
        elif title["text"]:
            beside = left - off - title["standoff"] - 0.55 * font["size"] * max(map(len, axis["ticktext"]))
            x, y = max(beside, title["font"]["size"]), (scale.start + scale.end) / 2
            turned = f"rotate(-90 {_short(float(x))} {_short(float(y))})"
            yield _text(title["text"], x, y, title["font"], "center", "bottom", transform=turned)


def _traces(traces: Sequence[Values], plot: Plot) -> Iterator[Markup]:
    """Yields the traces in their order, clipped at the edges of their axes unless ``cliponaxis`` is False."""
    top, height = plot.y["paper"].end, plot.y["paper"].start - plot.y["paper"].end
    for (name, cut), group in groupby(
        traces, lambda trace: (trace.get("xaxis", "x"), trace.get("cliponaxis", True))
    ):
        x = plot.x[name]
        drawn = [mark for trace in group for mark in _marks(trace, x, plot.y[trace.get("yaxis", "y")])]
        if cut:
            box = {"x": x.start, "y": top, "width": x.end - x.start, "height": height}
            view = " ".join(str(_short(float(part))) for part in box.values())
            yield _tag("svg", *drawn, **box, viewBox=view)
        else:
            yield from drawn


def _marks(trace: Values, x: Axis, y: Axis) -> Iterator[Markup]:
    """Yields the lines of a trace and then its markers, or else its bars from zero."""
    points = [
        None if across is None or up is None else (x.at(across), y.at(up))
        for across, up in zip(trace["x"], trace["y"], strict=True)
    ]
    hover = trace.get("hovertext")
    texts = hover if isinstance(hover, list) else [hover] * len(points)
    if trace["type"] == "bar":
        half = abs(y.at(trace["width"]) - y.at(0)) / 2
        for point, text in zip(points, texts, strict=True):
            if point is not None:
                box = {"x": min(point[0], x.at(0)), "width": abs(point[0] - x.at(0)), "y": point[1] - half}
                look = {**_paint("fill", trace["marker"]["color"]), **_stroke(trace["marker"]["line"])}
                yield _tag("rect", *_hover(text), **box, height=2 * half, **look)
        return
    if "lines" in trace["mode"]:
        for is_known, group in groupby(points, lambda point: point is not None):
            if is_known:
                look = _stroke(trace["line"]) if trace["line"].get("width") else {}
                path = _points([point for point in group if point is not None])
                yield _tag("polyline", points=path, **_paint("fill", trace.get("fillcolor")), **look)
    if "markers" in trace["mode"]:
        for point, text in zip(points, texts, strict=True):
            if point is not None:
                yield _mark(trace["marker"], *point, text)


def _mark(marker: Values, x: float, y: float, hover: str | None) -> Markup:
    radius, line = marker["size"] / 2, marker["line"]
    look = {**_paint("fill", marker.get("color")), **(_stroke(line) if line["width"] else {})}
    if marker["symbol"] == "circle":
        return _tag("circle", *_hover(hover), cx=x, cy=y, r=radius, **look)
    corners = [(x + radius * across, y + radius * down) for across, down in POLYGONS[marker["symbol"]]]
    return _tag("polygon", *_hover(hover), points=_points(corners), **look)


def _shape(shape: Values, plot: Plot) -> Markup:
    x, y = plot.x[shape.get("xref", "x")], plot.y[shape.get("yref", "y")]
    left, right, low, high = x.at(shape["x0"]), x.at(shape["x1"]), y.at(shape["y0"]), y.at(shape["y1"])
    if shape["type"] == "line":
        return _tag("line", x1=left, x2=right, y1=low, y2=high, **_stroke(shape["line"]))
    box = {"x": min(left, right), "y": min(low, high), "width": abs(right - left), "height": abs(high - low)}
    return _tag("rect", **box, **_paint("fill", shape["fillcolor"]))


def _note(note: Values, plot: Plot) -> Markup:
    """Returns the text of an annotation and, if it has an arrow, the line from it to its point."""
    x, y = plot.x[note.get("xref", "x")].at(note["x"]), plot.y[note.get("yref", "y")].at(note["y"])
    across, down = note.get("ax", 0), note.get("ay", 0)
    parts = []
    if note["showarrow"] and (length := hypot(across, down)) > note["standoff"]:
        gap = note["standoff"] / length
        ends = {"x1": x + gap * across, "y1": y + gap * down, "x2": x + across, "y2": y + down}
        parts.append(_tag("line", **ends, **_paint("stroke", note["arrowcolor"])))
    place = (x + across + note.get("xshift", 0), y + down - note.get("yshift", 0))
    anchors = (note.get("xanchor", "center"), note.get("yanchor", "middle"))
    parts.append(_text(note["text"], *place, {**plot.font, **note.get("font", {})}, *anchors))
    return _tag("g", *_hover(note.get("hovertext")), *parts)
