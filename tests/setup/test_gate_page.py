"""docs/gate.md and the examples for CI, run as they stand as far as they go without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gate_files
import pytest
import yaml
from decision_worlds import films, home_page
from lxml import etree

from recdash.service import Workspace
from recdash.store import open_store

ELSEWHERE = ("pip", "gh", "curl")
"""Programs that need a network: what they are told is written down instead."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with the files of the examples, and in ``bin`` recdash and stand-ins of programs that
    need a network.
    """
    gate_files.write(tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    _program(programs / "recdash", f'exec "{sys.executable}" -m recdash "$@"')
    for name in ELSEWHERE:
        _program(programs / name, f'echo "{name} $*" >> "{tmp_path}/calls"')
    return tmp_path


def _program(file: Path, line: str) -> None:
    file.write_text(f"#!/bin/sh\n{line}\n")
    file.chmod(0o755)


def shell(root: Path, folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PYTHONPATH": str(root), "PATH": path} | variables
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def blocks(root: Path, language: str) -> list[str]:
    page = (root / "docs" / "gate.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_page_run(root: Path, folder: Path) -> None:
    of_files, of_forms, of_store = blocks(root, "sh")
    said = shell(root, folder, of_files)
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith("Pass: new keeps to all 3 rules against live.")
    assert shell(root, folder, of_forms).returncode == 0
    assert (folder / "gate.md").read_text(encoding="utf-8").startswith("**Pass:**")
    database = f"sqlite:///{folder}/recdash.db"
    store = open_store(database, folder / "artifacts")
    home_page(Workspace(store), films(Workspace(store)))
    store.close()
    said = shell(
        root, folder, of_store, RECDASH_DATABASE_URL=database, RECDASH_ARTIFACTS=str(folder / "artifacts")
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("Pass: als keeps to both rules against popular.")


@pytest.mark.parametrize(("language", "name"), [("toml", "pyproject.toml"), ("yaml", "rules.yaml")])
def test_the_files_of_rules_on_the_page_are_read(root: Path, folder: Path, language: str, name: str) -> None:
    (content,) = blocks(root, language)
    (folder / name).write_text(content, encoding="utf-8")
    rules = f"--rules {name}" if language == "yaml" else ""
    command = f"recdash gate --truth truth.csv --baseline live=live.csv --candidate new=new.csv {rules}"
    said = shell(root, folder, command)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("Pass: new keeps to both rules")


def test_the_python_of_the_page_runs(root: Path, folder: Path) -> None:
    (code,) = blocks(root, "python")
    (folder / "example.py").write_text(code, encoding="utf-8")
    said = shell(root, folder, f'"{sys.executable}" example.py')
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("Pass: new keeps to both rules against live.")


# ── continuous integration ───────────────────────────────────────────────────────────────────


def example(root: Path, name: str) -> Any:
    return yaml.safe_load((root / "docs" / "ci" / name).read_text(encoding="utf-8"))


def judged_in(folder: Path, root: Path, candidate: str) -> None:
    """Puts a candidate in the place of the examples, and the rules of the page into pyproject.toml."""
    (folder / "new.csv").write_text(gate_files.FILES[candidate], encoding="utf-8")
    (folder / "pyproject.toml").write_text(blocks(root, "toml")[0], encoding="utf-8")


@pytest.mark.parametrize(("candidate", "code"), [("new.csv", 0), ("bad.csv", 1)])
def test_the_github_actions_run(root: Path, folder: Path, candidate: str, code: int) -> None:
    judged_in(folder, root, candidate)
    (job,) = example(root, "github-actions.yml")["jobs"].values()
    codes = {}
    for step in job["steps"]:
        if "run" in step and (step.get("if") == "always()" or 1 not in codes.values()):
            variables = {name: str(value) for name, value in step.get("env", {}).items()}
            variables |= {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "shop/lists"}
            variables |= {"GITHUB_RUN_ID": "1", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
            codes[step["name"]] = shell(root, folder, step["run"], **variables).returncode
    assert codes == {
        "Install recdash": 0, "Judge the candidate": code, "Show the result": 0,
        "Comment on the pull request": 0,
    }  # fmt: skip
    assert (folder / "summary.md").read_bytes() == (folder / "gate.md").read_bytes()
    assert "--body-file gate.md" in (folder / "calls").read_text()
    kept = next(step for step in job["steps"] if "upload-artifact" in step.get("uses", ""))
    cases = list(etree.parse(folder / kept["with"]["path"]).iter("testcase"))
    assert len(cases) == 2


@pytest.mark.parametrize(("candidate", "code"), [("new.csv", 0), ("bad.csv", 1)])
def test_the_gitlab_job_runs(root: Path, folder: Path, candidate: str, code: int) -> None:
    judged_in(folder, root, candidate)
    (job,) = example(root, "gitlab-ci.yml").values()
    variables = {"CI_PIPELINE_URL": "https://gitlab.example.org/p/1", "COMMENT_TOKEN": "t"}
    said = shell(root, folder, "\n".join([*job["before_script"], *job["script"]]), **variables)
    assert said.returncode == code, said.stderr
    assert shell(root, folder, "\n".join(job["after_script"]), **variables).returncode == 0
    assert "body@gate.md" in (folder / "calls").read_text()
    suites = etree.parse(folder / job["artifacts"]["reports"]["junit"]).getroot()
    assert (suites.get("tests"), suites.get("failures") != "0") == ("2", code == 1)
    assert all((folder / path).is_file() for path in job["artifacts"]["paths"])
