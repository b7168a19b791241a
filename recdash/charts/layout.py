"""What every figure shares: the near-empty template, axes, zero line, labels that do not collide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from recdash.charts.marks import Mark, Palette
from recdash.formatting import numbers
from recdash.formatting.sanitize import on_a_line
from recdash.formatting.wording import cut, cut_inside

FONT = '"Source Sans", "Source Sans Pro", sans-serif'
LINE, INTERVAL, MARKER, SMALL_MARKER, RIBBON_ALPHA = 2.2, 3, 13, 7, 0.16
LABEL_PITCH = 19
LABEL_SHIFTS = (0, -19, 19, -38, 38, -57, 57, -76, 76)
LONGEST_LABEL = 26
LONGEST_TITLES, LONGEST_TITLE = {1: 80, 2: 36}, 22
"""Characters above one panel, above each of two, and above each of more, in the narrowest window."""
CONFIG = {"displayModeBar": False, "staticPlot": False, "scrollZoom": False, "doubleClick": False}

CLEAR = "rgba(0,0,0,0)"
Box = tuple[float, float, float, float]


def escape(text: str) -> str:
    """Text for any plotly sink (labels, hover, ticks): its own tags, links and line breaks are inert.

    Plotly reads ``<b>``, ``<a href>`` and entities in every string; ``%{`` is read in templates.
    """
    clean = on_a_line(text)
    clean = clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return clean.replace("%{", "%\u2060{")


def short(text: str, longest: int = LONGEST_LABEL) -> str:
    """A name for a narrow margin, escaped; the full one stays in hover, chips and table."""
    return escape(cut(text, longest))


def panel_title(name: str, left: float, beside: int) -> dict[str, Any]:
    """Annotation above a panel that starts at ``left`` (0..1): as much of a name as its width holds."""
    longest = LONGEST_TITLES.get(beside, LONGEST_TITLE)
    return {
        "x": left, "xref": "paper", "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom",
        "yshift": 8, "showarrow": False, "text": f"<b>{escape(cut_inside(name, longest))}</b>",
        "hovertext": escape(name), "font": {"size": 13.5},
    }  # fmt: skip


def rgba(colour: str, alpha: float) -> str:
    """``#0072B2, 0.16`` → ``rgba(0,114,178,0.16)``."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def figure(palette: Palette, height: int, margin: tuple[int, int, int, int]) -> go.Figure:
    """An empty figure of ``height`` px; ``margin`` = left, right, top, bottom px, never automatic."""
    return go.Figure(layout={"template": go.layout.Template(), **_look(palette, height, margin)})


def assembled(
    palette: Palette, height: int, margin: tuple[int, int, int, int], data: Sequence[Mapping[str, Any]],
    layout: Mapping[str, Any],
) -> go.Figure:  # fmt: skip
    """A figure with all its traces and its layout at once, none of it checked.

    Plotly's checks take five times as long as everything else on a page; the tests make them instead.
    """
    whole = {"template": {}, **_look(palette, height, margin), **layout}
    return go.Figure(data=list(data), layout=whole, _validate=False)


def _look(palette: Palette, height: int, margin: tuple[int, int, int, int]) -> dict[str, Any]:
    left, right, top, bottom = margin
    return {
        "height": height,
        "margin": {"l": left, "r": right, "t": top, "b": bottom, "pad": 0},
        "paper_bgcolor": palette.background,
        "plot_bgcolor": palette.background,
        "font": {"family": FONT, "size": 13, "color": palette.ink},
        "colorway": [palette.muted],
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": palette.panel,
            "bordercolor": palette.border,
            "font": {"family": FONT, "size": 13, "color": palette.ink},
            "align": "left",
        },
    }


def axis(palette: Palette, low: float, high: float, **options: Any) -> dict[str, Any]:
    """A fixed axis without lines or ticks; ``tickvals`` and ``ticktext`` come from the caller."""
    base = {
        "range": [low, high],
        "fixedrange": True,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "showgrid": True,
        "gridcolor": palette.grid,
        "gridwidth": 1,
        "automargin": False,
        "tickfont": {"size": 12.5, "color": palette.muted},
        "title": {"text": "", "font": {"size": 13, "color": palette.muted}, "standoff": 8},
    }
    return base | options


def tick_labels(values: Sequence[float], *, sign: bool = False) -> dict[str, Any]:
    """``tickvals``/``ticktext`` with one number format; ``sign`` writes +0.01 but plain 0."""
    decimals = numbers.tick_decimals(values)
    write = numbers.signed if sign else numbers.fixed
    text = ["0" if sign and value == 0 else write(value, decimals) for value in values]
    return {"tickvals": list(values), "ticktext": text}


def span(values: Iterable[float], *, pad: float = 0.08, zero: bool = False) -> tuple[float, float]:
    """The range that holds all finite ``values`` (and zero when asked), padded on both sides."""
    finite = [value for value in values if numbers.is_number(value)] + ([0.0] if zero else [])
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    room = (high - low) * pad or abs(high) * 0.1 or 1.0
    return low - room, high + room


def zero_line(palette: Palette, y: Sequence[float], x: float = 0.0) -> go.Scatter:
    """Zero is the heaviest line; a trace, since a shape would lie under the grid."""
    return go.Scatter(
        x=[x] * len(y), y=list(y), mode="lines", hoverinfo="skip", name="zero",
        line={"color": palette.ink, "width": 2.5},
    )  # fmt: skip


def marker(look: Mark, palette: Palette, *, size: float = MARKER, hollow: bool = False) -> dict[str, Any]:
    """Filled: the interval excludes zero. Hollow: it does not."""
    fill = palette.background if hollow else look.colour
    edge = {"color": look.edge, "width": 2.2 if hollow else 1.2 if look.edge != look.colour else 0}
    return {"symbol": look.shape, "size": size, "color": fill, "line": edge, "opacity": 1}


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions as near as possible to ``wanted`` but at least ``gap`` apart, inside ``low..high``.

    Overlapping neighbours are merged into a block centred on their mean until none overlap.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    blocks: list[list[int]] = []
    for index in order:
        blocks.append([index])
        while len(blocks) > 1 and _start(blocks[-1], wanted, gap) < _end(blocks[-2], wanted, gap) + gap:
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    placed = [0.0] * len(wanted)
    for block in blocks:
        start = _start(block, wanted, gap)
        for offset, index in enumerate(block):
            placed[index] = start + offset * gap
    return _inside(placed, order, gap, low, high)


def _start(block: Sequence[int], wanted: Sequence[float], gap: float) -> float:
    centre = sum(wanted[index] for index in block) / len(block)
    return centre - gap * (len(block) - 1) / 2


def _end(block: Sequence[int], wanted: Sequence[float], gap: float) -> float:
    return _start(block, wanted, gap) + gap * (len(block) - 1)


def _inside(placed: list[float], order: Sequence[int], gap: float, low: float, high: float) -> list[float]:
    floor = low
    for index in order:
        placed[index] = floor = max(placed[index], floor)
        floor += gap
    ceiling = high
    for index in reversed(order):
        placed[index] = ceiling = min(placed[index], ceiling)
        ceiling -= gap
    return placed


def place_labels(
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    obstacles: Sequence[tuple[float, float]],
    size: tuple[float, float],
) -> list[tuple[float, float]]:
    """Offsets (px) of labels beside ``points`` (px from the top left), clear of each other and of curves,
    inside an area of ``size`` (width, height) px.

    Each label takes the cheapest of a few places right and left of its point: other labels cost most,
    then the ``obstacles`` under it, then its distance.
    """
    taken: list[Box] = []
    offsets = []
    for (x, y), text in sorted(zip(points, texts, strict=True), key=lambda pair: -pair[0][0]):
        width = 7.0 * len(text) + 6
        options = [(side * 24.0, shift) for shift in LABEL_SHIFTS for side in (1, -1)]
        boxes = [_box(x + across, y + down, width, across > 0) for across, down in options]
        costs = [
            _crowding(box, taken, obstacles, size) + abs(down) / 60 + (across < 0) * 0.3
            for box, (across, down) in zip(boxes, options, strict=True)
        ]
        best = costs.index(min(costs))
        taken.append(boxes[best])
        offsets.append(((x, y), text, options[best]))
    found = {(point, text): offset for point, text, offset in offsets}
    return [found[point, text] for point, text in zip(points, texts, strict=True)]


def _box(x: float, y: float, width: float, rightwards: bool) -> Box:
    left = x if rightwards else x - width
    return left, y - LABEL_PITCH / 2, left + width, y + LABEL_PITCH / 2


def _crowding(
    box: Box, taken: Sequence[Box], obstacles: Sequence[tuple[float, float]], size: tuple[float, float]
) -> float:
    left, top, right, bottom = box
    overlaps = sum(left < box[2] and box[0] < right and top < box[3] and box[1] < bottom for box in taken)
    under = sum(left <= x <= right and top <= y <= bottom for x, y in obstacles)
    outside = left < 0 or top < 0 or right > size[0] or bottom > size[1]
    return 1000.0 * overlaps + 1000.0 * outside + under


def end_label(
    palette: Palette, text: str, at: tuple[float, float], offset: tuple[float, float], colour: str
) -> dict[str, Any]:
    """A label ``offset`` px from the data point ``at``, tied to it by a thin line; ``text`` is escaped."""
    return {
        "x": at[0], "y": at[1], "ax": offset[0], "ay": offset[1],
        "text": text, "showarrow": True, "arrowhead": 0, "arrowwidth": 1, "arrowcolor": colour,
        "xanchor": "left" if offset[0] >= 0 else "right", "yanchor": "middle", "align": "left",
        "standoff": 4, "font": {"size": 12.5, "color": palette.ink}, "bgcolor": palette.background,
        "borderpad": 1,
    }  # fmt: skip


def muted(palette: Palette, text: str) -> str:
    """``text`` (already escaped) in the muted colour, for plotly labels."""
    return f'<span style="color:{palette.muted}">{text}</span>'
