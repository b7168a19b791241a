"""Over a hundred files as people make them: what becomes of each, in which words, and with which numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made_dirty import HEADER, MadeFile, clean_rows, made_files, text, truth_of

import recdash
from recdash.evaluation.inspection import Inspection

WHOLE_FILES = {"encoding", "gzip"}
MEETING = ("run", "train", "predictions", "users")
"""Kinds that are compared with the test set."""

Inspected = list[tuple[MadeFile, Inspection, Path]]


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "test_set.csv"
    path.write_bytes(truth_of())
    return path


@pytest.fixture(scope="module")
def inspected(truth: Path) -> Inspected:
    files: Inspected = []
    for made in made_files():
        path = truth.parent / made.name
        path.write_bytes(made.data)
        tables: dict[str, Any] = {"truth": truth} if made.kind in MEETING else {}
        files.append((made, recdash.inspect(path, made.kind, **tables), path))
    return files


def scores(run: Path, truth: Path) -> list[float]:
    found = recdash.evaluate({"run": run}, truth, metrics="ndcg@10,recall@5,mrr@10", relevance="none")
    return [row["value"] for row in found.rows()]


def test_each_file_gets_the_right_action(inspected: Inspected) -> None:
    assert len(inspected) > 100
    wrong = [
        (made.name, file.action, made.due, [str(problem) for problem in (*file.problems, *file.notices)])
        for made, file, _ in inspected
        if file.action not in made.due.split("|")
    ]
    assert wrong == []


def test_each_file_is_told_what_was_found(inspected: Inspected) -> None:
    unsaid = []
    for made, file, _ in inspected:
        tables = (table.file for table in file.tables)
        said = (
            " ".join(map(str, (*tables, *file.problems, *file.notices))).lower().replace("test set", "truth")
        )
        if missing := [word for word in made.say if word.lower() not in said]:
            unsaid.append((made.name, missing, said))
    assert unsaid == []


def test_each_warning_has_an_example(inspected: Inspected) -> None:
    bare = [
        (made.name, problem["code"])
        for made, file, _ in inspected
        for problem in file.as_dict()["problems"]
        if problem["level"] == "warning" and problem["code"] not in WHOLE_FILES and not problem["example"]
    ]
    assert bare == []


def test_files_that_mean_the_clean_run_score_like_it(inspected: Inspected, truth: Path) -> None:
    clean = truth.parent / "clean.csv"
    clean.write_text(text(clean_rows(), HEADER))
    due = scores(clean, truth)
    other = [
        made.name
        for made, file, path in inspected
        if made.same and file.action != "reject" and scores(path, truth) != pytest.approx(due, abs=1e-12)
    ]
    assert other == []
