"""``recdash check``: what is damaged is named, by its run and with its repair; compare and report stop."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from terminal import Fill, Recdash

from recdash.errors import EvidenceDamaged, InputError
from recdash.service import Workspace
from recdash.store.connections import sqlite_driver

LISTS = "user_id,item_id,rank\n" + "".join(f"u{user},{{}}{user},1\n" for user in range(4))
FILES = {
    "truth.csv": "user_id,item_id\n" + "".join(f"u{user},i{user}\n" for user in range(4)),
    "good.csv": LISTS.format(*"iiii"),
    "poor.csv": LISTS.format(*"iixx"),
}


@pytest.fixture
def stored(run: Recdash, folder: Path, filled: Fill) -> Path:
    """The folder of a store with an experiment of two runs."""
    files = ["--truth", "truth.csv", "--run", "good=good.csv", "--run", "poor=poor.csv"]

    def fill() -> None:
        assert run("add", "--experiment", "Films", *files, "--accept-unknown-ids").exit_code == 0

    filled(fill)
    return folder / "store"


def change(store: Path, statement: str) -> None:
    connection = sqlite_driver().connect(store / "recdash.db")
    with connection:
        assert connection.execute(statement).rowcount == 1
    connection.close()


def damage_upload(store: Path) -> None:
    """Turn one bit of the upload of the run good."""
    connection = sqlite_driver().connect(store / "recdash.db")
    ((upload,),) = connection.execute("SELECT upload FROM run WHERE name = 'good'").fetchall()
    connection.close()
    (file,) = store.rglob(f"{upload}.*")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def damage_curve(store: Path) -> None:
    change(store, "UPDATE curve SET value = x'000000000000F03F' || substr(value, 9) WHERE metric = 'ndcg' "
           "AND run = (SELECT id FROM run WHERE name = 'good')")  # fmt: skip


def damage_run(store: Path) -> None:
    change(store, "UPDATE run SET ledger = replace(ledger, '4', '5') WHERE name = 'good'")


DAMAGE = pytest.mark.parametrize("damage", [damage_upload, damage_curve, damage_run])


@pytest.mark.usefixtures("stored")
def test_a_store_in_which_everything_holds(run: Recdash) -> None:
    result = run("check")
    assert (result.exit_code, result.output) == (0, "All stored data is intact.\n")
    assert json.loads(run("check", "--format", "json").output) == []


@DAMAGE
def test_damage_is_named_with_its_run_and_its_repair(
    run: Recdash, stored: Path, damage: Callable[[Path], None]
) -> None:
    damage(stored)
    result = run("check")
    assert result.exit_code == 1
    (line,) = result.output.splitlines()
    assert "run 'good'" in line
    assert "damaged" in line or "not what was written" in line
    assert "pload" in line
    (problem,) = json.loads(run("check", "--format", "json").output)
    assert problem["code"].startswith("damaged")


@DAMAGE
@pytest.mark.parametrize("ask", [["compare"], ["report", "-o", "report.md"]])
def test_damage_is_said_before_a_number(
    run: Recdash, stored: Path, folder: Path, damage: Callable[[Path], None], ask: list[str]
) -> None:
    damage(stored)
    question = ["--experiment", "Films", "--baseline", "poor", "--run", "good", "--metric", "ndcg@1"]
    result = run(*ask, *question)
    assert result.exit_code == 2
    assert "damaged" in result.output
    assert not (folder / "report.md").exists()
    assert "leads" not in result.output


@DAMAGE
def test_the_same_file_uploaded_again_repairs_it(
    run: Recdash, stored: Path, damage: Callable[[Path], None]
) -> None:
    damage(stored)
    again = run("add", "--experiment", "Films", "--run", "good=good.csv", "--accept-unknown-ids")
    assert again.exit_code == 0, again.output
    assert run("check").output == "All stored data is intact.\n"
    question = ["--experiment", "Films", "--baseline", "poor", "--run", "good", "--metric", "ndcg@1"]
    assert run("compare", *question).exit_code == 0


def test_a_store_that_cannot_be_opened_is_said_too(run: Recdash, stored: Path) -> None:
    for file in stored.glob("recdash.db*"):
        file.write_text("no database" * 1000)
    result = run("check")
    assert (result.exit_code, "file is not a database" in result.output) == (1, True)


def test_a_damaged_run_can_be_deleted(run: Recdash, stored: Path) -> None:
    (home,) = Workspace.open().experiments.all()
    good = next(run_ for run_ in Workspace.open().runs.all(home.id) if run_.name == "good")
    damage_run(stored)
    space = Workspace.open()
    with pytest.raises(EvidenceDamaged):
        space.store.runs.get(good.id)
    with pytest.raises(InputError, match="Type 'good' exactly"):
        space.runs.delete(good.id, "poor")
    space.runs.delete(good.id, "good")
    assert run("check").output == "All stored data is intact.\n"
    assert [run_.name for run_ in space.runs.all(home.id)] == ["poor"]
