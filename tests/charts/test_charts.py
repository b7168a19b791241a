"""Figures say what the frames say: traces, colours by slot, labels that do not collide, inert text."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recdash.charts import layout as layout_of_charts
from recdash.charts.curves import metric_curve, with_interval
from recdash.charts.forest import BESIDE_TABLE, ForestLayout, forest, shows_margin
from recdash.charts.layout import (
    LABEL_PITCH,
    LabelArea,
    escape,
    place_labels,
    place_labels_at_sizes,
    spread,
)
from recdash.charts.leaders_by_k import Stretch, leader_strip, stretches
from recdash.charts.marks import CONTEXT_GREY, DARK, LIGHT, Marks, Palette, marks, shape
from recdash.charts.offline_online import Side, bars, quadrants
from recdash.charts.precision_recall import interpolated, path, precision_recall
from recdash.domain.records import Run
from recdash.formatting import numbers
from recdash.formatting.signs import SIGNS, sign_of
from recdash.formatting.wording import finding

HOSTILE = '<a href="http://evil.example">x</a><b>%{x}</b>'


def run(run_id: str, slot: int, name: str = "") -> Run:
    return Run(run_id, "e", name or run_id, datetime(2026, 1, 1, tzinfo=UTC), slot, None, {}, {})


def looks(*names: str) -> Marks:
    """Baseline ``base`` and one candidate per name, in the slots 1, 2, …"""
    runs = [run("base", 0), *(run(name, slot) for slot, name in enumerate(names, start=1))]
    return marks(runs, "base", names, LIGHT)


def difference(
    run_id: str, mean: float, low: float, high: float, *, word: str = "", margin: float = 0.004
) -> dict[str, object]:
    judged = word or ("not settled" if low <= 0 <= high else "better" if low > 0 else "worse")
    interval = {"mean_diff": mean, "ci_low": low, "ci_high": high, "margin": margin}
    return {"run_id": run_id, "run": run_id, "word": judged, **interval}


def marker_of(figure: go.Figure, name: str) -> go.scatter.Marker:
    (result,) = [trace.marker for trace in figure.data if trace.name == name and trace.mode == "markers"]
    return result


# ── marks ────────────────────────────────────────────────────────────────────────────────────


def test_a_run_keeps_its_colour_whoever_else_is_chosen() -> None:
    runs = [run("a", 3), run("b", 0), run("c", 5)]
    assert marks(runs, "b", ["a"], LIGHT)["a"].colour == marks(runs, "c", ["b", "a"], LIGHT)["a"].colour
    assert marks(runs, "b", ["a"], LIGHT)["a"].colour == "#CC79A7"


def test_nine_runs_differ_in_colour_alone() -> None:
    runs = [run("base", 9), *(run(f"r{slot}", slot) for slot in range(9))]
    drawn = marks(runs, "base", [f"r{slot}" for slot in range(9)], LIGHT)
    assert len({drawn[f"r{slot}"].colour for slot in range(9)}) == 9


def test_thirty_runs_differ_in_colour_and_dash_and_in_colour_and_shape() -> None:
    runs = [run(f"r{slot}", slot) for slot in range(31)]
    drawn = list(marks(runs, "r30", [f"r{n}" for n in range(30)], LIGHT).values())
    candidates = drawn[:30]
    assert len({(mark.colour, mark.dash) for mark in candidates}) == 30
    assert len({(mark.colour, mark.shape) for mark in candidates}) == 30
    assert drawn[30].dash not in {mark.dash for mark in candidates}
    assert not any("triangle" in shape(slot) for slot in range(10))


def test_the_baseline_is_grey_and_dashed_and_runs_left_aside_are_grey() -> None:
    result = marks([run("a", 0), run("b", 1), run("c", 2)], "a", ["b"], DARK)
    assert (result["a"].colour, result["a"].dash) == (DARK.baseline, "dash")
    assert (result["b"].colour, result["b"].dash) == ("#D55E00", "solid")
    assert result["c"].colour == CONTEXT_GREY


# ── numbers ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.21449, "0.214"),
        (0.00310, "0.00310"),
        (23.449, "23.4"),
        (6040, "6,040"),
        (-0.5, "−0.500"),
        (0, "0.000"),
    ],
)
def test_a_number_has_three_significant_digits_and_a_true_minus(value: float, text: str) -> None:
    assert numbers.three(value) == text


def test_a_column_of_numbers_shares_its_decimals() -> None:
    column = [0.0278, -0.0031, float("nan")]
    decimals = numbers.places(column)
    assert [numbers.signed(value, decimals) for value in column] == ["+0.0278", "−0.0031", "–"]


def test_a_difference_that_rounds_to_zero_has_no_sign() -> None:
    assert numbers.signed(-0.00001, 3) == "0.000"
    assert numbers.signed(0.00001, 3) == "0.000"


@pytest.mark.parametrize(
    ("low", "high", "sign"),
    [(0.1, 0.2, "▲"), (-0.2, -0.1, "▼"), (-0.1, 0.1, "?"), (0, 1, "?"), (float("nan"), 1, "?")],
)
def test_a_finding_is_open_unless_the_interval_excludes_zero(low: float, high: float, sign: str) -> None:
    assert sign_of(finding(low, high)) == sign


def test_only_what_is_equal_has_the_sign_of_equality() -> None:
    assert [word for word, sign in SIGNS.items() if sign == "="] == ["tie", "equal for every user"]


def test_the_chart_of_an_older_report_keeps_its_sign() -> None:
    open_ = pd.DataFrame([difference("a", 0.002, -0.001, 0.003, word="not settled")])
    today, former = (forest(rows, ["a"], looks("a"), LIGHT) for rows in (open_, open_.assign(sign="=")))
    assert today.layout.annotations[0].text.startswith("?")
    assert former.layout.annotations[0].text.startswith("=")


def test_ticks_are_round_and_inside_the_range() -> None:
    assert numbers.ticks(-0.012, 0.033, 4) == [-0.01, 0, 0.01, 0.02, 0.03]


# ── text ─────────────────────────────────────────────────────────────────────────────────────


def test_no_name_becomes_a_tag_a_link_or_a_template_in_any_figure() -> None:
    seen = marks([run("base", 0), run("x", 1, HOSTILE)], "base", ["x"], LIGHT)
    rows = pd.DataFrame([difference("x", 0.1, 0.05, 0.15)])
    curve = pd.DataFrame({"run_id": "x", "k": [1.0, 2.0], "value": [0.1, 0.2], "std_error": 0.01})
    paths = path(curve, curve)
    sides = pd.DataFrame([SIDES | {"run_id": "x"}])
    figures = [
        forest(rows, ["x"], seen, LIGHT),
        metric_curve(with_interval(curve), seen, LIGHT, 1, {}),
        precision_recall(paths, seen, LIGHT, 1, {}),
        quadrants(sides, seen, LIGHT, HOSTILE, HOSTILE),
        bars(sides, seen, LIGHT, Side("online_lift", "online_low", "online_high")),
    ]
    for figure in figures:
        drawn = figure.to_json()
        assert "evil" in drawn
        assert "<a" not in drawn
        assert "%{x}" not in drawn


def test_line_breaks_and_direction_overrides_are_blanked() -> None:
    assert escape("a\nb\u202ec") == "a b c"


# ── labels ───────────────────────────────────────────────────────────────────────────────────


@given(st.lists(st.floats(0, 200), min_size=1, max_size=9))
def test_labels_keep_their_order_and_their_distance(wanted: list[float]) -> None:
    placed = spread(wanted, 19, 0, 200)
    ordered = [placed[index] for index in sorted(range(len(wanted)), key=lambda index: wanted[index])]
    assert all(after - before >= 19 - 1e-6 for before, after in pairwise(ordered))
    assert min(placed) >= -1e-6
    assert max(placed) <= 200 + 1e-6


def test_labels_with_room_stay_where_they_belong() -> None:
    assert spread([10, 100, 50], 19, 0, 200) == [10, 100, 50]


def test_labels_of_many_points_at_one_place_never_overlap() -> None:
    size, text = (800, 496), "a name of 22 letters.."
    offsets = place_labels([(40.0, 480.0)] * 20, [text] * 20, [], size)
    width, boxes = 7 * len(text) + 6, []
    for across, down in offsets:
        left = 40 + across - (width if across < 0 else 0)
        assert left >= 0
        assert left + width <= size[0]
        boxes.append((left, 480 + down))
    for (left, y), (other, other_y) in combinations(boxes, 2):
        assert abs(left - other) >= width or abs(y - other_y) >= LABEL_PITCH


def test_labels_of_one_size_may_cover_a_point_at_another_unless_all_sizes_count() -> None:
    """7 % of 280 px are 20 px, so that the right point lies before a label that begins 24 px right of the
    left one; of 510 px they are 36 px, below the 48 px of the label.
    """
    texts, widths = ["ALS v3", "Two-tower 26"], (280, 510, 1080)

    def area(width: int) -> LabelArea:
        points = [(0.40 * width, 100.0), (0.47 * width, 100.0)]
        return LabelArea(points, points, (width, 300))

    def covered(offsets: list[tuple[float, float]]) -> list[int]:
        """The widths at which a label covers a point."""
        return [
            width
            for width in widths
            for index, (text, offset) in enumerate(zip(texts, offsets, strict=True))
            for left, top, right, bottom in [area(width).box(index, offset, 7.0 * len(text) + 6)]
            if any(left <= x <= right and top <= y <= bottom for x, y in area(width).points)
        ]

    assert covered([(24.0, 0.0), (24.0, 0.0)]) == [510]
    assert covered(place_labels_at_sizes([area(width) for width in widths], texts)) == []


def test_two_points_at_one_place_get_different_label_places() -> None:
    first, other = place_labels([(50, 50), (50, 51)], ["ALS", "EASE"], [], (200, 100))
    assert first != other


# ── forest ───────────────────────────────────────────────────────────────────────────────────

TWO = pd.DataFrame([difference("a", 0.02, 0.01, 0.03), difference("b", 0.001, -0.002, 0.004)])


def test_a_mark_is_filled_when_its_word_decides_and_hollow_when_not() -> None:
    figure = forest(TWO, ["a", "b"], looks("a", "b"), LIGHT)
    assert marker_of(figure, "a").color == "#D55E00"
    assert marker_of(figure, "b").color == LIGHT.background
    assert marker_of(figure, "b").line.color == "#009E73"


def test_the_forest_draws_the_interval_of_the_difference() -> None:
    figure = forest(TWO, ["a", "b"], looks("a", "b"), LIGHT)
    lines = {trace.name: list(trace.x) for trace in figure.data if trace.mode == "lines"}
    assert lines["a"] == [0.01, 0.03]
    assert lines["zero"] == [0, 0]


def test_a_tie_is_hollow_though_its_interval_excludes_zero() -> None:
    tie = difference("a", 0.002, 0.001, 0.003, word="tie", margin=0.004)
    figure = forest(pd.DataFrame([tie]), ["a"], looks("a"), LIGHT)
    assert marker_of(figure, "a").color == LIGHT.background
    assert figure.layout.annotations[0].text.startswith("=")


def test_what_is_too_small_to_matter_is_a_band_over_its_rows() -> None:
    wide = difference("c", 0.1, 0.05, 0.15, margin=0.02)
    rows = pd.DataFrame([*TWO.to_dict("records"), wide])
    figure = forest(rows, ["a", "b", "c"], looks("a", "b", "c"), LIGHT)
    bands = [(band.x0, band.x1, band.y0, band.y1) for band in figure.layout.shapes]
    assert bands == [(-0.004, 0.004, -0.5, 1.5), (-0.02, 0.02, 1.5, 2.5)]


def test_rows_stay_level_with_the_table_when_one_has_no_difference() -> None:
    figure = forest(TWO, ["base", "a", "gone", "b"], looks("a", "gone", "b"), LIGHT, BESIDE_TABLE)
    heights = {trace.name: trace.y[0] for trace in figure.data if trace.mode == "markers"}
    assert heights == {"a": 1, "b": 3}
    assert figure.layout.height == 4 * 54 + 30


def test_a_band_that_the_line_at_zero_covers_is_not_said_to_be_seen() -> None:
    narrow, wide = (TWO.assign(margin=0.001 * TWO["ci_high"].max() * share) for share in (1, 100))
    assert [shows_margin(narrow), shows_margin(wide)] == [False, True]


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_figures_set_their_own_background_in_both_themes(palette: object) -> None:
    figure = forest(TWO, ["a", "b"], looks("a", "b"), palette)  # type: ignore[arg-type]
    assert figure.layout.paper_bgcolor == palette.background  # type: ignore[attr-defined]
    assert figure.layout.showlegend is False


# ── curves ───────────────────────────────────────────────────────────────────────────────────


def curve_of(run_id: str, depth: int) -> pd.DataFrame:
    k = [float(cutoff) for cutoff in range(1, depth + 1)]
    return with_interval(
        pd.DataFrame({"run_id": run_id, "k": k, "value": [0.1 * cutoff for cutoff in k], "std_error": 0.01})
    )


def test_a_line_stops_where_the_lists_end_and_says_so() -> None:
    both = pd.concat([curve_of("a", 20), curve_of("b", 20)])
    figure = metric_curve(both, looks("a", "b"), LIGHT, 5, {"a": 8, "b": None})
    drawn = {
        trace.name: max(trace.x) for trace in figure.data if trace.mode == "lines" and trace.fill is None
    }
    assert drawn == {"a": 8, "b": 20}
    assert any("lists end at 8" in label.text for label in figure.layout.annotations)


def test_the_ribbon_is_196_standard_errors_wide() -> None:
    figure = metric_curve(curve_of("a", 2), looks("a"), LIGHT, 1, {})
    (ribbon,) = [trace for trace in figure.data if trace.fill == "toself"]
    assert max(ribbon.y) == pytest.approx(0.2 + 1.96 * 0.01, abs=1e-6)
    assert ribbon.fillcolor == "rgba(213,94,0,0.16)"


def test_the_baseline_has_a_ribbon_like_all_runs_on_pages() -> None:
    both = pd.concat([curve_of("a", 5), curve_of("base", 5)])
    page, report = (metric_curve(both, looks("a"), LIGHT, 1, {}, key=key) for key in (True, False))
    assert [trace.name for trace in page.data if trace.fill == "toself"] == ["base", "a"]
    assert [trace.name for trace in report.data if trace.fill == "toself"] == ["a"]  # as in older ones


def test_of_many_runs_none_covers_another_with_a_large_mark() -> None:
    names = ["a", "b", "c", "d", "e"]
    all_runs = pd.concat([curve_of(run_id, 5) for run_id in (*names, "base")])
    few = all_runs[all_runs["run_id"] != "e"]
    n_large = [
        sum(trace.mode == "markers" and len(trace.x) == 1 for trace in figure.data)
        for figure in (metric_curve(rows, looks(*names), LIGHT, 3, {}, key=True) for rows in (few, all_runs))
    ]
    assert n_large == [5, 0]


def test_every_line_is_named_at_its_end() -> None:
    both = pd.concat([curve_of("a", 5), curve_of("base", 5)])
    figure = metric_curve(both, looks("a"), LIGHT, 1, {})
    texts = " ".join(label.text for label in figure.layout.annotations)
    assert "a  " in texts
    assert "base  " in texts


def test_the_key_lists_runs_by_their_values_at_the_chosen_k() -> None:
    falling = curve_of("b", 5).assign(value=[0.9, 0.8, 0.3, 0.2, 0.1])
    both = pd.concat([curve_of("a", 5), falling])  # at k = 2 b leads, at k = 5 a does
    figure = metric_curve(both, looks("a", "b"), LIGHT, 2, {}, key=True)
    margin = [note for note in figure.layout.annotations if (note.x, note.xref) == (1, "paper")]
    assert [note.text.split("  ")[0] for note in margin] == ["<b>k = 2</b>", "b", "a"]
    assert ["0.80" in margin[1].text, "0.20" in margin[2].text] == [True, True]
    large = {trace.name: trace for trace in figure.data if trace.mode == "markers" and len(trace.x) == 1}
    assert {name: (trace.x[0], trace.y[0]) for name, trace in large.items()} == {"a": (2, 0.2), "b": (2, 0.8)}
    (first, second) = [shape for shape in figure.layout.shapes if shape.xsizemode == "pixel"]
    assert (first.line.color, second.line.color) == (looks("a", "b")["b"].colour, looks("a")["a"].colour)


def test_the_key_of_precision_and_recall_is_in_the_given_order_and_has_no_lines_to_cross() -> None:
    low = path(PRECISION.assign(value=PRECISION["value"] / 2), RECALL).assign(run_id="b")
    both = pd.concat([low, path(PRECISION, RECALL)])
    figure = precision_recall(both, looks("a", "b"), LIGHT, 2, {}, ["b", "missing", "a"])
    margin = [note.text for note in figure.layout.annotations if (note.x, note.xref) == (1, "paper")]
    assert margin == ["b", "a"]
    assert not any(trace.name == "name" for trace in figure.data)


def test_no_label_of_a_cutoff_covers_a_line_or_is_crossed_by_one() -> None:
    by_k = metric_curve(curve_of("a", 5), looks("a"), LIGHT, 3, {}, key=True)
    by_recall = precision_recall(path(PRECISION, RECALL), looks("a"), LIGHT, 2, {}, ["a"])
    (label,) = [note for note in by_k.layout.annotations if note.text == "k = 3"]
    assert "1" not in [note.text for note in by_recall.layout.annotations]
    (chosen,) = [note for note in by_recall.layout.annotations if note.text == "k = <b>2</b>"]
    assert chosen.bgcolor == LIGHT.background
    assert (label.y, label.yref, label.yanchor) == (1, "paper", "bottom")  # above the drawn area


def test_marks_of_equal_curves_do_not_cover_each_other() -> None:
    both = pd.concat([curve_of("a", 50), curve_of("b", 50)])
    figure = metric_curve(both, looks("a", "b"), LIGHT, 10, {}, key=True)
    first, second = [set(trace.x) for trace in figure.data if trace.mode == "markers" and len(trace.x) > 1]
    assert first & second == {1}


def test_differences_stand_on_a_heavy_zero_that_is_the_baseline() -> None:
    gaps = pd.concat([curve_of("a", 5), curve_of("base", 5).assign(value=0.0, low=0.0, high=0.0)])
    figure = metric_curve(gaps, looks("a"), LIGHT, 1, {}, delta=True)
    (zero,) = [trace for trace in figure.data if trace.name == "zero"]
    assert (list(zero.x), list(zero.y), zero.line.width) == ([1, 5], [0, 0], 2.5)
    (marked,) = [trace for trace in figure.data if trace.mode == "markers"]
    assert list(marked.x) == [1, 2, 3, 4, 5]
    assert any("+0.50" in label.text for label in figure.layout.annotations)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
@pytest.mark.parametrize("rows", [ForestLayout(), BESIDE_TABLE])
def test_figures_put_together_unchecked_hold_what_plotly_checks(palette: Palette, rows: ForestLayout) -> None:
    both = pd.concat([curve_of("a", 20), curve_of("base", 20)])
    figures = [
        metric_curve(both, looks("a"), palette, 5, {"a": 8}),
        metric_curve(both, looks("a"), palette, 5, {}, delta=True),
        forest(TWO, ["base", "a", "b"], looks("a", "b"), palette, rows),
        forest(TWO.head(0), [], looks("a"), palette, rows),
    ]
    for figure in figures:
        checked = go.Figure(figure.to_dict())  # raises for what plotly does not know
        assert [trace.name for trace in checked.data] == [trace.name for trace in figure.data]
        assert len(checked.layout.annotations) == len(figure.layout.annotations)


# ── who leads ────────────────────────────────────────────────────────────────────────────────


def test_a_figure_is_sent_as_plotly_would_send_it() -> None:
    traces = [{"type": "scatter", "x": [1, 2], "y": [0.5, None], "mode": "lines", "name": "als"}]
    layout = {"xaxis": {"range": [1, 2]}, "annotations": [{"text": "als", "x": 2, "y": 0.5}]}
    plain = layout_of_charts.figure(LIGHT, 100, (1, 2, 3, 4), traces, layout)
    sent = json.loads(plain.to_json())
    assert plain.layout.annotations[0].text == "als"  # from here on it is Plotly's own
    assert sent == json.loads(plain.to_json()) == json.loads(plain.whole().to_json())
    plain.layout.height = 50
    assert plain.to_dict()["layout"]["height"] == 50


def test_cutoffs_with_the_same_runs_in_front_are_one_stretch() -> None:
    first = {1: ("a", "b"), 2: ("b", "a"), 5: ("a",), 10: ("a",), 20: ("b",)}
    assert stretches(first) == [
        Stretch(0, 1, ("a", "b")), Stretch(2, 3, ("a",)), Stretch(4, 4, ("b",)),
    ]  # fmt: skip


def test_only_a_single_leader_has_a_colour_others_are_striped_and_counted() -> None:
    rows = {"nDCG@k": stretches({1: ("a", "b"), 2: ("a", "b"), 5: ("a",)})}
    strip = str(leader_strip(rows, [1, 2, 5], looks("a", "b"), "who leads"))
    cells = re.findall(r'<span class="(rd-leaders-[a-z]+)" style="([^"]*)" title="([^"]*)">', strip)
    assert cells == [
        ("rd-leaders-open", "grid-column:1/3", "k = 1 to 2: No clear leader: a, b"),
        ("rd-leaders-led", "grid-column:3/4;--run:#D55E00", "k = 5: a"),
    ]
    assert "<b>2</b><bdi> runs</bdi>" in strip
    assert 'aria-label="who leads"' in strip


def test_no_name_is_markup_in_the_strip_of_leaders() -> None:
    seen = marks([run("base", 0), run("x", 1, HOSTILE)], "base", ["x"], LIGHT)
    strip = leader_strip({HOSTILE: stretches({1: ("x",), 2: ("x", "base")})}, [1, 2], seen, HOSTILE)
    assert HOSTILE not in str(strip)
    assert str(strip).count("<div") == 5


# ── precision–recall ─────────────────────────────────────────────────────────────────────────

PRECISION = pd.DataFrame({"run_id": "a", "k": [1.0, 2.0, 4.0], "value": [1.0, 0.5, 0.5]})
RECALL = pd.DataFrame({"run_id": "a", "k": [1.0, 2.0, 4.0], "value": [0.25, 0.25, 0.5]})


def test_the_path_joins_precision_and_recall_by_k_with_their_f1() -> None:
    result = path(PRECISION, RECALL)
    assert list(result["k"]) == [1, 2, 4]
    assert list(result["f1"]) == pytest.approx([2 * 1 * 0.25 / 1.25, 2 * 0.5 * 0.25 / 0.75, 0.5])


def test_interpolation_takes_the_best_precision_at_this_recall_or_higher() -> None:
    result = interpolated(path(PRECISION, RECALL))
    assert list(result["recall"]) == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5])  # 0.6 is not reached
    assert list(result["precision"]) == [1, 1, 1, 0.5, 0.5, 0.5]


@pytest.mark.parametrize("n_runs", [2, 5, 20])
def test_paths_are_named_in_a_column_beside_all_curves(n_runs: int) -> None:
    names = [f"run {number:02}" for number in range(n_runs)]
    paths = pd.concat([path(PRECISION, RECALL).assign(run_id=name) for name in names])
    figure = precision_recall(paths, looks(*names), LIGHT, 2, {})
    column = [note for note in figure.layout.annotations if note.text in names]
    assert sorted(note.text for note in column) == names
    assert {(note.x, note.xref, note.xanchor) for note in column} == {(1, "paper", "left")}
    low, high = figure.layout.yaxis.range
    per_pixel = (high - low) / (figure.layout.height - figure.layout.margin.t - figure.layout.margin.b)
    heights = sorted(note.y for note in column)
    assert min(np.diff(heights)) >= LABEL_PITCH * per_pixel * 0.999


def test_the_present_k_has_the_large_mark() -> None:
    figure = precision_recall(path(PRECISION, RECALL), looks("a"), LIGHT, 2, {})
    dots = [trace for trace in figure.data if trace.mode == "markers"]
    assert {trace.marker.size: list(trace.x) for trace in dots} == {7: [0.25], 15: [0.25]}


# ── online ───────────────────────────────────────────────────────────────────────────────────

SIDES: dict[str, object] = {
    "run_id": "a", "offline_delta": 0.02, "offline_low": 0.01, "offline_high": 0.03,
    "online_lift": -2.0, "online_low": -3.0, "online_high": -1.0,
}  # fmt: skip


def test_both_sides_draw_the_same_runs_in_the_same_order_and_colours() -> None:
    frame = pd.DataFrame([SIDES, SIDES | {"run_id": "b"}])
    offline = bars(frame, looks("a", "b"), LIGHT, Side("offline_delta", "offline_low", "offline_high"))
    online = bars(frame, looks("a", "b"), LIGHT, Side("online_lift", "online_low", "online_high"))
    order = [
        [(bar.name, bar.y[0], bar.marker.color) for bar in figure.data if bar.type == "bar"]
        for figure in (offline, online)
    ]
    assert order[0] == order[1] == [("a", 0, "#D55E00"), ("b", 1, "#009E73")]


def test_a_disagreement_stands_in_its_named_corner() -> None:
    figure = quadrants(pd.DataFrame([SIDES]), looks("a"), LIGHT, "offline", "online")
    mark = next(trace for trace in figure.data if trace.mode == "markers")
    assert (mark.x[0] > 0, mark.y[0] > 0) == (True, False)
    corner = next(label for label in figure.layout.annotations if label.text == "Won offline, lost online")
    assert (corner.x > 0.5, corner.y > 0.5) == (True, False)


@pytest.mark.parametrize("width", [510, 670])
def test_names_of_many_runs_never_overlap_on_a_page_that_shows_them(width: int) -> None:
    """Pages above 1,000 px show all eight names; the drawn area is 510 px there and 670 px at 1,280."""
    names = [f"a candidate, version {n}" for n in range(8)]
    lifts = [9.0, 5.0, 6.5, -2.0, 3.0, -6.0, 7.5, 1.0]
    frame = pd.DataFrame(
        {
            "run_id": name, "online_lift": lift, "online_low": lift - 4, "online_high": lift + 4,
            "offline_delta": 0.02 + 0.01 * n, "offline_low": 0.01 + 0.01 * n, "offline_high": 0.03 + 0.01 * n,
        }
        for n, (name, lift) in enumerate(zip(names, lifts, strict=True))
    )  # fmt: skip
    figure = quadrants(frame, looks(*names), LIGHT, "offline", "online", narrow=True)
    (left, right), (bottom, top) = figure.layout.xaxis.range, figure.layout.yaxis.range
    height = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    boxes = []
    for label in figure.layout.annotations[4:]:  # the first four name the corners
        start = (label.x - left) / (right - left) * width + label.ax
        wide = 7 * len(label.text) + 6
        start -= wide if label.xanchor == "right" else 0
        boxes.append((start, start + wide, (top - label.y) / (top - bottom) * height + label.ay))
    assert len(boxes) == 8
    assert all(start >= 0 and end <= width for start, end, _ in boxes)
    for (start, end, y), (other_start, other_end, other_y) in combinations(boxes, 2):
        assert end <= other_start or other_end <= start or abs(y - other_y) >= LABEL_PITCH


@pytest.mark.parametrize("narrow", [False, True])
def test_of_a_metric_of_which_less_is_better_the_axis_runs_downwards(narrow: bool) -> None:
    """Unsubscribes rose by 64 % and fell by 12 %: up is better, and the numbers are those measured."""
    rise = SIDES | {"online_lift": 64.0, "online_low": 20.0, "online_high": 120.0}
    fall = SIDES | {"run_id": "b", "online_lift": -12.0, "online_low": -20.0, "online_high": -5.0}
    frame = pd.DataFrame([rise, fall])
    figure = quadrants(
        frame, looks("a", "b"), LIGHT, "offline", "online", narrow=narrow, lower_is_better=True
    )
    assert [trace.y[0] for trace in figure.data if trace.mode == "markers"] == [64.0, -12.0]
    bottom, top = figure.layout.yaxis.range
    assert bottom > 64
    assert top < -12
    shaded = {(shape.x0 < 0 or shape.x1 < 0, shape.y0 > 0 or shape.y1 > 0) for shape in figure.layout.shapes}
    assert shaded == {(True, False), (False, True)}, "worse on one side is shaded: left above, right below"
    side = Side("online_lift", "online_low", "online_high", lower_is_better=True)
    texts = [label.text for label in bars(frame, looks("a", "b"), LIGHT, side).layout.annotations]
    assert [text[:4] for text in texts] == ["<b>▼", "<b>▲"]


def test_of_an_offline_metric_of_which_less_is_better_the_axis_runs_to_the_left() -> None:
    """RMSE fell offline and watch time rose online: the candidate won both."""
    fall = SIDES | {"offline_delta": -0.2, "offline_low": -0.3, "offline_high": -0.1, "online_lift": 4.0}
    figure = quadrants(
        pd.DataFrame([fall]), looks("a"), LIGHT, "offline", "online", offline_lower_is_better=True
    )
    assert next(trace for trace in figure.data if trace.mode == "markers").x[0] == -0.2
    left, right = figure.layout.xaxis.range
    assert left > 0 > -0.2 > right


def test_where_nothing_is_judged_marks_are_hollow_and_lifts_have_no_sign() -> None:
    side, frame = Side("online_lift", "online_low", "online_high", judged=False), pd.DataFrame([SIDES])
    figure = bars(frame, looks("a"), LIGHT, side)
    assert next(bar for bar in figure.data if bar.type == "bar").marker.color == LIGHT.background
    assert [label.text.split("<br>")[0] for label in figure.layout.annotations] == ["<b>−2.00</b>"]
    crosses = [
        quadrants(frame, looks("a"), LIGHT, "offline", "online", judged=judged) for judged in (True, False)
    ]
    marks = [next(trace for trace in chart.data if trace.mode == "markers").marker for chart in crosses]
    assert [mark.color for mark in marks] == [looks("a")["a"].colour, LIGHT.background]


def test_a_missing_side_is_a_dash_not_a_bar() -> None:
    frame = pd.DataFrame([SIDES | {"online_lift": None, "online_low": None, "online_high": None}])
    figure = bars(frame, looks("a"), LIGHT, Side("online_lift", "online_low", "online_high"))
    assert [trace.type for trace in figure.data] == ["scatter"]
    assert [label.text for label in figure.layout.annotations] == ["–"]


def test_lifts_beside_bars_have_their_own_decimals_where_that_is_asked_for() -> None:
    rows = {
        "run_id": ["a", "b"],
        "online_lift": [-12.18, -2.22],
        "online_low": [-17.05, -6.9],
        "online_high": [-7.02, 2.7],
    }
    side = Side("online_lift", "online_low", "online_high", unit=" %", own_decimals=True)
    figure = bars(pd.DataFrame(rows), looks("a", "b"), LIGHT, side)
    texts = [str(note["text"]) for note in figure.to_dict()["layout"]["annotations"]]
    assert "−12.2 %" in texts[0]
    assert "−17.1 to −7.0" in texts[0]
    assert "−2.22 %" in texts[1]
    assert "−6.90 to +2.70" in texts[1]
