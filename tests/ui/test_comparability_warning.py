"""The one-line warning about users without recommendations: its words, its switch, hiding it."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from app_pages import USERS, MadeOnce, Open, at_once, link, lists, markup, passed, press, said, store

from recdash.errors import Problem
from recdash.service import Workspace
from recdash.ui.components.comparability_banner import (
    EXCLUDING,
    LISTS_MISSING,
    reads_lists,
    switch_of,
    warning_html,
)

open_page = at_once
PROBLEM = Problem(
    LISTS_MISSING, "comparison", "6 % of users get no recommendations from ALS", "Compare both."
)


@pytest.mark.parametrize(
    ("metric", "switch"),
    [
        ("ndcg", ("Exclude them", "ndcg(users=both)")),
        ("ndcg(gain=exp)", ("Exclude them", "ndcg(gain=exp,users=both)")),
        ("ndcg(users=both)", ("Count them as 0", "ndcg")),
        ("recall", None),  # it has no parameter for the users who count
        ("coverage", None),  # it counts lists, not users
    ],
)
def test_the_switch_turns_to_the_metric_over_the_other_users(
    metric: str, switch: tuple[str, str] | None
) -> None:
    assert switch_of(metric) == switch


def test_the_line_opens_to_what_to_do_and_says_when_users_are_excluded() -> None:
    text = warning_html(PROBLEM, "ndcg")
    assert "<summary>6 % of users get no recommendations from ALS.</summary><p>Compare both.</p>" in text
    excluded = warning_html(PROBLEM, "ndcg(users=both)")
    assert "Users without recommendations are excluded from nDCG." in excluded


def test_a_metric_without_the_switch_names_the_one_that_has_it() -> None:
    assert "<p>Compare both. To exclude them, choose nDCG above.</p>" in warning_html(PROBLEM, "recall")
    assert switch_of(EXCLUDING) is not None


def half(workspace: Workspace) -> dict[str, str]:
    """Half of the 20 users have no list of ``half``, whose lists are the better ones."""
    return store(workspace, {"base": lists(2), "half": lists(1, USERS[:10])})


def test_metrics_that_count_lists_exclude_users_without_one() -> None:
    text = warning_html(PROBLEM, "coverage")
    assert "Users without recommendations are excluded from " in text
    assert "count as 0" not in text
    assert reads_lists("coverage")
    assert not reads_lists("rmse")


def test_a_single_run_says_which_users_it_leaves_out(workspace: Workspace, open_page: Open) -> None:
    store(workspace, {"half": lists(1, USERS[:10])})
    for page in ("leaderboard", "users"):
        app = open_page(page, k="5")
        assert "50 % of users get no recommendations from half and count as 0." in said(app)


def test_a_click_excludes_the_users_another_hides_the_line(made_once: MadeOnce, open_page: Open) -> None:
    made_once(half)
    app = open_page("leaderboard", k="5")
    assert "50 % of users get no recommendations from half and count as 0." in said(app)
    assert re.search(r"half 0\.500 ", said(app))  # 1 for 10 of 20 users, 0 for the others
    passed(app.button(key="warning-0-switch").click().run())
    assert link(app)["m"] == "ndcg(users=both)"
    assert re.search(r"half 1\.000? ", said(app))  # over its own ten users
    assert "Users without recommendations are excluded from nDCG." in said(app)
    passed(app.button(key="warning-0-hide").click().run())
    assert "are excluded from" not in said(app)


@pytest.mark.parametrize("page", ["leaderboard", "segments"])
def test_the_line_offers_to_complete_the_run(workspace: Workspace, open_page: Open, page: str) -> None:
    """Popular hits nothing within the first five, so that completing gives nothing to the other users."""
    train = pd.DataFrame({"user_id": USERS, "item_id": [f"i{number % 20 + 1}" for number in range(1, 21)]})
    store(workspace, {"popular": lists(9), "half": lists(1, USERS[:10])}, train=train)
    app = open_page(page, k="5")
    told = " ".join(element.value.replace("\\", "").replace("\u2060", "") for element in app.markdown)
    assert "10 users with a relevant item get no recommendations from half." in told
    assert "Over the 10 users it serves, its nDCG@5 is 1.00 (popular: 0.00)." in told
    press(app, "Add it with popular items for them")
    completed = workspace.runs.all(workspace.experiments.all()[0].id)[-1]
    assert completed.name == "half + popular for the rest"
    assert completed.id in link(app)["c"]


@pytest.mark.parametrize(
    "page",
    ["leaderboard", "overview", "users", "metric_vs_k", "precision_recall", "tradeoffs", "items"],
)
def test_the_line_is_below_the_title_which_stays_where_it_is(
    made_once: MadeOnce, open_page: Open, page: str
) -> None:
    made_once(half)
    text = markup(open_page(page, k="5"))
    assert 0 < text.index("<h1>") < text.index('<div class="rd-warning"')
