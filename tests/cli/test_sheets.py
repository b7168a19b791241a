"""``FILE.xlsx#SHEET`` names a sheet of a workbook; without it, a notice names all sheets."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from terminal import Recdash, as_json
from workbook import workbook

FILES: dict[str, str] = {}
TRUTH = pd.DataFrame({"user_id": ["ann", "bob"], "item_id": ["a", "b"]})
HIT, MISS = (TRUTH.assign(item_id=items, rank=1) for items in (["a", "b"], ["b", "a"]))


@pytest.fixture
def book(run: Recdash) -> Path:  # noqa: ARG001 - it sets the working directory
    file = Path("book.xlsx")
    tables = {"test": TRUTH, "miss": MISS, "hit": HIT}
    file.write_bytes(
        workbook({name: [list(table), *table.values.tolist()] for name, table in tables.items()})
    )
    return file


def test_a_sheet_is_named_behind_the_file(run: Recdash, book: Path) -> None:
    result = as_json(
        run, "evaluate", "--truth", f"{book}#test", "--run", f"als={book}#hit", "--metrics", "recall@1"
    )
    assert "1.0" in str(result)
    missed = run("evaluate", "--truth", f"{book}#test", "--run", f"als={book}#miss", "--metrics", "recall@1")
    assert missed.exit_code == 0
    assert "one of 3" not in missed.stderr


def test_without_a_sheet_all_sheets_and_the_way_to_name_one_are_told(run: Recdash, book: Path) -> None:
    result = run("evaluate", "--truth", f"{book}#test", "--run", f"als={book}", "--metrics", "recall@1")
    assert "one of 3: test, miss and hit. Choose another sheet" in result.stderr
    assert "FILE.xlsx#SHEET" in result.stderr
    unknown = run("evaluate", "--truth", f"{book}#tests", "--run", f"als={book}#hit")
    assert unknown.exit_code == 2
    assert "no sheet is called 'tests'; found: test, miss and hit" in unknown.stderr


def test_a_file_of_this_name_is_read_as_a_file(run: Recdash, book: Path) -> None:
    book.rename("a.xlsx#b.xlsx")
    result = run(
        "evaluate", "--truth", "a.xlsx#b.xlsx#test", "--run", "als=a.xlsx#b.xlsx", "--metrics", "recall@1"
    )
    assert result.exit_code == 0, result.stderr


def test_every_command_reads_a_sheet(run: Recdash, book: Path) -> None:
    seen = as_json(run, "inspect", f"{book}#hit", "--truth", f"{book}#test", "--format", "json")
    assert (seen["kind"], seen["rows"], seen["file"]) == ("run", 2, "hit")
    assert "sheet" not in [problem["code"] for problem in seen["problems"]]
    tables = ("--truth", f"{book}#test", "--run", f"{book}#hit", "--run", f"als={book}#miss")
    compared = as_json(run, "compare", *tables, "--baseline", "als", "--metric", "recall@1")
    assert "hit" in str(compared)
    added = run("add", "--experiment", "books", *tables, "--train", f"{book}#miss")
    assert added.exit_code == 0, added.stderr
    assert "hit: added" in added.stdout
    assert "als: added" in added.stdout
    sorted_files = run("add", "--experiment", "again", f"{book}#test", f"{book}#hit")
    assert sorted_files.exit_code == 0, sorted_files.stderr
    assert "test: truth" in sorted_files.stdout
    assert "hit: added" in sorted_files.stdout
    assert "miss" not in sorted_files.stdout


def test_an_equals_sign_in_a_sheet_is_part_of_its_name(run: Recdash) -> None:
    rows = [list(HIT), *HIT.values.tolist()]
    Path("book.xlsx").write_bytes(workbook({"lr=0.1": rows, "lr=0.2": rows}))
    TRUTH.to_csv("truth.csv", index=False)
    tables = ("--run", "book.xlsx#lr=0.1", "--run", "als=book.xlsx#lr=0.2")
    scores = as_json(run, "evaluate", "--truth", "truth.csv", *tables, "--metrics", "recall@1")["scores"]
    assert [(score["run"], score["value"]) for score in scores] == [("lr=0.1", 1.0), ("als", 1.0)]
