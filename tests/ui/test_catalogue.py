"""The Catalogue page over a small store: what the lists show, by which attribute, and what is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from app_pages import TRUTH, MadeOnce, Open, at_once, link, lists, passed, seen, store, warned
from playwright.sync_api import Page, expect

from recdash.charts.attribute_shares import panels
from recdash.comparison.guardrails import GuardrailResult
from recdash.formatting.html import Html
from recdash.service import Workspace
from recdash.ui.catalogue import page as catalogue

open_page = at_once
CATALOGUE = pd.DataFrame(
    {
        "item_id": [*TRUTH["item_id"], "x1", "x2", "x3", "never"],
        "genres": [*["Drama"] * 10, *["Drama|Crime"] * 10, "War", "War", "War", "Sport"],
        "year": [*[1990] * 20, 2001, 2001, 2002, 2003],
    }
)
"""24 items: the users' own are of 1990, strangers x1 to x3 of the war in 2001 and 2002."""


def stored(workspace: Workspace, catalogue: Any = CATALOGUE) -> dict[str, str]:
    """Names → ids: the experiment; poor (strangers only) and good (own item at rank 2)."""
    return store(workspace, {"poor": lists(9), "good": lists(2)}, catalogue=catalogue)


def add_films(workspace: Workspace) -> dict[str, str]:
    return stored(workspace)


@pytest.fixture
def films(made_once: MadeOnce) -> dict[str, str]:
    return made_once(add_films)


@pytest.fixture
def shown(open_page: Open) -> Open:
    return partial(open_page, "catalogue")


# ── what it says ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("films")
def test_the_title_says_who_shows_how_many_values(shown: Open) -> None:
    text = seen(shown())
    assert "good shows 3 of 4 values of genres; poor shows 1" in text
    assert "The catalogue has 24 items." in text


@pytest.mark.long
def test_a_very_long_value_is_cut_where_it_is_read_and_whole_in_the_csv(
    workspace: Workspace, shown: Open
) -> None:
    stored(workspace, CATALOGUE.replace({"genres": {"War": "War " * 1500}}))
    app = shown(by="genres")
    text = seen(app)
    assert "War War War" in text
    assert "…" in text
    assert max(map(len, re.findall(r"(?:War )+", text))) < 60
    (table,) = [one.value for one in app.dataframe]
    assert table["value"].str.len().max() > 5_000


@pytest.mark.usefixtures("films")
def test_places_by_value_stand_beside_the_catalogue(shown: Open) -> None:
    """Of good's 60 places 40 are strangers' (War), 20 the users' own: all Drama, half of them Crime too."""
    text = seen(shown())
    assert "Drama 20 83.3 0.0 33.3" in text
    assert "Crime 10 41.7 0.0 16.7" in text
    assert "War 3 12.5 100.0 66.7" in text
    assert "Sport 1 4.2 0.0 0.0" in text
    assert "poor over-recommends War: 100 % of slots (good: 66.7 %) vs 12.5 % of the catalogue" in text


@pytest.mark.usefixtures("films")
def test_each_run_has_its_measures_and_their_names_lead_to_the_guide(shown: Open) -> None:
    app = shown(by="genres")
    # poor shows 3 of 24 items, good 22 of them
    assert re.search(r"poor 12\.5 .* 1 of 4 good 91\.7 .* 3 of 4 ", seen(app))
    bodies = " ".join(str(one.proto.body) for one in app.get("html"))
    gini = r'href="guide\?e=[^"]*&amp;by=genres&amp;metric=gini" title="[^"]*more concentrated">Gini@5\W↓<'
    assert re.search(gini, bodies)
    assert re.search(r'href="guide\?e=[^"]*&amp;metric=coverage_by" [^>]*>Values of genres<', bodies)
    missing = "– Novelty, Popularity, Tail share (all runs): needs training data, and none was given"
    assert missing in seen(app)
    # 22 of 24 items against 3 of 24
    assert "good 91.7 ×7.33" in seen(app)
    hints = re.findall(r'title="A higher value means: ([^"]*)"', bodies)
    assert {"broader", "rarer", "more diverse", "more concentrated", "more popular"} <= set(hints)


def test_a_change_from_nearly_nothing_is_a_factor_beside_a_value_in_percent() -> None:
    """36.8 points more would read as +0.368 % below 37.1 %."""
    from_little = GuardrailResult("coverage", value=0.371, base_value=0.003, guard=0.2)
    from_zero = GuardrailResult("coverage", value=0.5, base_value=1e-12, guard=0.2)
    assert "+0.500<" in str(catalogue._beside_rail(Html("50.0"), from_zero))
    assert "×124<" in str(catalogue._beside_rail(Html("37.1"), from_little))  # 0.371 / 0.003 = 123.7


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_fewer_places_show_fewer_values(shown: Open) -> None:
    assert "Both runs show 1 of 4 values of genres" in seen(shown(k="1"))


@pytest.mark.usefixtures("films")
def test_the_chart_has_the_same_numbers_and_words_for_them(shown: Open) -> None:
    (chart,) = shown().get("plotly_chart")
    drawn = json.loads(chart.proto.spec)["data"]
    (good,) = [trace for trace in drawn if trace["name"] == "good" and trace["mode"] == "markers"]
    assert good["x"] == [pytest.approx(share, abs=0.05) for share in (33.3, 16.7, 66.7, 0.0)]
    assert "good: War 66.7 % (12.5 %), Drama 33.3 % (83.3 %) and Crime 16.7 % (41.7 %)" in chart.proto.alt


@pytest.mark.long
def test_of_many_values_the_largest_are_drawn_and_the_others_named(workspace: Workspace, shown: Open) -> None:
    many = CATALOGUE.assign(genres=[*(f"maker {n // 2}" for n in range(20)), *["War"] * 4])
    more = pd.DataFrame(
        {"item_id": [f"y{n}" for n in range(40)], "genres": [f"m{n // 2}" for n in range(40)]}
    )
    stored(workspace, pd.concat([many, more]))
    text = seen(shown())
    assert "Showing 16 of 31, with the largest shares in a run or the catalogue;" in text
    assert "“All shares in full precision” has all." in text


def test_runs_stand_in_even_lines_of_at_most_five() -> None:
    assert [len(line) for line in panels([str(n) for n in range(9)])] == [5, 4]
    assert [len(line) for line in panels([str(n) for n in range(6)])] == [3, 3]
    assert panels(["a", "b"]) == [["a", "b"]]


# ── the attribute and the link ───────────────────────────────────────────────────────────────


def test_the_link_keeps_the_attribute(films: dict[str, str], shown: Open) -> None:
    app = shown(by="year", e=films["films"])
    assert "good shows 3 of 4 values of year" in seen(app)
    assert "1990 20 83.3 0.0 33.3 2001 2 8.3 66.7 33.3 2002 1 4.2 33.3 33.3" in seen(app)
    assert link(app)["by"] == "year"
    passed(app.selectbox(key="catalogue-attribute").set_value("genres").run())
    assert link(app)["by"] == "genres"
    assert "values of genres" in seen(app)


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_segments_of_items_by_an_attribute_lead_to_that_attribute(shown: Open) -> None:
    app = shown(by="item:year")
    assert "good shows 3 of 4 values of year" in seen(app)
    assert not app.warning


@pytest.mark.long
def test_segments_of_users_leave_the_usual_attribute_without_a_warning(
    workspace: Workspace, shown: Open
) -> None:
    train = pd.DataFrame({"user_id": TRUTH["user_id"], "item_id": "x1"})
    made = workspace.experiments.create("films", TRUTH, depth=5, catalogue=CATALOGUE, train=train)
    workspace.runs.add(made.id, lists(2), name="good")
    app = shown(by="user_warmth")
    assert "values of genres" in seen(app)
    assert not app.warning


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_an_attribute_named_in_vain_is_warned_of_and_stays_in_the_link(shown: Open) -> None:
    app = shown(by="author")
    assert 'Attribute "author" isn\'t available here; showing genres.' in warned(app)
    assert link(app)["by"] == "author"


# ── where something is missing ───────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("workspace")
def test_an_empty_store_says_what_to_do_next(shown: Open) -> None:
    assert "No data yet" in seen(shown())


def test_without_a_catalogue_the_page_asks_for_one(workspace: Workspace, shown: Open) -> None:
    stored(workspace, None)
    app = shown()
    assert "Add a catalogue to see what the lists show of it" in seen(app)
    assert re.search(r"Coverage(, \w+)*, Gini, Entropy \(all runs\): needs a catalogue table", seen(app))
    assert "Upload" in [button.label for button in app.button]


@pytest.mark.long
def test_a_catalogue_of_ids_has_its_measures_and_no_distribution(workspace: Workspace, shown: Open) -> None:
    stored(workspace, CATALOGUE[["item_id"]])
    app = shown()
    assert "The catalogue has no attribute to compare by" in seen(app)
    assert re.search(r"poor 12\.5 ", seen(app))
    assert not app.get("plotly_chart")


def test_names_and_values_are_shown_as_text(workspace: Workspace, shown: Open) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    stored(workspace, CATALOGUE.assign(genres=hostile).rename(columns={"genres": "<b>genre</b>"}))
    app = shown()
    bodies = " ".join(str(one.proto.body) for one in app.get("html"))
    assert "<img" not in bodies
    assert "<b>genre" not in bodies
    assert "<img" not in app.get("plotly_chart")[0].proto.spec


# ── in a browser ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.long  # of layout: tests/browser/test_accessibility.py looks at the pages of the demo
@pytest.mark.browser
def test_in_a_narrow_window_nine_panels_scroll_inside_their_box(
    server: Callable[..., Any], page: Page, settle: Callable[[Page], None], tmp_path: Path
) -> None:
    """Five panels beside each other keep room for their ticks; the page itself does not scroll sideways."""
    data = tmp_path / "recdash-data"
    space = Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
    made = space.experiments.create("films", TRUTH, depth=5, catalogue=CATALOGUE)
    for n in range(9):
        space.runs.add(made.id, lists(2).assign(rank=lambda rows, n=n: rows["rank"] + n), name=f"run{n}")
    page.set_viewport_size({"width": 720, "height": 900})
    page.goto(f"{server(data=data).url}/catalogue")
    box = page.locator(".st-key-panels-5-catalogue")
    expect(box.locator(".js-plotly-plot")).to_have_count(2)
    settle(page)
    assert box.evaluate("box => box.querySelector('.js-plotly-plot').offsetWidth") >= 800
    assert box.evaluate("box => box.clientWidth") < 720
    assert page.evaluate("document.documentElement.scrollWidth") == 720
