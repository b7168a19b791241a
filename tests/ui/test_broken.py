"""Stores at the edge: runs in which nobody counts, that share no users, are archived, or are alone."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from app_pages import ROOT, TRUTH, USERS, Open, link, lists, press, said, store, warned

from recdash.service import Workspace
from recdash.store.connections import sqlite_driver


def twin(hit_at: int, users: list[str] = USERS) -> pd.DataFrame:
    """Other lists of the same worth: strangers of another name."""
    return lists(hit_at, users).replace({"item_id": {"x2": "y2", "x3": "y3"}})


def weak(users: list[str] = USERS) -> pd.DataFrame:
    """One of five users has the own item, on top."""
    return pd.concat([lists(1, users[::5]), lists(9, [user for user in users if user not in users[::5]])])


def both(workspace: Workspace, **runs: object) -> dict[str, str]:
    """Runs of which only the users with a list count; nobody has no relevant item."""
    nobody = pd.DataFrame([("nobody", "i1", 0)], columns=["user_id", "item_id", "relevance"])
    truth = pd.concat([TRUTH.assign(relevance=1), nobody])
    return store(workspace, runs, truth=truth, users="both")


# ── who is in front, and who is ranked ───────────────────────────────────────────────────────


def test_a_run_in_which_nobody_counts_is_never_in_front(workspace: Workspace, open_page: Open) -> None:
    both(workspace, poor=weak(), good=lists(1), ghost=lists(1, ["nobody"]))
    text = said(open_page("metric_vs_k", m="ndcg"))
    assert "good leads on nDCG at every k" in text
    assert "ghost has no nDCG: no user has both a list and a relevant item" in text


def test_of_two_runs_the_one_with_users_is_the_only_one(workspace: Workspace, open_page: Open) -> None:
    both(workspace, good=lists(1), ghost=lists(1, ["nobody"]))
    assert "good is the only run with nDCG" in said(open_page("metric_vs_k", m="ndcg"))


def test_who_shares_users_is_ranked_beside_a_run_that_shares_none(
    workspace: Workspace, open_page: Open
) -> None:
    """poor and good have u1 to u18 in common; other has u19 and u20."""
    both(workspace, poor=weak(USERS[:18]), good=lists(1, USERS[:18]), other=lists(1, USERS[18:]))
    text = said(open_page("leaderboard", m="ndcg", k="3"))
    assert "good is first on nDCG@3" in text
    assert "nDCG@3, 18 users." in text
    assert "Not ranked: other shares fewer than two users with the ranked runs." in text


def test_all_who_share_two_users_share_the_first_place_of_the_ranked(
    workspace: Workspace, open_page: Open
) -> None:
    both(workspace, one=lists(1, USERS[:18]), same=twin(1, USERS[:18]), other=lists(1, USERS[18:]))
    assert "Both ranked runs share first place on nDCG@3" in said(open_page("leaderboard", m="ndcg", k="3"))


def test_runs_of_which_no_two_share_users_have_no_ranks(workspace: Workspace, open_page: Open) -> None:
    both(workspace, first=lists(1, USERS[:9]), second=lists(1, USERS[9:]))
    text = said(open_page("leaderboard", m="ndcg", k="3"))
    assert "The runs share too few users to be ranked by nDCG@3" in text
    assert "nDCG@3, 9 to 11 users." in text


def test_ranks_and_rows_name_their_own_families(workspace: Workspace, open_page: Open) -> None:
    store(workspace, {"one": lists(1), "same": twin(1), "third": lists(1).replace("x3", "z3")})
    text = said(open_page("leaderboard", m="ndcg", k="3"))
    assert "All three runs share first place on nDCG@3" in text
    assert "none is significantly better" not in text
    assert "Holm-corrected: ranks over all pairs, differences over the 2 to the baseline." in text


def test_one_difference_has_no_correction(workspace: Workspace, open_page: Open) -> None:
    store(workspace, {"poor": lists(3), "good": lists(1)})
    text = said(open_page("leaderboard", m="ndcg", k="3"))
    assert "correct" not in text


# ── archived ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def archived(workspace: Workspace) -> dict[str, str]:
    """An experiment whose two runs are both archived."""
    made = store(workspace, {"poor": lists(3), "good": lists(1)})
    for name in ("poor", "good"):
        workspace.runs.archive(made[name])
    return made


def test_a_page_that_stops_early_still_writes_its_link(workspace: Workspace, open_page: Open) -> None:
    store(workspace, {"poor": lists(3), "good": lists(1)})
    assert link(open_page("metric_vs_k", ms="foo"))["m"] == "ndcg"


@pytest.mark.usefixtures("archived")
@pytest.mark.parametrize("page", ["overview", "leaderboard", "users"])
def test_archived_runs_are_not_called_never_uploaded(open_page: Open, page: str) -> None:
    text = said(open_page(page))
    assert "No run to show: 2 runs are archived" in text
    assert "no runs yet" not in text


def test_the_way_to_restore_them_shows_the_archived(archived: dict[str, str], open_page: Open) -> None:
    app = open_page("leaderboard")
    press(app, "View archived runs")
    assert app.session_state["runs-archived"] is True
    assert link(app)["e"] == archived["films"]


# ── links ────────────────────────────────────────────────────────────────────────────────────


def test_metrics_of_a_link_that_nobody_has_are_named(workspace: Workspace, open_page: Open) -> None:
    store(workspace, {"poor": lists(3), "good": lists(1)})
    app = open_page("metric_vs_k", ms="ndcg~foo~bar")
    assert 'Metrics "foo" and "bar" aren\'t available here.' in warned(app)
    assert "ndcg" not in warned(app)


def test_a_page_takes_one_step_of_the_browsers_history(
    workspace: Workspace, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    from streamlit.runtime.state.query_params import QueryParams

    steps: list[str] = []
    send = QueryParams._send_query_param_msg
    monkeypatch.setattr(QueryParams, "_send_query_param_msg", lambda one: (steps.append("step"), send(one)))
    store(workspace, {"poor": lists(3), "good": lists(1)})
    app = open_page("overview", k="3")
    steps.clear()
    app.switch_page(str(ROOT / "pages/leaderboard.py")).run()
    assert {"e", "b", "c", "m", "k", "cols", "diff", "corr"} <= set(link(app))
    assert steps == ["step"]
    app.run()
    assert steps == ["step"]


# ── one of a kind ────────────────────────────────────────────────────────────────────────────


def test_one_user_is_one_user(workspace: Workspace, open_page: Open) -> None:
    store(workspace, {"poor": lists(3, ["u1"]), "good": lists(1, ["u1"])}, truth=TRUTH[:1])
    for page in ("overview", "metric_vs_k", "leaderboard"):
        text = said(open_page(page))
        assert "1 user" in text
        assert "1 users" not in text


def test_the_overview_says_how_many_runs_it_leaves_out(workspace: Workspace, open_page: Open) -> None:
    ids = store(workspace, {"poor": lists(9), "good": lists(2), "best": lists(1)})
    text = said(open_page(b=ids["poor"], c=ids["good"]))
    assert "Not compared here: best. Choose candidates in the row above." in text
    assert "Not compared here" not in said(open_page())


# ── damaged ──────────────────────────────────────────────────────────────────────────────────


def change(folder: Path, statement: str, name: str) -> None:
    """As damage does: behind the back of the store."""
    connection = sqlite_driver().connect(folder / "recdash.db")
    with connection:
        assert connection.execute(statement, [name]).rowcount == 1
    connection.close()


@pytest.mark.parametrize("page", ["leaderboard", "runs", "experiments"])
def test_a_damaged_run_is_named_and_closes_no_page(
    workspace: Workspace, open_page: Open, tmp_path: Path, page: str
) -> None:
    store(workspace, {"poor": lists(3), "good": lists(2), "best": lists(1)})
    change(tmp_path, "UPDATE run SET ledger = replace(ledger, '20', '{2') WHERE name = ?", "best")
    app = open_page(page)
    (told,) = (str(one.value).replace("\\", "") for one in app.error)
    assert "run 'best'" in told
    assert "damaged: the stored value" in told
    assert "Upload it again" in told
    assert "good" in said(app)


def test_a_damaged_curve_is_absent_with_that_as_its_reason(
    workspace: Workspace, open_page: Open, tmp_path: Path
) -> None:
    ids = store(workspace, {"poor": lists(3), "good": lists(1)})
    damaged = (
        "UPDATE curve SET value = zeroblob(length(value)) "
        "WHERE metric = 'ndcg' AND run = (SELECT id FROM run WHERE name = ?)"
    )
    change(tmp_path, damaged, "good")
    found = workspace.scores.scoreboard([ids["poor"], ids["good"]], ["ndcg", "recall"], 3)
    assert sorted(zip(found["run"], found["metric"], strict=True)) == [
        ("good", "recall"),
        ("poor", "ndcg"),
        ("poor", "recall"),
    ]
    assert "damaged" in workspace.scores.absences([ids["good"]], "ndcg")[ids["good"]]
    assert "damaged" in said(open_page("metric_vs_k", m="ndcg"))
