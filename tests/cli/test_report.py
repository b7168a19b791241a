"""recdash report and recdash reproduce from a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from report_tables import copied

from recdash.report.reports import Reports
from recdash.service import Workspace

if TYPE_CHECKING:
    from terminal import Recdash

FILES: dict[str, str] = {}


@pytest.fixture
def stored(films_folder: Path, folder: Path) -> Workspace:
    """The films in the store of the settings."""
    copied(films_folder, folder / "store")
    return Workspace.open()


@pytest.fixture
def report(run: Recdash, stored: Workspace) -> Callable[..., str]:
    """``report("-o", "r.html", …)``: what is printed."""
    assert stored.experiments.all()

    def write(*arguments: str) -> str:
        done = run("report", "--experiment", "films", *arguments)
        assert done.exit_code == 0, done.output
        return str(done.stdout)

    return write


@pytest.mark.parametrize(
    ("form", "begins"),
    [("html", b"<!DOCTYPE html>"), ("md", b"# Ship als"), ("csv", "﻿section,table".encode()),
     ("json", b'{\n "is": "Document"'), ("tex", b"% ")],
)  # fmt: skip
def test_a_file_s_suffix_says_its_form(
    report: Callable[..., str], folder: Path, form: str, begins: bytes
) -> None:
    output = report("--metric", "ndcg@3", "-o", f"r.{form}")
    content = (folder / f"r.{form}").read_bytes()
    assert content.startswith(begins)
    assert f"Ship als. Written: r.{form} ({len(content):,} bytes)" in output


def test_the_question_can_be_asked_in_full(report: Callable[..., str], folder: Path) -> None:
    report(
        "--baseline", "als", "--run", "ease", "--run", "popular", "--metric", "recall", "--k", "2",
        "--margin", "0.002", "--correction", "bh", "--slice", "history", "--test", "March",
        "--online-metric", "engagement_rate", "--title", "Which?", "--narrative", "My words.",
        "--block", "evidence", "--block", "slices", "-o", "r.json",
    )  # fmt: skip
    result = json.loads((folder / "r.json").read_text())
    question = result["question"]
    assert (question["metric"], question["k"], question["by"]) == ("recall", 2, "history")
    assert question["terms"]["margin"] == {"size": 0.002, "relative": False}
    assert question["terms"]["correction"] == "bh"
    assert [row["name"] for row in result["sections"]] == ["evidence", "slices"]
    assert (result["title"], result["narrative"]) == ("Which?", "My words.")
    assert [row["name"] for row in result["runs"]] == ["als", "ease", "popular"]


def test_the_command_in_a_report_makes_it_again(
    report: Callable[..., str], run: Recdash, folder: Path
) -> None:
    import shlex

    report("--metric", "ndcg@3", "--block", "evidence", "--block", "reproducing", "-o", "r.json")
    result = json.loads((folder / "r.json").read_text())
    commands = [
        part["line"] for row in result["sections"] for part in row["parts"] if part["is"] == "Command"
    ]
    (line,) = [row for row in commands if row.startswith("recdash report")]
    arguments = shlex.split(line)[1:]
    arguments[-1] = "again.json"
    assert run(*arguments).exit_code == 0
    again = json.loads((folder / "again.json").read_text())
    assert again["sections"] == result["sections"]


def test_a_narrative_can_come_from_a_file(report: Callable[..., str], folder: Path) -> None:
    (folder / "words.txt").write_text("From a file.")
    report("--narrative", "@words.txt", "--block", "evidence", "-o", "r.md")
    assert "> From a file." in (folder / "r.md").read_text()


def test_without_runs_it_is_about_the_a_b_test(run: Recdash, folder: Path) -> None:
    rows = [f"u{n},{'new' if n % 2 else 'old'},{n * 7 % 5 + 2 * (n % 2)}" for n in range(400)]
    (folder / "shop.csv").write_text("\n".join(["user,variant,orders", *rows]), encoding="utf-8")
    workspace = Workspace.open()
    experiment = workspace.experiments.create("Shop")
    workspace.online_tests.add(experiment.id, "checkout", {"sessions": folder / "shop.csv"}, control="old")
    done = run("report", "--experiment", "Shop", "-o", "shop.html")
    assert done.exit_code == 0, done.output
    assert "Ship new. Written: shop.html" in done.stdout
    checked = run("reproduce", "shop.html")
    assert checked.exit_code == 0, checked.output


def test_keep_stores_a_snapshot_too(report: Callable[..., str], stored: Workspace) -> None:
    report("--keep", "--title", "Kept", "-o", "r.md")
    (kept,) = Reports(stored).all(stored.experiments.all()[0].id)
    assert (kept.title, kept.document is None) == ("Kept", False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(("-o", "r.docx"), "no form of a report"),
     (("--run", "nobody", "-o", "r.md"), "No run is called 'nobody'"),
     (("--test", "May", "-o", "r.md"), "No A/B test is called 'May'"),
     (("--block", "x", "-o", "r.md"), "No block is called"),
     (("--metric", "ndcg@3", "--k", "4", "-o", "r.md"), "Write the cutoff once"),
     (("--narrative", "@nowhere.txt", "-o", "r.md"), "it cannot be read (No such file or directory)"),
     (("--dashboard", "javascript:alert(1)", "-o", "r.md"), "--dashboard: 'javascript:alert(1)'. Write the"),
     (("-o", "no-folder/r.md"), "no-folder/r.md: it cannot be written (No such file or directory)"),
     (("-o", "folder/r"), "folder/r: it has no ending")],
)  # fmt: skip
def test_what_cannot_be_reported_is_refused_in_words(
    run: Recdash, stored: Workspace, folder: Path, arguments: tuple[str, ...], words: str
) -> None:
    assert stored.experiments.all()
    done = run("report", "--experiment", "films", *arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert not list(folder.glob("r.*"))


def test_a_pdf_is_refused_at_once_where_no_chromium_is(
    run: Recdash, stored: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stored.experiments.all()
    monkeypatch.setenv("PATH", "/nowhere")
    done = run("report", "--experiment", "films", "-o", "r.pdf")
    assert done.exit_code == 2
    assert "No Chromium was found" in done.stderr


def test_reproduce_confirms_and_exits_with_1_for_a_changed_number(
    report: Callable[..., str], run: Recdash, folder: Path
) -> None:
    report("--metric", "ndcg@3", "-o", "r.json")
    done = run("reproduce", "r.json")
    assert done.exit_code == 0
    assert done.stdout.startswith("Confirmed: ")
    text = (folder / "r.json").read_text()
    (folder / "r.json").write_text(text.replace('"wins": 40', '"wins": 39'))
    done = run("reproduce", "r.json", "--format", "json")
    assert done.exit_code == 1
    (change,) = json.loads(done.stdout)["changes"]
    assert change == {"where": "verdict › split › wins", "said": "39", "found": "40"}


def test_reproduce_exits_with_2_where_the_tables_are_not(
    report: Callable[..., str], run: Recdash, stored: Workspace
) -> None:
    report("-o", "r.json")
    experiment = stored.experiments.all()[0]
    stored.experiments.delete(experiment.id, "films")
    done = run("reproduce", "r.json")
    assert done.exit_code == 2
    assert "No stored experiment has the tables of 'films'" in done.stderr
