"""The page Metric library: metrics for all A/B tests are listed, added, changed and deleted."""

from __future__ import annotations

from functools import partial

import pytest
from app_pages import Open, at_once, passed, press, said
from streamlit.testing.v1 import AppTest

from recdash.domain.access import Person
from recdash.online import OnlineMetric
from recdash.service import Workspace
from recdash.ui.app import current_user
from recdash.ui.metric_library.page import described, kind_of

open_page = at_once
PRICE = OnlineMetric("price", "Price", "", "", "revenue", "orders", low=None)
RETURNED = OnlineMetric("back", "Back", "", "", "retention", retention_day=7, role="other")
SLOW = OnlineMetric(
    "slow", "Slow", "", "", "load_ms", quantile=0.95, direction="down", role="guardrail", margin=0.05
)


@pytest.fixture
def shown(open_page: Open) -> Open:
    return partial(open_page, "metric_library")


def field(app: AppTest, label: str) -> object:
    boxes = [*app.text_input, *app.number_input, *app.selectbox]
    return next(box for box in boxes if box.label == label)


def test_an_empty_library_says_what_it_is_for(shown: Open) -> None:
    assert "The metric library is empty" in said(shown())


def test_metrics_are_listed_with_their_formulas(workspace: Workspace, shown: Open) -> None:
    for metric in (PRICE, RETURNED, SLOW):
        workspace.metric_library.add(metric)
    text = said(shown())
    assert "3 metrics for all A/B tests" in text
    assert "price revenue / orders Goal higher" in text
    assert "back share of users back on day 7 For information higher" in text
    assert "slow 95 % quantile of load_ms Guardrail, margin 5 % lower" in text


def test_a_metric_is_added_changed_and_deleted_and_comes_back(workspace: Workspace, shown: Open) -> None:
    app = shown()
    field(app, "Name").set_value("Order value")
    field(app, "Column").set_value("revenue")
    field(app, "Cap per user").set_value(500.0)
    press(app, "Save metric")
    (added,) = workspace.metric_library.all()
    assert (added.name, added.title, added.numerator, added.cap) == (
        "order_value",
        "Order value",
        "revenue",
        500,
    )

    passed(field(app, "Metric").set_value("order_value").run())
    field(app, "Cap per user").set_value(250.0)
    field(app, "Role").set_value("guardrail")
    press(app, "Save metric")
    (changed,) = workspace.metric_library.all()
    assert (changed.cap, changed.role, changed.margin) == (250, "guardrail", 0.02)

    press(app, "Delete metric")
    assert workspace.metric_library.all() == ()
    press(app, "Undo")
    assert workspace.metric_library.all() == (changed,)
    lines = [(line.action, line.target) for line in workspace.audit.events()]
    assert lines[:2] == [("define metric", "order_value"), ("remove metric", "order_value")]


@pytest.mark.parametrize("metric", [PRICE, RETURNED, SLOW], ids=lambda metric: metric.name)
def test_saving_what_is_shown_changes_nothing(
    workspace: Workspace, shown: Open, metric: OnlineMetric
) -> None:
    workspace.metric_library.add(metric)
    app = passed(field(shown(), "Metric").set_value(metric.name).run())
    press(app, "Save metric")
    assert workspace.metric_library.all() == (metric,)


def test_a_metric_without_a_column_is_refused_with_what_to_do(workspace: Workspace, shown: Open) -> None:
    app = shown()
    field(app, "Name").set_value("Nothing")
    press(app, "Save metric")
    assert any("no column" in str(error.value) for error in app.error)
    assert workspace.metric_library.all() == ()


def test_the_kind_decides_what_a_metric_has() -> None:
    facts = {"title": "Load time", "numerator": "load_ms", "percent": 90.0}
    facts |= {"direction": "down", "role": "goal", "margin": 2.0}
    metric = described(None, "quantile", facts)
    assert (metric.name, metric.quantile, metric.margin) == ("load_time", 0.9, None)
    assert kind_of(metric) == "quantile"


def test_viewers_do_not_see_it(workspace: Workspace, shown: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.metric_library.add(PRICE)
    monkeypatch.setattr(current_user, "person", lambda: Person("eve", "viewer"))
    assert "revenue / orders" not in said(shown())
