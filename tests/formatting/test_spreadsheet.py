"""No text starts a formula in a spreadsheet, whatever nobody sees in front of it."""

from __future__ import annotations

import pytest

from recdash.formatting.spreadsheet import safe_cell


@pytest.mark.parametrize(
    "before", ["", " ", "\t", "\r\n", "\u00a0", "\ufeff", "\u200b", "\u2060", "\u200e", "\u202e", "\u2066",
               "\u3000", "\x0b", "\x00", " \u2060\u200f "]
)  # fmt: skip
@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "﹦"])
def test_a_formula_stays_text_behind_what_cannot_be_seen(before: str, sign: str) -> None:
    assert safe_cell(f"{before}{sign}1+1") == f"'{before}{sign}1+1"


@pytest.mark.parametrize("value", ["ALS v3", "a=1", "\u2060ALS", "", " ", "−1", -1.5, None])
def test_everything_else_stays_as_it_is(value: object) -> None:
    assert safe_cell(value) == value
