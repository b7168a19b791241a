"""The page Decision rules: tried on the page, saved, undone, and read-only for viewers."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from app_pages import TRUTH, USERS, Open, lists, passed, press, said, store
from streamlit.testing.v1 import AppTest

from recdash.comparison.guardrails import GuardrailResult
from recdash.comparison.rules import PRESETS, USUAL
from recdash.domain.access import Person
from recdash.service import Workspace
from recdash.ui.app import current_user
from recdash.ui.settings import page

CATALOGUE = pd.DataFrame({"item_id": [*TRUTH["item_id"], "x1", "x2", "x3"]})
WITH_COVERAGE = PRESETS["usual"] | {"coverage": 0.35}


def number(app: AppTest, words: str) -> object:
    return next(box for box in app.number_input if words in box.label)


def test_rules_are_tried_saved_and_undone(workspace: Workspace, open_page: Open) -> None:
    ids = store(workspace, {"als": lists(1), "popular": lists(2)}, catalogue=CATALOGUE)
    app = open_page("settings")
    (verdict,) = [workspace.overview.verdict(ids["films"]).verdict]
    assert verdict is not None
    assert f"With these rules: {verdict.headline}" in said(app)
    assert "nDCG@5 against popular." in said(app)
    assert any("popular is suggested" in str(line.value) for line in app.caption)
    next(box for box in app.text_input if box.label == "Margin").set_value("3%")
    passed(number(app, "Catalogue coverage").set_value(35.0).run())  # type: ignore[attr-defined]
    assert "Not saved yet." in said(app)
    assert workspace.rules.of(ids["films"]) == USUAL
    press(app, "Save rules")
    assert workspace.rules.of(ids["films"]) == replace(USUAL, margin="3%", guardrails=WITH_COVERAGE)
    assert workspace.experiments.get(ids["films"]).baseline == ids["popular"]
    assert "Not saved yet." not in said(app)
    press(app, "Undo")
    assert workspace.rules.of(ids["films"]) == USUAL
    assert workspace.experiments.get(ids["films"]).baseline is None


def test_a_wrong_margin_says_so_and_stores_nothing(workspace: Workspace, open_page: Open) -> None:
    ids = store(workspace, {"als": lists(1), "popular": lists(2)})
    app = open_page("settings")
    passed(next(box for box in app.text_input if box.label == "Margin").set_value("much").run())
    assert "No recommendation by these rules: 'much'" in said(app)
    press(app, "Save rules")
    assert ["much" in str(error.value) for error in app.error] == [True]
    assert workspace.rules.of(ids["films"]) == USUAL


def test_two_people_are_asked_for_on_the_page(workspace: Workspace, open_page: Open) -> None:
    ids = store(workspace, {"als": lists(1), "popular": lists(2)})
    app = open_page("settings")
    (box,) = app.checkbox
    assert box.value is False
    passed(box.check().run())
    press(app, "Save rules")
    assert workspace.rules.of(ids["films"]) == replace(USUAL, two_people=True)
    assert [box.value for box in app.checkbox] == [True]


def test_viewers_read_the_rules(
    workspace: Workspace, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(workspace, {"als": lists(1), "popular": lists(2)})
    monkeypatch.setattr(current_user, "reader", lambda: Person("bob", "viewer"))
    app = open_page("settings")
    assert "Save rules" not in [button.label for button in app.button]
    assert not [*app.number_input, *app.text_input, *app.checkbox]
    text = said(app)
    assert "Margin 1 %" in text
    assert "Owner" not in text
    assert "Catalogue coverage may fall by 20 %" in text
    assert [info.value for info in app.info] == ["Only editors can change these rules."]
    assert "add the same files" not in said(app)
    assert "With these rules: Ship als" in text


def test_viewers_read_why_a_broken_guardrail_does_not_stop_a_launch() -> None:
    broken = page.Today("Ship als", "nDCG@5", {"coverage": "als: −30.0 %, exceeds its guardrail"})
    assert page._why_the_same(broken) == (
        "A broken guardrail counts as a risk, which a won A/B test outweighs."
    )
    assert not page._why_the_same(replace(broken, findings={"coverage": "als: −1 %, within its guardrail"}))


@pytest.mark.parametrize("name", ["review", "reports"])
def test_choices_that_change_nothing_for_viewers_are_absent(
    workspace: Workspace, open_page: Open, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    store(workspace, {"als": lists(1), "popular": lists(2)})
    assert "frame-metric" in [box.key for box in open_page(name).selectbox]
    monkeypatch.setattr(current_user, "reader", lambda: Person("bob", "viewer"))
    assert "frame-metric" not in [box.key for box in open_page(name).selectbox]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.11, "ALS: ×11.0, within its guardrail"),
        (0.009, "ALS: −10.0 %, within its guardrail"),
        (0.007, "ALS: −30.0 %, exceeds its guardrail"),
    ],
)
def test_a_finding_is_a_change_and_a_word(value: float, text: str) -> None:
    assert page._finding("ALS", GuardrailResult("coverage", value, 0.01, 0.2)) == text


def test_with_one_run_guardrails_wait_for_a_second(workspace: Workspace, open_page: Open) -> None:
    store(workspace, {"als": lists(1)}, catalogue=CATALOGUE)
    text = said(open_page("settings"))
    assert text.count("They are checked once there is a second run") == 1
    assert "not measured for these runs" not in text


def test_each_preset_says_what_it_recommends(workspace: Workspace, open_page: Open) -> None:
    """als shows 18 items of the catalogue and popular 22: 18 % less, between strict and usual."""
    als = lists(1, USERS[:18])
    runs = {"als": als[als["rank"] == 1], "popular": lists(2)}
    store(workspace, runs, catalogue=CATALOGUE)
    app = open_page("settings")
    (line,) = [str(line.value) for line in app.caption if "Strict:" in str(line.value)]
    assert "Usual: Ship als." in line
    assert "Strict: Ship als." not in line
    assert "als: −18.2 %, within its guardrail" in said(app)
