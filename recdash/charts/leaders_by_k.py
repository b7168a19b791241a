"""Draws the leading runs at each cutoff: one row per metric and one cell per cutoff, in the leader's
colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import plotly.graph_objects as go

from recdash.charts.layout import axis, escape, figure, marker, rgba, row_axis
from recdash.charts.marks import Marks, Palette, short_names
from recdash.charts.traces import CLEAR, Trace, bars, dots, note
from recdash.formatting.wording import cut

PITCH, BAR, AXIS_ROOM = 36, 0.62, 44
MARGIN = (128, 16)
PIXELS_OF_LETTER = 6.6
WIDTH = 950
"""Approximate width of the figure in px, by which names are cut."""
LEFT, ROOM_OF_MARK = 10, 16
TINT = {False: 0.28, True: 0.42}
"""Opacity of a leader's colour in the light (False) and the dark theme (True)."""


@dataclass(frozen=True)
class Stretch:
    """Consecutive cutoffs with the same leading ``runs``; ``first`` and ``last`` are indexes of cutoffs.

    If there are several runs, none of them leads clearly or, with ``equal``, they have the same value.
    """

    first: int
    last: int
    runs: tuple[str, ...]
    equal: bool = False

    @property
    def cells(self) -> int:
        return self.last - self.first + 1


def stretches(first: Mapping[int, tuple[str, ...]], *, equal: bool = False) -> list[Stretch]:
    """Returns stretches of consecutive cutoffs that have the same leading runs. ``first`` is {k: leading
    runs}, by ascending k.
    """
    joined: list[Stretch] = []
    for index, runs in enumerate(first.values()):
        if joined and set(joined[-1].runs) == set(runs):
            joined[-1] = replace(joined[-1], last=index)
        else:
            joined.append(Stretch(index, index, runs, equal))
    return joined


def leader_strip(
    rows: Mapping[str, Sequence[Stretch]], cutoffs: Sequence[int], marks: Marks, palette: Palette
) -> go.Figure:
    """Returns the figure of ``rows``, {title: its stretches}. All cutoffs are drawn with the same width."""
    n = len(cutoffs)
    ks: Trace = {"tickvals": list(range(n)), "ticktext": [str(k) for k in cutoffs]}
    placed = [(stretch, y) for y, row in enumerate(rows.values()) for stretch in row]
    cells = [_cell(stretch, y, cutoffs, marks, palette) for stretch, y in placed]
    leaders = [_leader(stretch, y, n, marks, palette) for stretch, y in placed if len(stretch.runs) == 1]
    labels = [_label(stretch, y, n, marks, palette) for stretch, y in placed]
    layout = {
        "barmode": "overlay",
        "xaxis": axis(palette, -0.5, n - 0.5, showgrid=False, title="k", **ks),
        "yaxis": row_axis(palette, [escape(cut(title, 20)) for title in rows], size=13),
        "annotations": [label for label in labels if label],
    }
    height = PITCH * len(rows) + AXIS_ROOM
    return figure(palette, height, (*MARGIN, 0, AXIS_ROOM), [*cells, *leaders], layout)


def _cell(stretch: Stretch, y: int, cutoffs: Sequence[int], marks: Marks, palette: Palette) -> Trace:
    """Returns the bar of a stretch in its leader's colour; striped if it has several leading runs or none."""
    if len(stretch.runs) == 1:
        colour = marks[stretch.runs[0]].colour
        look = {"color": rgba(colour, TINT[palette.dark]), "line": {"color": colour, "width": 1}}
    else:
        stripes: Trace = {"shape": "/", "fgcolor": palette.same, "bgcolor": palette.background}
        stripes |= {"size": 7, "solidity": 0.25}
        edge = {"color": palette.same, "width": 1}
        look = {"color": palette.background, "pattern": stripes, "line": edge}
    ks = f"k = {cutoffs[stretch.first]}" + (f" to {cutoffs[stretch.last]}" if stretch.cells > 1 else "")
    hover = f"{ks}: {escape(in_words(stretch, marks))}"
    place = {"base": [stretch.first - 0.47], "orientation": "h", "width": BAR}
    return bars([stretch.cells - 0.06], [y], "", look, hover, **place)


def _label(stretch: Stretch, y: int, cutoffs: int, marks: Marks, palette: Palette) -> Trace | None:
    """Returns the names of the leading runs, or their number if the names do not fit; None if there is no
    room for either.
    """
    leads, words = len(stretch.runs) == 1, in_words(stretch, marks)
    room = stretch.cells * WIDTH / cutoffs - LEFT - (2 * ROOM_OF_MARK if leads else ROOM_OF_MARK)
    letters = int(room / PIXELS_OF_LETTER)
    if letters < 3:
        return None
    text = words if len(words) <= letters else f"{len(stretch.runs)} runs"
    if leads:
        text = short_names(marks, letters)[stretch.runs[0]]
    shift = LEFT + (ROOM_OF_MARK if leads else 0)
    look: Trace = {"font": {"size": 12.5, "color": palette.ink}, "borderpad": 0 if leads else 1}
    look["bgcolor"] = CLEAR if leads else palette.background
    return note(stretch.first - 0.47, y, escape(cut(text, letters)), xanchor="left", xshift=shift, **look)


def _leader(stretch: Stretch, y: int, cutoffs: int, marks: Marks, palette: Palette) -> Trace:
    """Returns the leader's mark at the left end of its stretch."""
    mark = marks[stretch.runs[0]]
    x = stretch.first - 0.47 + (LEFT + 4) * cutoffs / WIDTH
    return dots([x], [y], escape(mark.name), marker(mark, palette, size=10))


def in_words(stretch: Stretch, marks: Marks) -> str:
    """Returns the leading runs in words: ``ALS``, ``No clear leader: ALS, EASE`` or ``Equal: ALS, EASE``;
    ``No run`` if there are none.
    """
    names = ", ".join(marks[run].name for run in stretch.runs)
    if len(stretch.runs) == 1:
        return names
    return f"{'Equal' if stretch.equal else 'No clear leader'}: {names}" if names else "No run"
