"""Where the bars of a small picture lie, and what is written beside them."""

from __future__ import annotations

import pytest

from recdash.charts.mini_chart import drawing
from recdash.charts.picture import Bar, Picture


def test_bars_begin_at_zero_and_the_axis_has_room_beyond_the_longest() -> None:
    """0 .. 100 and 4 % more: 50 is 50 / 104 of the width."""
    result = drawing(Picture("Users", (Bar("a", 100.0), Bar("b", 50.0))))
    assert result.zero == 0
    assert [row.left for row in result.rows] == [0, 0]
    assert result.rows[1].width == pytest.approx(100 * 50 / 104)
    assert [row.text for row in result.rows] == ["100", "50"]


def test_what_is_below_zero_lies_left_of_it() -> None:
    """−50 .. 50, 4 % more on either side: zero is in the middle."""
    result = drawing(Picture("Lift", (Bar("a", -50.0), Bar("b", 50.0)), "%", sign=True))
    assert result.zero == pytest.approx(50)
    assert result.rows[0].left + result.rows[0].width == pytest.approx(result.zero)
    assert [row.text for row in result.rows] == ["−50.0 %", "+50.0 %"]


def test_an_interval_is_drawn_in_place_of_the_bar_and_hollow_where_it_holds_zero() -> None:
    result = drawing(Picture("Gain", (Bar("a", 2.0, 1.0, 3.0), Bar("b", 1.0, -1.0, 3.0)), sign=True))
    settled, open_ = result.rows
    assert settled.dot == pytest.approx(settled.left + settled.width / 2)
    assert (settled.hollow, open_.hollow) == (False, True)
    assert open_.ends == "−1.00 to +3.00"


def test_what_cannot_be_had_is_a_dash_and_draws_nothing() -> None:
    for missing in (None, float("nan")):
        (row,) = drawing(Picture("Share", (Bar("a", missing, float("nan"), None),), "%")).rows
        assert (row.text, row.width, row.dot, row.ends) == ("–", 0, None, "")


def test_nothing_at_all_is_zero() -> None:
    (row,) = drawing(Picture("Share", (Bar("a", 0.0),), "%")).rows
    assert (row.text, row.width) == ("0 %", 0)


def test_a_picture_is_written_as_json_without_what_is_no_number() -> None:
    output = Picture("Share", (Bar("a", 1.0, float("nan"), 2.0),)).as_dict()
    assert (output["bars"][0]["value"], output["bars"][0]["low"]) == (1.0, None)
