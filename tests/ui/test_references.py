"""References on the pages: added with one click, never the winner."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from app_pages import Open, said

from recdash.service import Workspace

TRUTH = pd.DataFrame({"user_id": [f"u{n}" for n in range(20)], "item_id": [f"i{n}" for n in range(20)]})
TRAIN = pd.DataFrame({"user_id": [f"t{n}" for n in range(20)], "item_id": [f"i{n}" for n in range(20)]})


def lists(users: int) -> pd.DataFrame:
    """The right item first for some ``users``, and only strangers for the others."""
    rows = [(f"u{n}", f"i{n}" if n < users else f"x{n}", 1) for n in range(20)]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


def add(workspace: Workspace, *users: int) -> str:
    made = workspace.experiments.create("films", TRUTH, train=TRAIN, depth=5)
    for n in users:
        workspace.runs.add(made.id, lists(n), name=f"run{n}")
    return made.id


@pytest.mark.parametrize("page", ["overview", "runs"])
def test_the_references_are_added(workspace: Workspace, open_page: Open, page: str) -> None:
    films = add(workspace, 10)
    app = open_page(page)
    boxes = {box.label: box.value for box in app.checkbox}
    assert boxes == dict.fromkeys(("Most popular", "Random", "Oracle"), True)
    assert [element.value for element in app.caption if " needs " in element.value] == [
        "Weighted rating needs ratings in the training data.",
        "Content-based needs the catalogue.",
    ]
    app.button(key=f"references-{films}").click().run()
    assert not app.exception, app.exception
    assert {run.reference for run in workspace.runs.all(films)} == {None, "popular", "random", "oracle"}


def test_of_an_archived_reference_it_is_said_how_to_bring_it_back(
    workspace: Workspace, open_page: Open
) -> None:
    films = add(workspace, 10)
    (oracle,) = workspace.runs.add_references(films, "oracle")
    workspace.runs.archive(oracle.run.id)
    app = open_page("runs")
    assert "Oracle" not in [box.label for box in app.checkbox]
    assert "Oracle is archived; unarchive it on the Runs page, under Show archived." in [
        element.value for element in app.caption
    ]


def test_an_only_run_is_compared_with_most_popular(workspace: Workspace, open_page: Open) -> None:
    workspace.runs.add_references(add(workspace, 16), "random,popular,oracle")
    text = said(open_page())
    assert "Ship run16" in text
    assert "run16 reaches" in text
    assert "times the value of Most popular" in text


def test_the_oracle_wins_on_no_page(workspace: Workspace, open_page: Open) -> None:
    films = add(workspace, 5, 16)
    workspace.runs.add_references(films, "oracle,random")
    ids = {run.name: run.id for run in workspace.runs.all(films)}
    chosen = {"b": ids["run5"], "c": f"{ids['run16']}~{ids['Oracle (reference)']}"}
    titles = {
        "overview": "Ship run16",
        "leaderboard": "run16 is first on nDCG@5",
        "metric_vs_k": "run16 leads on nDCG at every k",
        "precision_recall": "run16 has the highest precision and recall at k = 5",
    }
    for page, title in titles.items():
        assert title in said(open_page(page, **chosen))


def test_references_stand_below_the_candidates_without_a_rank(workspace: Workspace, open_page: Open) -> None:
    workspace.runs.add_references(add(workspace, 5, 10), "oracle,random")
    text = said(open_page("leaderboard"))
    table = text[text.index("Finding") :]
    ranks = re.findall(r"(\d|–) (run5|run10|Oracle \(reference\)|Random \(reference\)) ", table)
    assert ranks == [
        ("1", "run10"), ("2", "run5"), ("–", "Oracle (reference)"), ("–", "Random (reference)"),
    ]  # fmt: skip
    assert "Reference candidates are not ranked" in text


def test_a_reference_baseline_above_all_is_said_to_be_above(workspace: Workspace, open_page: Open) -> None:
    films = add(workspace, 5, 10)
    (oracle,) = workspace.runs.add_references(films, "oracle")
    link = {"b": oracle.run.id}
    assert "Keep Oracle (reference)" in said(open_page(**link))
    text = said(open_page("leaderboard", **link))
    assert "No candidate beats Oracle (reference) on nDCG@5" in text
