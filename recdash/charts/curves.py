"""Draws one metric against k: a line and a band for each run, labelled where the line ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from recdash.charts.layout import (
    LABEL_PITCH,
    LINE,
    MARKER,
    RIBBON_ALPHA,
    SMALL_MARKER,
    DrawnArea,
    axis,
    escape,
    figure,
    marker,
    muted,
    rgba,
    short_labels,
    span,
    spread,
    tick_labels,
    value_axis,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.charts.traces import (
    CLEAR,
    Trace,
    area,
    dots,
    end_label,
    line,
    note,
    rings,
    run_key,
    straight,
    zero_line,
)
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number
from recdash.formatting.records import Row, by_run, last_of_run, records
from recdash.stats import NORMAL_95

if TYPE_CHECKING:
    import pandas as pd

MOST_POINTS = 60
"""Number of points of a line at most; browsers draw hundreds of points slowly."""
INNER_HEIGHT = 254
MARGIN = (46, 196, 24, 52)
MOST_AT_K = 5
"""Number of runs up to which they have a large mark at the chosen k; more marks would cover each other."""
LONGEST_IN_KEY = 17
"""Number of characters of a name in the key, for which its margin has room."""


@dataclass(frozen=True)
class _Look:
    """What differs between pages and reports: the margin, the title of the axis of k, the place of the label
    of the chosen k and whether it hides lines below it, whether the baseline has a band, and whether marks
    of different runs are moved, so that all show where lines lie on each other.
    """

    margin: tuple[int, int, int, int]
    axis_title: str
    k_label: Mapping[str, Any]
    covers_lines: bool
    bands_baseline: bool
    spreads_marks: bool


ON_PAGES = _Look(
    MARGIN, "k", {"xanchor": "center", "yanchor": "bottom", "yshift": 2}, covers_lines=False,
    bands_baseline=True, spreads_marks=True,
)  # fmt: skip
IN_REPORTS = _Look(
    (46, 196, 12, 34), "", {"xanchor": "left", "yanchor": "top", "xshift": 4}, covers_lines=True,
    bands_baseline=False, spreads_marks=False,
)  # fmt: skip
"""The look of all reports so far: a stored page is confirmed only if it is drawn the same today."""


def until_lists_end(curves: pd.DataFrame, ends: Mapping[str, int | None]) -> pd.DataFrame:
    """Returns the rows up to the last k at which most of a run's lists still have an item. ``ends`` is {run
    id: this k}; None if lists do not end early.
    """
    last = curves["run_id"].map({run: end for run, end in ends.items() if end is not None})
    return curves[~(curves["k"] > last)]


def drawn_k(depth: int) -> set[int]:
    """Returns the cutoffs at which lines have a point: each up to 20, fewer and fewer beyond, and the depth
    itself.
    """
    ranges = (range(1, 21), range(20, 51, 2), range(50, 201, 5), range(200, depth, 50))
    return {k for few in ranges for k in few if k < depth} | {depth}


def with_interval(curves: pd.DataFrame) -> pd.DataFrame:
    """Returns ``curves`` with the columns low and high, the ends of each mean's own 95 % interval."""
    half = NORMAL_95 * curves["std_error"]
    return curves.assign(low=curves["value"] - half, high=curves["value"] + half)


def values_at_k(
    curves: pd.DataFrame, k: int, *, percent: bool, delta: bool
) -> tuple[int, list[tuple[str, str]]]:
    """Returns the k nearest to ``k`` that there is, and (run id, value) of the runs with this k, the highest
    value first and all with the same decimals.
    """
    nearest = min(set(curves["k"]), key=lambda known: abs(known - k))
    here = curves[curves["k"] == nearest].sort_values("value", ascending=False, kind="stable")
    values = [value * (100 if percent else 1) for value in here["value"]]
    write, decimals = numbers.signed if delta else numbers.fixed, numbers.places(values)
    texts = [write(value, decimals) for value in values]
    return int(nearest), list(zip(here["run_id"], texts, strict=True))


def metric_curve(
    curves: pd.DataFrame,
    marks: Marks,
    palette: Palette,
    k: int,
    ends: Mapping[str, int | None],
    *,
    ribbon: bool = True,
    percent: bool = False,
    delta: bool = False,
    key: bool = False,
) -> go.Figure:
    """Returns the figure of one metric's ``curves`` (run_id, k, value, low, high); ``k`` is marked.

    ``key`` marks the values at ``k``, and lists the runs by them, as on pages; else, as in reports, runs are
    named at the ends of their lines, with the values there.

    ``ends`` is {run id: last k that is drawn for it}; None draws all. ``delta``: values are differences from
    the baseline, which is the heavy line at zero.
    """
    look = ON_PAGES if key else IN_REPORTS
    scale = 100 if percent else 1
    scaled = curves.assign(**{name: curves[name] * scale for name in ("value", "low", "high")})
    depth = int(curves["k"].max())
    drawn = until_lists_end(scaled.sort_values("k"), ends)
    if not delta and drawn["k"].nunique() > MOST_POINTS:
        drawn = drawn[drawn["k"].isin(drawn_k(depth) | {k, *ends.values()})]
    y_ends = _y_range(drawn, ribbon=ribbon, delta=delta)
    height = max(INNER_HEIGHT, LABEL_PITCH * (drawn["run_id"].nunique() + key))
    drawn_area = DrawnArea((1 - depth * 0.01, depth), y_ends, height)
    decimals = numbers.places(drawn["value"])

    def write(value: float) -> str:
        return numbers.signed(value, decimals) if delta else numbers.fixed(value, decimals)

    traces: list[Trace] = []
    runs = sorted(by_run(drawn), key=lambda pair: marks[pair[0]].role == "candidate")
    for place, (run_id, rows) in enumerate(runs):
        if delta and marks[run_id].role == "baseline":
            traces.append(zero_line(palette, [1, depth], [0, 0]))
        else:
            mark = marks[run_id]
            has_band = ribbon and (look.bands_baseline or mark.role == "candidate")
            marked = _marked_places(rows["k"].tolist(), place / len(runs), look, delta=delta)
            traces += _of_run(rows, mark, palette, write, marked, ribbon=has_band)
    last = [row | {"end": ends.get(row["run_id"]), "text": write(row["value"])} for row in last_of_run(drawn)]
    samples: list[Trace] = []
    names: list[Trace] = []
    if key:
        at, values = values_at_k(curves, k, percent=percent, delta=delta)
        if len(values) <= MOST_AT_K:
            traces += _at_k(drawn[drawn["k"] == at], marks)
        samples, names = run_key(palette, marks, values, LONGEST_IN_KEY, f"k = {at}")
        last = [row for row in last if not _reaches(row["k"], drawn_area)]
    k_ticks = tick_labels([1.0, *(tick for tick in numbers.ticks(1, depth, 5) if tick > 1 + depth * 0.04)])
    font = {"size": 12, "color": palette.muted}
    background = {"bgcolor": palette.background} if look.covers_lines else {}
    k_label = note(k, 1, f"k = {k}", yref="paper", **look.k_label, font=font, **background)
    dotted = {"color": palette.faint, "width": 1, "dash": "dot"}
    k_line = straight((k, k), (0, 1), palette.faint, 1, yref="paper", layer="below") | {"line": dotted}
    layout = {
        "xaxis": axis(palette, *drawn_area.x, showgrid=False, title=look.axis_title, **k_ticks),
        "yaxis": value_axis(palette, y_ends, 4, sign=delta, ticklabelstandoff=6),
        "shapes": [k_line, *samples],
        "annotations": [k_label, *names, *_end_labels(last, marks, palette, drawn_area)],
    }
    return figure(palette, height + look.margin[2] + look.margin[3], look.margin, traces, layout)


def _y_range(drawn: pd.DataFrame, *, ribbon: bool, delta: bool) -> tuple[float, float]:
    ends = [*drawn["low"].dropna(), *drawn["high"].dropna()] if ribbon else []
    low, high = span([*drawn["value"], *ends], pad=0.06, zero=delta)
    return (max(low, 0.0) if not delta and drawn["value"].min() >= 0 else low), high


def _of_run(
    rows: pd.DataFrame,
    mark: Mark,
    palette: Palette,
    write: Callable[[float], str],
    marked: Sequence[int],
    *,
    ribbon: bool,
) -> Iterator[Trace]:
    """Yields the run's band, its line, and a candidate's marks at these places of its rows."""
    name = escape(mark.name)
    x, y, low, high = (rows[column].tolist() for column in ("k", "value", "low", "high"))
    known = [place for place in range(len(x)) if is_number(low[place]) and is_number(high[place])]
    if ribbon and known:
        at, bottom, top = ([values[place] for place in known] for values in (x, low, high))
        yield area(at, bottom, top, name, rgba(mark.colour, RIBBON_ALPHA))
    hover = [f"{name}<br>k = {k:.0f}: {write(value)}" for k, value in zip(x, y, strict=True)]
    yield line(x, y, name, mark.colour, LINE * mark.heft, dash=mark.dash, hover=hover)
    if mark.role == "candidate":
        look = marker(mark, palette, size=SMALL_MARKER)
        yield dots(
            [x[place] for place in marked], [y[place] for place in marked], name, look, cliponaxis=False
        )


def _marked_places(ks: Sequence[float], part: float, look: _Look, *, delta: bool) -> list[int]:
    """Returns the places of the cutoffs that have a mark: all of a difference, else the first and evenly
    spaced ones, which a look with ``spreads_marks`` moves by this ``part`` of their distance.
    """
    if delta:
        return list(range(len(ks)))
    step = max(1, round(max(ks) / 50)) * 10
    if not look.spreads_marks:
        return [place for place, k in enumerate(ks) if k == 1 or k % step == 0]
    wanted = (step * (turn + part) for turn in range(int(max(ks) / step - part) + 1))
    nearest = {min(range(len(ks)), key=lambda place: abs(ks[place] - k)) for k in wanted}
    return sorted({0, *nearest})


def _at_k(here: pd.DataFrame, marks: Marks) -> Iterator[Trace]:
    """Yields the large mark of each run at the chosen k."""
    for row in records(here):
        mark = marks[row["run_id"]]
        yield rings([row["k"]], [row["value"]], mark, MARKER + 2, cliponaxis=False)


def _reaches(k: float, drawn_area: DrawnArea) -> bool:
    """Returns whether a line that ends at ``k`` reaches the right edge, or almost."""
    first_k, last_k = drawn_area.x
    return last_k - k <= 0.02 * (last_k - first_k)


def _end_labels(
    last: Sequence[Row], marks: Marks, palette: Palette, drawn_area: DrawnArea
) -> Iterator[Trace]:
    """Yields the runs' names in the right margin, moved apart; runs whose lists end early are labelled at
    that point.

    ``last`` is the last row of each run, with its value as ``text`` and the k at which its lists end as
    ``end``.
    """
    wanted = [drawn_area.down(row["value"]) for row in last]
    placed = spread(wanted, LABEL_PITCH, 6, drawn_area.height + 10)
    names = short_labels(marks, 18)
    for row, wanted_y, y in zip(last, wanted, placed, strict=True):
        mark, end, point = marks[row["run_id"]], row["end"], (row["k"], row["value"])
        name = names[row["run_id"]]
        if _reaches(row["k"], drawn_area):
            text = f"{name}  {muted(palette, row['text'])}"
            text += muted(palette, f" at {end}") if end is not None else ""
            yield end_label(palette, text, point, (22, y - wanted_y), mark.colour)
        else:
            text = f"{name}:<br>" + muted(palette, f"lists end at {end or row['k']:.0f}")
            yield end_label(palette, text, point, (14, 34), mark.colour, bgcolor=CLEAR)
