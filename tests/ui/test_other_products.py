"""A shop's and a news site's tests through the app: from files to results, agreement, reason and report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from app_pages import drop, finish, forget, passed, press, said, shell, turn_to
from other_products import (
    CONTROL,
    NEW,
    csv,
    customers,
    lists,
    shop_exposures,
    shop_orders,
    truth,
    visits,
    words_of_videos,
)
from streamlit.testing.v1 import AppTest

from recdash.ingest import open_upload, reader
from recdash.online import OnlineMetric
from recdash.report.reports import Reports
from recdash.ui.app import state

PAGES = (
    "ab_results",
    "offline_online",
    "why",
    "overview",
    "review",
    "segments",
    "settings",
    "runs",
    "experiments",
)
TEXTS = ("title", "header", "subheader", "markdown", "caption", "error", "success", "info", "warning", "text")
WIDGETS = (
    "button",
    "selectbox",
    "number_input",
    "text_input",
    "multiselect",
    "checkbox",
    "radio",
    "expander",
)


@pytest.fixture(autouse=True)
def _files_are_read_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_upload, "_reader", lambda *_: reader)


@pytest.fixture
def app(tmp_path: Path, store_in: Callable[[Path], None]) -> Iterator[AppTest]:
    """The page Add data over a store with a shop's test set and two runs."""
    store_in(tmp_path)
    forget()
    workspace = state.workspace()
    shop = workspace.experiments.create("shop", truth(), depth=5)
    for run in (CONTROL, NEW):
        workspace.runs.add(shop.id, lists(run), name=run)
    yield turn_to(shell({}).run(), "upload")
    forget()


def everything(app: AppTest) -> str:
    """All texts of a page, with the labels, hints and options of its widgets."""
    texts = [said(app)]
    texts += [str(element.value) for kind in TEXTS for element in app.get(kind)]
    for kind in WIDGETS:
        for element in app.get(kind):
            texts += [str(getattr(element, name, "")) for name in ("label", "help", "options", "placeholder")]
    return re.sub(r"\s+", " ", " ".join(texts))


def box(app: AppTest, label: str) -> Any:
    return next(element for element in app.selectbox if element.label.replace("\\", "") == label)


def analysed(app: AppTest, primary: str, **files: bytes) -> AppTest:
    """The app after a test was added to the shop, with its primary metric."""
    drop(app, **files)
    (shop,) = state.workspace().experiments.all()
    passed(box(app, "Add to").set_value(shop.id).run())
    assert box(app, "Control").value == CONTROL
    passed(box(app, "Primary metric").set_value(primary).run())
    assert words_of_videos(everything(app)) == []
    return finish(app, "Analyze A/B test")


def read(app: AppTest) -> dict[str, str]:
    """What the pages and the report of the test say."""
    (shop,) = state.workspace().experiments.all()
    texts = {page: everything(turn_to(app, page)) for page in PAGES}
    press(turn_to(app, "reports"), "Make report")
    reports = Reports(state.workspace())
    (report,) = reports.all(shop.id)
    texts["report"] = reports.file(report.id, "md").content.decode()
    texts["reports"] = everything(app)
    return texts


FILES: dict[str, tuple[str, dict[str, bytes]]] = {
    "a row per customer": ("revenue", {"shop__csv": csv(customers())}),
    "facts": ("order value", {"exposures__csv": csv(shop_exposures()), "orders__csv": csv(shop_orders())}),
    "sessions": ("reads", {"visits__csv": csv(visits())}),
}


@pytest.mark.parametrize("kind", FILES)
def test_from_files_to_results_agreement_reason_and_report(app: AppTest, kind: str) -> None:
    primary, files = FILES[kind]
    texts = read(analysed(app, primary, **files))
    assert {page: found for page, text in texts.items() if (found := words_of_videos(text))} == {}
    (shop,) = state.workspace().experiments.all()
    (test,) = state.workspace().online_tests.all(shop.id)
    rows = state.workspace().online_tests.results(test.id).rows
    assert rows[0].metric == primary
    title = rows[0].title.lower()
    for page in ("ab_results", "offline_online", "report"):
        assert title in texts[page].lower(), page
    assert "als won offline and online" in texts["offline_online"]
    assert "als won both" in texts["why"]


def test_a_quantile_may_be_the_primary_metric_on_every_page(app: AppTest) -> None:
    slow = OnlineMetric("slow", "Dwell, 90 %", "s", "", "dwell_s", quantile=0.9)
    state.workspace().metric_library.add(slow)
    texts = read(analysed(turn_to(app, "upload"), "slow", visits__csv=csv(visits())))
    (shop,) = state.workspace().experiments.all()
    (test,) = state.workspace().online_tests.all(shop.id)
    assert test.primary_metric == "slow"
    table = visits()
    value = np.quantile(table.dwell_s[table.variant == NEW], 0.9, method="inverted_cdf")
    rows = state.workspace().online_tests.results(test.id).rows
    assert next(row.value for row in rows if row.metric == "slow" and row.variant == NEW) == value
    assert "Dwell, 90 %: trend" in texts["ab_results"]
    assert "Dwell, 90 %: segments" in texts["ab_results"]
    assert "Dwell, 90 % is counted per user" not in texts["why"]
    assert "als lost online" in texts["why"] or "won offline, lost online" in texts["why"]
    assert "dwell, 90 %" in texts["report"].lower()
