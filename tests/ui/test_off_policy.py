"""The Off-policy page: a log goes in, a verdict comes out, and nothing is stored."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from app_pages import Open, lists, passed, put, said, store
from streamlit.testing.v1 import AppTest

from recdash.charts.marks import DARK, LIGHT
from recdash.charts.off_policy import EstimateLine, estimates, weights
from recdash.online.off_policy.ope import ope
from recdash.service import Workspace
from recdash.ui.components.templates import TEMPLATES
from recdash.ui.off_policy import page
from recdash.web.received_files import received_files

CLICKED = "a,1,0.5\n" * 150 + "a,0,0.5\n" * 150 + "b,1,0.5\n" * 30 + "b,0,0.5\n" * 270
LOG = f"item_id,click,propensity_score\n{CLICKED}"
"""600 rows, a clicked in 150 of 300, b in 30 of 300: 0.3 observed."""
ONLY_A = "item_id,probability\na,1\n"


@pytest.fixture
def shown(open_page: Open, workspace: Workspace) -> Open:
    assert not workspace.experiments.all(), "the page needs none"
    return partial(open_page, "off_policy")


def given(app: AppTest, log: bytes | str, target: str | None = None, name: str = "log.csv") -> AppTest:
    content = log if isinstance(log, bytes) else log.encode()
    put(app, "off-policy-bandit", name, content)
    if target is not None:
        put(app, "off-policy-policy", "only a.csv", target.encode())
    return passed(app.run())


def test_before_a_log_is_there_the_page_says_what_it_is_for(shown: Open) -> None:
    app = shown()
    assert "What would another recommender have earned?" in said(app)
    assert any("No file is stored" in caption.value for caption in app.caption)
    assert not app.get("plotly_chart")


def test_a_log_that_is_the_target_itself_is_usable_and_inconclusive(shown: Open) -> None:
    text = said(given(shown(), LOG))
    assert "? Inconclusive All checks pass" in text
    assert "Uniform over 2 items is inconclusive: 30.0 % estimated, 30.0 % observed" in text
    assert "Effective rows (ESS) 600 ✓ at least 200" in text
    assert "Mean weight 1.00 ± 0.000 ✓ 1, within 3 standard errors" in text


def test_a_target_in_a_file_gets_more(shown: Open) -> None:
    """Only a is clicked in 150 of 300: 50 %."""
    text = said(given(shown(target="file"), LOG, ONLY_A))
    assert "▲ Better" in text
    assert "The policy only a would do better: 50.0 % estimated, 30.0 % observed" in text
    assert "300 rows have weight 0: the target never shows their items." in text


def test_a_small_log_is_refused_and_its_estimates_are_hollow(shown: Open) -> None:
    app = given(shown(), TEMPLATES["bandit"].text)
    text = said(app)
    assert "No verdict: this log cannot estimate uniform over 3 items" in text
    assert "Why : 4 rows are worth only 4 after weighting; below 200, a few rows decide." in text
    assert "✗ at least 200" in text
    assert "Hollow: do not use." in text
    drawn = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    fills = {trace["name"]: trace["marker"]["color"] for trace in drawn if trace["mode"] == "markers"}
    assert fills["IPS"] == LIGHT.background != fills["Observed"]


def test_the_estimates_stand_beside_the_observed_rate(shown: Open) -> None:
    app = given(shown(target="file"), LOG, ONLY_A)
    chart = app.get("plotly_chart")[0]
    drawn = json.loads(chart.proto.spec)["data"]
    values = {trace["name"]: trace["x"][0] for trace in drawn if trace["mode"] == "markers"}
    assert values["Observed"] == pytest.approx(30)
    assert values["IPS"] == pytest.approx(50)
    assert values["SNIPS"] == pytest.approx(50)
    assert "Observed 30.0 %, IPS 50.0 %, SNIPS 50.0 %" in chart.proto.alt


def test_the_table_has_the_difference_that_the_headline_is_about() -> None:
    """Only a, clicked in half of its rows, against 180 clicks in 600: 0.5 − 0.3."""
    rows = pd.read_csv(io.StringIO(LOG))
    result = ope(rows, pd.read_csv(io.StringIO(ONLY_A)))
    table = page.tidy(result).set_index("estimate")
    assert table.loc[page.GAIN, "value"] == pytest.approx(0.2, abs=0.01)
    assert table.loc[page.GAIN, "low"] > 0
    assert "would do better" in page.finding(result)


def test_a_log_of_slates_has_the_reward_per_slate(shown: Open) -> None:
    """Only a counts: a slate a, a has the weight 4, a slate a, b none. 150 of 300 slates are a, a."""
    rows = "".join(f"{n},1,a,1,0.5\n{n},2,{'ab'[n % 2]},0,0.5\n" for n in range(300))
    log = f"slate_id,position,item_id,click,propensity_score\n{rows}"
    text = said(given(shown(target="file"), log, ONLY_A))
    assert "Reward per slate 300 slates; 1.00 observed per slate" in text
    assert re.search(r"Standard \(IPS\) 2\.00 1\.\d+ to 2\.\d+ 150 50\.0 % ✗", text, re.IGNORECASE)
    assert "Reward per slate" not in said(given(shown(), LOG))


def test_clipping_is_chosen_on_the_page(shown: Open) -> None:
    """Each row of a weighs 2; cut at 1 only half of the 50 % is left."""
    app = given(shown(target="file"), LOG, ONLY_A)
    passed(app.number_input(key="off-policy-clip").set_value(1.0).run())
    assert "weights are capped at 1; lower variance" in said(app)
    assert "IPS, clipped 25.0 %" in app.get("plotly_chart")[0].proto.alt


def test_items_that_are_never_shown_are_counted_in(shown: Open) -> None:
    """Two of four items: half of what uniform shows is never in the log."""
    app = given(shown(), LOG)
    text = said(passed(app.number_input(key="off-policy-items").set_value(4).run()))
    assert "the weights average 0.5" in text.lower()
    assert "50 % of what the target shows is never in the log. These items have no data." in text


@pytest.mark.parametrize(
    ("log", "target", "says"),
    [
        ("item_id,click\na,1\n", None, "propensity_score"),
        ("item_id,click,propensity_score\na,1,0\n", None, "is not a propensity"),
        (LOG, "item_id,probability\na,0.4\n", "the probabilities add up to 0.4"),
        (LOG, "item_id,probability,age\na,1,20\n", "the log has no column 'age'"),
    ],
)
def test_what_cannot_be_used_is_said_in_words(shown: Open, log: str, target: str | None, says: str) -> None:
    app = given(shown(target="file") if target else shown(), log, target)
    assert says in app.error[0].value.replace("\\", "")
    assert not app.get("plotly_chart")


def test_nothing_is_stored(shown: Open, workspace: Workspace, tmp_path: Path) -> None:
    app = shown()
    before = sorted(tmp_path.rglob("*"))
    given(app, LOG)
    received_files.stop()
    assert workspace.experiments.all() == []
    left = [path for path in tmp_path.rglob("*") if "uploads" not in path.parts]
    assert sorted(left) == before
    assert [path.name for path in tmp_path.glob("**/uploads/*")] == ["lock"]


USERS_LOG = "user_id,item_id,click,propensity_score\n" + "".join(
    f"u{n % 20 + 1},i{n % 20 + 1},1,0.5\nu{n % 20 + 1},x2,0,0.5\n" for n in range(400)
)
"""800 rows of 20 users: a click on each user's own item, none on x2."""


def test_a_stored_run_is_a_target(shown: Open, workspace: Workspace) -> None:
    """*own* has the user's item first, *other* x1, which the log never shows."""
    assert "A stored run" not in said(shown())
    ids = store(workspace, {"own": lists(1), "other": lists(3)})
    app = given(shown(target="run", run=ids["own"]), USERS_LOG)
    text = said(app)
    assert "No verdict: this log cannot estimate the top of own" in text
    assert "Rows with weight 0 50.0 %" in text
    assert "IPS 100 %" in app.get("plotly_chart")[0].proto.alt
    text = said(given(shown(target="run", run=ids["other"]), USERS_LOG))
    assert "100 % of what the target shows is never in the log" in text


def test_a_run_without_scores_has_no_softmax(shown: Open, workspace: Workspace) -> None:
    ids = store(workspace, {"own": lists(1)})
    app = given(shown(target="run", run=ids["own"], policy="softmax"), USERS_LOG)
    assert "it has no scores" in app.error[0].value


def test_names_from_files_are_shown_as_text(shown: Open) -> None:
    app = shown(target="file")
    put(app, "off-policy-bandit", "log.csv", LOG.encode())
    put(app, "off-policy-policy", "<img src=x>.csv", ONLY_A.encode())
    passed(app.run())
    bodies = " ".join(str(one.proto.body) for one in app.get("html"))
    assert "<img" not in bodies
    assert "&lt;img src=x&gt;" in bodies


@pytest.mark.parametrize(
    ("campaign", "says"),
    [
        ("men", "Uniform over 34 items would do worse: 0.316 % estimated, 0.690 % observed"),
        ("women", "Why : 10,000 rows are worth only 2 after weighting; below 200, a few rows decide."),
    ],
)
def test_the_open_bandit_logs_work_as_they_are(
    shown: Open, shared_data: Path, campaign: str, says: str
) -> None:
    file = shared_data / "openbandit" / f"bts_{campaign}.csv.gz"
    assert says in said(given(shown(), file.read_bytes(), name=file.name))


@pytest.mark.parametrize("palette", [LIGHT, DARK])
@pytest.mark.parametrize("draw", [estimates, weights])
def test_plotly_accepts_both_charts(palette: object, draw: Callable[..., object]) -> None:
    import plotly.graph_objects as go

    lines = [EstimateLine("Observed", 0.3, 0.2, 0.4, observed=True), EstimateLine("SNIPS", None, None, None)]
    figure = (
        estimates(lines, palette, " %", hollow=True)
        if draw is estimates
        else weights((0.1, 1, 10), (3, 1), palette)
    )
    go.Figure(figure.to_dict())


def test_an_estimate_is_kept_and_stands_beside_offline_and_online_results(
    shown: Open, open_page: Open, workspace: Workspace
) -> None:
    ids = store(workspace, {"own": lists(1), "other": lists(3)})
    app = given(shown(target="run", run=ids["own"]), USERS_LOG)
    (button,) = [button for button in app.button if button.label == "Keep with experiment"]
    passed(button.click().run())
    (kept,) = workspace.off_policy.kept(workspace.experiments.all()[0].id)
    assert kept.run == ids["own"]
    beside = open_page("offline_online")
    text = said(beside)
    assert "Off-policy: estimated from logs" in text
    assert re.search(
        r"own \S+, \S+ Off-policy no verdict 100 %, 50 % observed Offline not tested Online", text
    )
    (delete,) = [button for button in beside.button if button.label == "Delete for good"]
    passed(delete.click().run())
    assert not workspace.off_policy.kept(kept.experiment)
