"""``recdash inspect``: the words, the exit status, standard input and the table of rejected rows."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from terminal import Recdash, as_json
from workbook import workbook

import recdash
from recdash.cli import main

ROWS = "user_id,item_id,rank\nu1,a,1\nu1,b,2\n,c,1\nu2,a,1\nu2,a,2\n"
FILES = {"als.csv": ROWS, "bad.csv": "user_id,item_id,score\nu1,a,n/a\n"}


def test_a_file_is_told_with_its_action_and_an_example(run: Recdash) -> None:
    facts = as_json(run, "inspect", "als.csv", "--as", "run")
    assert (facts["action"], facts["rows"]) == ("accept with warning", 4)
    told = {problem["code"]: (problem["count"], problem["example"]) for problem in facts["problems"]}
    assert told["missing-user-id"] == (1, "line 4")
    assert told["duplicate-pairs"] == (1, "user 'u2', item 'a'")


def test_a_rejected_file_exits_with_one(run: Recdash) -> None:
    result = run("inspect", "bad.csv", "--as", "run")
    assert result.exit_code == 1
    assert "bad.csv: reject" in result.stdout


def test_rejected_rows_are_written(run: Recdash, folder: Path) -> None:
    run("inspect", "als.csv", "--as", "run", "--rejects", str(folder / "rejects.csv"))
    with (folder / "rejects.csv").open() as lines:
        rows = [(row["file"], row["row"], row["value"]) for row in csv.DictReader(lines)]
    assert rows == [("als.csv", "3", ""), ("als.csv", "5", "a")]


def test_a_file_for_rejects_that_cannot_be_written_is_named(run: Recdash) -> None:
    result = run("inspect", "als.csv", "--as", "run", "--rejects", "no/rejects.csv")
    assert result.exit_code == 2
    assert "recdash: --rejects: 'no/rejects.csv' cannot be written (No such file or" in result.stderr


def test_standard_input_is_read_like_a_file() -> None:
    result = CliRunner().invoke(main, ["inspect", "-", "--as", "run", "--format", "json"], input=ROWS)
    assert json.loads(result.stdout)["rows"] == 4


def test_nothing_is_stored(run: Recdash, folder: Path) -> None:
    before = sorted(path for path in folder.rglob("*") if path.is_file())
    run("inspect", "als.csv")
    assert sorted(path for path in folder.rglob("*") if path.is_file()) == before


def test_a_notice_says_what_was_done_and_how_to_refuse_it(run: Recdash) -> None:
    told = run("inspect", "als.csv", "--as", "run").stdout
    assert "The rows are not read" in told
    assert "--refuse missing-user-id" in told
    refused = run("inspect", "als.csv", "--as", "run", "--refuse", "missing-user-id")
    assert (refused.exit_code, "als.csv: reject" in refused.stdout) == (1, True)


def test_every_command_that_scores_files_can_refuse_a_notice(run: Recdash, folder: Path) -> None:
    (folder / "truth.csv").write_text("user_id,item_id\nu1,a\nu2,a\n")
    files = ("--truth", "truth.csv", "--run", "als=als.csv", "--refuse", "rank-gaps")
    commands = (
        ("evaluate",),
        ("compare", "--run", "als2=als.csv", "--baseline", "als"),
        ("add", "--experiment", "Films"),
    )
    for command in commands:
        assert run(*command, *files).exit_code == 0, command
        refused = run(*command, *files, "--refuse", "duplicate-pairs")
        assert refused.exit_code == 2
        assert "Files with the notice 'duplicate-pairs' are refused, as you chose" in refused.output, command


@pytest.mark.parametrize(
    "words",
    [
        ("inspect", "none.csv"),
        ("evaluate", "--truth", "none.csv", "--run", "als=none.csv"),
        ("add", "--experiment", "Films", "--truth", "none.csv", "--run", "als=none.csv"),
        ("add", "--experiment", "Films", "none.csv"),
        ("online", "--sessions", "none.csv"),
        ("ope", "--log", "none.csv"),
    ],
)
def test_a_code_that_no_notice_has_is_said_before_any_file_is_read(
    run: Recdash, folder: Path, words: tuple[str, ...]
) -> None:
    (folder / "none.csv").write_text("nothing\n")
    refused = run(*words, "--refuse", "tis")
    assert refused.exit_code == 2
    assert "tis" in refused.output
    assert "none.csv" not in refused.output


def test_stored_runs_have_no_notices_to_refuse(run: Recdash) -> None:
    refused = run("compare", "--experiment", "Films", "--refuse", "ties")
    assert "--refuse" in refused.output
    assert run("compare", "--experiment", "Films").output != refused.output


def test_files_that_are_recognised_are_refused_by_their_notices(run: Recdash, folder: Path) -> None:
    (folder / "test set.csv").write_text("user_id,item_id\nu1,a\nu2,a\n")
    files = ("add", "--experiment", "Films", "test set.csv", "als.csv")
    refused = run(*files, "--refuse", "missing-user-id")
    assert "Files with the notice 'missing-user-id' are refused" in refused.output
    assert run(*files).exit_code == 0


TOGETHER = {
    "applications.csv": "candidate_ref,job_ref,applied_at\n"
    + "".join(
        f"C{n},J{n % 7},2026-10-0{1 + n % 9}\nC{n},J{(n + 3) % 7},2026-10-0{1 + n % 9}\n" for n in range(30)
    ),
    "views.csv": "candidate_ref,job_ref,viewed_at\n"
    + "".join(f"C{n},J{(n + k) % 7},2026-09-0{1 + n % 9}\n" for n in range(30) for k in (1, 2, 4, 5)),
    "production.csv": "candidate_ref,rec_1,rec_2,rec_3\n"
    + "".join(f"C{n},J{(n + 1) % 7},J{n % 7},J{(n + 5) % 7}\n" for n in range(30)),
    "jobs.csv": "job_ref,title,city\n" + "".join(f"J{n},Role {n},Ulm\n" for n in range(7)),
    "ab.csv": "candidate_ref,variant,device,applications\n"
    + "".join(f"C{n},{'AB'[n % 2]},{'mobile' if n % 3 else 'desktop'},{n % 5}\n" for n in range(60)),
}


def test_files_inspected_together_are_judged_as_they_are_added(run: Recdash, folder: Path) -> None:
    for name, text in TOGETHER.items():
        (folder / name).write_text(text)
    result = run("inspect", *TOGETHER, "--format", "json")
    files = {facts["file"]: facts for facts in json.loads(result.stdout)}
    assert result.exit_code == 0
    kinds = {name: facts["kind"] for name, facts in files.items()}
    assert kinds == dict(zip(TOGETHER, ("truth", "train", "run", "catalogue", "sessions"), strict=True))
    added = run("add", "--experiment", "jobs", *TOGETHER)
    assert added.exit_code == 0, added.stderr
    for name, facts in files.items():
        (line,) = [line for line in added.stdout.splitlines() if line.startswith(f"{name}:")]
        columns = ", ".join(f"{role} = '{column}'" for role, column in facts["mapping"].items())
        assert line == f"{name}: {facts['kind']} · {columns}"
    codes = {problem["code"] for facts in files.values() for problem in facts["problems"]}
    assert "train-leaks-truth" not in codes


def test_given_tables_tell_the_columns_of_an_inspected_file(run: Recdash, folder: Path) -> None:
    for name, text in TOGETHER.items():
        (folder / name).write_text(text)
    beside = as_json(run, "inspect", "production.csv", "--truth", "applications.csv")
    assert (beside["kind"], beside["mapping"]["user_id"]) == ("run", "candidate_ref")
    alone = run("inspect", "production.csv")
    assert alone.exit_code == 1
    assert "inspected together are compared" in alone.stdout


def test_a_damaged_test_set_among_the_files_does_not_stop_the_others(run: Recdash, folder: Path) -> None:
    (folder / "truth.csv").write_text("user_id,item_id\n")
    result = run("inspect", "truth.csv", "als.csv", "--format", "json")
    facts = {row["file"]: row["action"] for row in json.loads(result.stdout)}
    assert (facts["truth.csv"], facts["als.csv"]) == ("reject", "accept with warning")


def zipped(path: Path, tables: Mapping[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in tables.items():
            archive.writestr(name, text)


def test_each_table_of_an_archive_is_inspected_as_it_is_added(run: Recdash, folder: Path) -> None:
    zipped(folder / "jobs.zip", TOGETHER)
    result = run("inspect", "jobs.zip", "--format", "json")
    files = {facts["file"]: (facts["kind"], facts["action"]) for facts in json.loads(result.stdout)}
    assert result.exit_code == 0
    assert list(files) == [f"jobs.zip/{name}" for name in TOGETHER]
    assert [kind for kind, _ in files.values()] == ["truth", "train", "run", "catalogue", "sessions"]
    assert "reject" not in {action for _, action in files.values()}


def test_runs_in_an_archive_are_inspected_as_they_are_evaluated(run: Recdash, folder: Path) -> None:
    (folder / "truth.csv").write_text("user_id,item_id\nu1,a\nu2,a\n")
    zipped(folder / "runs.zip", {"als.csv": ROWS, "old/als.csv": ROWS.replace("u2,a,1", "u2,z,1")})
    assert run("evaluate", "--truth", "truth.csv", "--run", "runs.zip").exit_code == 0
    result = run("inspect", "runs.zip", "--as", "run", "--truth", "truth.csv", "--format", "json")
    actions = {facts["file"]: (facts["kind"], facts["action"]) for facts in json.loads(result.stdout)}
    assert actions == {
        "runs.zip/als.csv": ("run", "accept with warning"),
        "runs.zip/old-als.csv": ("run", "accept with warning"),
    }


def test_an_archive_is_inspected_in_python_as_by_the_command(run: Recdash, folder: Path) -> None:
    more = {"als.csv": ROWS, "bad.csv": "user_id,item_id,rank\nu1,a,x\n"}
    zipped(folder / "jobs.zip", {**TOGETHER, **more})
    of_command = json.loads(run("inspect", "jobs.zip", "--format", "json").stdout)
    for source, name in ((folder / "jobs.zip", None), ((folder / "jobs.zip").read_bytes(), "jobs.zip")):
        inspection = recdash.inspect(source, name=name)
        assert inspection.as_dict()["tables"] == of_command
        assert (inspection.file, inspection.action, inspection.kind) == ("jobs.zip", "reject", None)
        assert "jobs.zip/bad.csv" in {problem.place.partition(": ")[0] for problem in inspection.problems}
        rows = sum(len(facts["problems"]) for facts in of_command)
        assert len(inspection.problems) + len(inspection.notices) == rows == len(inspection.table())
        assert set(inspection.table()["file"]) <= {facts["file"] for facts in of_command}


def test_runs_of_an_archive_are_counted_together(folder: Path) -> None:
    zipped(folder / "runs.zip", {"als.csv": ROWS, "ease.csv": ROWS})
    inspection = recdash.inspect(folder / "runs.zip", "run")
    assert (inspection.kind, inspection.rows) == ("run", 8)  # of the five rows of each, one has no user
    assert inspection.action == "accept with warning"


def test_sheets_are_inspected_as_they_are_added(run: Recdash, folder: Path) -> None:
    """A sheet of notes is left out, and a sheet that is named is read alone."""
    rows = [line.split(",") for line in ROWS.split()]
    book = {"als": rows, "ease": rows, "About": [["made", "by"], ["hand", "me"]]}
    (folder / "runs.xlsx").write_bytes(workbook(book))
    result = run("inspect", "runs.xlsx", "--format", "json")
    assert [facts["file"] for facts in json.loads(result.stdout)] == ["runs.xlsx/als", "runs.xlsx/ease"]
    assert result.exit_code == 0
    assert run("inspect", "runs.xlsx#About").exit_code == 1
    as_run = json.loads(run("inspect", "runs.xlsx", "--as", "run", "--format", "json").stdout)
    assert "sheet" in {row["code"] for row in as_run["problems"]}


def test_an_archive_of_other_tables_is_refused_as_runs_as_evaluate_refuses_it(
    run: Recdash, folder: Path
) -> None:
    zipped(folder / "all.zip", {"truth.csv": "user_id,item_id,rating\nu1,a,3\nu2,b,4\n", "als.csv": ROWS})
    (folder / "truth.csv").write_text("user_id,item_id\nu1,a\nu2,a\n")
    refused = run("inspect", "all.zip", "--as", "run")
    assert refused.exit_code == 1
    assert "add and inspect read each table if nothing is said" in refused.stdout
    assert run("evaluate", "--truth", "truth.csv", "--run", "all.zip").exit_code == 2
    assert run("inspect", "all.zip").exit_code == 0
