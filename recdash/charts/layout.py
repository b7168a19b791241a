"""Layout that all figures share: the template, axes, the line at zero, and labels that do not overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go

from recdash.charts.marks import Mark, Marks, Palette, short_names
from recdash.formatting import numbers
from recdash.formatting.sanitize import on_a_line
from recdash.formatting.wording import cut_inside

FONT = '"Source Sans", "Source Sans Pro", sans-serif'
LINE, INTERVAL, MARKER, SMALL_MARKER, RIBBON_ALPHA = 2.2, 3, 13, 7, 0.16
LABEL_PITCH = 19
OVERLAP = 1000.0
"""The cost of a label's place that covers another label or extends beyond the drawn area."""
MARK = 8
"""The number of obstacles that a run's marker counts as."""
LABEL_SHIFTS = (0, -19, 19, -38, 38, -57, 57, -76, 76)
FAR_SIDES = (24.0, -24.0, 110.0, -110.0, 200.0, -200.0)
FAR_SHIFTS = tuple(float(step * LABEL_PITCH) for step in range(-12, 13))
"""Vertical offsets of the places for labels that are tried if many points are close together."""
LONGEST_LABEL = 26
CONFIG = {"displayModeBar": False, "staticPlot": False, "scrollZoom": False, "doubleClick": False}

Box = tuple[float, float, float, float]


def escape(text: str) -> str:
    """Returns the text escaped for plotly (labels, hover texts, ticks), so that tags, links and line breaks
    in it have no effect.

    Plotly interprets ``<b>``, ``<a href>`` and entities in every string, and ``%{`` in templates.
    """
    clean = on_a_line(text)
    clean = clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return clean.replace("%{", "%\u2060{")


def short(text: str, longest: int = LONGEST_LABEL) -> str:
    """Returns the text escaped, with its middle cut out if it is longer than ``longest`` characters."""
    return escape(cut_inside(text, longest))


def short_labels(marks: Marks, longest: int = LONGEST_LABEL) -> dict[str, str]:
    """Returns {run id: short name}, escaped and distinct, for narrow margins. Hover texts and tables have the
    full name.
    """
    return {run_id: escape(name) for run_id, name in short_names(marks, longest).items()}


def muted(palette: Palette, text: str) -> str:
    """Returns the text, which must be escaped already, in the muted colour."""
    return f'<span style="color:{palette.muted}">{text}</span>'


def rgba(colour: str, alpha: float) -> str:
    """Returns a colour with opacity for CSS: ``rgba(0,114,178,0.16)`` for ``#0072B2`` and 0.16."""
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def figure(
    palette: Palette,
    height: int,
    margin: tuple[int, int, int, int],
    data: Iterable[Mapping[str, Any]],
    layout: Mapping[str, Any],
) -> go.Figure:
    """Returns the figure of ``height`` px with these traces and this layout; ``margin`` is left, right, top
    and bottom in px.
    """
    left, right, top, bottom = margin
    font = {"family": FONT, "size": 13, "color": palette.ink}
    hover = {"bgcolor": palette.panel, "bordercolor": palette.border, "font": font, "align": "left"}
    common = {
        "template": {},
        "height": height,
        "margin": {"l": left, "r": right, "t": top, "b": bottom, "pad": 0},
        "paper_bgcolor": palette.background,
        "plot_bgcolor": palette.background,
        "font": font,
        "colorway": [palette.muted],
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
        "hoverlabel": hover,
    }
    return PlainFigure(list(data), common | dict(layout))


class PlainFigure(go.Figure):  # type: ignore[misc]
    """A figure that is sent as the lists and dicts that it was made from.

    Plotly would check them, wrap each in an object, copy them deeply and look through every list for arrays:
    two fifths of the time of the page By k, on top of five times as long as everything else for the checks.
    It does so, without the checks, where something else than the whole figure is asked for. The tests
    validate figures instead.
    """

    def __init__(self, data: list[Mapping[str, Any]], layout: Mapping[str, Any]) -> None:
        self._plain: dict[str, Any] | None = {"data": data, "layout": layout}

    def __getattr__(self, name: str) -> Any:
        """Makes the whole figure when the first of its attributes is asked for."""
        plain = vars(self).get("_plain")
        if plain is None or name.startswith("__"):
            raise AttributeError(name)
        self._make_whole(plain)
        return getattr(self, name)

    def _make_whole(self, plain: Mapping[str, Any]) -> None:
        self._plain = None
        super().__init__(data=plain["data"], layout=plain["layout"], _validate=False)

    def whole(self) -> go.Figure:
        """Returns this figure with everything in Plotly's own order, as reports keep it."""
        if self._plain is not None:
            self._make_whole(self._plain)
        return self

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = self._plain or super().to_dict()
        return plain


def axis(
    palette: Palette, low: float, high: float, *, title: str = "", standoff: int = 8, **options: Any
) -> dict[str, Any]:
    """Returns an axis with a fixed range and without lines or ticks; ``title`` (escaped) is ``standoff`` px
    from its labels.

    ``options`` may have ``tickvals`` and ``ticktext``.
    """
    base: dict[str, Any] = {
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
        "title": {"text": title, "font": {"size": 13, "color": palette.muted}, "standoff": standoff},
    }
    return base | options


def value_axis(
    palette: Palette,
    ends: tuple[float, float],
    n_ticks: int,
    *,
    sign: bool = False,
    unit: str = "",
    **options: Any,
) -> dict[str, Any]:
    """Returns an axis with about ``n_ticks`` round numbers between ``ends``, each followed by the ``unit``;
    it runs backwards if the first end is the larger one.
    """
    ticks = tick_labels(numbers.ticks(min(ends), max(ends), n_ticks), sign=sign)
    ticks["ticktext"] = [f"{label}{unit}" for label in ticks["ticktext"]]
    return axis(palette, ends[0], ends[1], **ticks, **options)


def row_axis(
    palette: Palette, names: Sequence[str], *, size: float = 14, standoff: int = 8
) -> dict[str, Any]:
    """Returns a vertical axis with one row per name (escaped), from top to bottom."""
    return axis(
        palette,
        len(names) - 0.5,
        -0.5,
        showgrid=False,
        tickvals=list(range(len(names))),
        ticktext=list(names),
        ticklabelstandoff=standoff,
        tickfont={"size": size, "color": palette.ink},
    )


def panel_number(index: int) -> str:
    """Returns the suffix of a panel's x axis in plotly: empty for the first, 2 for the second …"""
    return str(index + 1) if index else ""


def bare_row_axis(palette: Palette, n: int) -> dict[str, Any]:
    """Returns a vertical axis of ``n`` rows without names."""
    return axis(palette, n - 0.5, -0.5, showgrid=False, tickvals=[])


def tick_labels(values: Sequence[float], *, sign: bool = False) -> dict[str, Any]:
    """Returns ``tickvals`` and ``ticktext``, all with the same number of decimals. With ``sign`` positive
    numbers have a plus, but 0 has none.
    """
    decimals = numbers.tick_decimals(values)
    write = numbers.signed if sign else numbers.fixed
    text = ["0" if sign and value == 0 else write(value, decimals) for value in values]
    return {"tickvals": list(values), "ticktext": text}


def span(values: Iterable[float], *, pad: float = 0.08, zero: bool = False) -> tuple[float, float]:
    """Returns a range that contains all finite ``values`` (and zero, with ``zero``), with some room on both
    sides; 0 to 1 if there are none.
    """
    finite = [value for value in values if numbers.is_number(value)] + ([0.0] if zero else [])
    if not finite:
        return 0.0, 1.0
    low, high = min(finite), max(finite)
    room = (high - low) * pad or abs(high) * 0.1 or 1.0
    return low - room, high + room


def marker(mark: Mark, palette: Palette, *, size: float = MARKER, hollow: bool = False) -> dict[str, Any]:
    """Returns the marker of a run; ``hollow`` is used for results that are not significant."""
    fill = palette.background if hollow else mark.colour
    edge = {"color": mark.edge, "width": 2.2 if hollow else 1.2 if mark.edge != mark.colour else 0}
    return {"symbol": mark.shape, "size": size, "color": fill, "line": edge, "opacity": 1}


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Returns positions as close as possible to ``wanted`` that are at least ``gap`` apart and between
    ``low`` and ``high``.

    Neighbours that are too close are merged into a block, which is centred on the mean of their wanted
    positions, until no blocks overlap.
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


@dataclass(frozen=True)
class DrawnArea:
    """The area inside the axes: its ranges in data units, its exact height and its approximate width in
    px.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    height: int
    width: int = 0

    def down(self, y: float) -> float:
        """Returns the distance of ``y`` from the top edge in px."""
        return (self.y[1] - y) / (self.y[1] - self.y[0]) * self.height

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        """Returns the distance of a point from the left and the top edge in px."""
        return (x - self.x[0]) / (self.x[1] - self.x[0]) * self.width, self.down(y)

    def along_zero(self) -> list[tuple[float, float]]:
        """Returns points along both lines at zero, in px, which labels avoid."""
        across, down = self.pixel(0, 0)
        steps = [step / 40 for step in range(41)]
        return [
            *((across, self.height * step) for step in steps),
            *((self.width * step, down) for step in steps),
        ]

    def place_labels(
        self,
        points: Sequence[tuple[float, float]],
        texts: Sequence[str],
        obstacles: Sequence[tuple[float, float]],
    ) -> list[tuple[float, float]]:
        """Returns what :func:`place_labels` returns inside this area; ``points`` and ``obstacles`` are in
        px.
        """
        return place_labels(points, texts, obstacles, (self.width, self.height))


@dataclass(frozen=True)
class LabelArea:
    """A drawing of one size (width, height), in which labels are placed: the points that they name, what they
    should not cover, and the labels placed so far, all in px from the top left.
    """

    points: Sequence[tuple[float, float]]
    obstacles: Sequence[tuple[float, float]]
    size: tuple[float, float]
    taken: list[Box] = field(default_factory=list)

    def box(self, index: int, offset: tuple[float, float], width: float) -> Box:
        (x, y), (across, down) = self.points[index], offset
        return _box(x + across, y + down, width, across > 0)

    def crowding(self, box: Box) -> float:
        return _crowding(box, self.taken, self.obstacles, self.size)


def place_labels(
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    obstacles: Sequence[tuple[float, float]],
    size: tuple[float, float],
) -> list[tuple[float, float]]:
    """Returns the offset (px) of each label from its point, such that labels avoid each other and the
    obstacles inside an area of ``size`` (width, height).

    ``points`` and ``obstacles`` are px from the top left.
    """
    return place_labels_at_sizes([LabelArea(points, obstacles, size)], texts)


def place_labels_at_sizes(areas: Sequence[LabelArea], texts: Sequence[str]) -> list[tuple[float, float]]:
    """Returns the offset (px) of each label from its point, which is the same for all sizes of a drawing.

    Each label takes the place of least cost among some places left and right of its point: covering other
    labels in any of the sizes costs most, then covering obstacles, then distance. If all these places would
    cover a label or a marker, places further away count too.
    """
    placed: dict[int, tuple[float, float]] = {}
    near = [(side * 24.0, float(shift)) for shift in LABEL_SHIFTS for side in (1, -1)]
    far = [(across, shift) for shift in FAR_SHIFTS for across in FAR_SIDES]
    for index in sorted(range(len(texts)), key=lambda index: -areas[0].points[index][0]):
        width = 7.0 * len(texts[index]) + 6
        cost, offset = _cheapest(areas, index, width, near)
        if cost >= MARK:
            _, offset = min((cost, offset), _cheapest(areas, index, width, far))
        for area in areas:
            area.taken.append(area.box(index, offset, width))
        placed[index] = offset
    return [placed[index] for index in range(len(texts))]


def _cheapest(
    areas: Sequence[LabelArea], index: int, width: float, options: Sequence[tuple[float, float]]
) -> tuple[float, tuple[float, float]]:
    """Returns the cost and the offset of the best place for a label ``width`` px wide."""
    costs = [
        sum(area.crowding(area.box(index, (across, down), width)) for area in areas)
        + (abs(down) + abs(across) - 24) / 60
        + (across < 0) * 0.3
        for across, down in options
    ]
    best = costs.index(min(costs))
    return costs[best], options[best]


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
    return OVERLAP * (overlaps + outside) + under
