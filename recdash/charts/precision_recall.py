"""Precision against recall for k = 1..depth, with lines of equal F1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from recdash.charts.curves import DrawnArea, until_lists_end
from recdash.charts.layout import (
    CLEAR,
    LINE,
    MARKER,
    SMALL_MARKER,
    axis,
    end_label,
    escape,
    figure,
    marker,
    place_labels,
    short,
    span,
    tick_labels,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.formatting import numbers
from recdash.formatting.records import by_run, last_of_run, records

if TYPE_CHECKING:
    import pandas as pd

HEIGHT, MARGIN = 560, (62, 84, 12, 52)
USUAL_WIDTH = 580  # px of the drawn area in a window of 1440
MARKED_K = (1, 5, 20, 50)
LEVELS = tuple(level / 10 for level in range(11))


def path(precision: pd.DataFrame, recall: pd.DataFrame) -> pd.DataFrame:
    """run_id, k, precision, recall, f1 (of the two averages), from two tidy curves."""
    joined = precision[["run_id", "k", "value"]].merge(
        recall[["run_id", "k", "value"]], on=["run_id", "k"], suffixes=("_p", "_r")
    )
    joined = joined.rename(columns={"value_p": "precision", "value_r": "recall"})
    total = joined["precision"] + joined["recall"]
    f1 = (2 * joined["precision"] * joined["recall"] / total.where(total > 0)).fillna(0.0)
    return joined.assign(f1=f1).sort_values(["run_id", "k"], ignore_index=True)


def interpolated(paths: pd.DataFrame) -> pd.DataFrame:
    """run_id, recall (0, 0.1 … 1), precision: the best precision at this recall or a higher one.

    A recall level that the run never reaches within its depth has no row (not a zero).
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
    paths: pd.DataFrame, marks: Marks, palette: Palette, k: int, ends: Mapping[str, int | None]
) -> go.Figure:
    """Figure of ``paths`` (run_id, k, precision, recall, f1).

    Small marks at k = 1, 5, 20, 50, a large one at ``k``; ``ends`` as in :func:`metric_curve`.
    """
    drawn = until_lists_end(paths, ends)
    chart, area = _canvas(drawn, palette, "Recall@k", "Precision@k")
    for run_id, points in _context_first(drawn, marks):
        _draw_path(chart, points, marks[run_id], palette, k)
    _name_cutoffs(chart, drawn, palette, k)
    _label_ends(chart, drawn, marks, palette, area, ends)
    return chart


def eleven_points(paths: pd.DataFrame, marks: Marks, palette: Palette) -> go.Figure:
    """Figure of the interpolated precision at the recall levels each run reaches."""
    points = interpolated(paths)
    chart, area = _canvas(points, palette, "Recall level", "Interpolated precision")
    for run_id, rows in _context_first(points, marks):
        look = marks[run_id]
        hover = [
            f"{escape(look.name)}<br>recall {r:.1f}: precision {numbers.three(p)}"
            for r, p in zip(rows["recall"], rows["precision"], strict=True)
        ]
        chart.add_trace(_line(rows, look, hover))
        chart.add_trace(_dots(rows, look, palette, SMALL_MARKER + 2))
    _label_ends(chart, points, marks, palette, area, {})
    return chart


def _canvas(
    points: pd.DataFrame, palette: Palette, x_title: str, y_title: str
) -> tuple[go.Figure, DrawnArea]:
    right = span(points["recall"], pad=0.3, zero=True)[1]
    top = span(points["precision"], pad=0.1, zero=True)[1]
    left, floor = -right * 0.02, -top * 0.01
    chart = figure(palette, HEIGHT, MARGIN)
    title = {"standoff": 10, "font": {"size": 13, "color": palette.muted}}
    chart.update_xaxes(
        axis(palette, left, right, **tick_labels(numbers.ticks(0, right, 5)), title=title | {"text": x_title})
    )
    chart.update_yaxes(
        axis(palette, floor, top, **tick_labels(numbers.ticks(0, top, 5)), title=title | {"text": y_title})
    )
    _draw_equal_f1(chart, palette, right, top)
    return chart, DrawnArea((left, right), (floor, top), HEIGHT - MARGIN[2] - MARGIN[3])


def _draw_equal_f1(chart: go.Figure, palette: Palette, right: float, top: float) -> None:
    """Lines precision = f·recall / (2·recall − f), named in the right margin."""
    best = 2 * right * top / (right + top)
    for level in numbers.ticks(best * 0.05, best * 0.95, 5):
        first = level * top / (2 * top - level)
        recalls = [first + (right - first) * (step / 60) ** 2 for step in range(61)]
        precisions = [level * recall / (2 * recall - level) for recall in recalls]
        chart.add_trace(
            go.Scatter(
                x=recalls, y=precisions, mode="lines", hoverinfo="skip", name="equal F1",
                line={"color": palette.same, "width": 1},
            )
        )  # fmt: skip
        chart.add_annotation(
            x=1, xref="paper", xanchor="left", xshift=8, y=precisions[-1], yref="y", showarrow=False,
            text=f"F1 = {numbers.fixed(level, max(2, numbers.tick_decimals([level])))}",
            font={"size": 12, "color": palette.muted},
        )  # fmt: skip


def _context_first(points: pd.DataFrame, marks: Marks) -> list[tuple[str, pd.DataFrame]]:
    return sorted(by_run(points), key=lambda pair: marks[pair[0]].role == "candidate")


def _line(points: pd.DataFrame, look: Mark, hover: Sequence[str]) -> go.Scatter:
    return go.Scatter(
        x=list(points["recall"]), y=list(points["precision"]), mode="lines", name=escape(look.name),
        hoverinfo="text", hovertext=list(hover),
        line={"color": look.colour, "width": LINE * look.heft, "dash": look.dash},
    )  # fmt: skip


def _dots(points: pd.DataFrame, look: Mark, palette: Palette, size: float) -> go.Scatter:
    hollow = look.role == "baseline"
    return go.Scatter(
        x=list(points["recall"]), y=list(points["precision"]), mode="markers", hoverinfo="skip",
        name=escape(look.name), marker=marker(look, palette, size=size, hollow=hollow),
    )  # fmt: skip


def _draw_path(chart: go.Figure, points: pd.DataFrame, look: Mark, palette: Palette, k: int) -> None:
    hover = [
        f"{escape(look.name)}, k = {row['k']:.0f}<br>precision {numbers.three(row['precision'])}"
        f"<br>recall {numbers.three(row['recall'])}<br>F1 {numbers.three(row['f1'])}"
        for row in records(points)
    ]
    chart.add_trace(_line(points, look, hover))
    small = points[points["k"].isin(MARKED_K) & (points["k"] != k)]
    chart.add_trace(_dots(small, look, palette, SMALL_MARKER))
    chart.add_trace(_dots(points[points["k"] == k], look, palette, MARKER + 2))


def _name_cutoffs(chart: go.Figure, drawn: pd.DataFrame, palette: Palette, k: int) -> None:
    """The k of each mark, written above the uppermost run that has it."""
    for cutoff in sorted({*MARKED_K, k}):
        here = records(drawn[drawn["k"] == cutoff])
        if not here:
            continue
        top = max(here, key=lambda row: float(row["precision"]))
        text, colour = (f"<b>{cutoff}</b>", palette.ink) if cutoff == k else (str(cutoff), palette.muted)
        chart.add_annotation(
            x=top["recall"], y=top["precision"], xshift=13, yshift=13, showarrow=False,
            text=f"k = {text}" if cutoff == 1 else text,
            font={"size": 13 if cutoff == k else 12, "color": colour},
        )  # fmt: skip


def _label_ends(
    chart: go.Figure, drawn: pd.DataFrame, marks: Marks, palette: Palette, area: DrawnArea,
    ends: Mapping[str, int | None],
) -> None:  # fmt: skip
    """Names at the ends of the paths, where they cover least."""
    last = last_of_run(drawn)

    def place(recall: float, precision: float) -> tuple[float, float]:
        return area.across(recall, USUAL_WIDTH), area.pixel(precision)

    ended = [ends.get(row["run_id"]) for row in last]
    texts = [
        short(marks[row["run_id"]].name, 22) + (f", ends at {end}" if end is not None else "")
        for row, end in zip(last, ended, strict=True)
    ]
    points = [place(row["recall"], row["precision"]) for row in last]
    curves = [place(r, p) for r, p in zip(drawn["recall"], drawn["precision"], strict=True)]
    offsets = place_labels(points, texts, curves, (USUAL_WIDTH, area.pixels))
    for row, text, offset in zip(last, texts, offsets, strict=True):
        label = end_label(
            palette, text, (row["recall"], row["precision"]), offset, marks[row["run_id"]].colour
        )
        chart.add_annotation(label | {"bgcolor": CLEAR})
