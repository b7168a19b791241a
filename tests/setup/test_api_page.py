"""docs/api.md, run as it stands: the commands, the addresses, and the steps that send a file."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from decision_worlds import RUNS, TRUTH
from running_api import Running
from web_requests import Answer

import recdash
from recdash.web.api.questions import QUESTIONS

PROBLEM_KEYS = {"code", "place", "finding", "fix"}


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "api.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    server = Running(tmp_path_factory.mktemp("api"))
    yield server
    server.stop()


def blocks(page: str) -> list[str]:
    return re.findall(r"^```\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def shell(root: Path, folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a script in a folder, with ``recdash`` as a program of the working tree."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    program = programs / "recdash"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m recdash "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(root), "PATH": path} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_tokens_are_made_listed_and_revoked(root: Path, page: str, tmp_path: Path) -> None:
    store = {
        "RECDASH_DATABASE_URL": f"sqlite:///{tmp_path}/recdash.db",
        "RECDASH_ARTIFACTS": str(tmp_path / "artifacts"),
    }
    create, listing, revoke = blocks(page)[0].strip().splitlines()
    made = shell(root, tmp_path, create, **store)
    assert made.returncode == 0, made.stderr
    assert "recdash_" in made.stdout
    told = json.loads(shell(root, tmp_path, f"{listing} --format json", **store).stdout)
    (token,) = told
    assert (token["label"], token["role"]) == ("nightly training", "editor")
    *command, _ = revoke.split()
    done = shell(root, tmp_path, " ".join([*command, token["id"]]), **store)
    assert done.returncode == 0, done.stderr
    assert "revoked" in shell(root, tmp_path, listing, **store).stdout


def test_the_push_of_the_page_stores_its_files_and_again_changes_nothing(
    root: Path, page: str, running: Running, tmp_path: Path
) -> None:
    _, push = blocks(page)
    script = (
        push.replace("https://recdash.example.org", running.url)
        .replace("recdash_…", running.api.tokens["editor"])
        .replace("push films", "push pushed")
    )
    TRUTH.to_csv(tmp_path / "truth.csv", index=False)
    RUNS["als"].to_csv(tmp_path / "als.csv", index=False)
    RUNS["ease"].to_parquet(tmp_path / "ease.parquet")
    for _ in range(2):
        done = shell(root, tmp_path, script)
        assert done.returncode == 0, done.stderr
        stored = running.workspace.experiments.named("pushed")
        assert {run.name for run in running.workspace.runs.all(stored.id)} == {"als", "EASE v2"}


def addresses(page: str) -> list[tuple[str, list[str]]]:
    """Returns the address and the parameters of each question in the table."""
    table = page.partition("## Questions")[2].partition("\n## ")[0]
    found: list[tuple[str, list[str]]] = []
    for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", cell):
            path, _, query = name.partition("?")
            path = path.replace("…", "/experiments/{experiment}")
            named = re.findall(r"(\w+)=", query)
            if "the same parameters" in cell:
                named = found[-1][1]
            found.append((path, named))
    return found


def test_the_page_has_every_question_with_its_parameters(page: str) -> None:
    listed = dict(addresses(page))
    questions = {question.path: question.parameters for question in QUESTIONS}
    assert {*listed, "/server"} == set(questions)
    for path, names in listed.items():
        assert set(names) <= set(questions[path].model_fields), path


VALUES = {
    "run": "als", "metric": "ndcg@2", "slice": "user_warmth=cold", "baseline": "popular", "margin": "1%",
    "correction": "bh", "format": "json",
}  # fmt: skip


def test_every_question_of_the_page_is_answered(page: str, running: Running) -> None:
    listed = addresses(page)
    assert len(listed) > 8
    for path, names in listed:
        where = path.replace("{experiment}", "films").replace("{test}", "home page")
        for query in ({}, {name: VALUES[name] for name in names}):
            assert running.api.ask(where, query=query).status == 200, (where, query)


def state(answer: Answer, status: int) -> Any:
    assert answer.status == status, answer.text
    return json.loads(answer.text)


def test_the_steps_that_send_a_file(page: str, running: Running) -> None:
    """The names in the steps are those that the API takes."""
    steps = page.partition("## Files")[2].partition("## ")[0]
    announce, body = re.findall(r"`(?:POST )([^`]+)` with `([^`]+)`", steps)[0]
    assert (announce, re.findall(r'"(\w+)"', body)) == ("/uploads", ["name", "size", "sha256"])
    header = re.findall(r"with the header `([^`]+)`", steps)[0]
    content, api = TRUTH.to_csv(index=False).encode(), running.api
    told = {"name": "truth.csv", "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    upload = state(api.ask(announce, "editor", "POST", body=told), 201)
    assert upload["received"] == 0
    where = f"/uploads/{upload['id']}"
    half = len(content) // 2
    first = api.ask(where, "editor", "PATCH", headers={header.lower(): "0"}, parts=[content[:half]])
    assert state(first, 200)["received"] == half
    assert state(api.ask(where, "editor"), 200)["received"] == half
    rest = api.ask(where, "editor", "PATCH", headers={header.lower(): str(half)}, parts=[content[half:]])
    assert state(rest, 200)["received"] == len(content)
    asked = {"experiment": "sent", "files": [{"upload": upload["id"], "name": "truth.csv"}]}
    addition = state(api.ask("/additions", "editor", "POST", body=asked), 202)
    while addition["state"] == "running":
        time.sleep(0.05)
        addition = state(api.ask(f"/additions/{addition['id']}", "editor"), 200)
    assert addition["state"] == "stored"


def test_errors_have_the_parts_that_the_page_names(page: str, running: Running) -> None:
    (shape,) = re.findall(r"`\{\"problems\": \[\{(.*?)\}\]\}`", page)
    assert set(re.findall(r'"(\w+)"', shape)) == PROBLEM_KEYS
    for path, role, status in (("/server", None, 401), ("/experiments/nothing", "viewer", 404)):
        (problem,) = state(running.api.ask(path, role), status)["problems"]  # type: ignore[arg-type]
        assert set(problem) == PROBLEM_KEYS


def test_what_connect_answers_is_what_the_page_names(page: str, running: Running) -> None:
    remote = recdash.connect(running.url, running.api.tokens["viewer"])
    words = page.partition("`recdash.connect(URL, token)`")[2].partition("Answers have")[0]
    named = re.findall(r"`([a-z_.]+)`", words)
    assert len(named) > 8
    part: Any = remote
    for name in named:
        *owner, method = name.split(".")
        part = getattr(remote, owner[0]) if owner else part if hasattr(part, method) else remote
        assert callable(getattr(part, method)), name
    assert [experiment.name for experiment in remote.experiments.all()] == [
        experiment.name for experiment in running.workspace.experiments.all()
    ]
