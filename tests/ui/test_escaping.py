"""A name is text in every sink, whatever it is made of."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from recdash.errors import Problem
from recdash.formatting.html import Html, html, join, markdown
from recdash.ui.components.widgets import csv_text, problem_text

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "[click](http://evil.example)",
    "![x](http://evil.example/a.png)",
    "www.evil.example",
    "a@evil.example",
    ":red[danger] :material/home: $x$",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_becomes_html(name: str) -> None:
    made = html('<b title="{name}">{name}</b>', name=name)
    assert re.findall(r"<\w+", made) == ["<b"]
    assert made.count('"') == 2


def test_html_that_is_already_safe_is_not_escaped_twice() -> None:
    inner = html("<i>{name}</i>", name="a & b")
    assert html("<b>{inner}</b>", inner=inner) == "<b><i>a &amp; b</i></b>"
    assert join([inner, Html("<br>")]) == "<i>a &amp; b</i><br>"


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_keeps_live_markdown(name: str) -> None:
    made = markdown(name)
    assert re.search(r"(?<!\\)[\[\]<>!$:`*_~]", made) is None
    assert re.search(r"(?i)(https?|www)(?!\u2060)\\?[:.]", made) is None
    assert re.sub(r"\\(.)", r"\1", made).replace("\u2060", "") == name


def test_a_problem_is_shown_as_text() -> None:
    shown = problem_text(Problem("x", "file '<b>.csv'", "![a](http://evil.example)", "Fix it."))
    assert "![" not in shown
    assert "Fix it" in shown


def test_no_text_in_a_csv_starts_a_formula() -> None:
    frame = pd.DataFrame({"run": ["=1+1", " +cmd", "\ufeff@x", "plain"], "value": [0.5, -0.5, 1.0, 2.0]})
    lines = csv_text(frame).splitlines()
    assert [line.split(",")[0][0] for line in lines[1:4]] == ["'", "'", "'"]
    assert lines[4] == "plain,2.0"
    assert lines[2].endswith(",-0.5")
