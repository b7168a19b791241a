"""The examples of the documentation's task pages, run in the order of each page in one folder.

A block with ``title="NAME"`` is a file, ``sh`` and ``python`` are run, and ``text`` right after one of them
is what it prints.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("start", "numbers", "off-policy", "notebook", "scale", "extend")
LONG_PAGES = ("choose", "verdict", "ab-tests")
"""Pages whose commands take 20 to 30 s together."""
ELSEWHERE = {
    "deployment": "it needs a server, a proxy or Docker",
    "gate": "tests/setup/test_gate_page.py",
    "own-metrics": "tests/metrics/test_own_metrics.py",
    "mcp": "an installation of the extra, which tests/mcp has",
    "mutation-testing": "it takes hours",
    "sources": "it needs a bucket, a web server or a database",
    "trackers": "it needs a tracking server",
}
"""Pages with examples that are run by other tests, or by none for the reason given."""
BLOCK = re.compile(
    r"^```(?P<language>sh|bash|python|csv|text)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    language: str
    title: str | None
    body: str
    is_adjacent: bool
    """Whether only blanks stand between it and the block before it."""


def blocks(page: str) -> list[Block]:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return list(_blocks(text))


def _blocks(text: str) -> Iterator[Block]:
    end = 0
    for found in BLOCK.finditer(text):
        yield Block(found["language"], found["title"], found["body"], not text[end : found.start()].strip())
        end = found.end()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a person who has installed recdash: the command, and no setting."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "recdash").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m recdash "$@"\n')
    (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECDASH_")}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "200",
    }


@pytest.mark.parametrize(
    "page", [*PAGES, *(pytest.param(page, marks=pytest.mark.long) for page in LONG_PAGES)]
)
def test_the_examples_of_the_page_run(page: str, tmp_path: Path, environment: dict[str, str]) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    code, printed = "", ""
    for block in blocks(page):
        if block.title:
            (folder / block.title).write_text(block.body, encoding="utf-8")
        elif block.language == "text":
            assert not block.is_adjacent or printed.strip() == block.body.strip()
        elif block.language == "python":
            # The cells of a notebook share their names: each runs after those before it, which stay quiet.
            before = f"with contextlib.redirect_stdout(io.StringIO()):\n    exec({code!r})\n"
            script = f"import contextlib, io\n{before}{block.body}"
            printed = _run([sys.executable, "-c", script], folder, environment)
            code += block.body
        elif block.language in {"sh", "bash"}:
            printed = _run(["bash", "-eo", "pipefail", "-c", block.body], folder, environment)


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[-1]}\n{done.stderr}"
    return done.stdout


def test_every_page_with_an_example_is_run_or_says_why_not() -> None:
    with_examples = {
        path.stem
        for path in (ROOT / "docs").glob("*.md")
        if any(block.language in {"sh", "bash", "python"} for block in blocks(path.stem))
    }
    assert with_examples <= {*PAGES, *LONG_PAGES, *ELSEWHERE}
    assert {*PAGES, *LONG_PAGES} <= {path.stem for path in (ROOT / "docs").glob("*.md")}
