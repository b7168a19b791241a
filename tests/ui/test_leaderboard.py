"""The correction that is chosen on the Leaderboard decides its ranks too."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from app_pages import Open, lists, markup, said, store

from recdash.comparison import ComparisonQuery, Terms
from recdash.service import Workspace
from recdash.ui.leaderboard.page import _order
from recdash.ui.leaderboard.table import RankRange, page_of

USERS = [f"u{n}" for n in range(100)]
TRUTH = {user: [f"i{user}"] for user in USERS}


def hits(*found: range) -> dict[str, list[str]]:
    """Lists of one item: that of the truth for the users in these ranges."""
    known = {f"u{n}" for some in found for n in some}
    return {user: [f"i{user}"] if user in known else ["x"] for user in USERS}


@pytest.fixture
def runs(workspace: Workspace) -> dict[str, str]:
    """ALS finds 13 items that BPR and its twin miss, and misses 3 that they find: p = 0.021 by itself."""
    others = hits(range(13, 16), range(50, 90))
    tables = {"als": hits(range(13), range(50, 90)), "bpr": others, "twin": dict(reversed(others.items()))}
    return store(workspace, tables, truth=TRUTH, depth=1)


@pytest.mark.parametrize(("rule", "ranks"), [("holm", [1, 1, 1]), ("off", [1, 2, 2])])
def test_the_chosen_correction_decides_who_shares_a_rank(
    workspace: Workspace, runs: dict[str, str], open_page: Open, rule: str, ranks: list[int]
) -> None:
    terms = Terms(correction=rule)  # type: ignore[arg-type]
    query = ComparisonQuery((runs["als"], runs["twin"]), runs["bpr"], "recall", 1, terms=terms)
    of_store = workspace.comparisons.ranks(query)
    assert of_store.set_index("run")["rank"][["als", "bpr", "twin"]].tolist() == ranks
    link = {"e": runs["films"], "b": runs["bpr"], "m": "recall", "k": "1", "corr": rule}
    text = said(open_page("leaderboard", **link))
    assert ("als is first on Recall@1" in text) == (ranks == [1, 2, 2])
    assert ("share first place" in text) == (ranks == [1, 1, 1])
    assert "= equal for every user" in text, "twin has the value of bpr for each user"
    assert ("Holm-corrected: ranks over all pairs" in text) == (rule == "holm")


def test_runs_are_in_the_order_of_the_metric_whatever_the_order_of_the_link(
    runs: dict[str, str], open_page: Open
) -> None:
    link = {"e": runs["films"], "b": runs["bpr"], "c": f"{runs['twin']}~{runs['als']}"}
    text = said(open_page("precision_recall", m="recall", k="1", **link))
    table = text[text.index("At k = 1") :]
    assert table.index("bpr") < table.index("als") < table.index("twin")


def test_the_interval_of_a_difference_names_its_test(runs: dict[str, str], open_page: Open) -> None:
    link = {"e": runs["films"], "b": runs["bpr"], "m": "recall", "k": "1"}
    page = markup(open_page("leaderboard", **link))
    assert re.search(
        r'title="McNemar[^"]*s exact test: p\W=\W0.021, uncorrected. Paired t-test: p\W=\W0.0\d+"', page
    )


def test_the_buttons_of_the_decision_have_short_names(workspace: Workspace, open_page: Open) -> None:
    long = "als with side information of items and a long description of its training in 2026"
    made = store(workspace, {"popular": hits(range(10)), long: hits(range(90))}, truth=TRUTH, depth=1)
    app = open_page(e=made["films"], b=made["popular"], m="recall", k="1")
    (label,) = [button.label for button in app.button if button.key == "to-decide"]
    assert label.startswith("Propose als")
    assert "…" in label


def test_rows_are_in_order_of_rank_even_if_values_are_not() -> None:
    """b is behind six runs, c of lower value behind five; d has no rank, o is a reference candidate."""
    known = {"o": 1.0, "a": 0.03, "d": 0.025, "b": 0.0222, "c": 0.0216}
    ranks = {"a": 1, "b": 7, "c": 6}
    places = {run: RankRange(rank, rank, rank, shared=True) for run, rank in ranks.items()}
    runs = [SimpleNamespace(id=run, name=run, tags=()) for run in ("e", *known)]
    view: Any = SimpleNamespace(
        runs=runs, run_ids=[run.id for run in runs], is_reference=lambda run: run == "o"
    )
    assert _order(view, known, places, "") == ("a", "c", "b", "d", "e", "o")


def test_a_single_run_has_neither_rank_nor_difference(workspace: Workspace, open_page: Open) -> None:
    store(workspace, {"als": lists(2)}, depth=5)
    text = said(open_page("leaderboard"))
    assert "als is the only run with nDCG@5" in text
    assert not [word for word in ("Rank", "Difference", "Finding", "baseline") if word in text]


def test_the_baseline_stands_where_it_ranks_and_on_each_page() -> None:
    order = [f"run {n}" for n in range(60)]
    assert page_of(["als", "base", "ease"], "base", 0) == ("als", "base", "ease")
    assert page_of(order, "run 30", 0) == (*order[:25], "run 30")
    assert page_of(order, "run 3", 1) == ("run 3", *order[26:51])
