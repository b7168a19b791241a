"""The tie band as it is asked for: from Python, from the terminal, and of a stored run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import recdash
from recdash.cli import main
from recdash.errors import InputError
from recdash.service import Workspace

TRUTH = {"u": {"a": 1}, "v": {"b": 1}}
TIED = {"u": {"a": 0.5, "x": 0.5}, "v": {"b": 0.9, "x": 0.1}}
CLEAR = {"u": {"a": 0.6, "x": 0.5}, "v": {"b": 0.9, "x": 0.1}}


def evaluated(**runs: Any) -> recdash.Evaluation:
    return recdash.evaluate(runs, TRUTH, metrics=["mrr@1", "recall", "user_coverage"], depth=2)


def test_the_runs_that_ties_can_move_have_a_band_each() -> None:
    (row,) = evaluated(tied=TIED, clear=CLEAR).tie_band("mrr@1").to_dict("records")
    assert row == {
        "run": "tied", "metric": "mrr", "k": 1, "worst": 0.5, "best": 1.0, "n_users": 1,
        "expected": pytest.approx(0.75, abs=0.03),
        # 1,000 orders of 0.5 or 1, each as likely: a standard deviation of 1/4
        "expected_error": pytest.approx(0.25 / 1000**0.5, rel=0.1),
    }  # fmt: skip


def test_a_band_may_be_asked_for_a_metric_that_was_not() -> None:
    result = evaluated(tied=TIED).tie_band("mrr(sum=all)@2")
    assert result[["metric", "worst", "best"]].to_numpy().tolist() == [["mrr(sum=all)", 0.75, 1.0]]


def test_without_a_cutoff_the_band_is_at_ten_and_at_the_depth_if_ties_move_it_there() -> None:
    deep = recdash.evaluate({"tied": TIED}, TRUTH, metrics="mrr", depth=12)
    assert deep.tie_band("mrr")["k"].tolist() == [10, 12]
    assert evaluated(tied=TIED).tie_band("recall").empty


def test_a_band_beyond_the_depth_is_refused() -> None:
    with pytest.raises(InputError, match="read to depth 2"):
        evaluated(tied=TIED).tie_band("mrr@3")


# ── from a terminal ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``recdash evaluate`` of a run with ties, in a folder of its own."""
    (tmp_path / "truth.csv").write_text("user_id,item_id\nu,a\nv,b\n")
    (tmp_path / "tied.csv").write_text("user_id,item_id,score\nu,a,0.5\nu,x,0.5\nv,b,0.9\n")
    monkeypatch.chdir(tmp_path)

    def call(*more: str) -> Result:
        basics = ["evaluate", "--truth", "truth.csv", "--run", "als=tied.csv", "--metrics", "mrr@1"]
        return CliRunner().invoke(main, [*basics, *more])

    return call


def test_the_terminal_shows_bands_when_asked(ask: Any) -> None:
    said = ask("--tie-band").stdout
    assert "worst       expected  best  users with ties" in said
    assert " ± 0.008 " in said
    assert "worst" not in ask().stdout


def test_json_has_bands_only_when_asked(ask: Any) -> None:
    (band,) = json.loads(ask("--tie-band", "--format", "json").stdout)["tie_bands"]
    assert (band["run"], band["metric"], band["k"], band["worst"], band["best"]) == ("als", "mrr", 1, 0.5, 1)
    assert "tie_bands" not in json.loads(ask("--format", "json").stdout)


def test_where_ties_change_nothing_it_is_said(ask: Any) -> None:
    said = ask("--tie-band", "--metrics", "recall@2").stdout
    assert "The order of tied scores changes none of these metrics." in said


def test_a_csv_of_scores_has_no_room_for_bands(ask: Any) -> None:
    assert "Use --format table or json" in ask("--tie-band", "--format", "csv").stderr


# ── of a stored run ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace.open(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")


def test_a_stored_run_keeps_its_ties(space: Workspace) -> None:
    home = space.experiments.create("Films", TRUTH, depth=2)
    tied, clear = (
        space.runs.add(home.id, run, name=name)[0].run.id
        for name, run in {"tied": TIED, "clear": CLEAR}.items()
    )
    band = space.scores.tie_band(tied, "mrr", 1)
    assert band is not None
    assert (band.worst, band.best, band.n_crossed) == (0.5, 1.0, 1)
    assert space.scores.tie_band(clear, "mrr", 1) is None
    assert space.scores.tie_band(tied, "recall", 2) is None


def test_a_band_of_a_stored_run_beyond_its_depth_is_refused(space: Workspace) -> None:
    home = space.experiments.create("Films", TRUTH, depth=2)
    (added,) = space.runs.add(home.id, TIED, name="tied")
    with pytest.raises(InputError):
        space.scores.tie_band(added.run.id, "mrr", 3)
