"""Charts of users: what is drawn, inside which bar, and what is left to hover."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from recdash.charts.marks import DARK, LIGHT, Mark, Palette
from recdash.charts.user_changes import better_same_worse, distribution
from recdash.stats.user_changes import Bars, bars

MARKS = {name: Mark(name, name, "#0072B2", "circle", "candidate") for name in ("als", "<b>ease</b>")}
CHANGES = pd.DataFrame(
    {
        "run_id": ["als", "<b>ease</b>"],
        "n_users": [200, 200],
        "better": [82, 4],
        "same": [58, 150],
        "worse": [60, 46],
    }
)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_each_run_is_a_bar_of_a_hundred_users(palette: Palette) -> None:
    chart = better_same_worse(CHANGES, MARKS, palette)
    drawn = [trace for trace in chart.data if trace.type == "bar"]
    assert [trace.name for trace in drawn] == ["better", "same", "worse"]
    assert [list(trace.x) for trace in drawn] == [[41, 2], [29, 75], [30, 23]]
    assert [trace.marker.color for trace in drawn] == [palette.better, palette.same, palette.worse]


def test_numbers_stand_where_there_is_room_and_a_word_beside_one_of_them() -> None:
    texts = [
        list(trace.text) for trace in better_same_worse(CHANGES, MARKS, LIGHT).data if trace.type == "scatter"
    ]
    assert texts == [
        ["<b>41</b> better", ""],
        ["<b>29</b> same", "<b>75</b>"],
        ["<b>30</b> worse", "<b>23</b>"],
    ]


def test_the_numbers_of_a_bar_add_up_to_100() -> None:
    thirds = pd.DataFrame({"run_id": ["als"], "n_users": [300], "better": [161], "same": [67], "worse": [72]})
    texts = [
        trace.text[0] for trace in better_same_worse(thirds, MARKS, LIGHT).data if trace.type == "scatter"
    ]
    assert texts == ["<b>54</b> better", "<b>22</b>", "<b>24</b> worse"]
    rounded_down = thirds.assign(n_users=1999, better=1063, same=450, worse=486)
    texts = [
        trace.text[0]
        for trace in better_same_worse(rounded_down, MARKS, LIGHT).data
        if trace.type == "scatter"
    ]
    assert texts == ["<b>53</b> better", "<b>23</b>", "<b>24</b> worse"]


def test_names_are_shown_as_text_and_counts_on_hover() -> None:
    chart = better_same_worse(CHANGES, MARKS, LIGHT)
    assert chart.layout.yaxis.ticktext == ("als", "&lt;b&gt;ease&lt;/b&gt;")
    assert chart.data[0].hovertext[0] == "als<br>better for 82 of 200 users"


def test_worse_lies_left_of_zero_and_better_right() -> None:
    chart = distribution(bars(np.array([-0.3, -0.1, 0.1, 0.2])), LIGHT, "Change in nDCG@10")
    drawn, zero = chart.data
    for middle, colour, count in zip(drawn.x, drawn.marker.color, drawn.y, strict=True):
        assert colour == (LIGHT.worse if middle < 0 else LIGHT.better), count
    assert sum(drawn.y) == 4
    assert set(zero.x) == {0.0}
    assert (zero.line.width, zero.line.color) == (2.5, LIGHT.ink)


def test_values_of_one_run_are_neither_better_nor_worse() -> None:
    chart = distribution(bars(np.array([0.2, 0.9])), LIGHT, "nDCG@10", signed=False)
    assert chart.data[0].marker.color == LIGHT.muted


def test_where_nobody_changed_an_empty_chart_is_drawn() -> None:
    chart = distribution(Bars(np.zeros(1), np.zeros(0, dtype=np.int64)), LIGHT, "Change")
    assert list(chart.data[0].y) == []


def test_counts_of_few_users_have_whole_ticks() -> None:
    chart = distribution(bars(np.array([0.2, 0.9])), LIGHT, "nDCG@10")
    assert set(chart.layout.yaxis.ticktext) <= {"0", "1"}
