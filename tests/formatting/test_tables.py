"""Tables as HTML: what is escaped, which cell heads a row, where numbers are missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from recdash.formatting.html import Html
from recdash.formatting.tables import (
    Cell,
    Interval,
    Number,
    RunName,
    Table,
    Word,
    aligned,
    cell_html,
    count,
    number_columns,
    p_value,
    single,
    table_html,
    text_columns,
    with_intervals,
)

COLUMNS = (*text_columns("<b>Run", "Finding"), *number_columns("nDCG@10"))
ROWS = (
    (RunName("a"), Word("▲", "better", "better"), Number(0.12345, 3)),
    (RunName("b"), "<i>", Number(None, why="not <scored>")),
)


def test_texts_and_titles_are_escaped_and_html_is_not() -> None:
    written = table_html(Table("<u>", COLUMNS, ROWS), {"a": Html("<em>A</em>"), "b": Html("B")})
    assert '<th scope="row"><em>A</em><td><span class="better">▲ better</span>' in written
    assert "<data value=0.12345>0.123</data>" in written
    for tag in ("<b>", "<i>", "<u>", "<scored>"):
        assert tag not in written
    assert "<sup>1</sup></span>" in written
    assert "<sup>1</sup> not &lt;scored&gt;." in written


@pytest.mark.parametrize(("head", "tags"), [(0, ["th", "td"]), (1, ["td", "th"]), (None, ["td", "td"])])
def test_one_cell_heads_a_row_unless_it_is_empty(head: int | None, tags: list[str]) -> None:
    table = Table("", text_columns("A", "B"), (("x", "y"), ("", "")))
    rows = str(table_html(table, row_head=head)).partition("<tbody>")[2]
    first, second = rows.split("<tr>")[1:]
    assert [part[:2] for part in first.split("<")[1:3]] == tags
    assert "<th" not in second


@pytest.mark.parametrize("cell", ["–", Word("", "–"), Number(None), Interval(Number(None), Number(1))])
def test_what_stands_in_place_of_numbers_is_aligned_where_the_table_has_classes(cell: Cell) -> None:
    table = Table("", (*text_columns("Run"), *number_columns("n")), ((cell, cell),))
    classed = str(table_html(table, kind="rd-table", row_head=None)).partition("<tbody>")[2]
    assert classed.count("<td") == 2
    assert [part[0] for part in classed.split("<td")[1:]] == [">", " "]
    assert '<td class="n">' in classed
    assert '<td class="n">' not in table_html(table, row_head=None)


@pytest.mark.parametrize("write", [count, single, p_value])
@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), np.float64("inf")])
def test_what_is_missing_or_not_finite_is_no_number(write: Callable[[Any], Number], missing: object) -> None:
    assert write(missing).value is None


@pytest.mark.parametrize("kind", [int, np.int64, np.uint32])
def test_whole_numbers_stay_whole(kind: Callable[[int], Any]) -> None:
    assert cell_html(count(kind(1_234_567))) == "<data value=1234567>1,234,567</data>"


def test_a_table_without_a_title_has_no_caption_and_is_no_region() -> None:
    written = table_html(Table("", COLUMNS, ()))
    assert "<caption>" not in written
    assert "role=" not in written


def test_numbers_of_a_column_and_their_intervals_have_the_same_decimals() -> None:
    values, bounds = with_intervals([0.0278, None], [(0.0236, 0.032), (float("nan"), 0.01)])
    assert [value.shown for value in values] == ["+0.0278", "–"]
    assert [bound.shown for bound in bounds] == ["+0.0236 to +0.0320", "–"]
    assert [number.shown for number in aligned([0.5, 12.0], like=[0.5])] == ["0.500", "12.000"]


def test_an_interval_with_a_missing_end_is_a_dash() -> None:
    low, high = aligned([0.1, None])
    assert cell_html(Interval(low, high)) == cell_html(Number(None))


def test_an_interval_that_excludes_zero_does_not_seem_to_end_there() -> None:
    ends = [(-19.1, -0.04), (-120.0, -80.0), (-3.0, 0.001)]
    _, bounds = with_intervals([-9.6, -99.0, -1.5], ends, unit=" %", off_zero=True)
    assert [cell.shown for cell in bounds] == ["−19.10 to −0.04 %", "−120.00 to −80.00 %", "−3.00 to 0.00 %"]
    _, usual = with_intervals([-9.6, -99.0, -1.5], ends, unit=" %")
    assert usual[0].shown == "−19 to 0 %"
