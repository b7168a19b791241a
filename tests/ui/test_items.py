"""The Items page over a small store: what is found, by whom alone, and what nobody is ever shown."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from app_pages import MadeOnce, Open, at_once, link, markup, passed, seen, store
from streamlit.testing.v1 import AppTest

from recdash.service import Workspace
from recdash.ui.components import widgets

open_page = at_once
TRUTH = pd.DataFrame(
    [("u1", "a"), ("u2", "a"), ("u3", "a"), ("u1", "b"), ("u2", "c"), ("u3", "d")],
    columns=["user_id", "item_id"],
)
"""a is held out by three users, b, c and d by one each."""
CATALOGUE = pd.DataFrame({"item_id": [*"abcdx"], "title": ["Alpha", "Beta", "Gamma", "delta", "Xi"]})


def ranked(lists: dict[str, str]) -> pd.DataFrame:
    rows = [(user, item, at) for user, items in lists.items() for at, item in enumerate(items, start=1)]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


BASE = ranked({"u1": "ax", "u2": "ab", "u3": "xa"})
"""Within 2 a is found for all three; b is shown to u2, who does not hold it out."""
NEW = ranked({"u1": "ba", "u2": "ax", "u3": "xb"})
"""Within 2 a is found for two, b for u1, and shown to u3 as well."""


def stored(
    workspace: Workspace, runs: dict[str, pd.DataFrame], catalogue: pd.DataFrame | None
) -> dict[str, str]:
    return store(workspace, runs, truth=TRUTH, catalogue=catalogue)


def add_films(workspace: Workspace) -> dict[str, str]:
    return stored(workspace, {"base": BASE, "new": NEW}, CATALOGUE)


@pytest.fixture
def films(made_once: MadeOnce) -> dict[str, str]:
    return made_once(add_films)


@pytest.fixture
def shown(open_page: Open) -> Open:
    return partial(open_page, "items")


def titles(app: AppTest) -> list[str]:
    """Of the items in the table, from the top."""
    (table,) = [str(one.proto.body) for one in app.get("html") if "rd-small rd-items" in one.proto.body]
    return re.findall(r'<tr><th scope="row"><span title="[^"]*">([^<]*)<', table)


# ── what it says ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("films")
def test_the_title_says_how_many_items_nobody_finds_or_shows(shown: Open) -> None:
    text = seen(shown())
    assert "2 of 4 test items are hit by neither run" in text
    assert "2 test items are in no list." in text
    assert "new hits 1 item that the other run misses." in text


def test_of_several_runs_the_one_with_most_items_of_its_own_is_named(
    workspace: Workspace, shown: Open
) -> None:
    """Only the wide run hits c and d; its hits of a are not its own."""
    wide = ranked({"u1": "ax", "u2": "ca", "u3": "da"})
    stored(workspace, {"base": BASE, "new": NEW, "wide": wide}, CATALOGUE)
    assert "wide has the most items that no other run hits: 2." in seen(shown())


@pytest.mark.usefixtures("films")
def test_each_run_says_what_it_finds_alone_and_at_all_and_shows(shown: Open) -> None:
    """base finds a and shows b in vain; new finds a and b, b alone."""
    text = seen(shown())
    heads = "Run Test items hit Share of 4, % Items only this run hits"
    assert f"{heads} Test items recommended Recommended, never hit" in text
    assert "base 1 25.0 0 2 1" in text
    assert "new 2 50.0 1 2 0" in text


@pytest.mark.usefixtures("films")
def test_each_item_says_for_how_many_users_and_in_how_many_lists(shown: Open) -> None:
    text = seen(shown())
    assert "Alpha 3 3 of 3 2 of 2" in text
    assert "Beta 1 0 of 1 1 of 2" in text
    assert "Gamma 1 – –" in text


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_at_one_place_less_is_found(shown: Open) -> None:
    assert "Alpha 3 2 of 2 1 of 1" in seen(shown(k="1"))


@pytest.mark.long
def test_one_run_alone_says_what_it_does_not_find(workspace: Workspace, shown: Open) -> None:
    stored(workspace, {"base": BASE}, CATALOGUE)
    text = seen(shown())
    assert "base misses 3 of 4 test items" in text
    assert "base 1 25.0 2 1" in text


@pytest.mark.long
def test_where_everything_is_found_that_is_said(workspace: Workspace, shown: Open) -> None:
    stored(workspace, {"all": ranked({"u1": "ab", "u2": "ac", "u3": "ad"})}, CATALOGUE)
    assert "Every one of 4 test items is a hit of at least one run" in seen(shown())


# ── which items ──────────────────────────────────────────────────────────────────────────────


def test_items_are_narrowed_to_those_that_one_run_alone_finds(films: dict[str, str], shown: Open) -> None:
    app = shown()
    assert titles(app) == ["Alpha", "Beta", "Gamma", "delta"]
    passed(app.selectbox(key="items-which").set_value(films["new"]).run())
    assert titles(app) == ["Beta"]
    assert link(app)["which"] == films["new"]
    passed(app.selectbox(key="items-which").set_value("never").run())
    assert titles(app) == ["Gamma", "delta"]
    passed(app.selectbox(key="items-which").set_value(films["base"]).run())
    assert "No item matches." in seen(app)


@pytest.mark.long
def test_items_are_sorted_by_what_is_asked(films: dict[str, str], shown: Open) -> None:
    assert titles(shown(order="title")) == ["Alpha", "Beta", "delta", "Gamma"]
    assert titles(shown(order=f"shown {films['new']}")) == ["Alpha", "Beta", "Gamma", "delta"]
    assert titles(shown(which="nobody", order="users")) == ["Gamma", "delta"]


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_titles_and_ids_are_searched_whatever_their_case(shown: Open) -> None:
    app = shown(item="DELTA")
    assert titles(app) == ["delta"]
    passed(app.text_input(key="items-search").set_value("c").run())
    assert titles(app) == ["Gamma"]  # by its id
    assert link(app)["item"] == "c"
    passed(app.text_input(key="items-search").set_value("(").run())
    assert "No item matches." in seen(app)


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_all_rows_can_be_taken_away_with_the_names_of_the_runs(shown: Open) -> None:
    (table,) = [one.value for one in shown().dataframe]
    assert list(table.columns) == [
        "item_id", "title", "users", "found by runs", "shown by runs",
        "found by base", "found by new", "shown by base", "shown by new",
    ]  # fmt: skip
    assert table["found by base"].tolist() == [3, 0, 0, 0]


@pytest.mark.long
def test_of_many_items_the_first_are_shown_and_all_are_in_the_table(
    workspace: Workspace, shown: Open
) -> None:
    truth = pd.DataFrame({"user_id": "u1", "item_id": [f"i{n:03}" for n in range(120)]})
    made = workspace.experiments.create("many", truth, depth=5)
    workspace.runs.add(made.id, ranked({"u1": "x"}), name="none")
    app = shown()
    assert len(titles(app)) == 20
    assert "Showing 20 of 120 items; “All items as a table” has all." in seen(app)
    assert "Show all 20</span><span>Show 8 of 20" in markup(app)  # on narrow pages, which have a block a row
    assert len(app.dataframe[0].value) == 120


# ── where something is missing ───────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("workspace")
def test_an_empty_store_says_what_to_do_next(shown: Open) -> None:
    assert "No data yet" in seen(shown())


@pytest.mark.long
def test_without_a_catalogue_items_go_by_their_ids(workspace: Workspace, shown: Open) -> None:
    stored(workspace, {"base": BASE}, None)
    assert titles(shown()) == ["a", "b", "c", "d"]


def test_titles_and_names_are_shown_as_text(workspace: Workspace, shown: Open) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    stored(workspace, {"base": BASE, hostile: NEW}, CATALOGUE.assign(title=hostile))
    bodies = " ".join(str(one.proto.body) for one in shown().get("html"))
    assert "<img" not in bodies
    assert "&lt;img" in bodies


def long_table(n_rows: int) -> None:
    import pandas as pd

    from recdash.ui.components import widgets

    widgets.table_behind(pd.DataFrame({"item_id": range(n_rows)}), "items")


def test_of_a_table_that_is_too_long_for_a_browser_the_beginning_is_shown() -> None:
    short = passed(AppTest.from_function(long_table, kwargs={"n_rows": 10_000}).run())
    assert (len(short.dataframe[0].value), len(short.caption)) == (10_000, 0)
    long = passed(AppTest.from_function(long_table, kwargs={"n_rows": 10_001}).run())
    assert long.dataframe[0].value["item_id"].tolist() == list(range(10_000))
    assert long.caption[0].value == "The first 10,000 of 10,001 rows; the CSV holds all."


def test_narrow_pages_hide_the_blocks_after_those_that_are_said() -> None:
    css = (Path(widgets.__file__).parents[1] / "app" / "narrow.css").read_text(encoding="utf-8")
    assert f"tbody tr:nth-child(n + {widgets.FEW_BLOCKS + 1})" in css
