"""Stores at the edge: runs in which nobody counts, that share no users, are archived, or are alone."""

from __future__ import annotations

import pandas as pd
from app_pages import TRUTH, USERS, Open, lists, said, store

from recdash.service import Workspace


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
    assert "ghost has no nDCG: no user counts" in text


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
    assert "nDCG@3 over 18 users." in text
    assert "Not ranked: other shares fewer than two users with all the ranked runs." in text


def test_all_who_share_two_users_share_the_first_place_of_the_ranked(
    workspace: Workspace, open_page: Open
) -> None:
    both(workspace, one=lists(1, USERS[:18]), same=twin(1, USERS[:18]), other=lists(1, USERS[18:]))
    assert "Both ranked runs share first place on nDCG@3" in said(open_page("leaderboard", m="ndcg", k="3"))


def test_runs_of_which_no_two_share_users_have_no_ranks(workspace: Workspace, open_page: Open) -> None:
    both(workspace, first=lists(1, USERS[:9]), second=lists(1, USERS[9:]))
    text = said(open_page("leaderboard", m="ndcg", k="3"))
    assert "No two runs share two users with nDCG@3: nobody is ranked" in text
    assert "nDCG@3 over 9 to 11 users." in text


def test_ranks_and_rows_name_their_own_families(workspace: Workspace, open_page: Open) -> None:
    store(workspace, {"one": lists(1), "same": twin(1), "third": lists(1).replace("x3", "z3")})
    text = said(open_page("leaderboard", m="ndcg", k="3"))
    assert "All three runs share first place on nDCG@3" in text
    assert "none is significantly better" not in text
    assert "ranks are corrected over all pairs, differences over those to the baseline (2)" in text


def test_one_difference_has_no_correction(workspace: Workspace, open_page: Open) -> None:
    store(workspace, {"poor": lists(3), "good": lists(1)})
    text = said(open_page("leaderboard", m="ndcg", k="3"))
    assert "correct" not in text
