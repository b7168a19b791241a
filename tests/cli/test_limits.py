"""Limits of a file are listed with their settings; ``add`` and ``inspect`` keep those of the browser."""

from __future__ import annotations

import json

import pytest
from terminal import Recdash, as_json

from recdash.settings import settings

RUN = "user_id,item_id,rank\nu1,a,1\nu1,b,2\nu2,a,1\n"
FILES = {
    "als.csv": RUN,
    "truth.csv": "user_id,item_id\nu1,a\nu2,a\n",
    "long.csv": RUN + f"u3,{'x' * 300},1\n",
}
OVER = {
    "RECDASH_MAX_ROWS": ("2", "als.csv", "3 rows, over the limit of 2"),
    "RECDASH_MAX_COLUMNS": ("2", "als.csv", "3 columns, over the limit of 2"),
    "RECDASH_MAX_VALUE_CHARS": ("200", "long.csv", "300 characters in one value, over the limit of 200"),
    "RECDASH_MAX_UPLOAD_BYTES": ("40", "als.csv", "bytes in the file, over the limit of 40"),
}


def test_every_limit_is_listed_with_its_setting(run: Recdash) -> None:
    rows = as_json(run, "limits")
    of_all_files = {"held_bytes_per_person", "held_bytes"}
    listed = {row["setting"].removeprefix("RECDASH_MAX_").lower() for row in rows}
    assert listed == set(settings().limits()) | of_all_files
    assert all(row["counts"] and row["limit"] == row["default"] for row in rows)


@pytest.mark.parametrize("setting", OVER)
def test_a_file_over_a_limit_is_refused_with_its_setting(
    run: Recdash, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    value, file, said = OVER[setting]
    with monkeypatch.context() as changed:
        changed.setenv(setting, value)
        settings.cache_clear()
        inspected = run("inspect", file, "--as", "run", "--format", "json")
        added = run("add", "--experiment", "Films", "--truth", "truth.csv", "--run", file)
    settings.cache_clear()
    problems = json.loads(inspected.stdout)["problems"]
    assert any(said in problem["found"] and setting in problem["fix"] for problem in problems)
    assert added.exit_code == 2
    assert setting in added.stderr
