"""Draws the lifts of an A/B test next to their table: one row per metric and variant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import nan
from statistics import median

import plotly.graph_objects as go

from recdash.charts.layout import INTERVAL, bare_row_axis, figure, marker, span, value_axis
from recdash.charts.marks import Mark, Marks, Palette
from recdash.charts.traces import Trace, dots, line, note, row_band, row_rule, scatter, zero_line
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number

PITCH, LEFT, RIGHT, AXIS_ROOM, CAP = 54, 16, 16, 30, 12
"""Sizes in px: height of a row, which is that of the table; left and right margin; room below the rows;
length of an interval's cap.
"""
WIDE_RATIO = 10
"""An interval this many times as wide as the median one is cut off, or all other intervals would look like
dots.
"""
MARGIN_TEXT, MARGIN_ROOM = 19, 0.2
"""Distance (px) of the word "margin" above its row's middle, and the share of the axis that the word
needs.
"""


@dataclass(frozen=True)
class LiftRow:
    """One row of the chart, in %: a variant's lift in a metric, its interval, and its always-valid interval
    (``peek_low`` to ``peek_high``).

    Numbers that do not exist are NaN. ``margin`` is the loss that a guardrail must exclude. ``starts``: this
    is the first row of its metric.
    """

    variant: str
    lift: float = nan
    low: float = nan
    high: float = nan
    peek_low: float = nan
    peek_high: float = nan
    margin: float = nan
    settled: bool = False
    starts: bool = True
    hover: str = ""


def ends_of(rows: Sequence[LiftRow]) -> tuple[float, float]:
    """Returns the ends of the axis, which shows zero, the margins, and all intervals except those that are
    far wider than others.
    """
    with_interval = [row for row in rows if is_number(row.high - row.low)]
    typical = median(row.high - row.low for row in with_interval) if with_interval else nan
    inside = [row for row in with_interval if row.high - row.low <= WIDE_RATIO * typical] or rows
    ends = [end for row in inside for end in (row.low, row.lift, row.high, row.peek_low, row.peek_high)]
    low, high = span(ends, zero=True)
    room = MARGIN_ROOM * (high - low)
    margins = [row.margin for row in rows if is_number(row.margin)]
    return (
        min([low, *(margin - room for margin in margins if margin < 0)]),
        max([high, *(margin + room for margin in margins if margin > 0)]),
    )


def lifts(rows: Sequence[LiftRow | None], marks: Marks, palette: Palette) -> go.Figure:
    """Returns the figure of ``rows``, each at the height of the same row in the table next to it. None stands
    for a heading in the table. ``marks`` are those of the variants.
    """
    known = [(y, row) for y, row in enumerate(rows) if row is not None]
    ends = ends_of([row for _, row in known])
    beside_rows = [end for y, row in enumerate(rows) for end in ([y - 0.5, y + 0.5] if row else [None])]
    traces = [zero_line(palette, [0.0] * len(beside_rows), beside_rows)]
    for y, row in known:
        traces += _traces_of_row(row, y, marks[row.variant], palette, ends)
    layout = {
        "xaxis": value_axis(palette, ends, 4, sign=True, showgrid=False),
        "yaxis": bare_row_axis(palette, len(rows)),
        "shapes": [*(row_band(palette, y) for y, row in enumerate(rows) if not row), *_rules(rows, palette)],
        "annotations": [
            _margin_word(row.margin, y, palette) for y, row in known if row.starts and is_number(row.margin)
        ],
    }
    return figure(palette, PITCH * len(rows) + AXIS_ROOM, (LEFT, RIGHT, 0, AXIS_ROOM), traces, layout)


def _rules(rows: Sequence[LiftRow | None], palette: Palette) -> list[Trace]:
    """Returns a line below every row, as in the table; darker below the last row of a metric that has several
    rows.
    """
    grouped = any(row is not None and not row.starts for row in rows)
    dark = [grouped and row is not None and (after is None or after.starts) for row, after in pairwise(rows)]
    return [
        row_rule(y, palette.faint if is_dark else palette.border) for y, is_dark in enumerate([*dark, False])
    ]


def _traces_of_row(
    row: LiftRow, y: int, mark: Mark, palette: Palette, ends: tuple[float, float]
) -> Iterator[Trace]:
    """Yields the margin, the thin and the thick interval, and the mark on top."""
    if is_number(row.margin):
        yield line([row.margin] * 2, [y - 0.5, y + 0.5], "margin", palette.worse, 1.8, dash="dash")
    if is_number(row.peek_low):
        yield _thin_interval(row, y, mark, ends)
    if is_number(row.low):
        yield line(_clipped(row.low, row.high, ends), [y, y], "interval", mark.colour, INTERVAL + 1.5)
        for arrow, x, is_cut in (("‹", ends[0], row.low < ends[0]), ("›", ends[1], row.high > ends[1])):
            if is_cut:
                font = {"size": 20, "color": palette.ink}
                yield scatter("text", [x], [y], "goes on", text=[arrow], cliponaxis=False, textfont=font)
    if is_number(row.lift) and not ends[0] <= row.lift <= ends[1]:
        yield _lift_beyond_axis(row, y, palette, ends)
    elif is_number(row.lift):
        look = marker(mark, palette, hollow=not row.settled)
        yield dots([row.lift], [y], mark.run_id, look, row.hover, cliponaxis=False)


def _clipped(low: float, high: float, ends: tuple[float, float]) -> list[float]:
    return [min(max(end, ends[0]), ends[1]) for end in (low, high)]


def _thin_interval(row: LiftRow, y: int, mark: Mark, ends: tuple[float, float]) -> Trace:
    """Returns the always-valid interval with caps, which are visible even if the thick interval is as long.
    An end beyond the axis has no cap.
    """
    sizes = [CAP if ends[0] <= end <= ends[1] else 0 for end in (row.peek_low, row.peek_high)]
    caps = {"symbol": "line-ns", "size": sizes, "line": {"color": mark.colour, "width": 1.4}}
    x = _clipped(row.peek_low, row.peek_high, ends)
    return line(x, [y, y], "every day", mark.colour, 1.4, mode="lines+markers", marker=caps)


def _lift_beyond_axis(row: LiftRow, y: int, palette: Palette, ends: tuple[float, float]) -> Trace:
    """Returns the value of a lift that is beyond the axis, with an arrow at that end, above the row's
    interval.
    """
    amount = f"{numbers.signed(row.lift, numbers.places([row.lift]))} %"
    is_left = row.lift < ends[0]
    x, text = (ends[0], f"‹ {amount}") if is_left else (ends[1], f"{amount} ›")
    look = {
        "textposition": "top right" if is_left else "top left",
        "cliponaxis": False,
        "textfont": {"size": 12, "color": palette.ink},
    }
    return scatter("text", [x], [y], "outside", row.hover, text=[text], **look)


def _margin_word(margin: float, y: int, palette: Palette) -> Trace:
    """Returns the word "margin" next to the dashed line, on the side away from zero."""
    anchor, shift = ("right", -4) if margin < 0 else ("left", 4)
    font = {"size": 11, "color": palette.muted}
    return note(margin, y, "margin", xanchor=anchor, xshift=shift, yshift=MARGIN_TEXT, font=font)
