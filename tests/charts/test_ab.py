"""The figures of an A/B test: lifts beside their table, and lifts over the days."""

from __future__ import annotations

from math import nan

import plotly.graph_objects as go
import pytest

from recdash.charts.ab_lifts import PITCH, WIDE_RATIO, LiftRow, ends_of, lifts
from recdash.charts.ab_over_time import Drawn, LiftPoint, over_time
from recdash.charts.ab_over_time import ends_of as ends_over_time
from recdash.charts.marks import LIGHT, Mark, Marks
from recdash.charts.traces import panel_names, panel_title
from recdash.formatting.wording import cut_inside

HOSTILE = '<a href="http://evil.example">x</a>%{x}'


def looks(*variants: str) -> Marks:
    return {variant: Mark(variant, variant, "#0072B2", "square", "candidate") for variant in variants}


def named(figure: go.Figure, name: str) -> list[go.Scatter]:
    return [trace for trace in figure.data if trace.name == name]


def checked(figure: go.Figure) -> go.Figure:
    """The figure, with all that Plotly checks of a figure made piece by piece."""
    return go.Figure(figure.to_dict())


# ── lifts beside their table ─────────────────────────────────────────────────────────────────


def test_rows_are_as_high_as_those_of_the_table_headings_included() -> None:
    figure = checked(lifts([None, LiftRow("als", 3, 1, 5), LiftRow("als", 2, -1, 5)], looks("als"), LIGHT))
    assert figure.layout.height - figure.layout.margin.t - figure.layout.margin.b == 3 * PITCH
    assert list(figure.layout.yaxis.range) == [2.5, -0.5]
    assert figure.layout.yaxis.automargin is False


def test_zero_is_the_heaviest_line_and_skips_the_headings() -> None:
    rows = [None, LiftRow("als", 3, 1, 5), None, LiftRow("als", 2, -1, 5)]
    figure = checked(lifts(rows, looks("als"), LIGHT))
    (zero,) = named(figure, "zero")
    assert list(zero.y) == [None, 0.5, 1.5, None, 2.5, 3.5]
    assert set(zero.x) == {0.0}
    others = [trace.line.width or 0 for trace in figure.data if trace.name in ("margin", "every day")]
    assert all(width < zero.line.width for width in others)


def test_what_is_settled_is_filled_and_what_is_not_is_hollow() -> None:
    rows = [LiftRow("als", 3, 1, 5, settled=True), LiftRow("ease", 1, -1, 3)]
    figure = checked(lifts(rows, looks("als", "ease"), LIGHT))
    (als,), (ease,) = named(figure, "als"), named(figure, "ease")
    assert als.marker.color == "#0072B2"
    assert (ease.marker.color, ease.marker.line.color) == (LIGHT.background, "#0072B2")


def test_the_interval_for_every_look_is_thin_and_capped_over_the_thick_one() -> None:
    figure = checked(lifts([LiftRow("als", 3, 1, 5, peek_low=-1, peek_high=7)], looks("als"), LIGHT))
    (thin,), (thick,) = named(figure, "every day"), named(figure, "interval")
    assert (list(thin.x), list(thick.x)) == ([-1, 7], [1, 5])
    assert thin.line.width < thick.line.width
    assert list(thin.marker.size) == [12, 12]


def test_a_guardrail_has_a_dashed_margin_and_its_name_once_for_all_variants() -> None:
    rows = [
        LiftRow("als", -0.5, -1.4, 0.4, margin=-2.0),
        LiftRow("ease", -0.5, -1.4, 0.4, margin=-2.0, starts=False),
    ]
    figure = checked(lifts(rows, looks("als", "ease"), LIGHT))
    assert [(list(trace.x), list(trace.y)) for trace in named(figure, "margin")] == [
        ([-2.0, -2.0], [-0.5, 0.5]),
        ([-2.0, -2.0], [0.5, 1.5]),
    ]
    (word,) = figure.layout.annotations
    assert (word.text, word.x, word.y, word.xanchor) == ("margin", -2.0, 0, "right")
    assert figure.layout.xaxis.range[0] < -2.0


def test_where_less_is_better_the_margin_stands_on_the_other_side() -> None:
    figure = checked(lifts([LiftRow("als", 0.5, -0.4, 1.4, margin=2.0)], looks("als"), LIGHT))
    (word,) = figure.layout.annotations
    assert (word.x, word.xanchor) == (2.0, "left")
    assert figure.layout.xaxis.range[1] > 2.0


def test_one_interval_far_wider_than_the_others_is_cut_off_and_says_so() -> None:
    rows = [LiftRow("a", 1, 0.5, 1.5), LiftRow("b", 1, 0.5, 1.5), LiftRow("c", 1, -WIDE_RATIO, WIDE_RATIO)]
    low, high = ends_of(rows)
    assert -WIDE_RATIO < low < 0
    assert 1.5 < high < WIDE_RATIO
    figure = checked(lifts(rows, looks("a", "b", "c"), LIGHT))
    assert [trace.text[0] for trace in named(figure, "goes on")] == ["‹", "›"]
    assert [list(trace.x) for trace in named(figure, "interval")][-1] == [low, high]


def test_a_lift_without_an_interval_has_a_mark_and_one_that_is_not_known_has_none() -> None:
    figure = checked(lifts([LiftRow("als", 3.0), LiftRow("ease")], looks("als", "ease"), LIGHT))
    assert len(named(figure, "als")) == 1
    assert named(figure, "ease") == named(figure, "interval") == []


def test_a_lift_beyond_the_axis_is_written_at_that_end_with_an_arrow() -> None:
    """Axis of the intervals: nearly −1 to 2."""
    rows = [LiftRow("a", 1, 0.5, 1.5), LiftRow("b", 2_340, hover="all of b"), LiftRow("c", -56.7)]
    low, high = ends_of(rows)
    figure = checked(lifts(rows, looks("a", "b", "c"), LIGHT))
    right, left = named(figure, "outside")
    assert (right.text[0], right.x[0], right.y[0], right.hovertext) == ("+2,340 % ›", high, 1, "all of b")
    assert (left.text[0], left.x[0], left.y[0]) == ("‹ −56.7 %", low, 2)
    assert named(figure, "b") == named(figure, "c") == []


def test_without_any_number_the_rows_are_still_there() -> None:
    figure = checked(lifts([None, LiftRow("als")], looks("als"), LIGHT))
    assert list(figure.layout.xaxis.range) == [-1.0, 1.0]


# ── names ────────────────────────────────────────────────────────────────────────────────────


def test_of_a_long_name_the_beginning_and_the_end_stay() -> None:
    assert cut_inside("short", 5) == "short"
    assert cut_inside("abcdefghij", 7) == "abc…hij"
    assert cut_inside("a very long name 1", 10) != cut_inside("a very long name 2", 10)


@pytest.mark.parametrize(("beside", "longest"), [(1, 80), (2, 36), (3, 22), (5, 22)])
def test_a_panels_title_is_as_long_as_its_width_allows_and_whole_on_hover(beside: int, longest: int) -> None:
    name = "x" * 99
    title = panel_title(name, panel_names([name], beside)[name], 0.5)
    assert len(title["text"]) == longest + len("<b></b>")
    assert title["hovertext"] == "x" * 99
    hostile = panel_title(HOSTILE, HOSTILE, 0)
    assert "<a" not in hostile["text"] + hostile["hovertext"]


# ── over time ────────────────────────────────────────────────────────────────────────────────


def days(*lifts_of_days: float, half: float = 1.0) -> list[LiftPoint]:
    return [LiftPoint(day, lift, lift - half, lift + half) for day, lift in enumerate(lifts_of_days)]


def drawn(series: dict[str, list[LiftPoint]], how: Drawn = "line") -> go.Figure:
    return checked(
        over_time(
            series, looks(*series), LIGHT, ends=ends_over_time(series), beside=len(series),
            days={0: "2 Nov"}, drawn=how,
        )
    )  # fmt: skip


def test_each_variant_has_a_panel_of_its_own_on_one_axis() -> None:
    figure = drawn({"als": days(1, 2), "ease": days(3, 4)})
    assert [trace.xaxis for trace in named(figure, "als")] == ["x"]
    assert [trace.xaxis for trace in named(figure, "ease")] == ["x2"]
    assert {trace.yaxis for trace in figure.data} == {"y"}
    assert figure.layout.xaxis.domain[1] < figure.layout.xaxis2.domain[0]
    assert [one.text for one in figure.layout.annotations] == ["<b>als</b>", "<b>ease</b>"]


def test_the_band_is_for_one_look_and_the_dotted_lines_for_every_look() -> None:
    moment = LiftPoint(0, 2.0, 1.0, 3.0, peek_low=-1.0, peek_high=5.0)
    figure = drawn({"als": [moment]})
    (band,) = named(figure, "95 % interval")
    assert (list(band.y), band.fill) == ([3.0, 1.0], "toself")
    dotted = named(figure, "every day")
    assert [(list(trace.y), trace.line.dash) for trace in dotted] == [([-1.0], "dot"), ([5.0], "dot")]


def test_on_days_of_their_own_only_intervals_without_zero_are_filled() -> None:
    figure = drawn({"als": days(0.5, 3.0)}, "points")
    hollow, filled = named(figure, "als")
    assert (list(hollow.x), list(filled.x)) == ([0], [1])
    assert (hollow.marker.color, filled.marker.color) == (LIGHT.background, "#0072B2")
    (whiskers,) = named(figure, "95 % interval")
    assert list(whiskers.y) == [-0.5, 1.5, None, 2.0, 4.0, None]


def test_the_first_days_with_few_users_do_not_flatten_the_others() -> None:
    low, high = ends_over_time({"als": [LiftPoint(0, 50, -200, 300), *days(2, 2, 2, 2)]})
    assert (low, high) == (-0.24, 3.24)  # 0 to 3, and 8 % of that on both sides


def test_a_day_without_a_lift_is_left_out() -> None:
    figure = drawn({"als": [LiftPoint(0, nan), *days(2)[:1]]})
    (line,) = named(figure, "als")
    assert list(line.y) == [2]


def test_names_of_variants_are_inert() -> None:
    looks_of = {"v": Mark("v", HOSTILE, "#0072B2", "square", "candidate")}
    figure = over_time({"v": days(1, 2)}, looks_of, LIGHT, ends=(0, 3), beside=1, days={}, drawn="line")
    (title,) = figure.layout.annotations
    assert "<a" not in title.text
    assert "%{" not in title.text
