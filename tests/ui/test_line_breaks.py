"""Where lines of pages break: not between a number and its unit, nor inside a short name with a hyphen."""

from __future__ import annotations

import re

import pytest

from recdash.errors import Problem
from recdash.formatting.html import html
from recdash.formatting.tables import text_columns
from recdash.ui.components import widgets

HELD_TOGETHER = ["+2.22 %", "k = 10", "n = 4,556", "p = 0.083", "p < 0.001", "≈ 1.2 M", "≈ 93,000",
                "−4.65 to +2.22 %", "95 % CI", "95 % CIs"]  # fmt: skip


@pytest.mark.parametrize("text", HELD_TOGETHER)
def test_a_number_and_its_unit_are_on_one_line(text: str) -> None:
    kept = text.replace(" ", "\u00a0")
    assert widgets.unbroken(f"It is {text} here.") == f"It is {kept} here."
    assert html("{kept}", kept=kept) in widgets.table_html(text_columns("Value"), [[text]])


def test_a_number_in_a_notice_is_on_one_line() -> None:
    notice = Problem(
        "code", "6 % of users", "the split may be uneven (p = 0.357)", "Wait for ≈ 93,000 users."
    )
    text = widgets.notices_html([notice])
    for kept in ("6 %", "(p = 0.357)", "≈ 93,000"):
        assert kept.replace(" ", "\u00a0") in text


@pytest.mark.parametrize(
    "text", ["5 users", "Top k is 10", "help = 3", "50 Movies", "5 to 19 items", "a % Circle"]
)
def test_other_spaces_may_break(text: str) -> None:
    assert widgets.unbroken(text) == text


def test_a_short_name_with_a_hyphen_is_on_one_line_of_a_heading() -> None:
    heading = widgets.with_whole_words("Roll back Two-tower 2026-10; a-name-that-is-too-long <b>")
    kept = re.findall(r'<span class="rd-nowrap">(.*?)</span>', heading)
    assert kept == ["Two-tower", "2026-10;"]
    assert heading.endswith("a-name-that-is-too-long &lt;b&gt;")
    assert heading.striptags() == "Roll back Two-tower 2026-10; a-name-that-is-too-long <b>"
