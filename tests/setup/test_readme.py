"""The README's first comparison, run as it stands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def block(root: Path, start: str) -> str:
    """The fenced block of the README whose first line begins with ``start``."""
    fenced = re.findall(r"^```[a-z]*\n(.*?)^```", readme(root), re.MULTILINE | re.DOTALL)
    (found,) = [text for text in fenced if text.startswith(start)]
    return str(found)


@pytest.fixture
def files(root: Path, tmp_path: Path) -> Path:
    """A folder with the three files that the README shows side by side."""
    lines = block(root, "truth.csv").splitlines()
    starts = [match.start() for match in re.finditer(r"\S+", lines[0])]
    for name, start, end in zip(lines[0].split(), starts, [*starts[1:], None], strict=True):
        rows = [line[start:end].strip() for line in lines[1:]]
        (tmp_path / name).write_text("\n".join(row for row in rows if row) + "\n", encoding="utf-8")
    return tmp_path


def run(root: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(root)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def recalls(root: Path, files: Path, *further: str) -> dict[str, float]:
    _, *arguments = block(root, "recdash evaluate").split()
    said = run(root, files, "-m", "recdash", *arguments, "--format", "json", *further)
    assert said.returncode == 0, said.stderr
    scores: list[dict[str, Any]] = json.loads(said.stdout)["scores"]
    return {row["run"]: row["value"] for row in scores if row["metric"] == "recall"}


def test_both_candidates_of_the_readme_have_the_recall_that_it_says(root: Path, files: Path) -> None:
    found = recalls(root, files)
    assert found == {"als": pytest.approx((1 / 2 + 1 + 0) / 3), "popular": pytest.approx((1 / 2 + 0 + 1) / 3)}


def test_the_readme_shows_what_the_command_prints(root: Path, files: Path) -> None:
    _, *arguments = block(root, "recdash evaluate").split()
    assert run(root, files, "-m", "recdash", *arguments).stdout == block(root, "metric ")


def test_leaving_out_the_user_without_a_list_puts_als_first(root: Path, files: Path) -> None:
    found = recalls(root, files, "--users", "both")
    assert found == {"als": pytest.approx((1 / 2 + 1) / 2), "popular": pytest.approx((1 / 2 + 0 + 1) / 3)}


def test_the_python_example_runs(root: Path, tmp_path: Path) -> None:
    said = run(root, tmp_path, "-c", block(root, "import recdash"))
    assert said.returncode == 0, said.stderr
    assert "recall" in said.stdout
    assert "bob" in said.stdout


def test_every_command_that_the_readme_names_exists(root: Path, tmp_path: Path) -> None:
    named = set(re.findall(r"`recdash ([a-z]+)[`\s]", readme(root)))
    said = run(root, tmp_path, "-m", "recdash", "--help").stdout
    commands = set(re.findall(r"^  ([a-z]+) ", said.partition("Commands:")[2], re.MULTILINE))
    assert {"evaluate", "compare", "gate", "push"} <= named <= commands
