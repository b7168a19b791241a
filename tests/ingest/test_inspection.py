"""``inspect`` says of each file what its manifest expects, with a count and an example of every warning."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import recdash
from recdash.evaluation.inspection import Inspection
from recdash.ingest import Limits

LIMITS = Limits(inflated_bytes=50_000_000, compression_ratio=200)
WHOLE_FILES = {"encoding", "gzip"}
"""Codes of warnings about a file rather than its rows."""


def cases(dirty: Path) -> list[dict[str, Any]]:
    return json.loads((dirty / "manifest.json").read_text())["cases"]


def inspected(dirty: Path, case: dict[str, Any]) -> Inspection:
    """Returns the inspection of a file, of lists and interactions together with the clean tables."""
    kind, good = case["kind"], dirty / "good"
    others: dict[str, Any] = {"truth": good / "truth.csv", "catalogue": good / "catalogue.csv"}
    if "huge_ids" in case["file"]:
        others: dict[str, Any] = {"truth": dirty / "truth_huge_ids.csv"}
    if kind in ("catalogue", "truth"):
        others = {}
    return recdash.inspect(dirty / case["file"], kind, **others, limits=LIMITS)


@pytest.fixture(scope="module")
def inspections(shared_data: Path) -> dict[str, tuple[dict[str, Any], Inspection]]:
    dirty = shared_data / "dirty"
    return {case["file"]: (case, inspected(dirty, case)) for case in cases(dirty)}


def test_every_dirty_file_gets_the_action_of_its_manifest(inspections: Any) -> None:
    wrong = {}
    for file, (case, inspection) in inspections.items():
        alt = case.get("alt") or ""
        due = {case["expected"]["action"]} | {
            action
            for action in ("reject", "accept with warning", "accept with mapping")
            if alt.startswith(action)
        }
        if inspection.action not in due:
            wrong[file] = (inspection.action, due, [str(notice) for notice in inspection.notices])
    assert wrong == {}


def test_every_dirty_file_is_told_in_the_words_of_its_manifest(inspections: Any) -> None:
    unsaid = {}
    for file, (case, inspection) in inspections.items():
        said = json.dumps(inspection.as_dict(), ensure_ascii=False).lower().replace("test set", "truth")
        if missing := [word for word in case["expected"]["must_say"] if word.lower() not in said]:
            unsaid[file] = (missing, said)
    assert unsaid == {}


def test_the_example_of_a_short_list_counts_each_item_once(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    rows = [f"u{user},i{rank},{rank}" for user in (1, 2) for rank in range(1, 12)]
    path.write_text("\n".join(["user_id,item_id,rank", *rows[:-1], "u2,i1,11"]) + "\n")
    examples = {notice.code: notice.example for notice in recdash.inspect(path, "run").notices}
    assert examples["short-lists"] == "user 'u2': 10 items"
    assert examples["duplicate-pairs"] == "user 'u2', item 'i1'"


def test_each_warning_about_rows_has_a_count_and_an_example(inspections: Any) -> None:
    bare = [
        (file, problem)
        for file, (_, inspection) in inspections.items()
        for problem in inspection.as_dict()["problems"]
        if problem["level"] == "warning" and problem["code"] not in WHOLE_FILES
        if not (problem["count"] and problem["example"])
    ]
    assert bare == []


@pytest.mark.parametrize("kind", [None, "run"])
@pytest.mark.parametrize("mode", ["r", "rb"])
def test_an_open_file_is_inspected_like_its_path(tmp_path: Path, kind: Any, mode: str) -> None:
    path = tmp_path / "als.csv"
    path.write_text("user_id,item_id,rank\nu1,i1,1\nu1,i2,2\nu2,i1,1\n")
    with path.open(mode) as opened:
        of_file = recdash.inspect(opened, kind)
    of_path = recdash.inspect(path, kind)
    assert (of_file.action, of_file.rows, of_file.mapping) == (of_path.action, 3, of_path.mapping)
    assert [notice.found for notice in of_file.notices] == [notice.found for notice in of_path.notices]


def test_a_test_set_that_can_be_read_once_is_read_once() -> None:
    truth, run = b"user_id,item_id\nu1,a\nu2,b\n", b"user_id,item_id,rank\nu1,a,1\nu2,b,1\nu3,b,1\n"
    from_bytes = recdash.inspect(run, truth=truth, name="als.csv")
    assert [notice.code for notice in from_bytes.notices] == ["users-without-truth", "short-lists"]
    table = pa.table({"user_id": ["u1", "u2"], "item_id": ["a", "b"]})
    for once in (io.BytesIO(truth), table.to_reader()):
        assert recdash.inspect(run, truth=once, name="als.csv") == from_bytes
