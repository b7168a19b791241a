"""``recdash purge``: asks for the id, removes one user, and says what became of the rest."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from terminal import Recdash

from recdash.cli import main

FILES = {
    "truth.csv": "user_id,item_id\nann,a\nbob,b\ncid,c\n",
    "als.csv": "user_id,item_id,rank\nann,a,1\nbob,a,1\ncid,c,1\n",
}


@pytest.fixture
def films(run: Recdash) -> Recdash:
    added = run("add", "--experiment", "Films", "--truth", "truth.csv", "--run", "als=als.csv")
    assert added.exit_code == 0
    return run


def test_a_user_is_removed_after_the_id_is_typed(films: Recdash) -> None:
    """ann has a row in the test set and one in the run."""
    would = films("purge", "--user", "ann", "--dry-run")
    assert would.stdout.splitlines() == [
        "Would remove 2 rows in 1 experiment, no saved view.",
        "Would compute again: 1 run (als).",
    ]
    refused = CliRunner().invoke(main, ["purge", "--user", "ann"], input="anna\n")
    assert (refused.exit_code, "Nothing was removed" in refused.stderr) == (2, True)
    done = CliRunner().invoke(main, ["purge", "--user", "ann"], input="ann\n")
    assert done.stdout.splitlines() == [
        "Removed 2 rows in 1 experiment, no saved view.",
        "Computed again: 1 run (als).",
    ]
    assert "Backups" in done.stderr
    assert films("purge", "--user", "ann", "--yes").stdout.startswith("No stored table has a row")
    assert films("check").exit_code == 0
    verified = films("verify", "--all")
    assert (verified.exit_code, "uploads: 1 of 1 runs" in verified.output) == (0, True), verified.output


def test_a_text_that_may_mention_the_user_is_named(films: Recdash) -> None:
    films("note", "--experiment", "Films", "--run", "als", "bad for ann")
    done = films("purge", "--user", "ann", "--yes")
    assert "The id may be mentioned in: run 'als'." in done.stderr
