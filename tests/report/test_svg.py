"""Figures as SVG: marks, bars, lines and words stand where the values say."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from recdash.charts.layout import axis, escape, figure, marker, rgba
from recdash.charts.marks import DASHES as RUN_DASHES
from recdash.charts.marks import LIGHT, SHAPES, Mark, Palette
from recdash.charts.traces import Trace, area, bars, dots, end_label, line, note, rectangle
from recdash.report.formats.figures import THEMELESS
from recdash.report.formats.svg import DASHES, to_svg

HOSTILE = "</svg><script>alert(1)</script>"


def drawn(*traces: Trace, palette: Palette = LIGHT, **layout: Any) -> ET.Element:
    """100 px wide and high inside of margins of 10 px; both axes run from 0 to 10."""
    axes = {
        name: axis(palette, 0, 10, showgrid=False, tickvals=[], ticktext=[]) for name in ("xaxis", "yaxis")
    }
    made = figure(palette, 120, (10, 10, 10, 10), traces, {**axes, **layout})
    return ET.fromstring(to_svg(made.to_plotly_json(), f"Alt {HOSTILE}", 120))  # noqa: S314 - our own


def the(tree: ET.Element, tag: str) -> ET.Element:
    (element,) = tree.iter(tag)
    return element


def test_a_mark_stands_where_its_values_say_and_says_them_under_the_pointer() -> None:
    look = marker(Mark("a", "a", "#0072B2", "circle", "candidate"), LIGHT, size=8)
    circle = the(drawn(dots([2], [7], "a", look, escape("<b> is 7"))), "circle")
    assert [circle.attrib[name] for name in ("cx", "cy", "r")] == ["30", "40", "4"]
    assert the(circle, "title").text == "<b> is 7"


def test_a_control_character_in_a_name_is_a_blank_under_the_pointer() -> None:
    """XML holds no form feed: the whole page would not be read."""
    look = marker(Mark("a", "a", "#0072B2", "circle", "candidate"), LIGHT, size=8)
    circle = the(drawn(dots([2], [7], "a", look, "a\x0cb<br>is 7")), "circle")
    assert the(circle, "title").text == "a b\nis 7"


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_run_can_be_drawn(shape: str) -> None:
    look = marker(Mark("a", "a", "#0072B2", shape, "candidate"), LIGHT)
    tree = drawn(dots([5], [5], "a", look))
    assert len([*tree.iter("circle"), *tree.iter("polygon")]) == 1


def test_a_bar_runs_from_zero_also_where_it_is_negative() -> None:
    look = {"color": "#0072B2", "line": {"color": "#0072B2", "width": 0}}
    x = axis(LIGHT, -10, 10, showgrid=False, tickvals=[], ticktext=[])
    bar = the(drawn(bars([-5], [4], "a", look, None, orientation="h", width=0.5), xaxis=x), "rect")
    assert [bar.attrib[name] for name in ("x", "width", "y", "height")] == ["35", "25", "67.5", "5"]


def test_a_line_is_lifted_where_a_value_is_missing() -> None:
    tree = drawn(line([0, 1, None, 9, 10], [0, 1, None, 9, 10], "a", "#000000", 2))
    assert [path.attrib["points"] for path in tree.iter("polyline")] == ["10,110 20,100", "100,20 110,10"]


@pytest.mark.parametrize(
    ("dash", "drawn_as"),
    [("dot", "3"), ("dash", "9"), ("dashdot", "9 3 3 3"), ("longdash", "15"), ("longdashdot", "15 6 3 6")],
)
def test_lines_have_the_dashes_that_they_have_on_pages(dash: str, drawn_as: str) -> None:
    (drawn_line,) = drawn(line([0, 5], [0, 5], "a", "#000000", 2, dash=dash)).iter("polyline")
    assert drawn_line.attrib["stroke-dasharray"] == drawn_as


def test_every_dash_of_a_run_is_drawn() -> None:
    assert set(RUN_DASHES) - {"solid"} | {"dash"} == set(DASHES)


def test_a_colour_that_stands_for_a_role_follows_the_theme() -> None:
    faint = rgba(THEMELESS.faint, 0.25)
    tree = drawn(
        area([0, 5], [0, 0], [5, 5], "a", faint),
        line([0, 5], [0, 5], "a", THEMELESS.ink, 2),
        palette=THEMELESS,
        shapes=[rectangle((0, 5), (0, 5), THEMELESS.same)],
    )
    filled, stroked = tree.iter("polyline")
    assert (filled.attrib["fill"], filled.attrib["fill-opacity"]) == ("var(--faint)", "0.25")
    assert stroked.attrib["stroke"] == "var(--ink)"
    assert the(tree, "rect").attrib["fill"] == "var(--same)"


def test_words_are_bold_and_coloured_on_lines_of_their_own_and_never_markup() -> None:
    text = f'<b>{escape(HOSTILE)}</b><br><span style="color:#566270;font-size:9px">n = 3</span>'
    tree = drawn(annotations=[note(5, 5, text)])
    assert [element.tag for element in tree.iter() if "script" in element.tag] == []
    first, bold, second, small = tree.iter("tspan")
    assert (bold.text, bold.attrib["font-weight"]) == (HOSTILE, "600")
    assert (small.text, small.attrib["fill"], small.attrib["font-size"]) == ("n = 3", "#566270", "9px")
    assert float(second.attrib["y"]) > float(first.attrib["y"])
    assert tree.attrib["aria-label"] == f"Alt {HOSTILE}"


def test_a_label_is_tied_to_its_point() -> None:
    tree = drawn(annotations=[end_label(LIGHT, "a", (5, 5), (30, 40), "#0072B2")])
    tie = the(tree, "line")
    assert [tie.attrib[name] for name in ("x1", "y1", "x2", "y2")] == ["62.4", "63.2", "90", "100"]
    assert the(tree, "text").attrib["text-anchor"] == "start"


def test_a_note_or_shape_beside_a_missing_value_is_not_drawn() -> None:
    tree = drawn(
        annotations=[note(5, None, "gone"), note(5, 5, "here")],  # type: ignore[arg-type]
        shapes=[rectangle((0, None), (0, 1), "#fff"), rectangle((0, 1), (0, 1), "#fff")],  # type: ignore[arg-type]
    )
    words = [
        text.strip() for element in tree.iter() if element.tag.endswith("text") for text in element.itertext()
    ]
    assert "".join(words) == "here"
    assert len([element for element in tree.iter() if element.tag.endswith("rect")]) == 1
