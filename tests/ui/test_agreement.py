"""The agreement of offline and online on the Offline vs online page: the card, the metrics, the record."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pytest
from app_pages import USERS, Open, at_once, lists, markup, said, store
from streamlit.testing.v1 import AppTest

from recdash.charts.marks import CONTEXT_GREY, DARK, LIGHT
from recdash.charts.track_record import track_record as drawn
from recdash.online import OnlineMetric
from recdash.online.agreement.track_record import Point, track_record
from recdash.service import Workspace
from recdash.ui.offline_online.agreement import record_alt, record_notes, record_words, tidy

open_page = at_once


def found_by(n: int) -> pd.DataFrame:
    """The first n of the 20 users find their item at rank 1, the others none."""
    return pd.concat([lists(1, USERS[:n]), lists(9, USERS[n:])])


RUNS = {"third": found_by(2), "second": found_by(11), "first": found_by(20)}
"""nDCG@5 is .1, .55 and 1: nine users gain from one run to the next, p = 2/2⁹ by McNemar's test."""
WATCH = "session_watch_time"


def ab_test(
    space: Workspace, experiment: str, means: Sequence[float], runs: Sequence[str], *, name: str = "Spring"
) -> None:
    """Mean watch times of 10,000 users each, and the runs that were served; the first is the control."""
    variants = ["control", *(f"v{n}" for n in range(1, len(means)))]
    rows = [(variant, WATCH, 10_000, mean, 1.0) for variant, mean in zip(variants, means, strict=True)]
    table = pd.DataFrame(rows, columns=["variant", "metric", "n", "mean", "variance"])
    links = dict(zip(variants, runs, strict=False))
    space.online_tests.add(experiment, name, {"aggregates": table}, control="control", links=links)


@pytest.fixture
def films(workspace: Workspace) -> dict[str, str]:
    made = store(workspace, RUNS)
    workspace.experiments.set_baseline(made["films"], made["third"])
    return made


def all_runs(films: Mapping[str, str]) -> list[str]:
    return [films[name] for name in RUNS]


def chart_of(app: AppTest, begins: str) -> Any:
    return next(element for element in app.get("plotly_chart") if element.proto.alt.startswith(begins))


def test_the_card_counts_pairs_and_says_what_three_runs_are_worth(
    workspace: Workspace, films: dict[str, str], open_page: Open
) -> None:
    ab_test(workspace, films["films"], [10, 12, 11], all_runs(films))
    app = open_page("offline_online", k="5")
    text = said(app)
    assert "Offline picked the online winner in 2 of 3 decided pairs, and the loser in 1." in text
    assert (
        "Kendall's τ over all 3 runs is 0.33 (p = 1.000). With 3 runs, even full agreement has "
        "p = 0.333." in text
    )
    assert "Every two of 3 runs make a pair, the control included." in [
        element.value for element in app.caption
    ]


def test_below_six_runs_no_metric_is_said_to_predict_the_test(
    workspace: Workspace, films: dict[str, str], open_page: Open
) -> None:
    ab_test(workspace, films["films"], [10, 11, 12], all_runs(films))
    text = said(open_page("offline_online", k="5"))
    assert "too few" not in text
    assert "nDCG@5 1.00" not in text
    assert "Track record: one A/B test so far" in text


def test_from_six_runs_on_the_best_metric_is_the_headline(workspace: Workspace, open_page: Open) -> None:
    """Run n finds the items of n groups of three users at rank 1, the others' at rank 2."""
    runs = {
        f"run{n}": pd.concat([lists(1, USERS[: 3 * n + 1]), lists(2, USERS[3 * n + 1 :])]) for n in range(6)
    }
    made = store(workspace, runs)
    workspace.experiments.set_baseline(made["films"], made["run0"])
    ab_test(workspace, made["films"], [10, 11, 12, 13, 14, 15], [made[run] for run in runs])
    text = said(open_page("offline_online", k="5"))
    assert "predicted this test best Exploratory: the best of" in text


def test_a_broken_split_is_not_judged(workspace: Workspace, films: dict[str, str], open_page: Open) -> None:
    rows = [
        (f"{variant}{n}", f"s{variant}{n}", variant, 1.0, 60.0 + n % 5)
        for variant, count in (("control", 900), ("v1", 500))
        for n in range(count)
    ]
    table = pd.DataFrame(rows, columns=["unit_id", "session_id", "variant", "clicks", "watch_s"])
    workspace.online_tests.add(
        films["films"], "Row", {"sessions": table.assign(start_ts="2026-01-01T00:00:00Z")},
        control="control", links={"control": films["third"], "v1": films["first"]},
    )  # fmt: skip
    text = said(open_page("offline_online", k="5", om=WATCH))
    broken = "the split of users between the variants is broken (sample ratio mismatch)."
    assert f"Agreement cannot be judged: {broken}" in text
    assert f"Row is not shown: {broken}" in text


def test_tests_without_a_point_are_named_together_if_the_reason_is_the_same() -> None:
    lacking = "without this online metric"
    left_out = [("checkout", lacking), ("Spring", "its variants are unknown"), ("front", lacking)]
    assert record_notes(track_record("nDCG@5", WATCH, [], left_out))[1:] == [
        "checkout and front are not shown: without this online metric.",
        "Spring is not shown: its variants are unknown.",
    ]


def test_of_many_reasons_and_tests_the_rest_is_counted() -> None:
    """Five reasons for 3 + 1 + 1 + 1 + 2 tests, of which four reasons are shown."""
    counts = (3, 1, 1, 1, 2)
    left_out = [(f"t{n}{i}", f"reason {n}") for n, count in enumerate(counts) for i in range(count)]
    notes = record_notes(track_record("nDCG@5", WATCH, [], left_out))
    assert (len(notes), notes[-1]) == (6, "2 more tests not shown.")


def test_under_ten_tests_the_record_has_points_and_the_reason(
    workspace: Workspace, films: dict[str, str], open_page: Open
) -> None:
    ab_test(workspace, films["films"], [10, 11, 9], all_runs(films))
    app = open_page("offline_online", k="5")
    text = said(app)
    assert "Track record: one A/B test so far" in text
    assert "1 of 2 decided" not in text  # the card counts the pairs of this test
    assert (
        "No line: 1 test so far; the online effect of an offline difference is estimated from 10 tests on."
        in text
    )
    chart = chart_of(app, "Offline change against online lift of 2 variants")
    assert "expected lift" not in chart.proto.spec
    assert "second in Spring: +450 % offline, +10.0 % online" in chart.proto.alt


def test_from_ten_tests_on_the_record_has_a_line_and_a_band(
    workspace: Workspace, films: dict[str, str], open_page: Open
) -> None:
    for n in range(10):
        ab_test(workspace, films["films"], [10, 11], all_runs(films)[:2], name=f"Test {n}")
    app = open_page("offline_online", k="5")
    assert "1 % offline has meant 0.0222 % online" in said(app)
    spec = chart_of(app, "Offline change against online lift of 10 variants").proto.spec
    names = [trace["name"] for trace in json.loads(spec)["data"]]
    assert {"expected lift", "95 % of new tests"} <= set(names)


def test_a_new_link_is_seen_at_once(workspace: Workspace, films: dict[str, str], open_page: Open) -> None:
    ab_test(workspace, films["films"], [10, 11, 12], all_runs(films)[:2])
    assert "in 1 of 1 decided pair." in said(open_page("offline_online", k="5"))
    (test,) = workspace.online_tests.all(films["films"])
    workspace.online_tests.link_variants(test.id, {**test.links, "v2": films["first"]})
    assert "in 3 of 3 decided pairs." in said(open_page("offline_online", k="5"))


def test_names_are_shown_as_text(workspace: Workspace, open_page: Open) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    made = store(workspace, {hostile: lists(3), "first": lists(1)})
    workspace.experiments.set_baseline(made["films"], made[hostile])
    ab_test(workspace, made["films"], [10, 11], [made[hostile], made["first"]], name=f"{hostile}{hostile}")
    app = open_page("offline_online", k="5")
    assert "<img" not in markup(app)
    assert all("<img" not in element.proto.spec for element in app.get("plotly_chart"))


# ── the chart ────────────────────────────────────────────────────────────────────────────────


def point(n: int, test: str, offline: float = 5.0, online: float = 3.0, *, settled: bool = True) -> Point:
    calls = True if settled else None
    return Point("films", test, test, f"run {n}", f"r{n}", offline, 1.0, online, 1.0, calls)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
@pytest.mark.parametrize("n", [1, 12])
def test_plotly_accepts_points_with_and_without_a_line(palette: Any, n: int) -> None:
    record = track_record("nDCG@10", "watch", [point(at, f"t{at}", at + 1.0) for at in range(n)])
    go.Figure(drawn(record, "t0", {}, palette, ("offline", "online")).to_dict())


def test_offline_results_over_a_tiny_baseline_are_shown_as_differences() -> None:
    tiny = replace(point(0, "t0", 73_062.0), difference=0.134, difference_error=0.01, from_zero=True)
    other = replace(point(1, "t1"), difference=0.02, difference_error=0.005)
    record = track_record("nDCG@10", "watch", [tiny, other])
    figure = drawn(record, "t0", {}, LIGHT, ("offline", "online")).to_dict()
    dots = {trace["name"]: trace["x"] for trace in figure["data"] if trace["mode"] == "markers"}
    assert dots == {"run 0": [0.134], "run 1": [0.02]}
    assert "offline +0.134, online +3.00 %" in str(figure)
    assert record_alt(record).startswith(
        "Offline difference against online lift of 2 variants. run 0 in t0: +0.134 offline"
    )
    assert list(tidy(record)["offline"]) == [0.134, 0.02]


def test_of_a_metric_of_which_less_is_better_the_record_shows_the_measured_lifts() -> None:
    """Both charts of the page have one sign; better is above."""
    points = [replace(point(n, f"t{n}", n + 1.0, 2.0 * n + 1), signs=(1, -1)) for n in range(12)]
    record = track_record("nDCG@10", "refunds", points)
    figure = drawn(record, "t0", {}, LIGHT, ("offline", "online"))
    dots = {trace.name: trace.y[0] for trace in figure.data if trace.mode == "markers"}
    assert (dots["run 0"], dots["run 11"]) == (-1.0, -23.0)
    bottom, top = figure.layout.yaxis.range
    assert bottom > top
    assert "−1.00 % online" in record_alt(record)
    assert record_notes(record)[0].startswith("1 % offline has meant −")


def test_only_points_settled_on_both_sides_are_filled_and_other_tests_are_grey() -> None:
    record = track_record("nDCG@10", "watch", [point(0, "t0"), point(1, "t1", settled=False)])
    figure = drawn(record, "t0", {}, LIGHT, ("offline", "online")).to_dict()
    marks = {trace["name"]: trace["marker"] for trace in figure["data"] if trace["mode"] == "markers"}
    assert marks["run 0"]["color"] == CONTEXT_GREY
    assert marks["run 1"]["color"] == LIGHT.background


@pytest.mark.parametrize(("of_all", "scope"), [(True, "of all experiments"), (False, "of this experiment")])
def test_the_track_record_of_a_guest_is_that_of_one_experiment(of_all: bool, scope: str) -> None:
    record = track_record("nDCG@10", "watch", [point(0, "t0")])
    assert scope in record_words(record, of_all=of_all)


def test_a_rise_of_a_metric_of_which_less_is_better_is_worse_everywhere_on_the_page(
    workspace: Workspace, films: dict[str, str], open_page: Open
) -> None:
    refunds = OnlineMetric("refunds", "Refunds", "", "", "value", direction="down")
    rows = [(variant, "refunds", 10_000, mean, 1.0) for variant, mean in (("control", 10), ("B", 12))]
    table = pd.DataFrame(rows, columns=["variant", "metric", "n", "mean", "variance"])
    workspace.online_tests.add(
        films["films"], "Refunds", {"aggregates": table}, control="control", metrics=[refunds],
        links={"control": films["third"], "B": films["first"]},
    )  # fmt: skip
    app = open_page("offline_online", k="5")
    text = said(app)
    assert "first won offline, lost online" in text
    assert re.search(r"▲\s*▼\s*won offline, lost online", text)
    assert "Online: Refunds (lower is better)" in text
    charts = [json.loads(element.proto.spec) for element in app.get("plotly_chart")]
    titles = [chart["layout"]["yaxis"].get("title", {}).get("text", "") for chart in charts]
    ends = [
        chart["layout"]["yaxis"]["range"]
        for chart, title in zip(charts, titles, strict=True)
        if title == "Online: lift in Refunds, % (lower is better)"
    ]
    assert len(ends) == 2
    assert all(bottom > top for bottom, top in ends)
