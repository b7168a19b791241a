"""Home: one, three or two hundred experiments in one list, searched and ordered, one row each."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from app_pages import TRUTH, Open, link, lists, markup, passed, press, said, store

from recdash.comparison.rules import DecisionRules
from recdash.domain.records import Experiment
from recdash.service import Workspace
from recdash.service.catalog.experiments import Experiments
from recdash.service.catalog.history import HistoryEvent
from recdash.service.catalog.overview import Card, CardVerdict, ExperimentCards, TestStatus, Today
from recdash.ui.experiments import rows
from recdash.ui.experiments.page import Listed, finding, subtitle

NOON = datetime(2026, 10, 9, 12, tzinfo=UTC)


def a_card(number: int, **more: object) -> Card:
    settings = {"truth_users": 20, "depth": 5}
    made = Experiment(f"e{number}", f"experiment {number}", NOON, truth="", settings=settings, **more)  # type: ignore[arg-type]
    event = HistoryEvent(NOON + timedelta(minutes=number), "created the experiment", "ann")
    return Card(made, (), (), (), (event,))


def two_hundred(monkeypatch: pytest.MonkeyPatch) -> None:
    several = [a_card(number) for number in range(1, 201)]
    monkeypatch.setattr(Experiments, "all", lambda *_, **__: [card.experiment for card in several])
    monkeypatch.setattr(
        ExperimentCards,
        "cards",
        lambda _, search="", **__: [card for card in several if card.mentions(search)],
    )
    unknown = CardVerdict(None, None, "No run yet")
    monkeypatch.setattr(ExperimentCards, "verdict", lambda *_: unknown)


# ── what it shows ────────────────────────────────────────────────────────────────────────────


def test_a_cell_without_a_decision_or_a_test_says_so() -> None:
    text = rows.row_html(a_card(1), Today(CardVerdict(None, None, "No run yet"), None, ()), NOON)
    assert text.count("none yet") == 2


def test_each_row_holds_recommendation_decision_and_last_change(
    workspace: Workspace, open_page: Open
) -> None:
    ids = store(workspace, {"poor": lists(9), "good": lists(2), "best": lists(1)})
    workspace.rules.set(ids["films"], DecisionRules(owner="Search team"))
    workspace.experiments.set_note(ids["films"], "split of September")
    workspace.decisions.decide(ids["films"], "needs A/B", run_id=ids["best"], text="Four weeks.")
    workspace.experiments.create("<b>songs</b>", TRUTH, depth=3)
    app = open_page("experiments")
    text = said(app)
    assert "2 experiments, 1 decided" in text
    assert "films Owner: Search team · 3 runs · 20 users in the test set split of September" in text
    assert "▲ Ship best nDCG@5 vs poor" in text
    assert "best needs an A/B test" in text
    assert "Evidence today: unchanged; decided although the recommendation is “Ship best”." in text
    assert "<b>songs</b> Recommendation No run yet" in text
    assert f'href="./?e={ids["films"]}"' in markup(app)
    assert "<b>songs" not in markup(app)


def test_a_row_says_what_the_newest_ab_tests_say_to_do() -> None:
    tests = (
        TestStatus("t3", "home <row>", "Ship als; roll back ease", "ship"),
        TestStatus("t2", "search", "Keep running, about 12 days", "keep running"),
        TestStatus("t1", "mail", "No significant lift", "inconclusive"),
    )
    row = rows.row_html(a_card(1), Today(CardVerdict(None, None, "No run yet"), None, tests), NOON)
    assert "Ship als; roll back ease" in row
    assert "home &lt;row&gt;" in row
    assert "Keep running, about 12 days" in row
    assert "No significant lift" not in row
    assert "and 1 older test" in row


def test_a_test_that_gives_the_recommendation_is_not_named_twice() -> None:
    tests = (TestStatus("t1", "home page", "Ship als", "ship"),)
    row = rows.row_html(a_card(1), Today(CardVerdict(None, None, "Ship als"), None, tests), NOON)
    assert row.count("Ship als") == 1


def test_a_row_counts_the_changes_of_seven_days() -> None:
    history = [
        HistoryEvent(NOON - timedelta(days=days), f"change {days}", "ann") for days in (1, 3, 7, 8, 30)
    ]
    row = rows.row_html(replace(a_card(1), history=tuple(history)), None, NOON)
    assert "8 Oct 2026<p>ann change 1, and 2 more changes this week</p>" in row
    old = rows.row_html(replace(a_card(1), history=tuple(history[3:])), None, NOON)
    assert "<p>ann change 8</p>" in old


def test_the_name_leads_to_the_overview(workspace: Workspace, open_page: Open) -> None:
    older = store(workspace, {"poor": lists(9), "best": lists(1)})["films"]
    workspace.experiments.create("songs", TRUTH, depth=3)
    assert "Ship best" in said(open_page(e=older))


def test_search_finds_names_runs_tags_and_notes_and_stays_in_the_link(
    workspace: Workspace, open_page: Open
) -> None:
    store(workspace, {"als": lists(1)})
    workspace.experiments.create("songs", TRUTH, depth=3)
    app = open_page("experiments", find="ALS")
    assert "1 experiment of 2 holds “ALS”" in said(app)
    assert "songs" not in said(app)
    assert link(app)["find"] == "ALS"
    app.text_input(key="experiments-search").set_value("nothing like it").run()
    assert "No experiment of 2 hold “nothing like it”" in said(app)
    assert "Try fewer of them" in app.info[0].value


def test_archived_experiments_are_shown_on_demand(workspace: Workspace, open_page: Open) -> None:
    workspace.experiments.create("songs", TRUTH, depth=3)
    gone = workspace.experiments.create("books", TRUTH, depth=2)
    workspace.experiments.archive(gone.id)
    app = open_page("experiments")
    assert "1 archived experiment not shown" in said(app)
    assert "books" not in said(app)
    shown = open_page("experiments", old="show")
    assert "books Archived" in said(shown)
    assert gone.id not in markup(shown)
    assert "Show archived" in open_page("experiments", find="books").info[0].value


@pytest.mark.usefixtures("workspace")
def test_without_an_experiment_the_first_steps_are_shown(open_page: Open) -> None:
    assert "Load the demo" in said(open_page("experiments"))


# ── many ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("workspace")
def test_two_hundred_are_turned_over_page_by_page(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    two_hundred(monkeypatch)
    app = open_page("experiments")
    assert "200 experiments" in said(app)
    assert "1 to 50 of 200" in [element.value for element in app.caption]
    assert "experiment 200" in said(app)
    assert "experiment 150" not in said(app)
    press(app, "Next →")
    assert "51 to 100 of 200" in [element.value for element in app.caption]
    assert link(app)["at"] == "2"


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    ("at", "shown"), [("4", "151 to 200 of 200"), ("17", "151 to 200 of 200"), ("x", "1 to 50 of 200")]
)
def test_a_page_beyond_the_last_is_the_last(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, at: str, shown: str
) -> None:
    two_hundred(monkeypatch)
    assert shown in [element.value for element in open_page("experiments", at=at).caption]


# ── in words ─────────────────────────────────────────────────────────────────────────────────


def test_the_title_counts_and_the_line_under_it_tells_the_last_change() -> None:
    listed = Listed([a_card(1), a_card(2)], 2, 1, "")
    assert finding(listed) == "2 experiments, none decided yet"
    assert subtitle(listed) == (
        "Last change: experiment 2, ann created the experiment, 9 Oct 2026 (days in UTC). 1 archived "
        "experiment not shown."
    )
    assert finding(replace(listed, cards=[], n=2, words="als")) == "No experiment of 2 hold “als”"


def test_a_row_says_what_is_still_worked_out() -> None:
    known = {"e1": Today(CardVerdict(None, None, "No run yet"), None, ())}
    text = rows.list_html([a_card(1), a_card(2)], known, NOON)
    assert text.count("working it out …") == 1
    assert "No run yet" in text


def test_the_demo_is_marked() -> None:
    assert ">Demo</span>" in rows.row_html(a_card(1, demo=True), None, NOON)
    assert ">Demo</span>" not in rows.row_html(a_card(1), None, NOON)


def test_passing_a_link_again_changes_nothing(workspace: Workspace, open_page: Open) -> None:
    workspace.experiments.create("songs", TRUTH, depth=3)
    app = open_page("experiments", sort="name")
    before = link(app)
    assert link(passed(app.run())) == before
