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
