"""The page Runs: what it says of an experiment, and the offer to complete a run with popular items."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pandas as pd
from app_pages import USERS, Open, lists, press, said, store

from recdash.domain.records import Experiment, Run
from recdash.service import FallbackOffer, Workspace
from recdash.ui.components.fallback_offer import sentence
from recdash.ui.runs.page import finding

NOON = datetime(2026, 10, 9, 12, tzinfo=UTC)
FILMS = Experiment("e", "films", NOON, "sha")
ALS = Run("als", "e", "ALS v3", NOON, 0, None, {}, {})
TRAIN = pd.DataFrame({"user_id": [f"t{number}" for number in range(3)], "item_id": ["i1", "i1", "i2"]})


def test_the_headline_counts_runs_and_names_the_chosen_baseline() -> None:
    assert finding(FILMS, []) == "no run"
    assert finding(FILMS, [ALS]) == "1 run"
    runs = [ALS, replace(ALS, id="old", archived=NOON)]
    assert finding(replace(FILMS, baseline="als"), runs) == "2 runs, 1 archived, baseline ALS v3"


def test_an_offer_says_how_many_users_are_left_out() -> None:
    offered = sentence(FallbackOffer("a", "ItemKNN", 1_100))
    assert offered == "1,100 users with a relevant item get no recommendations from ItemKNN."


def test_a_single_run_is_the_suggested_baseline_as_on_the_other_tabs(
    workspace: Workspace, open_page: Open
) -> None:
    store(workspace, {"als": lists(1)})
    assert "als (suggested baseline)" in said(open_page("runs"))


def test_a_run_is_completed_by_one_click(workspace: Workspace, open_page: Open) -> None:
    ids = store(workspace, {"als": lists(1, USERS[:5]), "popular": lists(2)}, train=TRAIN)
    app = open_page("runs")
    assert "2 runs" in said(app)
    assert any(
        "15 users with a relevant item get no recommendations from als" in str(line.value)
        for line in app.markdown
    )
    press(app, "Add it with popular items for them")
    runs = workspace.runs.all(ids["films"])
    assert [run.name for run in runs] == ["als", "popular", "als + popular for the rest"]
    assert runs[-1].ledger["without_list"] == 0
    assert not any("15 users with" in str(line.value) for line in app.markdown)
