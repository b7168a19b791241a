"""``-`` is standard input for every command that reads files: once, and within the limit of an upload."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recdash.cli import main

TRUTH = "user_id,item_id\n" + "".join(f"u{user},i{user}\n" for user in range(4))
RUN = "user_id,item_id,rank\n" + "".join(
    f"u{user},i{user + r},{r + 1}\n" for user in range(4) for r in (0, 1)
)
Piped = Callable[..., Result]


@pytest.fixture
def piped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Piped:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECDASH_DATABASE_URL", f"sqlite:///{tmp_path}/recdash.db")
    monkeypatch.setenv("RECDASH_ARTIFACTS", str(tmp_path / "artifacts"))
    Path("truth.csv").write_text(TRUTH)
    Path("als.csv").write_text(RUN)
    return lambda data, *words: CliRunner().invoke(main, words, input=data)


@pytest.mark.parametrize(("run", "name"), [("-", "standard input"), ("als=-", "als")])
def test_evaluate_reads_a_run(piped: Piped, run: str, name: str) -> None:
    scored = piped(RUN, "evaluate", "--truth", "truth.csv", "--run", run, "--metrics", "mrr@2")
    assert scored.exit_code == 0, scored.output
    assert name in scored.stdout.splitlines()[0]
    assert "1.00" in scored.stdout.splitlines()[1]


def test_evaluate_reads_a_test_set(piped: Piped) -> None:
    scored = piped(TRUTH, "evaluate", "--truth", "-", "--run", "als=als.csv", "--metrics", "mrr@2")
    assert scored.exit_code == 0, scored.output
    assert "1.00" in scored.stdout


@pytest.mark.parametrize("words", [["-", "truth.csv"], ["--truth", "truth.csv", "--run", "als=-"]])
def test_add_reads_a_run(piped: Piped, words: list[str]) -> None:
    added = piped(RUN, "add", "--experiment", "Films", *words)
    assert added.exit_code == 0, added.output
    runs = json.loads(piped("", "list", "--format", "json").stdout)["experiments"][0]["runs"]
    assert [run["name"] for run in runs] == ["als" if "als=-" in words else "standard input"]


def test_it_is_read_once(piped: Piped) -> None:
    refused = piped(RUN, "evaluate", "--truth", "-", "--run", "-")
    assert refused.exit_code != 0
    assert "given for two files" in refused.stderr


def test_it_has_the_limit_of_an_upload(piped: Piped, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECDASH_MAX_UPLOAD_BYTES", "20")
    refused = piped(RUN, "inspect", "-")
    assert refused.exit_code != 0
    assert f"{len(RUN)} bytes in the file, over the limit of 20" in refused.output


# ── pipes ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[str]:
    """The path of a pipe that gives the run once."""
    path = tmp_path / "bpr.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(RUN,))
    writer.start()
    yield str(path)
    writer.join(timeout=10)


@pytest.mark.parametrize(
    "words", [["inspect", "--truth", "truth.csv"], ["add", "--experiment", "Films", "truth.csv"]]
)
def test_a_pipe_can_be_read_as_often_as_a_file(piped: Piped, pipe: str, words: list[str]) -> None:
    done = piped("", *words, pipe)
    assert done.exit_code == 0, done.output
    assert "bpr" in done.stdout


def test_a_pipe_has_the_limit_of_an_upload(piped: Piped, pipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECDASH_MAX_UPLOAD_BYTES", "20")
    refused = piped("", "evaluate", "--truth", "truth.csv", "--run", f"bpr={pipe}")
    assert refused.exit_code != 0
    assert f"{len(RUN)} bytes in the file, over the limit of 20" in refused.output
