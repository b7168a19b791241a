"""Runs of Weights & Biases are imported from their folders and the exported table of runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from decision_worlds import RUNS, TRUTH
from terminal import Recdash, as_json

from recdash.domain.access import Person
from recdash.errors import Forbidden, InputError
from recdash.service import Workspace
from recdash.store import open_store
from recdash.trackers import import_wandb
from recdash.trackers.tracked_run import MOST_PARAMS
from recdash.trackers.wandb import name_of_folder, read_runs

FILES: dict[str, str] = {"truth.csv": TRUTH.to_csv(index=False)}
CONFIG = """\
_wandb:
    value:
        cli_version: 0.22.0
factors:
    desc: null
    value: 64
layers:
    value:
        - 1
        - 2
name:
    value: "a b"
optimizer:
    value:
        lr: 0.1
        schedule: null
"""
"""As the library writes it at the end of a run."""
PARAMS = {
    "factors": "64",
    "layers": "[1, 2]",
    "name": "a b",
    "optimizer.lr": "0.1",
    "optimizer.schedule": "null",
}


def table_json(table: pd.DataFrame) -> bytes:
    """Returns a table as the library writes it."""
    return json.dumps({"columns": list(table.columns), "data": table.to_numpy().tolist()}).encode()


def folder_of(
    parent: Path, run_id: str, table: pd.DataFrame, config: str | None = CONFIG, **summary: Any
) -> Path:
    """A run's folder with the table that its summary names, and an earlier one of nothing."""
    folder = parent / "wandb" / f"run-20260301_120000-{run_id}"
    tables = folder / "files" / "media" / "table"
    tables.mkdir(parents=True)
    content = table_json(table)
    (tables / "lists_9_0a1b.table.json").write_bytes(content)
    (tables / "lists_10_2c3d.table.json").write_bytes(content[:-2])
    (folder / "files" / "history.csv").write_text("_step,loss,_runtime\n0,0.5,1\n")
    if config is not None:
        (folder / "files" / "config.yaml").write_text(config)
    entry = {
        "_type": "table-file",
        "path": "media/table/lists_9_0a1b.table.json",
        "sha256": hashlib.sha256(content).hexdigest(),
        **summary,
    }
    (folder / "files" / "wandb-summary.json").write_text(json.dumps({"loss": 0.5, "lists": entry}))
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    yield Workspace(store, person=Person("ann", "editor"))
    store.close()


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    TRUTH.to_csv(tmp_path / "truth.csv", index=False)
    return tmp_path / "truth.csv"


def test_a_run_has_the_parameters_and_the_tables_of_its_folder(
    workspace: Workspace, truth: Path, tmp_path: Path
) -> None:
    folders = {name: folder_of(tmp_path, f"id-{name}", table) for name, table in RUNS.items()}
    imported = import_wandb(workspace, "films", folders, files=[truth])
    assert [(run.name, run.tracked, run.state, run.why) for run in imported.runs] == [
        (name, f"id-{name}", "added", "") for name in RUNS
    ]
    home = workspace.experiments.named("films")
    runs = {run.name: run for run in workspace.runs.all(home.id)}
    for name, run in runs.items():
        assert run.params == PARAMS
        path = "media/table/lists_9_0a1b.table.json"
        sha256 = hashlib.sha256(table_json(RUNS[name])).hexdigest()
        assert run.source == {"tracker": "wandb", "run": f"id-{name}", "artifacts": {path: sha256}}
    scores = workspace.scores.scoreboard([run.id for run in runs.values()], ["ndcg"], 3)
    # the shares of users whose item stands first; the others do not find theirs
    assert dict(zip(scores["run"], scores["value"], strict=True)) == {
        "als": pytest.approx(7 / 8),
        "ease": pytest.approx(3 / 8),
        "popular": pytest.approx(1 / 8),
    }


def test_importing_again_changes_nothing(workspace: Workspace, truth: Path, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a1", RUNS["als"])
    import_wandb(workspace, "films", [folder], files=[truth])
    last = workspace.store.audit.last()
    # its files alone are the same run
    again = import_wandb(workspace, "films", [folder / "files"], files=[truth])
    assert [(run.name, run.state) for run in again.runs] == [("a1", "already stored")]
    assert workspace.store.audit.last() == last
    folder_of(tmp_path / "new", "a1", RUNS["ease"])
    with pytest.raises(InputError) as refused:
        import_wandb(workspace, "films", [next((tmp_path / "new" / "wandb").iterdir())], files=[truth])
    assert refused.value.problems[0].code == "changed-since-import"


def test_another_depth_than_that_of_the_experiment_is_refused(
    workspace: Workspace, truth: Path, tmp_path: Path
) -> None:
    als = folder_of(tmp_path, "a1", RUNS["als"])
    import_wandb(workspace, "films", [als], files=[truth], depth=2)
    ease = folder_of(tmp_path, "e1", RUNS["ease"])
    with pytest.raises(InputError) as refused:
        import_wandb(workspace, "films", [ease], depth=3)
    assert str(refused.value) == (
        "depth: 3; experiment 'films' has 2. Leave it out, or create another experiment: its rules are fixed "
        "when its test set is stored."
    )
    added = import_wandb(workspace, "films", [ease], depth=2)
    assert [run.state for run in added.runs] == ["added"]


def test_the_exported_table_of_runs_gives_names_tags_and_notes(
    workspace: Workspace, truth: Path, tmp_path: Path
) -> None:
    folders = [folder_of(tmp_path, run_id, RUNS[run_id]) for run_id in ("als", "ease")]
    rows = [
        {"Name": "bright-sun-1", "ID": "als", "State": "finished", "Notes": "-", "Tags": "final, spring"},
        {"Name": "ease", "ID": "", "State": "finished", "Notes": "Well.\x1b[31m", "Tags": ""},
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "runs.csv", index=False)
    import_wandb(workspace, "films", folders, files=[truth], table=tmp_path / "runs.csv")
    runs = {run.name: run for run in workspace.runs.all(workspace.experiments.named("films").id)}
    assert {name: (run.tags, run.note) for name, run in runs.items()} == {
        "bright-sun-1": (("final", "spring"), ""),
        "ease": ((), r"Well.\u001b[31m"),
    }


def test_a_run_that_was_logged_offline_has_its_newest_tables(
    workspace: Workspace, truth: Path, tmp_path: Path
) -> None:
    """The library writes no summary and no config.yaml then."""
    folder = folder_of(tmp_path, "a1", RUNS["als"], config=None)
    (folder / "files" / "wandb-summary.json").unlink()
    tables = folder / "files" / "media" / "table"
    (tables / "lists_10_2c3d.table.json").write_bytes(table_json(RUNS["ease"]))
    (run,) = read_runs({"als": folder})
    assert [file.path for file in run.files] == ["media/table/lists_10_2c3d.table.json"]
    imported = import_wandb(workspace, "films", {"als": folder}, files=[truth])
    assert imported.runs[0].why == "it has no config.yaml, so its parameters are unknown"


def test_a_table_with_other_bytes_than_its_summary_says_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a1", RUNS["als"], sha256="0" * 64)
    with pytest.raises(InputError) as refused:
        read_runs({"als": folder})
    assert refused.value.problems[0].code == "altered-artifact"


NESTED = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
"""A list of 9⁹ texts in ten lines."""


@pytest.mark.parametrize(
    "config",
    ["a: &a {b: *a}", "a: &a [*a]", "{", "a: !!python/object/apply:os.system [true]"],
)
def test_a_config_that_is_none_is_refused(tmp_path: Path, config: str) -> None:
    with pytest.raises(InputError) as refused:
        read_runs({"als": folder_of(tmp_path, "a1", RUNS["als"], config)})
    assert refused.value.problems[0].code == "bad-tracker-data"


def test_a_config_cannot_grow_without_end(tmp_path: Path) -> None:
    (run,) = read_runs({"als": folder_of(tmp_path, "a1", RUNS["als"], NESTED)})
    assert set(run.params) == set("abcdefghi")
    assert max(map(len, run.params.values())) < 7_000
    many = "".join(f"p{number}: 1\n" for number in range(2_000))
    (run,) = read_runs({"als": folder_of(tmp_path / "many", "a1", RUNS["als"], many)})
    assert len(run.params) == MOST_PARAMS


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("wandb/run-20260301_120000-3f1c0a2b", "3f1c0a2b"),
        ("wandb/offline-run-20260301_120000-3f1c0a2b/files", "3f1c0a2b"),
        ("downloads/als", "als"),
    ],
)
def test_a_run_is_named_after_its_folder(tmp_path: Path, path: str, name: str) -> None:
    assert name_of_folder(tmp_path / path) == name


def test_only_editors_import(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(Forbidden):
        import_wandb(workspace.seen_by(Person("bob", "viewer")), "films", [tmp_path])


def test_the_command_does_the_same(run: Recdash, folder: Path) -> None:
    als = folder_of(folder, "a1", RUNS["als"])
    ease = folder_of(folder, "e1", RUNS["ease"])
    call = ("import", "wandb", "films", f"ALS={als}", str(ease), "--file", "truth.csv", "--depth", "2")
    said = run(*call)
    assert (said.exit_code, said.stdout) == (0, "ALS: added\ne1: added\n"), said.stderr
    assert [row["state"] for row in as_json(run, *call)["runs"]] == ["already stored"] * 2
    (facts,) = as_json(run, "list")["experiments"]
    assert (facts["depth"], [row["name"] for row in facts["runs"]]) == (2, ["ALS", "e1"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("experiment", 5),
        ("folders", None),
        ("folders", {"als": 5}),
        ("folders", {5: "run-1"}),
        ("files", 5),
        ("files", [None]),
        ("artifacts", 5),
        ("artifacts", [5]),
        ("table", 5),
    ],
)
def test_an_argument_of_a_wrong_type_is_refused_by_name(
    workspace: Workspace, tmp_path: Path, name: str, value: Any
) -> None:
    given = {"experiment": "films", "folders": [folder_of(tmp_path, "aaaa1111", RUNS["als"])], "files": []}
    with pytest.raises(InputError) as refused:
        import_wandb(workspace, **{**given, name: value})
    (problem,) = refused.value.problems
    assert problem.place.split(",")[0] == name
    assert problem.fix


def test_an_unknown_option_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No option is called 'tag'"):
        import_wandb(workspace, "films", folder_of(tmp_path, "aaaa1111", RUNS["als"]), tag=["new"])


def test_one_path_is_one_folder_and_one_file(workspace: Workspace, tmp_path: Path) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text(FILES["truth.csv"])
    (run,) = import_wandb(workspace, "films", folder_of(tmp_path, "aaaa1111", RUNS["als"]), files=truth).runs
    assert run.state == "added"
