"""The notebooks of docs/notebooks, executed; what they show is derived from how their tables are made."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

CHOOSE, JUDGE = "choose-candidates.ipynb", "judge_ab_test.py"
FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"


def test_every_notebook_is_executed_here() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_file()} == {CHOOSE, JUDGE}


# ── Jupyter: choose between candidates ───────────────────────────────────────────────────────

RANKS = {
    "popular": [5 if user % 2 == 0 else None for user in range(600)],
    "als": [2 if user % 3 else None for user in range(600)],
    "knn": [2 if user % 4 and user % 5 else None for user in range(600)],
}
"""Run → [600] the rank of each user's only relevant film, None if it is not in the list."""
SERVED = {"popular": range(600), "als": range(600), "knn": [user for user in range(600) if user % 5]}
RULE_METRICS = ("mrr", "recall")


def gains(run: str, metric: str) -> list[Fraction]:
    """[600] what each user gets: one over the rank for ``mrr``, 1 for a hit for ``recall``."""
    return [Fraction(1, rank if metric == "mrr" else 1) if rank else Fraction(0) for rank in RANKS[run]]


def mean(run: str, metric: str, users: Any = range(600)) -> float:
    return float(sum(gains(run, metric)[user] for user in users) / len(users))


@pytest.fixture(scope="module")
def cells(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Name of a cell → what it shows, by media type."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = json.loads((FOLDER / CHOOSE).read_text(encoding="utf-8"))
    package = {"cell_type": "code", "id": "package", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"].append({**package, "source": "recdash.__file__"})
    (folder / CHOOSE).write_text(json.dumps(notebook), encoding="utf-8")
    done = subprocess.run(
        [
            Path(sys.executable).parent / "jupyter-execute",
            "--inplace",
            "--KernelManager.transport=ipc",
            CHOOSE,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(root), "IPYTHONDIR": str(folder / "ipython")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    executed = json.loads((folder / CHOOSE).read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in executed if cell["cell_type"] == "code"]
    assert [cell["id"] for cell in code if len(cell["outputs"]) != 1] == []
    return {
        cell["id"]: {kind: joined(text) for kind, text in cell["outputs"][0]["data"].items()} for cell in code
    }


def joined(shown: Any) -> Any:
    """Returns a text that a notebook has as a list of lines; other values as they are."""
    return "".join(shown) if isinstance(shown, list) else shown


def table(cell: dict[str, Any]) -> pd.DataFrame:
    (shown,) = pd.read_html(io.StringIO(cell["text/html"]), index_col=0)
    return shown


def test_it_is_committed_without_outputs() -> None:
    for cell in json.loads((FOLDER / CHOOSE).read_text(encoding="utf-8"))["cells"]:
        assert (cell.get("outputs", []), cell.get("execution_count"), cell["metadata"]) == ([], None, {})


def test_it_uses_the_package_beside_it(root: Path, cells: dict[str, dict[str, Any]]) -> None:
    assert cells["package"]["text/plain"] == repr(str(root / "recdash" / "__init__.py"))


@pytest.mark.parametrize("cell", ["table", "served-table"])
def test_the_scores_are_means_over_users(cells: dict[str, dict[str, Any]], cell: str) -> None:
    scores = table(cells[cell]).set_index(["run", "metric"])
    assert set(scores.index) == {(run, metric) for run in RANKS for metric in RULE_METRICS}
    for run, metric in scores.index:
        users = SERVED[run] if cell == "served-table" else range(600)
        value, n_users = scores.loc[(run, metric), ["value", "n_users"]]
        assert (value, n_users) == (pytest.approx(mean(run, metric, users), abs=1e-6), len(users))


def test_the_scores_are_shown_short(cells: dict[str, dict[str, Any]]) -> None:
    lines = [line.split() for line in cells["scores"]["text/plain"].splitlines()]
    assert ["mrr@10", *(f"{mean(run, 'mrr'):.3f}" for run in RANKS)] in lines


def test_the_warning_counts_users_without_recommendations(cells: dict[str, dict[str, Any]]) -> None:
    absent = 100 * sum(user % 5 == 0 for user in range(600)) // 600
    assert f"{absent} % of users get no recommendations from knn" in cells["warnings"]["text/plain"]


def test_the_differences_are_those_of_the_users(cells: dict[str, dict[str, Any]]) -> None:
    """The interval is of another method: its middle is nearer to the mean than a fifth of its length, and it
    is at least as long as that of a t-test.
    """
    rows = table(cells["comparison"]).set_index(["baseline", "candidate"])
    for candidate in ("als", "knn"):
        row = rows.loc[("popular", candidate)]
        own, base = (np.array(gains(run, "mrr"), dtype=float) for run in (candidate, "popular"))
        t_test = stats.ttest_rel(own, base)
        assert t_test.pvalue < 0.001
        assert row["mean_diff"] == pytest.approx((own - base).mean(), abs=1e-6)
        low, high = row["ci_corrected_low"], row["ci_corrected_high"]
        usual = t_test.confidence_interval(0.95)
        assert high - low >= usual.high - usual.low
        assert abs((low + high) / 2 - row["mean_diff"]) < (high - low) / 5
        assert row["finding"] == "better"


def test_the_figure_has_a_mark_at_each_difference(cells: dict[str, dict[str, Any]]) -> None:
    lines = cells["figure"]["application/vnd.plotly.v1+json"]["data"]
    marks = {line["name"]: line["x"] for line in lines if line["mode"] == "markers"}
    base = mean("popular", "mrr")
    assert marks == {run: [pytest.approx(mean(run, "mrr") - base)] for run in ("als", "knn")}


def test_who_counts_decides_who_is_shipped(cells: dict[str, dict[str, Any]]) -> None:
    means = [{run: mean(run, "mrr", users.get(run, range(600))) for run in RANKS} for users in ({}, SERVED)]
    for cell, of_runs in zip(("verdict", "served"), means, strict=True):
        best = max(of_runs, key=lambda run: of_runs[run])
        ratio = of_runs[best] / of_runs["popular"]
        first, second, *_ = cells[cell]["text/plain"].splitlines()
        assert first == f"Ship {best}"
        assert second.startswith(f"MRR@10 is {ratio:.1f} times that of popular")
    assert cells["verdict"]["text/plain"] != cells["served"]["text/plain"]


def test_the_gate_passes_what_is_better(cells: dict[str, dict[str, Any]]) -> None:
    first, _, *rules = cells["gate"]["text/plain"].splitlines()
    assert first == "Pass: als keeps to both rules against popular."
    for metric, line in zip(RULE_METRICS, rules, strict=False):
        base, own = mean("popular", metric), mean("als", metric)
        words = line.split()
        assert words[1:3] == [f"{base:.3f}", f"{own:.3f}"]
        assert float(words[3]) == pytest.approx(100 * (own / base - 1), rel=0.005)
        assert "holds" in words


# ── marimo: judge an A/B test ────────────────────────────────────────────────────────────────

CONVERTED, USERS = {"A": 200, "B": 260}, 2_000


@pytest.fixture(scope="module")
def judged() -> dict[str, Any]:
    """Name → the value that the notebook gives it."""
    spec = importlib.util.spec_from_file_location("judge_ab_test", FOLDER / JUDGE)
    assert spec is not None
    assert spec.loader is not None
    notebook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebook)
    _, values = notebook.app.run()
    return dict(values)


def test_the_test_is_valid(judged: dict[str, Any]) -> None:
    assert judged["srm_p"] == pytest.approx(stats.chisquare([USERS, USERS]).pvalue)


def test_the_lift_is_that_of_the_table(judged: dict[str, Any]) -> None:
    row = judged["results"].loc["converted"]
    assert row["lift"] == pytest.approx(260 / 200 - 1)
    table = [[converted, USERS - converted] for converted in CONVERTED.values()]
    score = stats.chi2_contingency(table, correction=False).statistic
    p = stats.chi2.sf(score * (2 * USERS - 1) / (2 * USERS), 1)  # the variance is divided by n - 1
    assert row["p"] == pytest.approx(p, rel=1e-6)
    assert row["p_corrected"] == pytest.approx(2 * p, rel=1e-6)  # Holm: the smaller of two
    assert row["word"] == "better"
    ratio = stats.contingency.relative_risk(260, USERS, 200, USERS)
    usual = ratio.confidence_interval(0.975)  # by the logarithm; ours is of the score test
    assert (row["corrected_low"], row["corrected_high"]) == (
        pytest.approx(usual.low - 1, abs=0.01),
        pytest.approx(usual.high - 1, abs=0.01),
    )


def test_visits_are_equal(judged: dict[str, Any]) -> None:
    row = judged["results"].loc["visits"]
    assert (row["lift"], row["p"], row["word"]) == (0, pytest.approx(1), "not settled")


def test_the_chance_to_win_is_that_of_a_normal_lift(judged: dict[str, Any]) -> None:
    """With a flat prior it is Φ(lift / its standard error): √((1 − p)/(p n)) of each variant, added."""
    rates = [converted / USERS for converted in CONVERTED.values()]
    error = 1.3 * np.sqrt(sum((1 - rate) / (rate * USERS) for rate in rates))
    chances = judged["chances"].table().set_index("metric")["chance"]
    assert chances["converted"] == pytest.approx(stats.norm.cdf(0.3 / error), abs=1e-3)
    assert chances["visits"] == pytest.approx(0.5)


def test_the_always_valid_interval_is_wider_and_contains_zero(judged: dict[str, Any]) -> None:
    row, numbers = judged["always_valid"].loc["converted"], judged["results"].loc["converted"]
    assert row["sequence_low"] < 0 < numbers["corrected_low"]
    assert row["sequence_high"] > numbers["corrected_high"]


def test_the_figure_shows_percent(judged: dict[str, Any]) -> None:
    marks = {line.name: line.x[0] for line in judged["figure"].data if line.mode == "markers"}
    assert marks == {"Converted, B": pytest.approx(30), "Visits, B": pytest.approx(0)}
