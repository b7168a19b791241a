"""``recdash verify`` names what differs, and computes stored numbers again from their uploads."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from decision_worlds import checkout, sessions

from recdash.cli import main
from recdash.service import Workspace
from recdash.store.checksums import checksum, key_checksum


@pytest.fixture
def with_films(with_demo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECDASH_DATABASE_URL", f"sqlite:///{with_demo / 'recdash.db'}")
    monkeypatch.setenv("RECDASH_ARTIFACTS", str(with_demo / "artifacts"))
    return with_demo / "recdash.db"


def verified(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["verify", *arguments])


def head_of(file: Path) -> str:
    with closing(sqlite3.connect(file)) as database, database:
        (head,) = database.execute("SELECT hash FROM deed ORDER BY number DESC LIMIT 1").fetchone()
    database.close()
    return str(head)


def test_the_demo_is_as_it_was_stored_and_all_of_it_is_computed_again(with_films: Path) -> None:
    result = verified("--all", "--head", head_of(with_films), "--format", "json")
    facts = json.loads(result.stdout)
    assert (result.exit_code, facts["findings"], facts["not_recomputed"]) == (0, [], [])
    assert (facts["not_sealed"], facts["lines_without_key"]) == ([], 0)
    assert "A/B test" in " ".join(facts["recomputed"])
    assert facts["last_line"]["hash"] == head_of(with_films)


@pytest.mark.usefixtures("with_films")
def test_a_sample_is_the_same_for_the_same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recdash.report.reproduce.verify.SAMPLE", 2)
    samples = [json.loads(verified("--seed", "a", "--format", "json").stdout)["recomputed"] for _ in range(2)]
    other = json.loads(verified("--seed", "b", "--format", "json").stdout)["recomputed"]
    assert samples[0] == samples[1] != other
    assert len(samples[0]) == 2


def test_a_log_without_the_noted_line_is_named(with_films: Path) -> None:
    noted = head_of(with_films)
    with closing(sqlite3.connect(with_films)) as database, database:
        database.execute("DELETE FROM deed WHERE number = (SELECT max(number) FROM deed)")
    database.close()
    result = verified("--head", noted)
    assert result.exit_code == 1
    assert "no line has the noted hash" in result.stdout


def test_zeroed_curves_are_named_with_what_the_upload_gives(with_films: Path) -> None:
    with closing(sqlite3.connect(with_films)) as database, database:
        database.row_factory = sqlite3.Row
        query = (
            "SELECT curve.* FROM curve JOIN run ON run.id = run WHERE metric = 'ndcg' AND depth > 1 LIMIT 1"
        )
        columns = dict(database.execute(query).fetchone())
        columns["value"] = np.zeros(columns["depth"]).tobytes()
        key = (columns["run"], columns["metric"])
        made = key_checksum(*key) + checksum(columns)
        change = "UPDATE curve SET value = ?, checksum = ? WHERE run = ? AND metric = ?"
        database.execute(change, (columns["value"], made, *key))
    database.close()
    result = verified("--all", "--format", "json")
    findings = json.loads(result.stdout)["findings"]
    assert result.exit_code == 1
    assert {finding["table"] for finding in findings} == {"curve"}
    assert any(finding["row"].startswith("curves of run") for finding in findings)
    (named,) = [finding for finding in findings if finding["row"].startswith("ndcg of run")]
    assert named["found"] == "its value at k = 1 is 0"
    assert "as its upload gives" in named["expected"]


@pytest.mark.usefixtures("with_films")
def test_what_was_not_computed_again_is_counted_beyond_what_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recdash.report.reproduce.verify._differences", lambda *_: None)
    monkeypatch.setattr(import_module("recdash.cli.verify"), "MOST_NAMED", 2)
    facts = json.loads(verified("--all", "--format", "json").stdout)
    n_all = len(facts["not_recomputed"])
    assert (facts["n_recomputed"], facts["n_not_recomputed"], facts["n_not_sampled"]) == (0, n_all, 0)
    lines = [line for line in verified("--all").stdout.splitlines() if line.startswith("Not computed again")]
    assert lines[2:] == [f"Not computed again: {n_all - 2} more; --format json names all."]
    monkeypatch.setattr("recdash.report.reproduce.verify.SAMPLE", 1)
    facts = json.loads(verified("--format", "json").stdout)
    assert (facts["n_not_recomputed"], facts["n_not_sampled"]) == (1, n_all - 1)


def test_an_ab_test_without_runs_and_the_decision_on_it_are_as_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECDASH_DATABASE_URL", f"sqlite:///{tmp_path / 'recdash.db'}")
    monkeypatch.setenv("RECDASH_ARTIFACTS", str(tmp_path / "artifacts"))
    space = Workspace.open()
    test = checkout(space)
    space.decisions.decide(test.experiment, "ship", variant="B", text="More watch time.")
    again = space.online_tests.add(test.experiment, "again", {"sessions": sessions({"A": 60, "B": 120})})
    space.online_tests.delete(again.id, "again")
    space.store.close()
    result = verified("--all", "--head", head_of(tmp_path / "recdash.db"), "--format", "json")
    facts = json.loads(result.stdout)
    assert (result.exit_code, facts["findings"], facts["not_recomputed"]) == (0, [], [])
    assert "checkout" in " ".join(facts["recomputed"])
