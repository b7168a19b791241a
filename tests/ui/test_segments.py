"""The Segments page over a small store: words, flags, the link, and what is missing."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any

import pandas as pd
import pytest
from app_pages import MadeOnce, Open, at_once, link, passed, seen, store, warned
from segment_tables import CATALOGUE, RUNS, TRAIN, TRUTH, USERS, lists
from streamlit.testing.v1 import AppTest

from recdash.service import Workspace

open_page = at_once
LONG = "Two-tower with a very long name of eighty characters, seed 7 lr=0.0003 d=128 x12"


def stored(workspace: Workspace, runs: dict[str, pd.DataFrame], **setup: Any) -> dict[str, str]:
    """Names → ids; the first run is the baseline."""
    how = {"train": TRAIN, "catalogue": CATALOGUE, "depth": 2, **setup}
    return store(workspace, runs, truth=TRUTH, **how)


def add_films(workspace: Workspace) -> dict[str, str]:
    return stored(workspace, {name: RUNS[name] for name in ("base", "known")})


@pytest.fixture
def films(made_once: MadeOnce) -> dict[str, str]:
    return made_once(add_films)


@pytest.fixture
def shown(open_page: Open) -> Open:
    return partial(open_page, "segments")


def traces(app: AppTest, name: str, mode: str = "markers") -> list[dict[str, Any]]:
    drawn = [trace for chart in app.get("plotly_chart") for trace in json.loads(chart.proto.spec)["data"]]
    return [trace for trace in drawn if (trace["name"], trace["mode"]) == (name, mode)]


# ── what it says ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("films")
def test_the_title_says_for_whom_a_run_is_better_and_for_whom_worse(shown: Open) -> None:
    """Of 80 users the 40 known ones get both of their items from it, the 40 new ones none."""
    text = seen(shown(m="recall", k="2"))
    assert "known is worse for users new to the service; better for known users" in text
    assert "Change in Recall@2 vs base, 95 % CI, Holm-corrected over 2 differences." in text
    assert "The row of all users is not corrected." in text
    assert "Filled: significant." in text
    assert "Grey:" not in text  # both segments are large enough
    assert "Known users n = 40 0.50 1.00 ▲ better" in text
    assert "Users new to the service n = 40 0.50 0.00 ▼ worse" in text


def test_the_title_is_about_the_candidate_that_was_decided(workspace: Workspace, shown: Open) -> None:
    ids = stored(workspace, {name: RUNS[name] for name in ("base", "known", "same")})
    assert "known is worse for users new to the service" in seen(shown(m="recall", k="2"))
    workspace.decisions.decide(ids["films"], "ship", run_id=ids["same"], text="It is cheaper.")
    text = seen(shown(m="recall", k="2"))
    assert "same is worse in no segment; equal for known users and users new to the service" in text


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_gain_and_loss_that_hide_each_other_are_flagged_with_their_numbers(shown: Open) -> None:
    text = seen(shown(m="recall", k="2"))
    assert (
        "known is not significantly different from base over all users (0.000): gains and losses cancel."
        in text
    )
    assert (
        "better for known users (+0.500, n = 40), and worse for users new to the service (−0.500, n = 40)"
        in text
    )


@pytest.mark.long
def test_a_single_run_asks_for_a_second(workspace: Workspace, shown: Open) -> None:
    stored(workspace, {"base": RUNS["base"]})
    app = shown()
    assert "A second run is needed to compare with it." in seen(app)
    assert [button.label for button in app.button if button.key == "go-upload"] == ["Upload a run"]


def test_a_gain_of_one_segment_only_is_flagged(workspace: Workspace, shown: Open) -> None:
    stored(workspace, {"base": RUNS["base"], "some": lists(["a", "b"], ["x2", "a"])})
    text = seen(shown(m="recall", k="2"))
    assert "some is worse in no segment; better for known users, equal for users new to the service" in text
    assert (
        "some is better than base over all users (+0.250). All of the gain comes from known users "
        "(+0.500, n = 40), 50.0 % of the users. No other segment improves significantly."
    ) in text


@pytest.mark.long
def test_users_of_their_own_may_turn_the_means_against_every_segment(
    workspace: Workspace, shown: Open
) -> None:
    """Only users with a list count. Mine has one for few new users, and is below base in both segments."""
    base = lists(["a", "b"], ["x1", "a"])
    mine = lists(["a", "b"], ["x1", "a"])
    worse = {*USERS[:4], *USERS[40:44]}
    mine.loc[mine["user_id"].isin(worse), "item_id"] = [f"x{n}" for n in (1, 2)] * len(worse)
    mine = mine[~mine["user_id"].isin(USERS[44:])]
    stored(workspace, {"base": base, "mine": mine}, users="both")
    text = seen(shown(m="recall", k="2", least="4"))
    # mine: (36 × 1 + 8 × 0) / 44 = 0.818 of 44 users; base: (40 × 1 + 40 × 0.5) / 80 = 0.75
    assert (
        "The mean of mine is above that of base (0.818 vs 0.750), but below it in every segment tested."
        in text
    )
    assert "known users are 90.9 % of those of mine and 50.0 % of those of base" in text


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_in_items_segments_only_these_count(shown: Open) -> None:
    text = seen(shown(m="recall", k="2", by="item:kind"))
    assert "known is worse for kind: a; better for kind: b" in text
    assert "Counts only the segment's items, and users who have one." in text
    # the whole is no mean of items' segments: nothing is said to be because of them
    assert (
        "over all users (0.000), but it is better for kind: b (+0.500, n = 80), and worse for kind: a" in text
    )


@pytest.mark.usefixtures("films")
def test_marks_are_filled_where_settled_and_zero_is_drawn(shown: Open) -> None:
    app = shown(m="recall", k="2")
    better, worse = traces(app, "known")
    assert (better["x"], worse["x"]) == ([0.5], [-0.5])
    assert better["marker"]["color"] == better["marker"]["line"]["color"]
    assert [trace["x"] for trace in traces(app, "zero", "lines")] == [[0.0, 0.0]]
    (chart,) = app.get("plotly_chart")
    assert "Known users +0.500 better" in chart.proto.alt


@pytest.mark.long
def test_what_is_not_significant_is_hollow(workspace: Workspace, shown: Open) -> None:
    stored(workspace, {name: RUNS[name] for name in ("base", "same")})
    app = shown(m="recall", k="2")
    mark = traces(app, "same")[0]["marker"]
    assert mark["color"] != mark["line"]["color"]
    assert "= equal for every user" in seen(app)
    assert "same is worse in no segment; equal for known users" in seen(app)


# ── the choice and the link ──────────────────────────────────────────────────────────────────


def test_the_page_opens_on_an_attribute_with_two_segments(workspace: Workspace, shown: Open) -> None:
    """All users are known, and one user has as many training items as another: items differ first."""
    train = pd.DataFrame({"user_id": USERS, "item_id": ["a0"] * len(USERS)})
    stored(workspace, {name: RUNS[name] for name in ("base", "known")}, train=train)
    app = shown(m="recall", k="2")
    assert link(app)["by"] == "item_warmth"
    assert app.selectbox(key="segments-by").value == "item_warmth"
    assert link(shown(m="recall", k="2", by="user_warmth"))["by"] == "user_warmth"


def test_the_link_keeps_the_segments_the_least_n_and_the_correction(
    films: dict[str, str], shown: Open
) -> None:
    app = shown(e=films["films"], m="recall", k="2", by="history", least="50", corr="off")
    text = seen(app)
    assert "No segment is large enough to compare Recall@2" in text
    assert "95 % CI, not corrected over 0 differences" in text
    assert "fewer than 50 users" in text
    assert text.count("too few users") == 2
    assert {name: link(app)[name] for name in ("by", "least", "corr")} == {
        "by": "history", "least": "50", "corr": "off",
    }  # fmt: skip
    passed(app.selectbox(key="segments-by").set_value("item:kind").run())
    passed(app.number_input(key="segments-least").set_value(40).run())
    assert "known is worse for kind: a; better for kind: b" in seen(app)
    assert (link(app)["by"], link(app)["least"]) == ("item:kind", "40")


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_an_attribute_of_the_catalogue_leads_to_its_items(shown: Open) -> None:
    app = shown(by="kind", m="recall", k="2")
    assert "kind: a" in seen(app)
    assert not app.warning


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_segments_named_in_vain_are_warned_of(shown: Open) -> None:
    app = shown(by="user:country", least="many")
    assert 'Segment "user:country" isn\'t available here; showing Known and new users.' in warned(app)
    assert "Known users" in seen(app)
    assert link(app)["by"] == "user:country"
    assert app.number_input(key="segments-least").value == 30


# ── where something is missing ───────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("workspace")
def test_an_empty_store_says_what_to_do_next(shown: Open) -> None:
    assert "No data yet" in seen(shown())


def test_without_tables_there_is_nothing_to_tell_apart(workspace: Workspace, shown: Open) -> None:
    stored(workspace, {"base": RUNS["base"]}, train=None, catalogue=None)
    app = shown()
    assert "This experiment has no segments yet" in seen(app)
    assert "Add data" in [button.label for button in app.button]


@pytest.mark.long
def test_one_run_has_values_and_asks_for_another(workspace: Workspace, shown: Open) -> None:
    stored(workspace, {"base": RUNS["base"]})
    app = shown(m="recall", k="2")
    text = seen(app)
    assert "base has no candidate to compare with" in text
    assert "A second run is needed to compare with it." in text
    assert "Upload a run" in [button.label for button in app.button]
    assert "Known users n = 40 0.500" in text


@pytest.mark.usefixtures("films")
def test_a_metric_of_what_is_shown_has_values_and_no_words(shown: Open) -> None:
    """New users are shown x1 and x2 of 162 items."""
    app = shown(m="coverage", k="2")
    text = seen(app)
    assert "Coverage@2 by segment, without a test" in text
    assert "Coverage@2 is a catalogue-level metric, no CI drawn here. Grey tick: base." in text
    assert not re.search("better|worse", text.split("Coverage@2 by segment, %")[1])
    assert [trace["x"] for trace in traces(app, "known")][1] == [pytest.approx(100 * 2 / 162)]
    assert not traces(app, "zero", "lines")


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_items_have_no_lists_of_their_own(shown: Open) -> None:
    text = seen(shown(m="coverage", k="2", by="item:kind"))
    assert "known: a slice of items has no lists of its own; choose a slice of users." in text


def test_eight_candidates_stand_in_two_lines_and_long_names_are_cut(
    workspace: Workspace, shown: Open
) -> None:
    many = {f"{LONG} {n}": lists([f"x{n}", "a"], ["a", f"x{n}"]) for n in range(9)}
    catalogue = pd.concat(
        [CATALOGUE, pd.DataFrame({"item_id": [f"x{n}" for n in (0, *range(3, 9))], "kind": "x"})]
    )
    stored(workspace, many, catalogue=catalogue)
    app = shown(m="ndcg", k="2")
    assert len(app.get("plotly_chart")) == 2
    names = [
        one["text"] for one in json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]["annotations"]
    ]
    titles = [name for name in names if "Two-tower" in name]
    assert len(set(titles)) == len(titles) == 4  # the ends, in which they differ, are kept
    assert all(len(name) < 40 for name in names)


def test_names_are_shown_as_text(workspace: Workspace, shown: Open) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    kinds = CATALOGUE.assign(kind=CATALOGUE["kind"].replace("a", hostile))
    stored(workspace, {"base": RUNS["base"], hostile: RUNS["known"]}, catalogue=kinds)
    app = shown(by="item:kind", m="recall", k="2")
    assert "&lt;img" in " ".join(str(one.proto.body) for one in app.get("html"))
    assert "<img" not in " ".join(str(one.proto.body) for one in app.get("html"))
    assert "<img" not in app.get("plotly_chart")[0].proto.spec


@pytest.mark.usefixtures("films")
def test_a_row_of_the_chart_has_the_remark_of_its_title_on_the_second_line(shown: Open) -> None:
    (chart,) = shown(m="recall", k="2").get("plotly_chart")
    first, second = json.loads(chart.proto.spec)["layout"]["yaxis"]["ticktext"]
    assert re.sub("<span[^>]*>", "", first) == "Known users<br>n = 40</span>"
    assert re.sub("<span[^>]*>", "", second) == "Users new to the service<br>n = 40</span>"


# ── prices ───────────────────────────────────────────────────────────────────────────────────


def test_prices_are_in_bands_until_each_price_is_chosen(workspace: Workspace, shown: Open) -> None:
    """Items ``a`` cost 5 to 30, items ``b`` nothing that is known; the link ``item:price`` is an old one."""
    prices = [
        5.0 * (place // 2 % 6 + 1) if item[0] == "a" else None
        for place, item in enumerate(CATALOGUE["item_id"])
    ]
    catalogue = CATALOGUE[["item_id"]].assign(price=prices)
    stored(workspace, {name: RUNS[name] for name in ("base", "known")}, train=None, catalogue=catalogue)
    app = shown(m="recall", k="2")
    assert list(app.selectbox(key="segments-by").options) == ["Items by price, in bands", "Items by price"]
    assert "price band: " in seen(app)
    text = seen(shown(m="recall", k="2", by="item:price"))
    assert "price: 5" in text
    assert "price band" not in text
