"""Real dirty runs that mean the clean one score like it, through the command line and through the plan that
the page Add data shows.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from terminal import Recdash

from recdash.service import Workspace
from recdash.service.catalog.intake import IntakeFile

CLEAN = "good/run.csv"
FILES: dict[str, str] = {}
OWN_TEST_SET = {"run_huge_ids.csv"}
"""Runs of ids that only a test set of their own knows."""


@pytest.fixture
def dirty(shared_data: Path) -> Path:
    return shared_data / "dirty"


def runs_like_the_clean_one(dirty: Path) -> list[str]:
    cases = json.loads((dirty / "manifest.json").read_text())["cases"]
    return [
        case["file"]
        for case in cases
        if case["same_metrics_as"] == CLEAN
        and case["expected"]["action"].startswith("accept")
        and case["file"] not in OWN_TEST_SET
    ]


def values_of(workspace: Workspace) -> dict[str, list[float]]:
    """Returns {run: nDCG and recall at each cutoff} of the only experiment."""
    (experiment,) = workspace.experiments.all()
    runs = workspace.runs.all(experiment.id)
    rows = workspace.scores.curves([run.id for run in runs], ["ndcg", "recall"])
    names = {run.id: run.name for run in runs}
    return {
        names[str(run_id)]: own.sort_values(["metric", "k"])["value"].tolist()
        for run_id, own in rows.groupby("run_id")
    }


def assert_like_the_clean_one(workspace: Workspace) -> None:
    """Each stored run has the values of the clean one; equal lists are stored once."""
    values = values_of(workspace)
    clean = values.pop("clean")
    assert values
    assert any(clean)
    assert {name: own for name, own in values.items() if own != pytest.approx(clean, abs=1e-12)} == {}


def test_through_the_command_line(run: Recdash, dirty: Path) -> None:
    files = runs_like_the_clean_one(dirty)
    assert len(files) > 10
    options = [f"--run=run {number}={dirty / file}" for number, file in enumerate(files)]
    truth = str(dirty / "good" / "truth.csv")
    added = run("add", "--experiment", "E", "--truth", truth, f"--run=clean={dirty / CLEAN}", *options)
    assert added.exit_code == 0, added.stderr
    assert len(added.stdout.splitlines()) == 1 + len(files)
    assert_like_the_clean_one(Workspace.open())


def test_through_the_page(folder: Path, dirty: Path) -> None:
    files = runs_like_the_clean_one(dirty)
    given = [IntakeFile(file, file, (dirty / file).read_bytes()) for file in [CLEAN, *files]]
    truth = (dirty / "good" / "truth.csv").read_bytes()
    assert folder.is_dir()
    workspace = Workspace.open()
    plan = workspace.intake.plan([IntakeFile("truth", "truth.csv", truth), *given])
    plan = plan.with_choice(CLEAN, run="clean", kind="run")
    for file in files:
        plan = plan.with_choice(file, run=file, kind="run")
    assert plan.all_problems == ()
    assert len(workspace.intake.commit(plan).runs) == 1 + len(files)
    assert_like_the_clean_one(workspace)
