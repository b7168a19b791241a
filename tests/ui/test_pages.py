"""The reading pages over a small store: the frame, the link, and what each page says."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pandas as pd
import pytest
import streamlit as st
from app_pages import (
    TRUTH,
    USERS,
    MadeOnce,
    Open,
    at_once,
    link,
    lists,
    markup,
    passed,
    press,
    said,
    store,
    warned,
)
from streamlit.testing.v1 import AppTest

from recdash.service import Workspace
from recdash.ui.app import state
from recdash.ui.shell import header
from recdash.ui.shell.navigation import EVERYTHING, address
from recdash.ui.shell.purposes import PURPOSES

open_page = at_once


def add_films(workspace: Workspace) -> dict[str, str]:
    """Names → ids: the experiment, and the runs best (rank 1), good (rank 2), poor (no hit)."""
    return store(workspace, {"poor": lists(9), "good": lists(2), "best": lists(1)})


@pytest.fixture
def films(made_once: MadeOnce) -> dict[str, str]:
    """Ids in a store to read."""
    return made_once(add_films)


@pytest.fixture
def own_films(workspace: Workspace) -> dict[str, str]:
    """Ids in a store to write to."""
    return add_films(workspace)


# ── empty ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    ("page", "shows"),
    [
        ("leaderboard", "ranks the candidates"),
        ("metric_vs_k", "the metrics of each candidate at every k"),
        ("precision_recall", "precision and recall of each candidate"),
        ("offline_online", "offline results predicted the A/B test"),
        ("ab_results", "one table with a row per user"),
        ("runs", "what was uploaded"),
    ],
)
def test_an_empty_store_says_what_the_tab_will_show(open_page: Open, page: str, shows: str) -> None:
    app = open_page(page)
    assert "No data yet" in said(app)
    assert shows in said(app)
    assert "This tab" in said(app)
    assert [button.label for button in app.button] == ["Add data", "Load the demo"]


def test_each_tab_says_what_it_shows_and_needs() -> None:
    own = {
        "experiments",
        "off_policy",
        "upload",
        "guide",
        "metric_library",
        "tokens",
    }  # these pages say it themselves
    tabs = {name for tabs in EVERYTHING.values() for name in tabs}
    assert set(PURPOSES) == {address(name) for name in tabs - own}


def test_an_experiment_without_runs_leads_to_the_upload(workspace: Workspace, open_page: Open) -> None:
    workspace.experiments.create("films", TRUTH)
    app = open_page()
    assert "This experiment has no runs yet" in said(app)
    assert [button.label for button in app.button] == ["Add data"]


def test_one_run_asks_for_a_second(workspace: Workspace, open_page: Open) -> None:
    made = workspace.experiments.create("films", TRUTH, depth=5)
    workspace.runs.add(made.id, lists(1), name="only")
    text = said(open_page())
    assert "Add a second run to compare" in text
    assert "only has nDCG@5 1.00 over 20 users" in text


def test_a_run_added_later_joins_the_view_by_itself(workspace: Workspace, open_page: Open) -> None:
    made = workspace.experiments.create("films", TRUTH, depth=5)
    workspace.runs.add(made.id, lists(2), name="first")
    app = open_page()
    workspace.runs.add(made.id, lists(1), name="second")
    assert "Ship second" in said(passed(app.run()))


# ── the frame and its link ───────────────────────────────────────────────────────────────────


def test_the_whole_view_is_in_the_link(films: dict[str, str], open_page: Open) -> None:
    assert link(open_page()) == {
        "e": films["films"], "b": films["poor"], "c": f"{films['good']}~{films['best']}", "m": "ndcg",
        "k": "5",
    }  # fmt: skip


def test_copy_link_holds_the_view_and_the_pages_own_choices(films: dict[str, str], open_page: Open) -> None:
    app = open_page("leaderboard", m="recall", cols="all")
    (copied,) = [code.value for code in app.code]
    assert f"e={films['films']}" in copied
    assert "m=recall" in copied
    assert "cols=all" in copied


def test_a_link_shows_the_view_it_names(films: dict[str, str], open_page: Open) -> None:
    app = open_page("leaderboard", e=films["films"], b=films["good"], c=films["best"], m="recall", k="1")
    assert app.number_input(key="frame-any-k").value == 1
    assert app.selectbox(key="frame-metric").value == "recall"
    assert app.selectbox(key="frame-baseline").value == films["good"]
    assert app.multiselect(key="frame-candidates").value == [films["best"]]
    assert "best is first on Recall@1" in said(app)
    assert not app.warning


def test_changing_k_changes_numbers_and_link(films: dict[str, str], open_page: Open) -> None:
    app = open_page()
    assert "good" in said(app)
    passed(app.number_input(key="frame-any-k").set_value(1).run())
    assert link(app)["k"] == "1"
    assert "Ship best nDCG@1 is" in said(app)
    assert link(app)["e"] == films["films"]


@pytest.mark.usefixtures("films")
def test_the_old_baseline_takes_the_new_ones_place(films: dict[str, str], open_page: Open) -> None:
    app = open_page()
    passed(app.selectbox(key="frame-baseline").set_value(films["good"]).run())
    assert (link(app)["b"], link(app)["c"]) == (films["good"], f"{films['poor']}~{films['best']}")


def test_runs_named_in_vain_are_warned_of_and_stay_in_the_link(
    films: dict[str, str], open_page: Open
) -> None:
    app = open_page(e=films["films"], b="vanished", c=f"{films['best']}~gone")
    assert 'Baseline "vanished" isn\'t available here; showing poor' in warned(app)
    assert 'Candidate "gone" isn\'t available here; showing the others' in warned(app)
    assert link(app)["c"] == f"{films['best']}~gone"


def test_an_archived_run_of_a_link_is_called_by_its_name(
    workspace: Workspace, own_films: dict[str, str], open_page: Open
) -> None:
    workspace.runs.archive(own_films["good"])
    app = open_page(e=own_films["films"], c=f"{own_films['good']}~{own_films['best']}")
    assert 'Candidate "good (archived)" isn\'t available here' in warned(app)


def test_a_k_or_metric_that_cannot_be_shown_is_named(films: dict[str, str], open_page: Open) -> None:
    app = open_page(e=films["films"], k="500", m="ndgc")
    assert 'k = "500" isn\'t between 1 and 5' in warned(app)
    assert 'Metric "ndgc" isn\'t available here; showing nDCG' in warned(app)


@pytest.mark.usefixtures("films")
def test_an_unknown_experiment_is_not_replaced_by_another(open_page: Open) -> None:
    app = open_page(e="elsewhere")
    assert 'Experiment "elsewhere" isn\'t available here' in warned(app)
    assert "Ship" not in said(app)
    assert app.selectbox(key="frame-experiment").value is None


def test_a_newer_experiment_does_not_take_the_place_of_the_one_shown(
    workspace: Workspace, own_films: dict[str, str], open_page: Open
) -> None:
    app = open_page()
    workspace.experiments.create("newer", TRUTH, depth=3)
    assert link(passed(app.run()))["e"] == own_films["films"]


def test_at_first_the_best_eight_candidates_are_drawn_and_all_runs_listed(
    workspace: Workspace, open_page: Open
) -> None:
    """By nDCG, runs 8 and 10 are the last: 12 / 20 · 0.5 and 10 / 20 · 0.63."""
    made = workspace.experiments.create("films", TRUTH, depth=5)
    names = [f"run {number}" for number in range(11)]
    ids = [
        workspace.runs.add(made.id, lists(1 + place % 3, USERS[: 20 - place]), name=name)[0].run.id
        for place, name in enumerate(names)
    ]
    app = open_page("leaderboard")
    chosen = app.multiselect(key="frame-candidates").value
    assert sorted(chosen) == sorted(ids[place] for place in (1, 2, 3, 4, 5, 6, 7, 9))
    assert all(name in said(app) for name in names)


# ── what the pages say ───────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("films")
def test_the_overview_states_the_finding_with_its_interval(open_page: Open) -> None:
    app = open_page()
    text = said(app)
    assert "▲ Ship Better offline, not tested online Ship best" in text
    assert "nDCG@5 is 1.00 above poor" in text  # poor has no hit: there is nothing to be a share of
    assert "paired over 20 users ; better for 20 of 20 users" in text
    bodies = " ".join(html.unescape(str(one.proto.body)) for one in app.get("html"))
    assert re.search(r"""title="McNemar's exact test">[^<]*, paired over 20 users</a>""", bodies)
    assert "95 % CI, Holm-corrected over 2 candidates, n = 20" in text
    assert "Both candidates beat poor" in text
    assert "Users who gain and lose ? 20 gain, 0 lose" in text


@pytest.mark.usefixtures("films")
def test_the_leaderboard_ranks_the_baseline_with_the_others(open_page: Open) -> None:
    text = said(open_page("leaderboard"))
    rows = text[text.index("Finding") :]
    assert rows.index("best") < rows.index("good") < rows.index("poor")
    assert re.search(r"2 2 good 0\.63\d? \+0\.63", rows)  # nDCG of a single hit at rank 2: 1 / log2(3)


@pytest.mark.usefixtures("films")
def test_search_keeps_the_matching_runs(open_page: Open) -> None:
    app = open_page("leaderboard", q="GOO")
    rows = said(app)[said(app).index("Finding") :]
    assert "good" in rows
    assert "poor" not in rows
    assert link(app)["q"] == "GOO"


@pytest.mark.usefixtures("films")
def test_a_metric_that_cannot_be_had_is_missing_with_its_reason(open_page: Open) -> None:
    assert "– Coverage, Gini (all runs): needs a catalogue table" in said(
        open_page("leaderboard", cols="beyond")
    )


@pytest.mark.usefixtures("films")
def test_lines_stop_where_lists_end(open_page: Open) -> None:
    assert "Lines stop where lists end: poor at 3, best at 3 and good at 3." in said(open_page("metric_vs_k"))


@pytest.mark.usefixtures("films")
def test_precision_and_recall_come_with_their_definition(open_page: Open) -> None:
    macro = said(open_page("precision_recall", k="1"))
    assert "best has the highest precision and recall at k = 1" in macro
    assert "a user without recommendations counts as 0" in macro
    assert "Micro average" in said(open_page("precision_recall", avg="micro", curve="points"))


@pytest.mark.usefixtures("films")
def test_without_an_online_test_the_page_leads_to_the_upload(open_page: Open) -> None:
    app = open_page("offline_online")
    assert "No A/B test yet" in said(app)
    assert [button.label for button in app.button] == ["Upload an A/B test"]


def test_counting_only_users_with_lists_may_change_who_is_first(
    workspace: Workspace, open_page: Open
) -> None:
    made = workspace.experiments.create("films", TRUTH, depth=3)
    workspace.runs.add(made.id, lists(2), name="everyone")
    workspace.runs.add(made.id, lists(1, USERS[:5]), name="few users")
    for page in ("overview", "leaderboard"):
        assert "Among the 5 users with recommendations from every run, few users leads" in said(
            open_page(page)
        )


def test_a_candidate_that_leaves_users_out_can_be_completed_where_it_is_judged(
    workspace: Workspace, open_page: Open
) -> None:
    train = pd.DataFrame({"user_id": USERS, "item_id": [f"i{number % 20 + 1}" for number in range(1, 21)]})
    others = {f"worse {number}": lists(9) for number in range(8)}  # eight are compared unless chosen
    runs = {"popular": lists(9), "als": lists(1, USERS[:12]), **others}
    ids = store(workspace, runs, train=train)
    app = open_page()
    # popular has nothing within the first five, so that nothing is added to the 12 of 20 users with 1
    told = [element.value.replace("\\", "").replace("\u2060", "") for element in app.markdown]
    expected = (
        "Over the 12 users it serves, its nDCG@5 is 1.00 (popular: 0.00). With popular items for the "
        "others it would be about 0.60: above popular (0.00)."
    )
    assert any(text.endswith(expected) for text in told), told
    assert any(
        "8 users with a relevant item get no recommendations from als" in element.value
        for element in app.markdown
    )
    press(app, "Add it with popular items for them")
    completed = next(
        run for run in workspace.runs.all(ids["films"]) if run.name == "als + popular for the rest"
    )
    assert completed.id in app.session_state[state._PARAMS]["c"].split(state.SEPARATOR)


@pytest.mark.usefixtures("with_demo")
def test_the_demo_wins_offline_and_loses_online(workspace: Workspace, open_page: Open) -> None:
    assert workspace.demo.exists()
    text = said(open_page("offline_online"))
    assert "Two-tower 2026-10 won offline, lost online; ALS v3 won both" in text
    assert "nDCG@10 offline, session watch time online" in text
    by_engagement = said(open_page("offline_online", om="engagement_rate"))
    assert "on two of three candidates, but Two-tower 2026-10 lost session watch time online" in by_engagement
    assert "online disagree in: Session watch time" in by_engagement
    because = (
        "Two-tower 2026-10 won offline, lost online, most likely because of what counts as relevant offline"
    )
    assert because in said(open_page("why"))
    won_both = said(open_page("why", om="engagement_rate", v="two-tower"))
    assert (
        "Two-tower 2026-10 won both, but lost session watch time online; "
        "a reason for doubt is what counts as relevant offline"
    ) in won_both
    assert "Most likely" not in won_both
    assert "cause" not in won_both.replace("Several causes may hold", "")


def test_a_place_remembers_its_tab_within_one_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    session: dict[str, object] = {"recdash.params": {"e": "films"}}
    monkeypatch.setattr(st, "session_state", session)
    header._last_tabs()["Online"] = "why"
    assert header._last_tabs() == {"Online": "why"}
    session["recdash.params"] = {"e": "books"}
    assert header._last_tabs() == {}


def test_a_name_full_of_markup_is_shown_as_text(workspace: Workspace, open_page: Open) -> None:
    made = workspace.experiments.create("<b>films</b>", TRUTH, depth=5)
    workspace.runs.add(made.id, lists(1), name="<img src=x onerror=alert(1)>")
    workspace.runs.add(made.id, lists(2), name="[x](http://evil.example)")
    app = open_page("leaderboard")
    raw = " ".join(str(one.proto.body) for one in app.get("html"))
    assert "<img" not in raw
    assert "&lt;img src=x" in raw


# ── equal values, other users, no intervals ──────────────────────────────────────────────────


def test_runs_that_are_equal_share_first_on_every_page(workspace: Workspace, open_page: Open) -> None:
    made = workspace.experiments.create("films", TRUTH, depth=3)
    other_strangers = lists(1).replace({"x2": "y2", "x3": "y3"})
    for name, table in (("poor", lists(9)), ("one", lists(1)), ("two", other_strangers)):
        workspace.runs.add(made.id, table, name=name, accept_unknown_ids=True)
    assert "two has the same value for every user." in said(open_page())
    assert "one and two share the lead on nDCG at every k" in said(open_page("metric_vs_k"))
    board = said(open_page("leaderboard"))
    assert "one and two share first place on nDCG@3" in board
    assert "=1 1 one" in board
    assert "=1 1 two" in board


def served(workspace: Workspace, **runs: pd.DataFrame) -> None:
    """An experiment that counts only users with lists."""
    made = workspace.experiments.create("served", TRUTH, depth=3, users="both")
    for name, table in runs.items():
        workspace.runs.add(made.id, table, name=name, accept_unknown_ids=True)


def test_a_mean_over_easy_users_does_not_win_over_the_users_shared(
    workspace: Workspace, open_page: Open
) -> None:
    """The baseline hits at rank 1 for u1 … u10 and misses the rest; "few" serves only these, at rank 2."""
    base = pd.concat([lists(1, USERS[:10]), lists(9, USERS[10:])])
    served(workspace, base=base, few=lists(2, USERS[:10]))
    text = said(open_page())
    assert "Keep base few does not beat base" in text
    assert "nDCG@3 of few is 36.9 % below base" in text  # 1 / log2(3) = 0.631 of 1 over the ten shared
    assert "few is first" not in said(open_page("leaderboard"))


@pytest.mark.parametrize("page", ["overview", "leaderboard"])
def test_runs_that_share_no_user_are_not_compared(workspace: Workspace, open_page: Open, page: str) -> None:
    served(workspace, base=lists(2, USERS[:10]), other=lists(1, USERS[10:]))
    assert "other shares no user with base" in said(open_page(page))


@pytest.mark.usefixtures("with_demo")
def test_a_metric_without_intervals_shows_its_values_and_says_so(
    workspace: Workspace, open_page: Open
) -> None:
    (made,) = workspace.experiments.all()
    text = said(open_page(e=made.id, m="coverage"))
    assert "This is a catalogue-level metric" in text
    assert re.search(r"Run Coverage@10 .* \d+(\.\d+)? %", text)
    beside = open_page("offline_online", e=made.id, m="coverage")
    assert not beside.error
    assert re.search(r"Run Coverage@10 .* 0\.\d+", said(beside))
    assert any("has no paired difference" in one.value for one in beside.caption)


# ── online tests ─────────────────────────────────────────────────────────────────────────────


def sessions(users: dict[str, int], crossed: int = 0) -> pd.DataFrame:
    """One session per user: {variant: users}, clicked by every second one; ``crossed`` saw both variants."""
    seen = [(f"{variant}{number}", variant) for variant, count in users.items() for number in range(count)]
    seen += [(f"c{number}", variant) for number in range(crossed) for variant in users]
    rows = [
        (user, variant, f"{user}-{variant}", "2026-11-01T10:00:00", place % 2, 180)
        for place, (user, variant) in enumerate(seen)
    ]
    columns = ["user_id", "variant", "session_id", "start_ts", "clicks", "watch_s"]
    return pd.DataFrame(rows, columns=columns)


def test_a_broken_split_stands_above_everything_and_nothing_is_judged(
    workspace: Workspace, own_films: dict[str, str], open_page: Open
) -> None:
    links = {"control": own_films["poor"], "new": own_films["best"]}
    table = sessions({"control": 600, "new": 200}, crossed=3)
    workspace.online_tests.add(own_films["films"], "autumn", {"sessions": table}, links=links)
    app = open_page("offline_online")
    assert "the planned split gives this" in app.error[0].value.replace("\\", "")
    text = said(app)
    assert "Offline and online: not judged, the split of users is broken" in text
    assert "This test has 4 notices: see Results" in text
    assert "3 of 803 users" not in text  # A/B results says it
    assert "best ▲ – not judged (SRM)" in text
    notes = said(open_page())
    notes = notes[notes.index("Data and comparability") :]
    assert notes.index("the planned split gives this") < notes.index("saw several variants")


def test_how_columns_were_read_is_no_finding_about_offline_and_online(
    workspace: Workspace, own_films: dict[str, str], open_page: Open
) -> None:
    links = {"control": own_films["poor"], "new": own_films["best"]}
    rows = [(variant, "session_watch_time", 500, 10.0, 1.0) for variant in links]
    table = pd.DataFrame(rows, columns=["arm", "metric", "n", "mean", "variance"])
    test = workspace.online_tests.add(own_films["films"], "autumn", {"aggregates": table}, links=links)
    assert [notice.code for notice in test.notices] == ["columns-guessed"]
    text = said(open_page("offline_online"))
    assert "Read as" not in text
    assert "Run by run" in text


def test_without_the_controls_run_it_is_the_control_that_is_named(
    workspace: Workspace, own_films: dict[str, str], open_page: Open
) -> None:
    table = sessions({"before": 40, "new": 40})
    links = {"before": own_films["poor"], "new": own_films["best"]}
    workspace.online_tests.add(
        own_films["films"], "autumn", {"sessions": table}, links=links, control="before"
    )
    workspace.runs.delete(own_films["poor"], "poor")
    app = open_page("offline_online")
    assert "Lift over the control (before), %" in said(app)
    assert any("The control is not linked to a run" in one.value for one in app.caption)


@pytest.mark.usefixtures("own_films")
def test_an_online_metric_that_is_not_there_is_told(
    workspace: Workspace, own_films: dict[str, str], open_page: Open
) -> None:
    links = {"control": own_films["poor"], "new": own_films["best"]}
    table = sessions({"control": 40, "new": 40})
    workspace.online_tests.add(own_films["films"], "autumn", {"sessions": table}, links=links)
    told = [one.value for one in open_page("offline_online", om="moon", v="mars").warning]
    assert 'Online metric "moon" isn\'t available here; showing Engagement rate.' in told
    assert 'Variant "mars" isn\'t available here; showing best.' in told


@pytest.mark.usefixtures("own_films")
def test_an_engagement_rate_is_read_in_percent(
    workspace: Workspace, own_films: dict[str, str], open_page: Open
) -> None:
    workspace.online_tests.add(
        own_films["films"], "autumn", {"sessions": sessions({"control": 40, "new": 40})}
    )
    text = said(open_page("offline_online"))
    assert "Engagement rate Variant control Run – Value 50.0 % Finding control" in text
    assert "0..1" not in text


def test_links_that_are_suggested_are_said_not_to_be_saved(
    workspace: Workspace, own_films: dict[str, str], open_page: Open
) -> None:
    table = sessions({"control": 40, "best": 40})
    test = workspace.online_tests.add(own_films["films"], "autumn", {"sessions": table})
    app = open_page("runs")
    assert app.selectbox(key=f"relink-{test.id}_best").value == own_films["best"]
    assert "Suggested by their names, not saved yet:" in [caption.value for caption in app.caption]


def test_saving_links_keeps_those_to_archived_runs(
    workspace: Workspace, own_films: dict[str, str], open_page: Open
) -> None:
    links = {"control": own_films["poor"], "new": own_films["best"]}
    test = workspace.online_tests.add(
        own_films["films"], "autumn", {"sessions": sessions({"control": 40, "new": 40})}, links=links
    )
    workspace.runs.archive(own_films["best"])
    app = open_page("runs")
    box = app.selectbox(key=f"relink-{test.id}_new")
    assert box.value == own_films["best"]
    assert "best (archived)" in box.options
    passed(app.selectbox(key=f"relink-{test.id}_control").set_value(own_films["good"]).run())
    passed(app.button(key=f"online-links-{test.id}").click().run())
    assert dict(workspace.online_tests.all(own_films["films"])[0].links) == {
        "control": own_films["good"], "new": own_films["best"],
    }  # fmt: skip


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(("page", "tab"), [("overview", "Decision: Recommendation"), ("reports", "Reports")])
def test_the_browser_tab_says_which_page_it_shows(
    monkeypatch: pytest.MonkeyPatch, open_page: Open, page: str, tab: str
) -> None:
    titles: list[str] = []
    monkeypatch.setattr(st, "set_page_config", lambda title, *_, **__: titles.append(title))
    open_page(page)
    assert titles[-1] == f"{tab} · recdash"


# ── the verdict and where it leads ───────────────────────────────────────────────────────────


def anchors(app: AppTest) -> dict[str, str]:
    """Text → address of every link on the page."""
    raw = " ".join(str(one.proto.body) for one in app.get("html"))
    return {
        html.unescape(text): html.unescape(to)
        for to, text in re.findall(r'<a href="([^"]+)">([^<]+)</a>', raw)
    }


def asked(address: str) -> tuple[str, dict[str, str]]:
    """Page and parameters of an address."""
    parts = urlsplit(address)
    return parts.path, dict(parse_qsl(parts.query))


def test_the_numbers_of_a_verdict_lead_to_their_charts_with_the_whole_view(
    films: dict[str, str], open_page: Open
) -> None:
    found = anchors(open_page(k="3"))
    view = {
        "e": films["films"], "b": films["poor"], "c": f"{films['good']}~{films['best']}", "m": "ndcg",
        "k": "3",
    }  # fmt: skip
    assert asked(found["1.00 above poor"]) == ("leaderboard", view)
    page, params = asked(found["better for 20 of 20 users, worse for 0"])
    assert (page, params) == ("users", view | {"of": films["best"]})


@pytest.mark.usefixtures("films")
def test_what_would_change_a_verdict_leads_to_the_view_that_shows_it(open_page: Open) -> None:
    app = open_page(k="1")
    assert "What would change it None of 3 other questions would change the recommendation." in said(app)
    page, params = asked(anchors(app)["Recall instead of nDCG"])
    assert (page, params["m"], params["k"]) == ("./", "recall", "1")
    again = open_page(**params)
    assert "Recall@1 is 1.00 above poor" in said(again)


@pytest.mark.usefixtures("films")
def test_a_link_may_name_another_definition_of_a_metric(open_page: Open) -> None:
    app = open_page(m="recall(norm=min)")
    assert "Recall(norm=min)@5 is 1.00 above poor" in said(app)
    assert not app.warning
    assert 'Metric "recall(norm=sum)" isn\'t available here' in warned(open_page(m="recall(norm=sum)"))


def test_half_of_the_users_better_and_half_worse_is_not_enough_evidence(
    workspace: Workspace, open_page: Open
) -> None:
    made = workspace.experiments.create("films", TRUTH, depth=3)
    halves = pd.concat([lists(1, USERS[:10]), lists(9, USERS[10:])])
    other = pd.concat([lists(9, USERS[:10]), lists(1, USERS[10:])])
    workspace.runs.add(made.id, halves, name="odd")
    workspace.runs.add(made.id, other, name="even")
    text = said(open_page())
    assert "= Keep the baseline No significant difference Keep odd" in text
    assert "better for 10 of 20 users, worse for 10" in text
    assert "even is not significantly different from odd" in text


# ── the leaderboard's choices ────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("films")
def test_differences_are_shown_in_the_metric_or_in_percent(films: dict[str, str], open_page: Open) -> None:
    absolute = said(open_page("leaderboard", b=films["good"], k="5"))
    assert re.search(r"best 1\.00\d* \+0\.369", absolute)  # 1 − 1 / log2(3)
    relative = said(open_page("leaderboard", b=films["good"], k="5", diff="rel"))
    assert re.search(r"best 1\.00\d* \+58 ", relative)  # log2(3) − 1
    assert (
        "Too small to matter: ±1.00 %." in relative
    )  # too narrow on an axis to 58 % for a band that is seen


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("holm", "Holm-corrected: ranks over all pairs, differences over the 2 to the baseline."),
        ("bh", "Benjamini–Hochberg-corrected: ranks over all pairs"),
        ("off", "Not corrected for multiple tests"),
    ],
)
@pytest.mark.usefixtures("films")
def test_the_correction_is_said(open_page: Open, rule: str, told: str) -> None:
    assert told in said(open_page("leaderboard", corr=rule))


def test_only_metrics_that_differ_are_columns(workspace: Workspace, open_page: Open) -> None:
    """At k = 3 one list hits at rank 1, the other at rank 2: nDCG differs, Recall does not."""
    made = workspace.experiments.create("films", TRUTH, depth=3)
    workspace.runs.add(made.id, lists(2), name="second")
    workspace.runs.add(made.id, lists(1), name="first")
    head = said(open_page("leaderboard", cols="differ"))
    head = head[head.index("Finding") :][:150]
    assert "MRR" in head
    assert "Recall" not in head


def test_many_runs_are_shown_in_pages_under_the_baseline(workspace: Workspace, open_page: Open) -> None:
    made = workspace.experiments.create("films", TRUTH, depth=3)
    for number in range(28):
        workspace.runs.add(made.id, lists(1 + number % 3, USERS[: 20 - number % 20]), name=f"run{number:02}")
    first, second = said(open_page("leaderboard")), said(open_page("leaderboard", p="2"))
    tables = [text[text.index("Finding") : text.index("Rank: 1 + the number")] for text in (first, second)]
    names = [set(re.findall(r"run\d\d", table)) for table in tables]
    assert [len(one) for one in names] == [26, 3]  # 25 and 2 of 27, each with the baseline
    assert names[0] & names[1] == {"run00"}
    assert len(names[0] | names[1]) == 28


@pytest.mark.usefixtures("films")
def test_chosen_rows_become_the_candidates(films: dict[str, str], open_page: Open) -> None:
    app = open_page("leaderboard")
    passed(app.multiselect(key="leaderboard-selected").set_value([films["best"]]).run())
    assert link(app)["c"] == films["best"]
    assert app.multiselect(key="frame-candidates").value == [films["best"]]


def test_those_who_share_first_place_are_compared_by_one_click(workspace: Workspace, open_page: Open) -> None:
    made = workspace.experiments.create("films", TRUTH, depth=3)
    other_strangers = lists(1).replace({"x2": "y2", "x3": "y3"})
    ids = {
        name: workspace.runs.add(made.id, table, name=name, accept_unknown_ids=True)[0].run.id
        for name, table in (
            ("poor", lists(9)),
            ("mid", lists(3)),
            ("one", lists(1)),
            ("two", other_strangers),
        )
    }
    app = open_page("leaderboard")
    button = app.button(key="leaderboard-compare")
    assert button.label == "Compare the two leaders by k"
    passed(button.click().run())
    assert link(app)["c"] == f"{ids['one']}~{ids['two']}"


# ── metric vs k ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("films")
def test_curves_say_who_leads_from_which_k(open_page: Open) -> None:
    """best hits at 1, good at 2: alike by Recall from k = 2 on."""
    text = said(open_page("metric_vs_k", m="recall"))
    assert "Recall: best leads at k = 1; good and best share the lead from k = 2" in text
    assert "Leader at each k" in text


@pytest.mark.usefixtures("films")
def test_curves_can_be_differences_to_the_baseline(open_page: Open) -> None:
    text = said(open_page("metric_vs_k", show="delta"))
    assert "Difference in nDCG@k" in text
    assert "Difference to poor (heavy line)" in text


# ── a part of the experiment ─────────────────────────────────────────────────────────────────


@pytest.fixture
def two_kinds(made_once: MadeOnce) -> dict[str, str]:
    """Ids in a store to read."""
    return made_once(add_two_kinds)


def add_two_kinds(workspace: Workspace) -> dict[str, str]:
    """Half of the users are known from train, good hits for the new ones only; half of all have grade 4."""
    train = pd.DataFrame({"user_id": USERS[:10], "item_id": "old"})
    graded = TRUTH.assign(relevance=[1, 4] * 10)
    made = workspace.experiments.create("films", graded, train=train, depth=5)
    tables = {"base": lists(9), "good": pd.concat([lists(9, USERS[:10]), lists(1, USERS[10:])])}
    ids = {
        name: workspace.runs.add(made.id, table, name=name, accept_unknown_ids=True)[0].run.id
        for name, table in tables.items()
    }
    return ids | {"films": made.id}


@pytest.mark.parametrize("page", ["overview", "leaderboard", "metric_vs_k", "precision_recall"])
@pytest.mark.usefixtures("two_kinds")
def test_every_number_follows_the_part_and_says_so(open_page: Open, page: str) -> None:
    app = open_page(page, s="user_warmth=cold", k="1", m="recall")
    text = said(app)
    assert "Only Users new to the service (no train rows)" in text
    expected = {
        "overview": "Recall@1 is 1.00 above base",
        "leaderboard": "Recall@1, 10 users.",
        "metric_vs_k": "Mean over 10 users",
        "precision_recall": "good 1.00 1.00 1.00",
    }
    assert expected[page] in text
    assert link(app)["s"] == "user_warmth=cold"


@pytest.mark.usefixtures("two_kinds")
def test_one_click_leads_back_to_everybody(open_page: Open) -> None:
    app = open_page(s="user_warmth=cold", th="4", k="1", m="recall")
    assert "relevant from 4" in said(app)
    assert "over 5 users" in said(app)
    passed(app.button(key="frame-whole").click().run())
    assert not {"s", "th"} & set(link(app))
    assert "paired over 20 users" in said(app)


def test_a_decision_still_applies_where_a_part_is_shown(workspace: Workspace, open_page: Open) -> None:
    ids = add_two_kinds(workspace)
    workspace.decisions.decide(ids["films"], "ship", run_id=ids["good"], text="It is better.")
    text = said(open_page(s="user_warmth=cold", k="1", m="recall"))
    assert "Already decided for the whole experiment: Ship good (" in text
    assert "View decision" in [button.label for button in open_page(s="user_warmth=cold", k="1").button]


@pytest.mark.usefixtures("with_demo", "workspace")
def test_the_card_of_users_who_lose_says_whether_a_segment_is_worse(open_page: Open) -> None:
    words = "No segment is significantly worse: users lose in [^<]*."
    (way,) = re.findall(f'<a href="([^"]*)">{words}</a>', markup(open_page()))
    assert way.startswith("segments?")


@pytest.fixture
def only_at_one(workspace: Workspace) -> dict[str, str]:
    """*good* finds more at k = 1 alone: by the rules, which count at 3, the baseline stays."""
    ids = store(workspace, {"base": lists(2), "good": lists(1)})
    workspace.rules.change(ids["films"], lambda rules: replace(rules, metric="recall", k=3))
    return ids


@pytest.mark.usefixtures("only_at_one")
def test_a_view_off_the_rules_says_what_they_recommend(open_page: Open) -> None:
    app = open_page(k="1")
    text = said(app)
    assert "Ship good By the rules of this experiment (Recall@3): Keep base ." in text
    assert "It is recommended only at k = 1; not at 3." in text
    assert "nothing speaks against it" not in text
    assert re.search(r"But Only at k = 1; not at 3", text)
    (way,) = re.findall(r'<a href="([^"]*)">Keep base</a>', markup(app))
    assert set(dict(parse_qsl(urlsplit(html.unescape(way)).query))) == {"e"}
    assert "Propose good against the rules" in [button.label for button in app.button]
    assert "By the rules of this experiment" not in said(open_page())


def test_a_decision_by_the_rules_stays_and_the_view_says_what_it_would_give(
    workspace: Workspace, only_at_one: dict[str, str], open_page: Open
) -> None:
    workspace.decisions.decide(only_at_one["films"], "do not ship", run_id=only_at_one["good"], text="No.")
    text = said(open_page(k="1"))
    assert "This view (Recall@1) would give another recommendation: Ship good." in text
    assert "nothing speaks against it" not in text


@pytest.mark.usefixtures("two_kinds")
def test_the_page_says_from_which_relevance_on_an_item_counts(open_page: Open) -> None:
    app = open_page(k="1", m="recall")
    assert "20 users in the test set. Any relevance above 0 counts." in said(app)
    app = open_page(k="1", m="recall", th="4")
    assert "Here relevance of 4 or more counts; by default, any relevance above 0." in said(app)
    assert "counts; by default" not in said(open_page(k="1", m="recall", s="user_warmth=cold"))


def test_the_page_names_the_relevance_threshold_of_the_experiment(
    workspace: Workspace, open_page: Open
) -> None:
    graded = TRUTH.assign(relevance=[1, 4] * 10)
    made = workspace.experiments.create("films", graded, depth=5, relevance_threshold=4)
    for name, table in {"base": lists(9), "good": lists(1)}.items():
        workspace.runs.add(made.id, table, name=name, accept_unknown_ids=True)
    assert "20 users in the test set, 10 with an item of relevance 4 or more." in said(open_page(k="1"))
    other = said(open_page(k="1", th="1"))
    assert "Here relevance of 1 or more counts; by default, relevance of 4 or more." in other
    assert "Only relevance of 4 or more" in other
    assert "10 with an item of relevance 4 or more." in said(open_page(k="1", th="4")), "the whole again"


def test_of_equal_candidates_it_says_who_recommends_the_same(workspace: Workspace, open_page: Open) -> None:
    """*alike* differs from *base* only beyond k; *other* has the item at the same rank, among other items."""
    tables = {"base": lists(2), "alike": lists(2).replace("x3", "y3"), "other": lists(2).replace("x1", "y1")}
    store(workspace, tables)
    text = said(open_page(k="2"))
    assert "alike recommends these users the same 2 items as base." in text
    alone = said(open_page(k="2", c=link(open_page())["c"].split(state.SEPARATOR)[0]))
    assert "equal for every user n = 20: the same 2 items as base for these users" in alone
    assert "Users who gain and lose ? 0 gain, 0 lose = equal for every user n = 20" in alone


def test_the_tiles_lead_to_where_other_users_and_guardrails_are_chosen(
    workspace: Workspace, open_page: Open
) -> None:
    store(workspace, {"base": lists(2), "good": lists(1, USERS[:15])})
    text = markup(open_page(k="3"))
    (way,) = re.findall(r'<a href="([^"]*)"[^>]*>Only users with a list</a>', text)
    assert dict(parse_qsl(urlsplit(html.unescape(way)).query))["m"] == "ndcg(users=both)"


@pytest.mark.usefixtures("two_kinds")
def test_the_part_is_chosen_in_the_frame(open_page: Open) -> None:
    app = open_page()
    passed(app.selectbox(key="frame-slice").set_value("user_warmth=warm").run())
    passed(app.selectbox(key="frame-threshold").set_value("4").run())
    assert (link(app)["s"], link(app)["th"]) == ("user_warmth=warm", "4")
    assert "n = 5" in said(app)


@pytest.mark.usefixtures("two_kinds")
def test_a_part_that_is_not_there_is_named(open_page: Open) -> None:
    app = open_page(s="user_warmth=tepid", th="9")
    assert 'Segment "user_warmth=tepid" isn\'t available here' in warned(app)
    assert 'Relevance threshold "9" isn\'t available here' in warned(app)


@pytest.mark.usefixtures("two_kinds")
def test_a_page_that_does_not_follow_the_part_says_so(open_page: Open) -> None:
    app = open_page("offline_online", s="user_warmth=cold")
    assert "This page always shows all users and items." in [one.value for one in app.caption]
    assert link(app)["s"] == "user_warmth=cold"


def test_a_step_in_the_browsers_history_replaces_every_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", {"recdash.params": {"e": "films", "k": "5", "u": "u1"}})
    state.return_to("?e=films&k=20&c=")
    assert state.params() == {"e": "films", "k": "20", "c": ""}


def test_pairs_in_both_train_and_test_set_are_noted_with_the_recommendation(
    workspace: Workspace, open_page: Open
) -> None:
    store(workspace, {"third": lists(3), "first": lists(1)}, train=TRUTH)
    text = said(open_page("overview", k="5"))
    assert "(user, item) pairs are in both training data and test set" in text
