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


def said(changes: pd.DataFrame) -> list[str]:
    notes = better_same_worse(changes, MARKS, LIGHT).layout.annotations
    return [note.text.removeprefix("<b>").removesuffix("</b>") for note in notes]


def test_all_numbers_of_gains_and_losses_are_written_below_their_words() -> None:
    few = CHANGES.assign(better=[82, 4], same=[115, 150])
    few = few.assign(worse=few["n_users"] - few["better"] - few["same"])
    assert said(few) == ["better", "same", "worse", "41", "2", "57", "2", "23", "75"]


def test_the_numbers_of_a_bar_add_up_to_100() -> None:
    thirds = pd.DataFrame({"run_id": ["als"], "n_users": [300], "better": [161], "same": [67], "worse": [72]})
    assert said(thirds)[3:] == ["54", "24", "22"]
    rounded_down = thirds.assign(n_users=1999, better=1063, same=450, worse=486)
    assert said(rounded_down)[3:] == ["53", "24", "23"]


def test_a_few_of_many_users_are_not_nobody() -> None:
    rare = pd.DataFrame({"run_id": ["als"], "n_users": [2000], "better": [12], "same": [1980], "worse": [8]})
    assert said(rare)[3:] == ["0.6", "0.4", "99"]


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
