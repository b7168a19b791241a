"""NAME=FILE where the name, the file, or both have = themselves."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from terminal import Recdash, as_json

from recdash.cli.options import NamedFile, Stem
from recdash.errors import InputError

LISTS = "user_id,item_id,rank\nu1,a,1\nu1,b,2\nu2,a,1\nu2,c,2\n"
TRUTH = "user_id,item_id\nu1,a\nu2,c\n"
FILES = {
    "lists.csv": LISTS,
    "250=lists.csv": LISTS,
    "only.csv": LISTS,
    " only.csv": LISTS,
    "truth.csv": TRUTH,
    "book=1.xlsx": "",
}


@pytest.fixture(autouse=True)
def lists_in_a_folder(folder: Path) -> None:
    (folder / "lr=0.1").mkdir()
    (folder / "lr=0.1" / "lists.csv").write_text(LISTS, encoding="utf-8")


@pytest.mark.parametrize(
    ("value", "name", "file"),
    [
        ("als=lists.csv", "als", "lists.csv"),
        ("EASE λ=250=only.csv", "EASE λ=250", "only.csv"),
        ("EASE λ=250 = only.csv", "EASE λ=250", " only.csv"),
        ("als=lr=0.1/lists.csv", "als", "lr=0.1/lists.csv"),
        ("k=5=lr=0.1/lists.csv", "k=5", "lr=0.1/lists.csv"),
        ("EASE=250=lists.csv", "EASE=250", "lists.csv"),  # of two files the one after the longest name
        ("als=missing.csv", "als", "missing.csv"),  # which reading it refuses
    ],
)
def test_the_longest_name_that_leaves_a_file_is_the_name(value: str, name: str, file: str) -> None:
    assert NamedFile().convert(value) == (name, Path(file))


def test_a_file_whose_whole_name_is_given_has_no_other_name() -> None:
    name, file = NamedFile().convert("250=lists.csv")
    assert (name, type(name), file) == ("250=lists", Stem, Path("250=lists.csv"))


def test_a_sheet_may_follow_a_name_with_an_equals_sign() -> None:
    name, sheet = NamedFile().convert("λ=2=book=1.xlsx#day=1")
    assert (name, Path(sheet.file), sheet.name) == ("λ=2", Path("book=1.xlsx"), "day=1")  # type: ignore[union-attr]


@pytest.mark.parametrize("address", ["s3://lists/day=1/x.csv?a=lists.csv", "sql:duckdb:///x SELECT 1 AS a=-"])
def test_an_address_may_have_equals_signs(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    asked: list[str] = []

    def readable(value: str, _context: click.Context | None) -> Path:
        asked.append(value)
        return Path("copy.csv")

    monkeypatch.setattr("recdash.cli.options.readable", readable)
    assert NamedFile().convert(f"EASE λ=250={address}") == ("EASE λ=250", Path("copy.csv"))
    assert asked == [address]


def test_where_no_division_leaves_a_file_all_that_were_tried_are_named() -> None:
    with pytest.raises(InputError) as error:
        NamedFile().convert("EASE λ=250=list.csv")
    (problem,) = error.value.problems
    assert problem.code == "bad-name"
    assert "tried 'list.csv' and '250=list.csv'" in problem.found


@pytest.mark.parametrize("value", ["=lists.csv", "als=", "=", "==", " =lists.csv"])
def test_a_name_or_a_file_that_is_missing_is_refused(value: str) -> None:
    with pytest.raises(InputError, match="the name or the file is missing"):
        NamedFile().convert(value)


def test_commands_take_such_names(run: Recdash) -> None:
    run_option = ("--run", "EASE λ=250=only.csv", "--truth", "truth.csv")
    scored = as_json(run, "evaluate", *run_option)
    assert "EASE λ=250" in json.dumps(scored, ensure_ascii=False)
    added = run("add", "--experiment", "films", *run_option)
    assert (added.exit_code, "EASE λ=250" in added.stdout) == (0, True)
