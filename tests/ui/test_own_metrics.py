"""A metric of one's own is on all pages, in the command line, in Python and in reports, or missed if gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from app_pages import open_page, said, store
from streamlit.testing.v1 import AppTest
from terminal import Recdash, as_json

from recdash.errors import InputError
from recdash.formatting.wording import unavailable
from recdash.metrics import METRICS
from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.settings import settings
from recdash.ui.shell import navigation

ROOT = Path(__file__).resolve().parents[2]
TRUTH = {f"u{n}": [f"i{n % 5}", "b"] for n in range(40)}
ALS = {f"u{n}": [f"i{n % 5}", "x", "b"] for n in range(40)}
POP = {f"u{n}": ["x", "y", f"i{n % 5}"] for n in range(40)}
ALS_VALUE, POP_VALUE = (1 + 1 / 4) / 2, (1 / 4) / 2
"""Hits of m = 2 at ranks 1 and 3, and at rank 3: each is worth 1/2 per position."""


@pytest.fixture(autouse=True)
def early(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The file of docs/own-metrics.md."""
    text = (ROOT / "docs/own-metrics.md").read_text(encoding="utf-8")
    file = tmp_path / "early.py"
    file.write_text(text.partition("```python\n")[2].partition("```")[0], encoding="utf-8")
    monkeypatch.setenv("RECDASH_METRICS", str(file))
    renew()
    yield file
    METRICS.forget_own()


def renew() -> None:
    settings.cache_clear()
    METRICS.forget_own()


@pytest.fixture
def films(workspace: Workspace) -> dict[str, str]:
    return store(workspace, {"als": ALS, "pop": POP}, truth=TRUTH, depth=5)


def link_of(films: dict[str, str]) -> dict[str, str]:
    return {"e": films["films"], "b": films["pop"], "m": "early_hits", "k": "3"}


@pytest.mark.parametrize("page", ["overview", *filter(None, navigation.ADDRESSES)])
def test_every_page_opens_by_the_metric(films: dict[str, str], page: str) -> None:
    text = said(open_page(page, **link_of(films)))
    assert "isn't available here" not in text


def test_it_leads_the_leaderboard_with_its_value_and_interval(films: dict[str, str]) -> None:
    text = said(open_page("leaderboard", **link_of(films)))
    assert "als is first on Early hits@3" in text
    assert f"{ALS_VALUE:.3f}" in text
    assert f"{POP_VALUE:.3f}" in text


def test_the_guide_explains_it(films: dict[str, str]) -> None:
    app = open_page("guide", **{**link_of(films), "metric": "early_hits"})
    text = "\n".join(article.value for article in app.markdown)
    assert "The shop's ranking team, 2026" in text
    assert "1 says at the top of every list" in text


def test_python_and_reports_have_it(workspace: Workspace, films: dict[str, str]) -> None:
    ids = [films["als"], films["pop"]]
    assert "early_hits" in workspace.scores.metrics_of(ids)
    board = workspace.scores.scoreboard(ids, ["early_hits"], 3)
    assert board.set_index("run")["value"].to_dict() == {"als": ALS_VALUE, "pop": POP_VALUE}
    query = workspace.queries.of(films["films"], metric="early_hits", k=3, baseline=films["pop"])
    (pair,) = workspace.comparisons.pairs(query).to_dict("records")
    assert (pair["mean_diff"], pair["word"]) == (pytest.approx(ALS_VALUE - POP_VALUE), "better")
    report = Reports(workspace)
    document = report.content(report.question(films["films"], query))
    cells = [str(cell) for _, table in document.tables() for row in table.rows for cell in row]
    assert "Early hits@3" in cells
    assert f"{ALS_VALUE:.3f}" in " ".join(cells)


def test_stores_that_were_filled_before_have_it_and_store_no_curve_of_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, early: Path
) -> None:
    monkeypatch.delenv("RECDASH_METRICS")
    renew()
    films = store(workspace, {"als": ALS}, truth=TRUTH, depth=5)
    monkeypatch.setenv("RECDASH_METRICS", str(early))
    renew()
    (value,) = workspace.scores.scoreboard([films["als"]], ["early_hits"], 3)["value"]
    assert value == ALS_VALUE
    assert "early_hits" not in workspace.store.curves.metrics([films["als"]])[films["als"]]


def told(app: AppTest) -> str:
    """The warnings of the page."""
    return "\n".join(warning.value.replace("\\", "") for warning in app.warning)


# ── gone, or refused ─────────────────────────────────────────────────────────────────────────


def test_a_metric_that_is_gone_is_absent_with_the_reason(
    workspace: Workspace, films: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECDASH_METRICS")
    renew()
    why = "it is an own metric that is not installed here (docs/own-metrics.md)"
    ids = (films["als"], films["pop"])
    assert workspace.scores.gone_metrics(ids) == {"early_hits": why}
    assert workspace.scores.absences(ids, "early_hits") == dict.fromkeys(ids, why)
    text = told(open_page("leaderboard", **link_of(films)))
    missing = unavailable("metric", "early_hits", "nDCG")
    assert f"{missing}: {why}" in text
    assert why in said(open_page("leaderboard", **{**link_of(films), "m": "ndcg", "cols": "all"}))
    with pytest.raises(InputError, match="No metric is called 'early_hits'"):
        workspace.comparisons.pairs(workspace.queries.of(films["films"], metric="early_hits", k=3))


def test_pages_open_by_ndcg_if_the_metric_of_the_rules_is_gone(
    workspace: Workspace, films: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.rules.change(films["films"], lambda rules: replace(rules, metric="early_hits"))
    assert "Early hits@" in said(open_page("leaderboard", e=films["films"]))
    monkeypatch.delenv("RECDASH_METRICS")
    renew()
    for page in ("overview", "leaderboard", "settings"):
        assert unavailable("metric", "early_hits", "nDCG") in told(open_page(page, e=films["films"]))


def test_the_dashboard_starts_with_a_refused_metric_and_says_why(films: dict[str, str], early: Path) -> None:
    early.write_text(early.read_text(encoding="utf-8").replace("0.5 **", "3 **"), encoding="utf-8")
    renew()
    text = told(open_page("leaderboard", **link_of(films)))
    assert "metrics file 'early.py', metric 'early_hits': on trial data, early_hits gives" in text
    assert "above 1, its largest" in text


# ── in a terminal ────────────────────────────────────────────────────────────────────────────


def csv(header: str, table: dict[str, list[str]]) -> str:
    """A row per user and item, with the item's rank."""
    rows = [f"{user},{item},{rank}\n" for user, items in table.items() for rank, item in enumerate(items, 1)]
    return f"{header}\n{''.join(rows)}"


FILES = {
    "truth.csv": csv("user_id,item_id,place", TRUTH),
    "als.csv": csv("user_id,item_id,rank", ALS),
    "pop.csv": csv("user_id,item_id,rank", POP),
}


def test_a_command_has_it_by_the_option_and_only_that_command(
    run: Recdash, early: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECDASH_METRICS")
    renew()
    asked = ("evaluate", "--truth", "truth.csv", "--run", "als.csv", "--metrics", "early_hits@3")
    facts = as_json(run, "--metrics-file", str(early), *asked)
    assert [score["value"] for score in facts["scores"]] == [ALS_VALUE]
    refused = run(*asked)
    assert refused.exit_code == 2
    assert "No metric is called 'early_hits'" in refused.stderr


def test_a_refused_metric_that_is_asked_for_is_told_once(
    run: Recdash, early: Path, caplog: pytest.LogCaptureFixture
) -> None:
    early.write_text(early.read_text(encoding="utf-8").replace("0.5 **", "-1 * 0.5 **"), encoding="utf-8")
    asked = ("evaluate", "--truth", "truth.csv", "--run", "als.csv", "--metrics", "early_hits@3")
    refused = run(*asked)
    told = [*refused.stderr.splitlines(), *(record.getMessage() for record in caplog.records)]
    assert refused.exit_code == 2
    (line,) = told
    assert line.startswith("recdash: metrics file 'early.py', metric 'early_hits': on trial data")


def test_a_stored_run_is_compared_by_it_in_a_terminal(run: Recdash) -> None:
    stored = ("add", "--experiment", "films", "--truth", "truth.csv", "--run", "als.csv", "--run", "pop.csv")
    assert run(*stored, "--accept-unknown-ids").exit_code == 0
    asked = ("--experiment", "films", "--baseline", "pop", "--metric", "early_hits@3")
    shown = run("compare", *asked)
    assert shown.exit_code == 0, shown.stderr
    assert "Ship als. Early hits@3 is 5.0 times that of pop" in shown.stdout
