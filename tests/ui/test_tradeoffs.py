"""The Trade-offs page over a small store: the front, who is beaten, the link, and what is missing."""

from __future__ import annotations

import json
import re
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest
from app_pages import MadeOnce, Open, at_once, link, passed, said, store, warned
from segment_tables import CATALOGUE, TRAIN, TRUTH, lists
from streamlit.testing.v1 import AppTest

from recdash.comparison.pareto import Beaten, TradeOff, goal
from recdash.comparison.query import Terms
from recdash.service import Workspace
from recdash.ui.app.state import View
from recdash.ui.tradeoffs.wording import finding

open_page = at_once
RUNS = {
    "base": lists(["x1", "a"], ["x1", "a"]),
    "precise": lists(["a", "x1"], ["a", "x1"]),
    "broad": lists(["b", "a"], ["x1", "x2"]),
    "poor": lists(["x1", "x2"], ["x1", "x2"]),
}
"""Of 162 items precise and base show 81, broad 82, poor 2; hits of 80 users at k = 2: 80, 80, 80 and 0."""


def stored(workspace: Workspace, runs: dict[str, pd.DataFrame], **setup: Any) -> dict[str, str]:
    """Names → ids; the first run is the baseline."""
    how = {"train": TRAIN, "catalogue": CATALOGUE, "depth": 2, **setup}
    return store(workspace, runs, truth=TRUTH, **how)


def add_films(workspace: Workspace) -> dict[str, str]:
    return stored(workspace, RUNS)


@pytest.fixture
def films(made_once: MadeOnce) -> dict[str, str]:
    return made_once(add_films)


@pytest.fixture
def shown(open_page: Open) -> Open:
    return partial(open_page, "tradeoffs")


def spec(app: AppTest, place: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(app.get("plotly_chart")[place].proto.spec)
    return found


# ── two metrics ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("films")
def test_the_title_names_the_front_and_which_run_is_dominated(shown: Open) -> None:
    """By nDCG precise (hit at rank 1) is first; broad serves half of the users, and shows one item more."""
    text = said(shown(k="2"))
    assert "2 of 4 runs are on the Pareto front; poor is dominated by precise" in text
    assert "On the Pareto front: precise (best nDCG@2) and broad (best Coverage@2)." in text


def test_the_title_of_many_runs_counts_each_of_them_once() -> None:
    runs = [f"run {n}" for n in range(9)]
    beaten = tuple(
        Beaten(run, runs[0], ("better", "better" if run != runs[8] else "not settled"), (None, None))
        for run in runs[4:]
    )
    places = {run: (float(n), float(-n)) for n, run in enumerate(runs)}
    tradeoff = TradeOff((goal("coverage"), goal("ndcg")), 10, places, tuple(runs[:4]), beaten, Terms())
    view = cast("View", SimpleNamespace(short=str))
    assert finding(view, tradeoff) == (
        "4 of 9 runs are on the Pareto front; 4 are dominated by run 0, 1 is behind, but not significantly"
    )


@pytest.mark.usefixtures("films")
def test_a_dominated_run_is_named_with_the_paired_difference_and_the_values(shown: Open) -> None:
    """poor has no hit and 2 of 162 items; precise a recall of one of two and 81 items."""
    text = said(shown(k="2", y="recall"))
    assert "dominates poor: " in text
    assert "Error bars: uncorrected 95 % CI." in text
    worse = "Dominated: worse on both, significantly on Recall@2 (Holm-corrected over 6 differences)."
    assert worse in text  # of four runs
    assert re.search(r"Recall@2 \+0\.500 \(95 % CI [^)]*, Holm-corrected\)", text)
    assert "vs 1.23 %" in text


@pytest.mark.long
def test_equal_runs_are_not_called_dominated(workspace: Workspace, shown: Open) -> None:
    """Recall is 0.5 for both; only coverage differs."""
    stored(workspace, {"base": RUNS["base"], "broad": RUNS["broad"]})
    text = said(shown(k="2", y="recall"))
    assert (
        "broad is best on both Recall@2 and Coverage@2; base is behind broad, but not significantly" in text
    )
    assert "broad is ahead of base, but equal on Recall@2" in text
    assert "dominate" not in text.replace("Dominated: ", "")


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_the_axes_say_where_better_is_and_run_backwards_where_less_is_better(shown: Open) -> None:
    forwards = spec(shown(k="2"))["layout"]
    assert forwards["xaxis"]["title"]["text"] == "Coverage@2, % · better →"
    assert forwards["xaxis"]["range"][0] < forwards["xaxis"]["range"][1]
    backwards = spec(shown(k="2", x="gini"))["layout"]
    assert backwards["xaxis"]["title"]["text"] == "Gini@2 (lower is better) · better →"
    assert backwards["xaxis"]["range"][0] > backwards["xaxis"]["range"][1]


@pytest.mark.usefixtures("films")
def test_the_link_keeps_both_metrics_and_the_runs(films: dict[str, str], shown: Open) -> None:
    app = shown(e=films["films"], k="2", x="gini", y="recall", runs="chosen", c=films["poor"])
    assert [trace["name"] for trace in spec(app)["data"] if trace["mode"] == "markers"] == ["base", "poor"]
    assert {name: link(app)[name] for name in ("x", "y", "runs")} == {
        "x": "gini", "y": "recall", "runs": "chosen",
    }  # fmt: skip
    passed(app.selectbox(key="tradeoff-x").set_value("coverage").run())
    assert link(app)["x"] == "coverage"
    assert "Coverage@2, % · better →" in str(spec(app)["layout"])


@pytest.mark.long
def test_runs_that_were_not_chosen_stand_aside_and_may_beat_a_chosen_one(
    films: dict[str, str], shown: Open
) -> None:
    text = said(shown(k="2", c=films["poor"]))
    assert "poor is dominated by" in text
    assert "2 of 4 runs are on the Pareto front" in text


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_both_axes_never_show_the_same_metric(shown: Open) -> None:
    app = shown(k="2", x="ndcg", y="ndcg")
    assert app.selectbox(key="tradeoff-x").value == "coverage"


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_a_metric_named_in_vain_is_warned_of(shown: Open) -> None:
    assert 'Metric "nonsense" isn\'t available here; showing another' in warned(shown(k="2", x="nonsense"))


@pytest.mark.long
def test_a_narrowed_view_has_a_front_of_its_own(films: dict[str, str], shown: Open) -> None:
    """Broad finds both items of known users, and nothing for new ones."""
    known = {"e": films["films"], "k": "2", "y": "recall", "x": "hit_rate", "c": films["broad"]}
    assert "broad is best on both Recall@2 and Hit rate@2" in said(shown(**known, s="user_warmth=warm"))
    assert "broad is dominated by" in said(shown(**known, s="user_warmth=cold"))


# ── several metrics ──────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("films")
def test_several_metrics_stand_side_by_side_with_up_as_better(shown: Open) -> None:
    app = shown(k="2", axes="recall~gini")
    lines = {trace["name"]: trace["y"] for trace in spec(app, 1)["data"]}
    # recall: 0.5 is best, 0 worst; Gini: poor, who shows two items only, is the most concentrated
    assert lines["precise"][0] == 1
    assert lines["poor"] == [0, 0]
    assert "Recall@2" in said(app)
    assert link(app)["axes"] == "recall~gini"


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_one_metric_alone_draws_no_axes(shown: Open) -> None:
    app = shown(k="2", axes="recall")
    assert len(app.get("plotly_chart")) == 1
    assert "Choose at least two metrics." in [one.value for one in app.caption]


@pytest.mark.long
@pytest.mark.usefixtures("films")
def test_more_than_eight_metrics_are_cut_and_it_is_said(shown: Open) -> None:
    metrics = ["ndcg", "recall", "precision", "hit_rate", "map", "mrr", "f1", "rbp", "coverage"]
    app = shown(k="2", axes="~".join(metrics))
    assert "Showing the first 8 of 9 metrics." in [one.value for one in app.caption]
    assert {len(trace["y"]) for trace in spec(app, 1)["data"]} == {8}


# ── where something is missing ───────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("workspace")
def test_an_empty_store_says_what_to_do_next(shown: Open) -> None:
    assert "No data yet" in said(shown())


@pytest.mark.long
def test_one_run_alone_is_said_to_be_alone(workspace: Workspace, shown: Open) -> None:
    stored(workspace, {"base": RUNS["base"]})
    assert "base is the only run with both nDCG@2 and Coverage@2" in said(app := shown(k="2"))
    assert not app.get("plotly_chart")  # a single point compares nothing


@pytest.mark.long
def test_without_tables_two_accuracy_metrics_are_compared(workspace: Workspace, shown: Open) -> None:
    stored(workspace, {name: RUNS[name] for name in ("base", "poor")}, train=None, catalogue=None)
    text = said(shown(k="2"))
    assert "base is best on both nDCG@2 and" in text
    assert "poor is dominated by base" in text


def test_a_run_without_the_metric_has_no_place_and_a_reason(workspace: Workspace, shown: Open) -> None:
    ids = stored(workspace, {"base": RUNS["base"]})
    rated = TRUTH.head(20).assign(rating=3.0, prediction=3.5)
    workspace.runs.add(ids["films"], RUNS["broad"], name="broad", predictions=rated)
    app = shown(k="2", y="rmse", x="ndcg")
    assert "broad is the only run with both RMSE and nDCG@2" in said(app)
    assert "– RMSE (base): needs a table of rating predictions" in said(app)


def test_names_are_shown_as_text(workspace: Workspace, shown: Open) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    stored(workspace, {"base": RUNS["base"], hostile: RUNS["poor"]})
    app = shown(k="2")
    assert "&lt;img" in " ".join(str(one.proto.body) for one in app.get("html"))
    assert "<img" not in " ".join(str(one.proto.body) for one in app.get("html"))
    assert all("<img" not in chart.proto.spec for chart in app.get("plotly_chart"))


@pytest.mark.parametrize(("page", "asked"), [("tradeoffs", "axes"), ("metric-vs-k", "ms")])
@pytest.mark.usefixtures("films")
def test_a_metric_that_a_link_names_twice_counts_once(open_page: Open, page: str, asked: str) -> None:
    app = open_page(page, **{asked: "ndcg~ndcg~recall"})
    assert app.multiselect(key=f"choice-{asked}").value == ["ndcg", "recall"]


@pytest.mark.usefixtures("films")
def test_the_run_with_the_least_gini_is_the_best(open_page: Open) -> None:
    """Of the 162 items broad shows most."""
    assert "broad has the best Gini" in said(open_page("leaderboard", m="gini"))
    assert "broad leads from k = 2" in said(open_page("metric-vs-k", m="gini"))
