"""Figures of trade-offs and segments: what is drawn where, and that labels keep apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from math import nan

import numpy as np
import plotly.graph_objects as go
import pytest

from recdash.charts import segments
from recdash.charts.marks import LIGHT, Mark, Marks, colour, shape
from recdash.charts.parallel_axes import ParallelAxis, parallel
from recdash.charts.segments import SegmentRow, ends_of, segment_panels
from recdash.charts.tradeoff import LEAST_WIDTH, MOST_GREY_LABELS, Direction, TradeOffPoint, trade_off

UP = (Direction("Coverage"), Direction("nDCG"))


def marked(baseline: str, candidates: list[str], others: list[str] | None = None) -> Marks:
    roles = {
        baseline: "baseline",
        **dict.fromkeys(candidates, "candidate"),
        **dict.fromkeys(others or [], "context"),
    }
    return {
        run: Mark(run, f"Run {run}", colour(place), shape(place), role)
        for place, (run, role) in enumerate(roles.items())
    }


def traces(chart: go.Figure, name: str, mode: str) -> list[go.Scatter]:
    return [trace for trace in chart.data if (trace.name, trace.mode) == (name, mode)]


# ── two metrics ──────────────────────────────────────────────────────────────────────────────


def test_the_front_steps_from_the_left_edge_to_the_floor() -> None:
    dots = [TradeOffPoint("a", 1.0, 3.0), TradeOffPoint("b", 2.0, 1.0)]
    chart = trade_off(dots, ["a", "b"], UP, marked("a", ["b"]), LIGHT)
    (line,) = traces(chart, "front", "lines")
    left, floor = chart.layout.xaxis.range[0], chart.layout.yaxis.range[0]
    assert list(zip(line.x, line.y, strict=True)) == [
        (left, 3.0),
        (1.0, 3.0),
        (1.0, 1.0),
        (2.0, 1.0),
        (2.0, floor),
    ]


def test_intervals_are_drawn_of_chosen_runs_only() -> None:
    dots = [
        TradeOffPoint("a", 1.0, 3.0, 0.0, 0.5),
        TradeOffPoint("b", 2.0, 1.0, 0.2, 0.5),
        TradeOffPoint("c", 0.5, 0.5, 9.0, 9.0),
    ]
    chart = trade_off(dots, ["a", "b"], UP, marked("a", ["b"], ["c"]), LIGHT)
    assert [list(line.y) for line in traces(chart, "Run a", "lines")] == [[2.5, 3.5]]
    assert [list(line.x) for line in traces(chart, "Run b", "lines")] == [[1.8, 2.2], [2.0, 2.0]]
    assert traces(chart, "Run c", "lines") == []
    assert chart.layout.xaxis.range[1] < 3


def test_an_axis_on_which_less_is_better_runs_backwards() -> None:
    chart = trade_off(
        [TradeOffPoint("a", 1.0, 3.0), TradeOffPoint("b", 2.0, 1.0)],
        ["a"],
        (Direction("Gini", True), UP[1]),
        marked("a", ["b"]),
        LIGHT,
    )
    x, y = chart.layout.xaxis.range, chart.layout.yaxis.range
    assert x[0] > 2
    assert x[1] < 1
    assert y[0] < 1
    assert y[1] > 3


def test_of_two_hundred_runs_the_chosen_and_a_few_of_the_front_are_named_without_overlap() -> None:
    rng = np.random.default_rng(4)
    dots = [TradeOffPoint(str(n), float(x), float(y)) for n, (x, y) in enumerate(rng.random((160, 2)))]
    front = [TradeOffPoint(f"f{n}", 1 + np.sin(n / 25), 1 + np.cos(n / 25)) for n in range(40)]
    chosen = [dot.run_id for dot in dots[1:9]]
    marks = marked("0", chosen, [dot.run_id for dot in (*dots[9:], *front)])
    chart = trade_off([*dots, *front], [dot.run_id for dot in front], UP, marks, LIGHT)
    labels = chart.layout.annotations
    assert len(labels) == 1 + 8 + MOST_GREY_LABELS
    assert all(apart(chart, first, other) for first, other in combinations(labels, 2))


def apart(chart: go.Figure, first: go.layout.Annotation, other: go.layout.Annotation) -> bool:
    """Do the boxes of two labels (7 px a letter, 17 px high) keep clear of each other?"""
    boxes = []
    for label in (first, other):
        (left, right), (low, high) = chart.layout.xaxis.range, chart.layout.yaxis.range
        height = chart.layout.height - chart.layout.margin.t - chart.layout.margin.b
        x = (label.x - left) / (right - left) * LEAST_WIDTH + label.ax
        y = (high - label.y) / (high - low) * height + label.ay
        width = 7 * len(label.text.split("<")[0])
        begin = x if label.xanchor == "left" else x - width
        boxes.append((begin, begin + width, y))
    (a, b, y1), (c, d, y2) = boxes
    return b <= c or d <= a or abs(y1 - y2) >= 17


def test_no_runs_draw_an_empty_figure() -> None:
    assert len(trade_off([], [], UP, {}, LIGHT).data) == 0


# ── several metrics ──────────────────────────────────────────────────────────────────────────


def test_each_axis_has_its_own_ends_and_up_is_better() -> None:
    more = ParallelAxis("nDCG", "@10", {"a": 0.1, "b": 0.3, "c": 0.2})
    less = ParallelAxis("Gini", "@10 ↓", {"a": 0.9, "b": 0.5, "c": 0.7}, less_is_better=True)
    assert [more.height(run) for run in "abc"] == pytest.approx([0, 1, 0.5])
    assert [less.height(run) for run in "abc"] == pytest.approx([0, 1, 0.5])
    assert (more.ends, less.ends) == ((0.1, 0.3), (0.9, 0.5))


def test_runs_alike_stand_in_the_middle_and_a_missing_value_breaks_the_line() -> None:
    alike = ParallelAxis("nDCG", "", {"a": 0.2, "b": 0.2})
    some = ParallelAxis("Novelty", "", {"a": 3.0, "b": nan})
    last = ParallelAxis("Recall", "", {"a": 0.1, "b": 0.2})
    chart = parallel([alike, some, last], ["a", "b"], marked("a", ["b"]), LIGHT)
    lines = {trace.name: list(trace.y) for trace in chart.data}
    assert lines == {"Run a": [0.5, 0.5, 0.0], "Run b": [0.5, None, 1.0]}
    assert all(trace.connectgaps is False for trace in chart.data)
    assert [trace.line.dash for trace in chart.data] == ["dash", "solid"]


def test_a_run_without_the_last_metric_is_named_at_its_last_point() -> None:
    first, last = ParallelAxis("nDCG", "", {"a": 0.1, "b": 0.2}), ParallelAxis("RMSE", "", {"a": 0.5})
    chart = parallel([first, last], ["a", "b"], marked("a", ["b"]), LIGHT)
    ends = {note.text: (note.x, note.y) for note in chart.layout.annotations if "Run" in note.text}
    assert ends["Run b"] == (0, 1)


# ── segments ─────────────────────────────────────────────────────────────────────────────────

LINES = [SegmentRow("Known users", "n = 300"), SegmentRow("New users", "n = 12")]


def test_a_panel_has_zero_intervals_marks_and_words() -> None:
    dots = {
        "b": [
            segments.SegmentPoint(0.2, "▲ better", "", 0.1, 0.3),
            segments.SegmentPoint(5.0, "– too few users", "", look="faint"),
        ]
    }
    ends = ends_of(dots, zero=True)
    chart = segment_panels(LINES, dots, 1, marked("a", ["b"]), LIGHT, ends)
    assert ends[0] < 0
    assert 0.3 < ends[1] < 5
    assert [list(line.x) for line in traces(chart, "Run b", "lines")] == [[0.1, 0.3]]
    assert [list(mark.x) for mark in traces(chart, "Run b", "markers")] == [[0.2]]
    assert len(traces(chart, "zero", "lines")) == 1
    assert [note.text for note in chart.layout.annotations if note.yref == "y"] == [
        "▲ better",
        f'<span style="color:{LIGHT.muted}">– too few users</span>',
    ]


def test_values_stand_beside_a_tick_of_the_baseline_without_zero() -> None:
    dots = {
        "b": [
            segments.SegmentPoint(40.0, "40.0", "", tick=30.0),
            segments.SegmentPoint(nan, "–", "", tick=20.0),
        ]
    }
    chart = segment_panels(LINES, dots, 1, marked("a", ["b"]), LIGHT, ends_of(dots, zero=False))
    assert [list(mark.x) for mark in traces(chart, "baseline", "markers")] == [[30.0], [20.0]]
    assert [list(mark.x) for mark in traces(chart, "Run b", "markers")] == [[40.0]]
    assert traces(chart, "zero", "lines") == []


def test_the_only_panel_on_a_phone_has_its_name_in_the_room_there() -> None:
    """358 px less 96 for the rows' titles and 6 on the right hold 32 bold letters of 7.8 px."""
    names = {"b": "A sequence model with 128 dimensions and dropout"}
    marks = {run: replace(mark, name=names.get(run, run)) for run, mark in marked("a", ["b"]).items()}
    dots = {"b": [segments.SegmentPoint(0.2, "▲", "", 0.1, 0.3)]}
    layout = segment_panels(LINES[:1], dots, 1, marks, LIGHT, (-0.1, 0.4), width=358).layout
    title = next(note for note in layout.annotations if note.yref == "paper")
    assert (title.x, title.xanchor) == (0, "left")
    assert len(title.text) == len("<b></b>") + (358 - 96 - 6) // 7.8


def test_a_panel_of_differences_has_its_name_over_the_zero_line() -> None:
    """The axis is symmetric, so that zero is in the middle of each panel's domain."""
    words = "▼ −0.0391 worse, and words up to 40 long"
    dots = {run: [segments.SegmentPoint(-0.1, words, "", -0.2, -0.05)] for run in "bc"}
    layout = segment_panels(LINES[:1], dots, 2, marked("a", ["b", "c"]), LIGHT, (-1.0, 1.0)).layout
    titles = [note for note in layout.annotations if note.yref == "paper"]
    middles = [sum(layout[axis].domain) / 2 for axis in ("xaxis", "xaxis2")]
    assert [title.x for title in titles] == pytest.approx(middles)
    assert {title.xanchor for title in titles} <= {"left", "center"}


def test_words_beside_a_loss_begin_right_of_the_zero_line() -> None:
    dots = {"b": [segments.SegmentPoint(-0.1, "▼ worse", "", -0.2, -0.05)]}
    layout = segment_panels(LINES[:1], dots, 1, marked("a", ["b"]), LIGHT, (-0.3, 0.1)).layout
    assert [note.x for note in layout.annotations if note.yref == "y"] == [0.0]


def test_panels_beside_each_other_share_their_axis_and_never_overlap() -> None:
    dots = {
        run: [segments.SegmentPoint(0.1 * place, "▲", "", 0.0, 0.2) for place in (1, 2)] for run in "bcde"
    }
    ends = ends_of(dots, zero=True)
    layout = segment_panels(LINES, dots, 4, marked("a", list("bcde")), LIGHT, ends).layout
    axes = [layout[name] for name in ("xaxis", "xaxis2", "xaxis3", "xaxis4")]
    assert {tuple(axis.range) for axis in axes} == {ends}
    assert all(first.domain[1] < other.domain[0] for first, other in pairwise(axes))
    assert axes[-1].domain[1] < 1
