"""Interleaving tests on pages: beside A/B tests and offline results, alone, and as files on Add data."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from app_pages import Open, at_once, drop, finish, lists, markup, passed, press, said, store, warned
from interleaved_tables import team_draft

from recdash.domain.access import Person
from recdash.service import Workspace
from recdash.ui.ab_results.health import HealthCheck, checks_html
from recdash.ui.app import current_user

open_page = at_once


def plain(text: str) -> str:
    return text.replace("\u2060", "").replace("\u00a0", " ")


@pytest.fixture
def shown(open_page: Open) -> Open:
    return partial(open_page, "ab_results")


@pytest.fixture
def runs(workspace: Workspace) -> dict[str, str]:
    return store(workspace, {"popular": lists(2), "als": lists(1)})


def add_interleaving(workspace: Workspace, runs: dict[str, str], frame: pd.DataFrame | None = None) -> str:
    frame = team_draft(lean=0.5) if frame is None else frame
    links = {"popular": runs["popular"], "als": runs["als"]}
    test = workspace.interleaving.add(runs["films"], "May", frame, control="popular", links=links)
    return test.id


def add_ab_test(workspace: Workspace, runs: dict[str, str]) -> None:
    chance = np.random.default_rng(0)
    variant = np.repeat(["control", "new"], 500)
    orders = chance.poisson(np.where(variant == "new", 1.6, 1.0))
    table = pd.DataFrame({"user_id": [f"v{n}" for n in range(1000)], "variant": variant, "orders": orders})
    links = {"control": runs["popular"], "new": runs["als"]}
    workspace.online_tests.add(runs["films"], "June", {"sessions": table}, control="control", links=links)


def test_a_test_with_attributes_and_times_has_tables_by_segment_and_day(
    workspace: Workspace, runs: dict[str, str], shown: Open
) -> None:
    frame = team_draft(lean=0.5, device="tv", timestamp="2026-03-01T09:00:00Z")
    add_interleaving(workspace, runs, frame)
    titles = [expander.label for expander in passed(shown()).expander]
    assert "Preference for als by segment" in titles
    assert "Preference for als by day (daily)" in titles


def test_segments_and_days_are_tables_in_words_as_in_reports(
    workspace: Workspace, runs: dict[str, str], shown: Open
) -> None:
    frame = team_draft(lean=0.5, device="tv", timestamp="2026-03-01T09:00:00Z")
    add_interleaving(workspace, runs, frame)
    text = plain(said(passed(shown())))
    assert "By device" in text
    assert "corrected over the segments of device (Benjamini–Hochberg)" in text
    assert "By day" in text
    assert "1 March 2026" in text
    assert "Each day alone, not corrected over the days." in text


def test_an_interleaving_test_alone_is_the_page(
    workspace: Workspace, runs: dict[str, str], shown: Open
) -> None:
    add_interleaving(workspace, runs)
    app = passed(shown())
    text = plain(said(app))
    assert "Interleaved, users prefer als to popular" in text
    assert "1,200 requests of 60 users" in text
    assert "team draft: clicks on the items of each ranking" in text
    assert "First picks" in text
    assert "as many in every request" in text  # six slots: three of each team


def test_it_stands_below_the_ab_test_with_the_users_that_both_need(
    workspace: Workspace, runs: dict[str, str], shown: Open
) -> None:
    add_interleaving(workspace, runs)
    add_ab_test(workspace, runs)
    text = plain(said(passed(shown())))
    assert text.index("June") < text.index("Interleaved, users prefer als to popular")
    assert "Users needed: interleaved or A/B" in text
    results = workspace.interleaving.results(workspace.interleaving.named(runs["films"]).id)
    ((_, needed),) = workspace.interleaving.sensitivities(workspace.interleaving.named(runs["films"]).id)
    assert f"{needed.interleaving_users:,}" in text
    assert f"{100 * (results.preference.share or 0):.1f}" in text


def test_uneven_teams_are_an_error_and_nothing_is_judged(
    workspace: Workspace, runs: dict[str, str], shown: Open
) -> None:
    frame = team_draft(lean=1.0)
    frame["team"] = np.where(frame["rank"] % 2 == 1, "als", "popular")
    add_interleaving(workspace, runs, frame)
    app = shown()
    assert "came first in" in plain(app.error[0].value)
    text = plain(said(app))
    assert "Interleaved, als against popular: no verdict, the teams are uneven" in text
    assert "not judged" in text


def test_few_users_have_no_verdict_but_a_reason(
    workspace: Workspace, runs: dict[str, str], shown: Open
) -> None:
    add_interleaving(workspace, runs, team_draft(n_users=12))
    assert "no verdict, 12 users with a credited request; at least 20 are needed" in plain(said(shown()))


def test_a_test_without_links_asks_for_the_runs_of_its_rankings(
    workspace: Workspace, runs: dict[str, str], shown: Open
) -> None:
    frame = team_draft(lean=0.5)
    test = workspace.interleaving.add(runs["films"], "May", frame, control="popular")
    app = passed(shown())
    assert app.info[0].value.startswith("No ranking of this test is linked to a run")
    passed(press(app, "Save links"))
    links = {name: runs[name] for name in ("popular", "als")}
    assert workspace.interleaving.named(runs["films"], test.name).links == links
    assert not shown().info


@pytest.mark.parametrize("is_linked", [True, False])
def test_the_decision_tells_what_users_prefer(
    workspace: Workspace, runs: dict[str, str], open_page: Open, is_linked: bool
) -> None:
    if is_linked:
        add_interleaving(workspace, runs)
    else:
        workspace.interleaving.add(runs["films"], "May", team_draft(lean=0.5), control="popular")
    text = plain(said(passed(open_page("overview"))))
    share = next(row["share"] for row in workspace.interleaving.all(runs["films"])[0].results[1:2])
    assert f"interleaved, users prefer als to popular; als won {100 * share:.1f} % of the credited" in text
    assert ("Link its rankings to runs on Results." in text) is not is_linked


@pytest.mark.parametrize(
    "frame",
    [
        team_draft(n_users=12),
        team_draft(lean=0.0),
        team_draft(lean=1.0).assign(team=lambda rows: np.where(rows["rank"] % 2 == 1, "als", "popular")),
    ],
    ids=["few users", "no preference", "uneven teams"],
)
def test_the_decision_is_silent_without_a_verdict(
    workspace: Workspace, runs: dict[str, str], open_page: Open, frame: pd.DataFrame
) -> None:
    add_interleaving(workspace, runs, frame)
    assert "interleaved, users prefer" not in plain(said(passed(open_page("overview"))))


def test_names_of_rankings_are_escaped(workspace: Workspace, runs: dict[str, str], shown: Open) -> None:
    frame = team_draft(lean=0.5).replace({"team": {"als": "<b>als</b>"}})
    workspace.interleaving.add(runs["films"], "<i>May</i>", frame, control="popular")
    found = markup(passed(shown()))
    assert "<b>als</b>" not in found
    assert "<i>May</i>" not in found


def test_an_editor_compares_with_the_other_ranking(
    workspace: Workspace, runs: dict[str, str], shown: Open
) -> None:
    test_id = add_interleaving(workspace, runs)
    app = press(shown(), "Compare with als instead")
    assert workspace.store.online_tests.get(test_id).control == "als"
    assert "Interleaved, users prefer als to popular" in plain(said(app))


def test_a_viewer_changes_nothing(
    workspace: Workspace, runs: dict[str, str], shown: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_interleaving(workspace, runs)
    monkeypatch.setattr(current_user, "person", lambda: Person("vera", "viewer"))
    app = passed(shown())
    assert not [button for button in app.button if "Compare with" in button.label]


def test_the_pair_is_beside_its_offline_difference_and_its_ab_test(
    workspace: Workspace, runs: dict[str, str], open_page: Open
) -> None:
    add_interleaving(workspace, runs)
    add_ab_test(workspace, runs)
    text = plain(said(passed(open_page("offline_online"))))
    block = text[text.index("Interleaved: the same users choose between two runs") :]
    assert "als vs popular" in block
    assert "of credited requests won" in block
    assert "Orders +" in block


def test_without_an_interleaving_test_there_is_no_block(
    workspace: Workspace, runs: dict[str, str], open_page: Open
) -> None:
    add_ab_test(workspace, runs)
    assert "Interleaved" not in said(passed(open_page("offline_online")))
    assert "Interleaved" not in said(passed(open_page("ab_results")))


@pytest.mark.usefixtures("runs")
def test_a_dropped_file_is_analyzed(open_page: Open) -> None:
    data = team_draft(lean=0.5).to_csv(index=False).encode()
    app = drop(open_page("upload"), **{"may.csv": data})
    assert "an interleaving test" in plain(said(app))
    app = finish(app, "Analyze interleaving test")
    assert "analyzed the interleaving test may" in plain(f"{said(app)} {warned(app)}").lower()
    assert [button.label for button in app.button if "results" in button.label] == [
        "View interleaving results"
    ]


def test_the_runs_page_links_and_deletes_it(
    workspace: Workspace, runs: dict[str, str], open_page: Open
) -> None:
    test_id = add_interleaving(workspace, runs)
    app = passed(open_page("runs"))
    assert "A/B and interleaving tests" in said(app)
    app.text_input(key=f"delete-name-{test_id}").input("May")
    passed(app.button(key=f"delete-interleaving test-{test_id}").click().run())
    assert workspace.interleaving.all(runs["films"]) == []


def test_no_line_of_a_check_breaks_inside_its_p_value() -> None:
    shown = checks_html([HealthCheck("Slots", "good", "even", "5 and 4 requests, p = 0.601")], {})
    assert "requests, p\u00a0=\u00a00.601" in shown
