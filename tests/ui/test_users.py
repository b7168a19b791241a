"""The Users page over a small store: who gains, which user is open, and what the lists show."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from app_pages import TRUTH, USERS, MadeOnce, Open, at_once, link, lists, passed, said, store, warned
from playwright.sync_api import Page, expect

from recdash.charts.marks import LIGHT, Mark
from recdash.evaluation.user_detail import CatalogueItem, ListPlace
from recdash.formatting.numbers import of_100
from recdash.service import Workspace
from recdash.ui.users import overlap
from recdash.ui.users.lists import _move

open_page = at_once
CATALOGUE = pd.DataFrame(
    {
        "item_id": [*TRUTH["item_id"], "x1", "x2", "x3"],
        "title": [*(f"Film {n}" for n in range(1, 21)), "First", "Second", None],
        "genres": [*["Drama"] * 20, "War", "War", "War"],
    }
)
TRAIN = pd.DataFrame({"user_id": ["u1", "u1"], "item_id": ["x1", "x2"], "timestamp": [1, 2]})


def mixed() -> pd.DataFrame:
    """Half of the users have their item first, five second, five no list at all."""
    return pd.concat([lists(1, USERS[:10]), lists(2, USERS[10:15])])


def add_films(workspace: Workspace) -> dict[str, str]:
    """base has everybody's item second; mixed gains for ten users, loses for five; poor never hits."""
    runs = {"base": lists(2), "mixed": mixed(), "poor": lists(9)}
    return store(workspace, runs, catalogue=CATALOGUE, train=TRAIN)


@pytest.fixture
def films(made_once: MadeOnce) -> dict[str, str]:
    return made_once(add_films)


@pytest.fixture
def shown(open_page: Open) -> Open:
    return partial(open_page, "users")


# ── all users ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("films")
def test_the_title_says_for_how_many_the_best_candidate_is_better_and_worse(shown: Open) -> None:
    text = said(shown(m="mrr"))
    assert "mixed improves results for 10 of 20 users, worsens them for 5" in text
    assert "MRR@5 per user vs base, 20 users. Half of all gains come from 5 of 20 users." in text


def test_the_page_opens_with_the_candidate_that_was_decided(workspace: Workspace, shown: Open) -> None:
    ids = add_films(workspace)
    workspace.decisions.decide(ids["films"], "do not ship", run_id=ids["poor"], text="It finds nothing.")
    app = shown(m="mrr")
    assert "poor improves results for 0 of 20 users, worsens them for 20" in said(app)
    assert link(app)["of"] == ids["poor"]


@pytest.mark.long
def test_of_more_than_a_hundred_users_shares_are_said(workspace: Workspace, shown: Open) -> None:
    users = [f"u{n}" for n in range(1, 301)]
    truth = pd.DataFrame({"user_id": users, "item_id": [f"i{n}" for n in range(1, 301)]})
    made = workspace.experiments.create("many", truth, depth=5)
    for name, table in (("base", lists(2, users)), ("new", lists(1, users[:299]))):
        workspace.runs.add(made.id, table, name=name)
    assert "new improves results for 99.7 % of users, worsens them for 0.3 %" in said(shown(m="mrr"))


@pytest.mark.long
def test_the_headline_has_the_shares_of_the_chart(workspace: Workspace, shown: Open) -> None:
    """107 of 200 users gain, 46 stay the same and 47 lose: 53.5, 23 and 23.5 %, which add up to 100 as
    53, 23 and 24 in the chart.
    """
    users = [f"u{n}" for n in range(1, 201)]
    truth = pd.DataFrame({"user_id": users, "item_id": [f"i{n}" for n in range(1, 201)]})
    made = workspace.experiments.create("split", truth, depth=5)
    base = pd.concat([lists(2, users[:153]), lists(1, users[153:])])
    new = pd.concat([lists(1, users[:107]), lists(2, users[107:])])
    for name, table in (("base", base), ("new", new)):
        workspace.runs.add(made.id, table, name=name)
    assert "new improves results for 53 % of users, worsens them for 24 %" in said(shown(m="mrr"))


@pytest.mark.parametrize(
    ("count", "n", "share"),
    [(1, 3_000, "<0.1"), (5, 1_000, "0.5"), (2_999, 3_000, ">99.9"), (0, 9, "0"), (9, 9, "100")],
)
def test_nearly_nobody_is_not_nobody(count: int, n: int, share: str) -> None:
    assert of_100(count, n) == share


def test_another_candidate_is_looked_at_and_stays_in_the_link(films: dict[str, str], shown: Open) -> None:
    app = shown(m="mrr")
    assert link(app)["of"] == films["mixed"]
    passed(app.selectbox(key="users-candidate").set_value(films["poor"]).run())
    assert "poor improves results for 0 of 20 users, worsens them for 20" in said(app)
    assert "No user gains." in said(app)
    assert link(app)["of"] == films["poor"]


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_users_without_a_change_are_counted_and_not_drawn(shown: Open) -> None:
    app = shown(m="mrr")
    assert "mixed vs base. Median size of a change; 5 users unchanged, not shown." in said(app)
    split, distribution = app.get("plotly_chart")
    assert sum(json.loads(distribution.proto.spec)["data"][0]["y"]) == 15
    assert "mixed: better for 10, same for 5, worse for 5 of 20 users" in split.proto.alt
    assert "results for 10 of 20 users" in distribution.proto.alt


@pytest.mark.long
def test_a_candidate_that_changes_nothing_is_said_to(workspace: Workspace, shown: Open) -> None:
    store(workspace, {"base": lists(2), "twin": lists(2).assign(score=1.0)})
    app = shown()
    assert "twin changes no user's results" in said(app)
    assert "No user's results change" in said(app)


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_of_a_pooled_metric_each_users_own_value_is_said_to_count(shown: Open) -> None:
    assert "Each user's own value counts." in said(shown(m="precision(average=micro)"))


# ── one user ─────────────────────────────────────────────────────────────────────────────────


def test_the_most_decisive_user_is_open_and_the_next_is_a_loss(films: dict[str, str], shown: Open) -> None:
    app = shown(m="mrr")
    assert (link(app)["u"], link(app)["of"]) == ("u1", films["mixed"])
    assert "User u1 2 items in training, 1 item in the test set." in said(app)
    assert app.button(key="users-previous").disabled
    passed(app.button(key="users-next").click().run())
    assert link(app)["u"] == "u16"
    assert "no recommendations for this user" in said(app)
    passed(app.button(key="users-previous").click().run())
    assert link(app)["u"] == "u1"


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_a_link_opens_the_same_user_and_any_id_can_be_typed(shown: Open) -> None:
    app = shown(u="u13")
    assert "User u13 1 item in the test set." in said(app)
    passed(app.text_input(key="users-id").set_value(" u7 ").run())
    assert link(app)["u"] == "u7"
    assert "User u7" in said(app)
    passed(app.selectbox(key="users-user").set_value("u2").run())
    assert link(app)["u"] == "u2"


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_a_user_whom_the_truth_does_not_know_is_said_and_another_shown(shown: Open) -> None:
    app = shown(u="<b>nobody</b>")
    assert any("has no user" in str(one.value) for one in app.error)
    assert "User u1" in said(app)
    assert link(app)["u"] == "<b>nobody</b>"


@pytest.mark.usefixtures("films")
def test_lists_stand_side_by_side_with_hits_moves_and_values(shown: Open) -> None:
    """base shows First, Film 1, x3; mixed Film 1, Second, x3: one up, one new, one in its place."""
    text = said(shown(u="u1", m="mrr"))
    assert "Test set 1 item Film 1 Drama" in text
    assert "Recent history 2, newest first Second War First War" in text
    assert "base 1 hit, MRR@5 0.500 1 ○ First War 2 ● Film 1 Drama 3 ○ x3 War" in text
    assert "mixed 1 hit, MRR@5 1.00 1 ● Film 1 Drama ↑ 1 2 ○ Second War new 3 ○ x3 War =" in text
    assert "mixed and base share 2 of 3 items" in text


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_a_short_list_says_where_it_ends_and_a_missing_one_that_it_is_missing(shown: Open) -> None:
    assert "4 no item at position 4 5 no item at position 5" in said(shown(u="u1"))
    assert re.search(r"mixed 0 hits, nDCG@5 0\.000 no recommendations for this user", said(shown(u="u20")))


@pytest.mark.long
def test_without_a_list_of_the_baseline_nothing_moves(workspace: Workspace, shown: Open) -> None:
    store(workspace, {"base": lists(2, USERS[:10]), "good": lists(1)})
    text = said(shown(u="u20"))
    assert "base 0 hits, nDCG@5 0.000 no recommendations for this user" in text
    assert "good 1 hit, nDCG@5 1.00 1 ● i20 2 ○ x2 3 ○ x3 4 no item" in text
    assert "new: not in" not in text


@pytest.mark.long
def test_lists_keep_the_order_of_the_runs(films: dict[str, str], shown: Open) -> None:
    text = said(shown(of=films["poor"], u="u1"))
    assert text.index("base 1 hit") < text.index("mixed 1 hit") < text.index("poor 0 hits")


def test_a_place_lost_points_down() -> None:
    mark = Mark("r", "r", LIGHT.better, "circle", "candidate")
    item = CatalogueItem("a", "A")
    moves = [_move(ListPlace(3, item, hit=False, before=rank), mark.name) for rank in (1, 5, 3, None)]
    assert [re.sub(r"<[^>]+>", "", move) for move in moves] == ["↓ 2", "↑ 2", "=", "new"]


def test_titles_and_names_are_shown_as_text(workspace: Workspace, shown: Open) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    catalogue = CATALOGUE.assign(title=hostile, genres=[hostile] * 20 + ["War"] * 3)
    store(workspace, {"base": lists(2), hostile: lists(1)}, catalogue=catalogue)
    app = shown(u="u1")
    bodies = " ".join(str(one.proto.body) for one in app.get("html"))
    assert "<img" not in bodies
    assert "<img" not in " ".join(chart.proto.spec for chart in app.get("plotly_chart"))


# ── how different the lists are ──────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("films")
def test_unique_hits_and_those_lost_by_switching_stand_in_a_table(shown: Open) -> None:
    """Within 5 base hits for all 20, mixed for 15; of three places two are common for ten, all for five."""
    text = said(shown())
    common = 100 * (10 * 2 / 3 + 5 * 3 / 3) / 15
    assert re.search(rf"mixed {common:.1f} 0\.\d+ 15 15 0 0 5 ", text)
    assert re.search(r"poor 66\.7 0\.\d+ 20 0 0 0 20 ", text)
    assert "100 % of users get a hit from at least one run; base by itself reaches 100 %" in text
    assert "Webber, Moffat & Zobel 2010" in text


# ── a part of the experiment ─────────────────────────────────────────────────────────────────


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_a_part_of_the_users_is_compared_by_itself(shown: Open) -> None:
    """u1 alone has train rows."""
    app = shown(m="mrr", s="user_warmth=warm")
    text = said(app)
    assert "mixed improves results for 1 of 1 user, worsens them for 0" in text
    assert list(app.selectbox(key="users-user").options) == ["u1: +0.500 (better)"]
    assert re.search(r"mixed 66\.7 0\.\d+ 1 1 0 0 0 ", text)


# ── where something is missing ───────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("workspace")
def test_an_empty_store_says_what_to_do_next(shown: Open) -> None:
    assert "No data yet" in said(shown())


@pytest.mark.usefixtures("films")
def test_a_metric_of_all_lists_has_no_users(shown: Open) -> None:
    text = said(shown(m="coverage"))
    assert "Coverage@5 is a catalogue-level metric" in text
    assert "Choose an accuracy metric such as nDCG or Recall" in text


def test_one_run_alone_shows_its_values_and_asks_for_a_second(workspace: Workspace, shown: Open) -> None:
    store(workspace, {"only": mixed()}, catalogue=CATALOGUE)
    app = shown(m="mrr")
    text = said(app)
    assert "only has MRR@5 above zero for 15 of 20 users" in text
    assert "Add or choose a second run" in text
    assert "MRR@5 of 20 users; 5 users at zero, not shown." in text
    assert "only 1 hit, MRR@5 1.00 1 ● Film 1 Drama 2 ○ Second" in text
    assert not re.search("new: not in", text)


@pytest.mark.long
def test_without_a_catalogue_ids_are_shown(workspace: Workspace, shown: Open) -> None:
    store(workspace, {"base": lists(2), "good": lists(1)})
    assert "good 1 hit, nDCG@5 1.00 1 ● i1 ↑ 1" in said(shown(u="u1"))


@pytest.mark.long
def test_a_reference_may_be_the_baseline_and_a_candidate(workspace: Workspace, shown: Open) -> None:
    films = store(workspace, {"good": lists(1)}, catalogue=CATALOGUE, train=TRAIN)
    added = workspace.runs.add_references(films["films"], "popular,oracle")
    popular, oracle = (one.run.id for one in added)
    text = said(shown(b=popular, c=f"{films['good']}~{oracle}", u="u1"))
    assert "good improves results for 20 of 20 users, worsens them for 0" in text
    assert re.search(r"Oracle[^●]* 1 hit, nDCG@5 1\.00 1 ● Film 1", text)


@pytest.mark.long
def test_runs_of_other_users_are_named_and_left_out(workspace: Workspace, shown: Open) -> None:
    """With users=both, left and right count users that are not the same."""
    runs = {"left": lists(1, USERS[:10]), "right": lists(1, USERS[10:]), "all": lists(2)}
    store(workspace, runs, users="both")
    app = shown()
    assert "all improves results for 0 of 10 users, worsens them for 10" in said(app)
    assert "Not shown: right (no value of this metric, or no shared users)." in " ".join(
        str(one.value) for one in app.caption
    )
    assert not warned(app)


# ── in a browser ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.long  # of layout: tests/browser/test_accessibility.py looks at the pages of the demo
@pytest.mark.browser
def test_lists_of_eight_candidates_go_on_in_the_next_line(
    server: Callable[..., Any], page: Page, settle: Callable[[Page], None], tmp_path: Path
) -> None:
    data = tmp_path / "recdash-data"
    space = Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
    made = space.experiments.create("films", TRUTH, depth=5, catalogue=CATALOGUE)
    for n in range(9):
        name = f"run {n} " + "with a very long name " * 3
        space.runs.add(made.id, lists(1 + n % 3).assign(score=n), name=name.strip())
    page.goto(f"{server(data=data).url}/users?u=u3")
    box = page.locator(".rd-lists")
    expect(box.locator(".rd-column")).to_have_count(9)
    settle(page)
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") == 1440
    widths = box.locator(".rd-column").evaluate_all("all => all.map(one => one.offsetWidth)")
    assert min(widths) >= 190


def test_lists_that_cannot_be_compared_have_a_dash_and_no_number() -> None:
    mark = Mark("a", "als", LIGHT.better, "circle", "candidate")
    view: Any = SimpleNamespace(baseline=None, k=5, marks={"a": mark})
    row = {"run_id": "a", "overlap": math.nan, "rbo": math.nan, "n_users": 0}
    table = overlap.table_of(view, [row | dict.fromkeys(("hits", "unique", "won", "lost"), 3)])
    assert table.count("<span class=none>–</span>") == 2
    assert "nan" not in table


def test_a_user_purged_by_another_process_is_not_shown_from_a_cache(
    workspace: Workspace, open_page: Open
) -> None:
    films = add_films(workspace)
    app = open_page("users", e=films["films"], u="u3")
    assert not app.error
    other = Workspace.open()
    other.purge.user("u3")
    other.store.close()
    assert ["has no user" in str(error.value) for error in passed(app.run()).error] == [True]
