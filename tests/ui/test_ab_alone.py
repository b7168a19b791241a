"""An experiment with A/B tests and without a test set: what its pages say, and where they lead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from app_pages import Open, at_once, link, markup, opened, press, said, turn_to
from shop_tests import USERS, orders_of, shop_test
from streamlit.testing.v1 import AppTest

from recdash.domain.access import Person
from recdash.domain.records import OnlineTest
from recdash.online import OnlineRules
from recdash.online.plan import AnalysisPlan
from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.ui.app import current_user
from recdash.ui.components import lift_words

open_page = at_once
OPEN = "the guardrail sessions per user is inconclusive"


@pytest.fixture
def shop(workspace: Workspace) -> OnlineTest:
    """1.2 orders against 0.8, on two devices."""
    return shop_test(workspace, devices=["web", "web", "ios", "ios"] * (USERS // 4))


@pytest.mark.usefixtures("shop")
def test_the_decision_says_what_is_unknown(open_page: Open) -> None:
    text = said(open_page())
    assert "▲ Ship: new . Wins orders." in text
    assert "The dates are unknown, and so are full weeks and whether the lift lasts." in text


def test_the_address_names_the_experiment_so_that_a_newer_one_does_not_replace_it(
    workspace: Workspace, shop: OnlineTest, open_page: Open
) -> None:
    params = link(open_page("ab_results"))
    assert params["e"] == shop.experiment
    workspace.experiments.create("newer")
    assert "Ship new" in said(open_page("ab_results", **params))


def test_the_decision_without_a_test_says_what_is_planned(workspace: Workspace, open_page: Open) -> None:
    shop = workspace.experiments.create("Shop")
    assert "No test set yet" in said(open_page(e=shop.id))
    workspace.plans.add(shop.id, AnalysisPlan("orders", users=400, days=14, test="April"))
    app = open_page(e=shop.id)
    assert "The A/B test April is planned: primary metric orders, 400 users, 14 days" in said(app)
    assert "Planned A/B tests" in said(press(app, "View plan"))


@pytest.mark.usefixtures("shop")
def test_settings_say_that_the_test_decides_and_by_what(open_page: Open) -> None:
    text = said(open_page("settings"))
    assert f"The A/B test decides Its recommendation: Ship new, but {OPEN}." in text
    assert "Goals Orders Guardrails Sessions per user, margin 2 % Planned sample size none" in text
    assert "No candidate" not in text


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("page", "shows"),
    [
        ("leaderboard", "ranks the candidates"),
        ("segments", "Lifts of the A/B test by device are under Online: Results."),
        ("why", "twelve checks"),
    ],
)
def test_a_tab_without_a_test_set_says_what_it_shows_and_leads_to_the_results(
    open_page: Open, page: str, shows: str
) -> None:
    app = open_page(page)
    assert "needs a test set" in said(app)
    assert shows in said(app)
    press(app, "View A/B results")
    assert f"Ship new, but {OPEN} checkout" in said(app)


def test_a_report_of_the_test_is_made(workspace: Workspace, shop: OnlineTest, open_page: Open) -> None:
    app = open_page("reports", e=shop.experiment)
    assert any("test checkout" in caption.value for caption in app.caption)
    press(app, "Make report")
    (report,) = Reports(workspace).all(shop.experiment)
    assert report.blocks == ("defined", "online", "caveats", "reproducing")
    assert Reports(workspace).headline(report) == f"Ship new, but {OPEN}"
    assert "1 report" in said(open_page("reports", e=shop.experiment))


def test_the_split_is_not_called_planned_without_a_plan(open_page: Open, shop: OnlineTest) -> None:
    text = said(open_page(e=shop.experiment))
    assert "split even, no planned split is given" in text
    assert "But a drop of 2 % in sessions per user (95 % CI" in text
    assert "Sessions per user (guardrail, margin 2 %)" in text


@pytest.mark.parametrize("page", ["overview", "ab-results", "leaderboard", "reports"])
def test_every_tab_has_a_link_to_copy_and_to_share(shop: OnlineTest, open_page: Open, page: str) -> None:
    app = open_page(page, e=shop.experiment)
    assert "Copy link" in markup(app)
    assert any(f"e={shop.experiment}" in code.value for code in app.code)


def test_a_planned_size_is_among_the_rules(workspace: Workspace, shop: OnlineTest, open_page: Open) -> None:
    workspace.online_tests.set_rules(shop.id, OnlineRules(planned_users=USERS))
    assert "Planned sample size 800 users" in said(open_page("settings"))


def test_the_review_names_no_offline_metric(shop: OnlineTest, open_page: Open) -> None:
    app = open_page("review", e=shop.experiment)
    assert "nDCG" not in said(app)
    assert "By checkout: Ship new" in said(app)
    assert "Candidate" not in [box.label for box in app.selectbox]
    assert [tab.label for tab in app.tabs][4:] == ["Propose for a review", "Decide without a review"]


def test_without_a_variant_the_review_says_what_a_decision_needs(
    workspace: Workspace, open_page: Open
) -> None:
    app = open_page("review", e=workspace.experiments.create("Empty").id)
    assert any("A decision is about a run or a variant" in caption.value for caption in app.caption)


def test_a_variant_is_decided_on_and_the_decision_stands_on_top(
    workspace: Workspace, shop: OnlineTest, open_page: Open
) -> None:
    app = open_page("review", e=shop.experiment)
    (outcome,) = app.radio
    assert outcome.value == "ship"
    next(area for area in app.text_area if area.label == "Why?").set_value("More orders.")
    for box in app.text_input:
        if box.label == "Your name":
            box.set_value("Ann")
    press(app, "Decide")
    (made,) = workspace.journal.decisions(shop.experiment)
    assert (made.headline, made.text) == ("Ship new", "More orders.")
    text = said(open_page(e=shop.experiment))
    assert "Ship new Decided by" in text
    assert f"Today's results of checkout: Ship new, but {OPEN}." in text
    assert "Ship new" in said(open_page("experiments"))


@pytest.mark.usefixtures("shop")
def test_the_decision_page_leads_to_the_form(open_page: Open) -> None:
    app = open_page()
    press(app, "Record a decision")
    assert "A decision keeps the results of the A/B test as they stand now." in said(app)


def test_home_names_the_last_deed(workspace: Workspace, shop: OnlineTest) -> None:
    card = next(card for card in workspace.overview.cards() if card.experiment.id == shop.experiment)
    assert card.last_change.what == "added the A/B test checkout"


def small(workspace: Workspace) -> OnlineTest:
    """1.02 orders against 0.85: significant in one look, not under continuous monitoring."""
    return shop_test(workspace, "small", (0.85, 1.02), seed=5, has_sessions=False)


def test_the_plan_is_asked_for_on_the_decision(workspace: Workspace, open_page: Open) -> None:
    test = small(workspace)
    app = open_page(e=test.experiment)
    assert "Ship new if this size was planned" in said(app)
    press(app, "Yes")
    assert workspace.online_tests.rules(test.id).planned_users == USERS


def three_variants(workspace: Workspace) -> OnlineTest:
    """One goal, orders, in which two variants differ from the control: Holm corrects over both."""
    rng = np.random.default_rng(3)
    kind = np.arange(USERS) % 3
    table = pd.DataFrame(
        {
            "customer": [f"c{n}" for n in range(USERS)],
            "variant": np.array(["control", "new", "old"])[kind],
            "orders": rng.poisson(np.array([0.8, 1.2, 0.9])[kind]),
        }
    )
    experiment = workspace.experiments.create("Three")
    return workspace.online_tests.add(experiment.id, "three", {"sessions": table})


def test_the_decision_and_the_results_show_the_same_interval(workspace: Workspace, open_page: Open) -> None:
    test = three_variants(workspace)
    row = next(row for row in workspace.online_tests.results(test.id).rows if row.variant == "new")
    assert row.corrected_low != row.lift_low, "the interval that judges is the corrected one"
    wanted = lift_words.estimate(row.lift, row.corrected_low, row.corrected_high)
    for page in ("overview", "ab-results"):
        text = said(open_page(page, e=test.experiment))
        assert all(part in text for part in wanted), page
    assert f"95 % CI {wanted[1]}, Holm" in said(open_page(e=test.experiment))


@pytest.mark.usefixtures("shop")
def test_one_lift_alone_is_not_called_corrected(open_page: Open) -> None:
    assert "Holm" not in said(open_page())


def test_the_owner_and_two_people_are_stored(workspace: Workspace, shop: OnlineTest, open_page: Open) -> None:
    app = open_page("settings", e=shop.experiment)
    next(box for box in app.checkbox if box.label.startswith("Two people")).check()
    next(box for box in app.text_input if box.label == "Owner").set_value("Ann").run()
    press(app, "Save rules")
    rules = workspace.rules.of(shop.experiment)
    assert (rules.owner, rules.two_people) == ("Ann", True)
    app = open_page("settings", e=shop.experiment)
    assert next(box for box in app.text_input if box.label == "Owner").value == "Ann"


def test_two_people_can_be_turned_off(workspace: Workspace, shop: OnlineTest, open_page: Open) -> None:
    workspace.rules.change(shop.experiment, lambda rules: replace(rules, two_people=True))
    app = open_page("settings", e=shop.experiment)
    next(box for box in app.checkbox if box.label.startswith("Two people")).uncheck().run()
    press(app, "Save rules")
    assert not workspace.rules.of(shop.experiment).two_people


def test_a_variant_is_proposed_and_its_review_leads_to_the_evidence(
    workspace: Workspace, shop: OnlineTest, open_page: Open
) -> None:
    app = open_page("review", e=shop.experiment)
    press(app, "Propose")
    (review,) = workspace.journal.reviews(shop.experiment)
    assert (review.about, review.state) == ("new", "proposed")
    app = open_page("review", e=shop.experiment)
    assert "Next: Attach the results of checkout." in said(app)
    assert "Offline evidence" not in said(app)
    press(app, "Attach A/B test")
    text = said(open_page("review", e=shop.experiment))
    assert "Lift over the control" in text
    assert "No size was planned" in text
    assert "new is under review" in text


def test_a_decision_on_a_variant_is_replaced_by_an_outcome_that_it_can_have(
    workspace: Workspace, shop: OnlineTest, open_page: Open
) -> None:
    workspace.decisions.decide(shop.experiment, "ship", variant="new", text="More orders.")
    workspace.online_tests.delete(shop.id, "checkout")
    app = open_page("review", e=shop.experiment)
    assert "Propose or decide again" in [box.label for box in app.expander]
    (outcome,) = app.radio
    assert "Needs A/B" not in outcome.options
    outcome.set_value("do not ship")
    next(area for area in app.text_area if area.label == "What changed?").set_value("The test is gone.")
    press(app, "Replace decision")
    assert workspace.journal.last_decision(shop.experiment).headline == "Don't ship new"


def test_the_answer_no_says_what_to_do(workspace: Workspace, open_page: Open) -> None:
    app = open_page(e=small(workspace).experiment)
    press(app, "No")
    (said_no,) = [caption.value for caption in app.caption if "planned" in caption.value.casefold()]
    assert "not enough to ship" in said_no


@pytest.mark.parametrize("page", ["overview", "review", "settings", "reports", "experiments", "ab-results"])
def test_a_decision_outlives_its_test(
    workspace: Workspace, shop: OnlineTest, open_page: Open, page: str
) -> None:
    decision = workspace.decisions.decide(shop.experiment, "ship", variant="new", text="More orders.")
    workspace.online_tests.delete(shop.id, "checkout")
    app = open_page(page, e=shop.experiment)
    text = said(app)
    if page in ("overview", "review", "experiments"):
        assert "Ship new" in text
    if page == "review":
        assert "More orders." in text
        assert "deleted" in said(opened(app, f"numbers-{decision.id}"))


def test_page_and_form_begin_with_the_variant_to_ship(workspace: Workspace, open_page: Open) -> None:
    table = orders_of({"control": 1.0, "a_bad": 0.6, "b_good": 1.5})
    experiment = workspace.experiments.create("Three")
    workspace.online_tests.add(experiment.id, "three", {"sessions": table})
    text = said(open_page(e=experiment.id))
    assert "Ship b_good; roll back a_bad" in text
    assert "b_good against control · 1,200 users in 3 variants" in text
    app = open_page("review", e=experiment.id)
    (outcome,) = app.radio
    variants = [box.value for box in app.selectbox if box.label == "Variant"]
    assert (outcome.value, variants) == ("ship", ["0~b_good", "0~b_good"])  # to propose, to decide


def test_where_two_people_decide_no_variant_is_chosen_to_ship(
    workspace: Workspace, shop: OnlineTest, open_page: Open
) -> None:
    workspace.rules.change(shop.experiment, lambda rules: replace(rules, two_people=True))
    (outcome,) = open_page("review", e=shop.experiment).radio
    assert outcome.value is None


def test_the_decision_names_its_test_among_several(
    workspace: Workspace, shop: OnlineTest, open_page: Open
) -> None:
    workspace.decisions.decide(shop.experiment, "ship", variant="new", text="More orders.")
    tables = {"sessions": orders_of({"control": 1.0, "z": 1.6})}
    workspace.online_tests.add(shop.experiment, "second", tables)
    text = said(open_page(e=shop.experiment))
    assert "by the A/B test checkout. Today's results of second" in text


def test_the_direction_of_proposed_metrics_is_shown_and_changed_on_top(
    open_page: Open, shop: OnlineTest, workspace: Workspace
) -> None:
    app = open_page("ab-results")
    assert "Higher is better: orders" in said(app)
    app.multiselect(key=f"ab-lower-{shop.id}").set_value(["orders"])
    text = said(press(app, "Save directions"))
    assert "Lower is better: orders." in text
    assert "Roll back new" in text
    assert {
        metric.direction
        for metric in workspace.online_analysis.own_metrics(shop.id)
        if metric.name == "orders"
    } == {"down"}


def test_the_form_of_metrics_that_settings_opened_is_closed_once_the_person_left_the_page(
    shop: OnlineTest, open_page: Open
) -> None:
    def is_open(app: AppTest) -> bool:
        (form,) = (box for box in app.expander if box.label.startswith("Metrics: add one"))
        return bool(form.proto.expanded)

    app = press(open_page("settings", e=shop.experiment), "Change under A/B results")
    assert is_open(app)
    app = turn_to(app, "ab_results")
    assert is_open(app)
    turn_to(app, "overview")
    app = turn_to(app, "ab_results")
    assert not is_open(app)


def test_viewers_read_the_rules_of_a_test_without_a_button_that_changes_them(
    shop: OnlineTest, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_user, "reader", lambda: Person("bob", "viewer"))
    app = open_page("settings", e=shop.experiment)
    assert [info.value for info in app.info] == ["Only editors can change these rules."]
    assert "Change under A/B results" not in [button.label for button in app.button]
