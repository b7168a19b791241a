"""Who leads at each cutoff: a strip per metric, one cell per cutoff, coloured only where one run leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

from recdash.charts.layout import CLEAR, assembled, axis, escape, marker, rgba
from recdash.charts.marks import Marks, Palette
from recdash.formatting.wording import cut

PITCH, BAR, AXIS_ROOM = 36, 0.62, 44
MARGIN = (128, 16)
PIXELS_OF_LETTER = 6.6
WIDTH = 950
"""About how wide the strip is drawn, for cutting names that would not fit."""
LEFT, ROOM_OF_MARK = 10, 16
TINT = {False: 0.28, True: 0.42}
"""How strong a leader's colour is, by light and dark."""


@dataclass(frozen=True)
class Stretch:
    """Neighbouring cutoffs, by their places ``first`` to ``last``, at which the same ``runs`` are in front.

    Several: they are not separable, or (``equal``) have the same value.
    """

    first: int
    last: int
    runs: tuple[str, ...]
    equal: bool = False

    @property
    def cells(self) -> int:
        return self.last - self.first + 1


def stretches(first: Mapping[int, tuple[str, ...]], *, equal: bool = False) -> list[Stretch]:
    """Cutoffs joined where the same runs are in front. ``first``: k → runs, by ascending k."""
    found: list[Stretch] = []
    for place, runs in enumerate(first.values()):
        if found and set(found[-1].runs) == set(runs):
            found[-1] = replace(found[-1], last=place)
        else:
            found.append(Stretch(place, place, runs, equal))
    return found


def leader_strip(
    rows: Mapping[str, Sequence[Stretch]], cutoffs: Sequence[int], marks: Marks, palette: Palette
) -> go.Figure:
    """Figure of ``rows``: title → its stretches. Every cutoff is as wide as the next."""
    titles = {"tickvals": list(range(len(rows))), "ticktext": [escape(cut(title, 20)) for title in rows]}
    ks = {"tickvals": list(range(len(cutoffs))), "ticktext": [str(k) for k in cutoffs]}
    x = axis(palette, -0.5, len(cutoffs) - 0.5, showgrid=False, **ks)
    y = axis(palette, len(rows) - 0.5, -0.5, showgrid=False, ticklabelstandoff=8, **titles)
    placed = [(one, row) for row, found in enumerate(rows.values()) for one in found]
    layout = {
        "barmode": "overlay",
        "xaxis": x | {"title": x["title"] | {"text": "k"}},
        "yaxis": y | {"tickfont": {"size": 13, "color": palette.ink}},
        "annotations": [
            label for one, row in placed if (label := _label(one, row, len(cutoffs), marks, palette))
        ],
    }
    bars = [_bar(one, row, cutoffs, marks, palette) for one, row in placed]
    leaders = [_mark(one, row, len(cutoffs), marks, palette) for one, row in placed if len(one.runs) == 1]
    left, right = MARGIN
    height = PITCH * len(rows) + AXIS_ROOM
    return assembled(palette, height, (left, right, 0, AXIS_ROOM), [*bars, *leaders], layout)


def _bar(one: Stretch, row: int, cutoffs: Sequence[int], marks: Marks, palette: Palette) -> dict[str, Any]:
    ks = f"k = {cutoffs[one.first]}" + (f" to {cutoffs[one.last]}" if one.cells > 1 else "")
    return {
        "type": "bar", "y": [row], "x": [one.cells - 0.06], "base": [one.first - 0.47], "orientation": "h",
        "width": BAR, "marker": _look(one, marks, palette), "hoverinfo": "text",
        "hovertext": f"{ks}: {escape(in_words(one, marks))}",
    }  # fmt: skip


def _label(one: Stretch, row: int, cutoffs: int, marks: Marks, palette: Palette) -> dict[str, Any] | None:
    """The names, as far as there is room; None where there is none."""
    leads, words = len(one.runs) == 1, in_words(one, marks)
    room = one.cells * WIDTH / cutoffs - LEFT - (2 * ROOM_OF_MARK if leads else ROOM_OF_MARK)
    letters = int(room / PIXELS_OF_LETTER)
    text = words if leads or len(words) <= letters else f"{len(one.runs)} runs"
    if letters < 3:
        return None
    return {
        "x": one.first - 0.47, "y": row, "text": escape(cut(text, letters)), "showarrow": False,
        "xanchor": "left", "xshift": LEFT + (ROOM_OF_MARK if leads else 0),
        "font": {"size": 12.5, "color": palette.ink},
        "bgcolor": CLEAR if leads else palette.background, "borderpad": 0 if leads else 1,
    }  # fmt: skip


def _mark(one: Stretch, row: int, cutoffs: int, marks: Marks, palette: Palette) -> dict[str, Any]:
    """The leader's shape at the left end of its stretch."""
    look = marks[one.runs[0]]
    at = one.first - 0.47 + (LEFT + 4) * cutoffs / WIDTH
    return {
        "type": "scatter", "x": [at], "y": [row], "mode": "markers", "hoverinfo": "skip",
        "marker": marker(look, palette, size=10), "name": escape(look.name),
    }  # fmt: skip


def _look(one: Stretch, marks: Marks, palette: Palette) -> dict[str, object]:
    if len(one.runs) == 1:
        colour = marks[one.runs[0]].colour
        return {"color": rgba(colour, TINT[palette.dark]), "line": {"color": colour, "width": 1}}
    stripes = {"shape": "/", "fgcolor": palette.same, "bgcolor": palette.background, "size": 7,
               "solidity": 0.25}  # fmt: skip
    return {"color": palette.background, "pattern": stripes, "line": {"color": palette.same, "width": 1}}


def in_words(one: Stretch, marks: Marks) -> str:
    """``ALS``, ``Not separable: ALS, EASE`` or ``Equal: ALS, EASE``."""
    names = ", ".join(marks[run].name for run in one.runs)
    if len(one.runs) == 1:
        return names
    return f"{'Equal' if one.equal else 'Not separable'}: {names}" if names else "No run"
