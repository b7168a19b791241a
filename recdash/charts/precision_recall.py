"""Draws precision against recall for k = 1..depth, with lines of equal F1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from recdash.charts.curves import until_lists_end
from recdash.charts.layout import (
    LABEL_PITCH,
    LINE,
    MARKER,
    SMALL_MARKER,
    DrawnArea,
    escape,
    figure,
    marker,
    short_labels,
    span,
    spread,
    value_axis,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.charts.traces import Trace, dots, line, note, rings, run_key
from recdash.formatting import numbers
from recdash.formatting.records import Row, by_run, last_of_run, records

if TYPE_CHECKING:
    import pandas as pd

HEIGHT, MARGIN = 560, (62, 176, 12, 52)
"""Height of the figure and its margins in px; the right margin has room for the runs' names."""
LONGEST_IN_KEY = 20
"""Number of characters of a name in the key, for which the margin has room."""
F1_NAMES = 0.9
"""Share of the width at which lines of equal F1 are named, left of the lines that lead to the runs' names."""
MARKED_K = (1, 5, 20, 50)
LEVELS = tuple(level / 10 for level in range(11))


def path(precision: pd.DataFrame, recall: pd.DataFrame) -> pd.DataFrame:
    """Returns a frame (run_id, k, precision, recall, f1) from the curves of precision and recall; f1 is
    computed from the two means.
    """
    joined = precision[["run_id", "k", "value"]].merge(
        recall[["run_id", "k", "value"]], on=["run_id", "k"], suffixes=("_p", "_r")
    )
    joined = joined.rename(columns={"value_p": "precision", "value_r": "recall"})
    total = joined["precision"] + joined["recall"]
    f1 = (2 * joined["precision"] * joined["recall"] / total.where(total > 0)).fillna(0.0)
    return joined.assign(f1=f1).sort_values(["run_id", "k"], ignore_index=True)


def interpolated(paths: pd.DataFrame) -> pd.DataFrame:
    """Returns a frame (run_id, recall, precision) for the recall levels 0, 0.1 … 1, with the best precision
    at this recall or a higher one.

    There is no row for a level that the run does not reach within its depth.
    """
    import pandas as pd

    rows = [
        {"run_id": run_id, "recall": level, "precision": float(reached.max())}
        for run_id, points in by_run(paths)
        for level in LEVELS
        if len(reached := points.loc[points["recall"] >= level - 1e-12, "precision"])
    ]
    return pd.DataFrame(rows, columns=["run_id", "recall", "precision"])


def precision_recall(
    paths: pd.DataFrame,
    marks: Marks,
    palette: Palette,
    k: int,
    ends: Mapping[str, int | None],
    key: Sequence[str] = (),
) -> go.Figure:
    """Returns the figure of ``paths`` (run_id, k, precision, recall, f1).

    Small marks are at k = 1, 5, 20 and 50, a large one is at ``k``. ``ends`` is as in :func:`metric_curve`.
    ``key`` are the run ids of a list of runs, as on pages; without it, as in reports, lines lead from the
    ends of paths to names. A stored report is confirmed only if it is drawn the same today.
    """
    drawn = until_lists_end(paths, ends)
    traces: list[Trace] = []
    for run_id, points in _context_first(drawn, marks):
        mark = marks[run_id]
        hover = [
            f"{escape(mark.name)}, k = {row['k']:.0f}<br>precision {numbers.three(row['precision'])}"
            f"<br>recall {numbers.three(row['recall'])}<br>F1 {numbers.three(row['f1'])}"
            for row in records(points)
        ]
        small = points[points["k"].isin(MARKED_K) & (points["k"] != k)]
        traces += [
            _line(points, mark, hover),
            _dots(small, mark, palette, SMALL_MARKER),
            _at_k(points[points["k"] == k], mark, palette, rings_only=bool(key)),
        ]
    labels = list(_cutoff_labels(drawn, palette, k, first=not key))
    titles = ("Recall@k", "Precision@k")
    return _figure(drawn, traces, labels, marks, palette, titles=titles, ends=ends, key=key)


def eleven_points(paths: pd.DataFrame, marks: Marks, palette: Palette, key: Sequence[str]) -> go.Figure:
    """Returns the figure of each run's interpolated precision, at the recall levels that it reaches. ``key``
    are the run ids of the list of runs.
    """
    points = interpolated(paths)
    traces: list[Trace] = []
    for run_id, rows in _context_first(points, marks):
        mark = marks[run_id]
        hover = [
            f"{escape(mark.name)}<br>recall {recall:.1f}: precision {numbers.three(precision)}"
            for recall, precision in zip(rows["recall"], rows["precision"], strict=True)
        ]
        traces += [_line(rows, mark, hover), _dots(rows, mark, palette, SMALL_MARKER + 2)]
    titles = ("Recall level", "Interpolated precision")
    return _figure(points, traces, [], marks, palette, titles=titles, ends={}, key=key)


def _context_first(points: pd.DataFrame, marks: Marks) -> list[tuple[str, pd.DataFrame]]:
    return sorted(by_run(points), key=lambda pair: marks[pair[0]].role == "candidate")


def _line(points: pd.DataFrame, mark: Mark, hover: Sequence[str]) -> Trace:
    x, y = list(points["recall"]), list(points["precision"])
    return line(x, y, escape(mark.name), mark.colour, LINE * mark.heft, dash=mark.dash, hover=hover)


def _dots(points: pd.DataFrame, mark: Mark, palette: Palette, size: float) -> Trace:
    look = marker(mark, palette, size=size, hollow=mark.role == "baseline")
    return dots(list(points["recall"]), list(points["precision"]), escape(mark.name), look)


def _at_k(points: pd.DataFrame, mark: Mark, palette: Palette, *, rings_only: bool) -> Trace:
    """Returns the run's large mark at the chosen k, as a ring on pages, where marks may lie on each other."""
    if rings_only:
        return rings(list(points["recall"]), list(points["precision"]), mark, MARKER + 4)
    return _dots(points, mark, palette, MARKER + 2)


def _figure(
    points: pd.DataFrame,
    traces: Sequence[Trace],
    labels: Sequence[Trace],
    marks: Marks,
    palette: Palette,
    *,
    titles: tuple[str, str],
    ends: Mapping[str, int | None],
    key: Sequence[str],
) -> go.Figure:
    """Returns the figure of ``traces`` and ``labels`` over lines of equal F1; ``titles`` are those of the x
    and the y axis. ``key`` are the run ids of the key in the margin.
    """
    right = span(points["recall"], pad=0.3, zero=True)[1]
    top = span(points["precision"], pad=0.1, zero=True)[1]
    x_ends, y_ends = (-right * 0.02, right), (-top * 0.01, top)
    area = DrawnArea(x_ends, y_ends, HEIGHT - MARGIN[2] - MARGIN[3])
    ties: list[Trace] = []
    samples: list[Trace] = []
    if key:
        known = set(points["run_id"])
        samples, names = run_key(palette, marks, [(run, "") for run in key if run in known], LONGEST_IN_KEY)
    else:
        last = last_of_run(points)
        ties, names = _names_in_margin(last, _end_texts(last, marks, ends), marks, area)
    f1_lines, f1_names = _equal_f1(palette, right, top)
    layout = {
        "xaxis": value_axis(palette, (0, right), 5, title=titles[0], standoff=10) | {"range": list(x_ends)},
        "yaxis": value_axis(palette, (0, top), 5, title=titles[1], standoff=10) | {"range": list(y_ends)},
        "shapes": samples,
        "annotations": [*f1_names, *labels, *names],
    }
    return figure(palette, HEIGHT, MARGIN, [*f1_lines, *ties, *traces], layout)


def _equal_f1(palette: Palette, right: float, top: float) -> tuple[list[Trace], list[Trace]]:
    """Returns the lines precision = f·recall / (2·recall − f), and a name on each line, left of the runs'
    names.
    """
    lines, names = [], []
    best = 2 * right * top / (right + top)
    for level in numbers.ticks(best * 0.05, best * 0.95, 5):
        first = level * top / (2 * top - level)
        recalls = [first + (right - first) * (step / 60) ** 2 for step in range(61)]
        precisions = [level * recall / (2 * recall - level) for recall in recalls]
        lines.append(line(recalls, precisions, "equal F1", palette.same, 1))
        text = f"F1 = {numbers.fixed(level, max(2, numbers.tick_decimals([level])))}"
        look = {"bgcolor": palette.background, "font": {"size": 12, "color": palette.muted}}
        named_at = max(first, F1_NAMES * right)
        names.append(note(named_at, level * named_at / (2 * named_at - level), text, **look))
    return lines, names


def _cutoff_labels(drawn: pd.DataFrame, palette: Palette, k: int, *, first: bool) -> Iterator[Trace]:
    """Yields the k of each mark, above the run with the highest precision at that k. Without ``first`` there
    is none at k = 1, where all runs are close to each other.
    """
    named = 1 if first else k
    for cutoff in sorted({*MARKED_K, k} - (set() if first else {1})):
        rows = records(drawn[drawn["k"] == cutoff])
        if not rows:
            continue
        top = max(rows, key=lambda row: float(row["precision"]))
        text, size, colour = str(cutoff), 12, palette.muted
        if cutoff == k:
            text, size, colour = f"<b>{cutoff}</b>", 13, palette.ink
        text = f"k = {text}" if cutoff == named else text
        look = {"font": {"size": size, "color": colour}, "bgcolor": palette.background}
        clear_of_ring = cutoff == k and not first
        up = 22 if clear_of_ring else 13
        yield note(top["recall"], top["precision"], text, xshift=13, yshift=up, **look)


def _end_texts(last: Sequence[Row], marks: Marks, ends: Mapping[str, int | None]) -> list[str]:
    """Returns the name of each run, with the k at which its lists end if they end early."""
    names = short_labels(marks, 22)
    cuts = [ends.get(row["run_id"]) for row in last]
    return [
        names[row["run_id"]] + (f", ends at {end}" if end is not None else "")
        for row, end in zip(last, cuts, strict=True)
    ]


def _names_in_margin(
    last: Sequence[Row], texts: Sequence[str], marks: Marks, area: DrawnArea
) -> tuple[list[Trace], list[Trace]]:
    """Returns lines from the ends of the paths to the right edge, and the runs' names next to it, moved
    apart.
    """
    placed = spread([area.down(row["precision"]) for row in last], LABEL_PITCH, 6, area.height - 6)
    per_pixel = (area.y[1] - area.y[0]) / area.height
    ties, names = [], []
    for row, text, down in zip(last, texts, placed, strict=True):
        y, mark = area.y[1] - down * per_pixel, marks[row["run_id"]]
        ties.append(line([row["recall"], area.x[1]], [row["precision"], y], "name", mark.colour, 0.6))
        look = {"xanchor": "left", "xshift": 4, "font": {"size": 12.5}}
        names.append(note(1, y, text, xref="paper", yref="y", **look))
    return ties, names
