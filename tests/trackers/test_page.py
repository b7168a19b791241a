"""docs/trackers.md, run as it stands with a small server in the place of MLflow's."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import recdash_environment
from decision_worlds import RUNS, TRUTH
from mlflow_stub import MlflowStub

ADDRESS = "https://mlflow.example.org"


def blocks(root: Path, language: str) -> list[str]:
    page = (root / "docs" / "trackers.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


@pytest.fixture
def stub() -> Iterator[MlflowStub]:
    """A server with the experiment of the page."""
    server = MlflowStub()
    experiment = server.experiments_create({"name": "films"})["experiment_id"]
    for name, table in RUNS.items():
        made = server.runs_create({"experiment_id": experiment, "run_name": name})["run"]["info"]["run_id"]
        server.runs_log_batch({"run_id": made, "tags": [{"key": "stage", "value": "final"}]})
        server.files[f"{experiment}/{made}/artifacts/lists.csv"] = table.to_csv(index=False).encode()
        server.runs_update({"run_id": made, "status": "FINISHED"})
    yield server
    server.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with the files of the page, and in ``bin`` recdash."""
    TRUTH.to_csv(tmp_path / "truth.csv", index=False)
    for run_id, name in (("3f1c0a2b", "als"), ("5d6e7f80", "ease")):
        files = tmp_path / "wandb" / f"run-20260301_120000-{run_id}" / "files"
        files.mkdir(parents=True)
        RUNS[name].to_csv(files / "lists.csv", index=False)
        (files / "config.yaml").write_text("factors:\n    value: 64\n")
    (tmp_path / "runs.csv").write_text("Name,ID,Tags,Notes\nease,5d6e7f80,final,-\n")
    program = tmp_path / "bin" / "recdash"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m recdash "$@"\n')
    program.chmod(0o755)
    return tmp_path


def run(root: Path, folder: Path, *command: str) -> str:
    environment = recdash_environment(folder / "data") | {
        "PYTHONPATH": str(root),
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_the_commands_of_the_page_import_and_export(root: Path, folder: Path, stub: MlflowStub) -> None:
    script = "\n".join(blocks(root, "sh")).replace(ADDRESS, stub.url)
    said = run(root, folder, "bash", "-eo", "pipefail", "-c", f"{script}\nrecdash list --format json")
    assert said.count("Ship als\n") == 2
    assert "als: 0 metrics, 0 tags written\n" not in said  # precision and recall at 1 and 3 are new
    experiments = json.loads(said.splitlines()[-1])["experiments"]
    assert {home["name"]: [one["name"] for one in home["runs"]] for home in experiments} == {
        "films": ["popular", "als", "ease"],
        "films, final": ["popular", "als", "ease"],
        "shows": ["als", "ease"],
    }
    for facts in stub.runs.values():
        tags = {row["key"]: row["value"] for row in facts["data"]["tags"]}
        assert (tags["stage"], tags["recdash.verdict"]) == ("final", "Ship als")
    assert sum(path.endswith("recdash/report.html") for path in stub.files) == 3


def test_the_python_of_the_page_does_the_same(root: Path, folder: Path, stub: MlflowStub) -> None:
    (code,) = blocks(root, "python")
    said = run(root, folder, sys.executable, "-c", code.replace(ADDRESS, stub.url))
    assert said.splitlines() == [
        "[('popular', 'added'), ('als', 'added'), ('ease', 'added')]",
        "Ship als",
    ]
