"""Loose files that are the parts of one table are read as one table."""

from __future__ import annotations

import gc
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import bookshop
import pytest
from terminal import Recdash, as_json

from recdash.ingest import Limits, look, looks
from recdash.ingest.split_tables import is_one_table, may_be_split
from recdash.service import Workspace
from recdash.service.catalog.intake import IntakeFile, IntakePlan

FILES: Mapping[str, str] = {}
UUID, OTHER = "5f0c2d6e-8c1a-4b5e-9f5e-6c1f0c0a77aa", "99aa2d6e-8c1a-4b5e-9f5e-6c1f0c0a77aa"
SPLITS = {
    "part-5f0c2d6e": (f"part-00000-{UUID}-c000.csv", f"part-00001-{UUID}-c000.csv"),
    "part-5f0c2d6e, by size": (f"part-00000-{UUID}-c000.csv", f"part-00000-{UUID}-c001.csv"),
    "part": ("part-00000", "part-00001"),
    "als": ("als-00000-of-00002.csv", "als-00001-of-00002.csv"),
    "als, counted": ("als_1.csv", "als_2.csv"),
    "als, from 0": ("als.0.csv", "als.1.csv"),
    "als, in words": ("als_part1.csv", "als_part2.csv"),
    "als, of BigQuery": ("als-000000000000.csv", "als-000000000001.csv"),
}


def split(data: bytes, names: tuple[str, str]) -> dict[str, bytes]:
    """Returns the lists of half of the users in each of two files."""
    header, *rows = data.decode().splitlines(keepends=True)
    users = list(dict.fromkeys(row.split(",")[0] for row in rows))
    half = set(users[: len(users) // 2])
    parts = [[row for row in rows if (row.split(",")[0] in half) is first] for first in (True, False)]
    return {name: "".join([header, *part]).encode() for name, part in zip(names, parts, strict=True)}


def zipped(name: str, data: bytes) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, data)
    return archive.getvalue()


def planned(workspace: Workspace, files: Mapping[str, bytes]) -> IntakePlan:
    return workspace.intake.plan([IntakeFile(name, name, data) for name, data in files.items()])


@pytest.mark.parametrize("names", SPLITS.values(), ids=SPLITS)
def test_loose_parts_are_one_candidate(
    workspace: Workspace, names: tuple[str, str], request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.id.partition(",")[0]
    files = bookshop.files()
    parts = split(files.pop("als.csv"), names)
    (first, of_first), (second, of_second) = parts.items()
    plan = planned(workspace, {first: of_first, **files, second: of_second})
    assert plan.is_ready, plan.all_problems
    assert set(plan.run_names) == {name, "popular", "ease"}
    (notice,) = [notice for notice in plan.notices if notice.code == "parts"]
    assert f"'{first}' and '{second}'" in notice.found
    assert "rename them" in notice.fix
    assert plan.given_keys == [first, *files, second]
    (file,) = [file for file in plan.files if file.run == name]
    whole = planned(workspace, bookshop.files())
    (as_one,) = [file for file in whole.files if file.run == "als"]
    assert (file.kind, file.mapping) == (as_one.kind, as_one.mapping)
    again = plan.with_settings(name="parts").with_choice(file.key, run="als again")
    assert set(again.run_names) == {"als again", "popular", "ease"}
    assert again.given_keys == plan.given_keys
    runs = workspace.intake.commit(again).runs
    (added,) = [added.run for added in runs if added.run.name == "als again"]
    (alone,) = [added.run for added in workspace.intake.commit(whole).runs if added.run.name == "als"]
    assert added.ledger == alone.ledger


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (("als-00000-of-00004.csv", "als-00003-of-00004.csv"), 2),
        (("als-1-of-3.csv", "als-2-of-3.csv"), 1),
        (("part-00000.csv", "part-00002.csv"), 1),
        (("als-00001-of-00002.csv", "als-00002-of-00002.csv"), 0),
        (("part-00001.csv", "part-00002.csv"), 0),
    ],
)
def test_missing_parts_are_told_with_the_users_they_may_cost(
    workspace: Workspace, names: tuple[str, str], missing: int
) -> None:
    files = bookshop.files()
    parts = split(files.pop("als.csv"), names)
    rows = [row.split(b",")[0] for part in parts.values() for row in part.splitlines()[1:]]
    plan = planned(workspace, {**parts, **files})
    (notice,) = [notice for notice in plan.notices if notice.code == "parts"]
    n_parts = "1 part" if missing == 1 else f"{missing} parts"
    told = f"; {n_parts} may be missing, with about {round(len(set(rows)) / 2 * missing)} users"
    assert notice.found.endswith(told if missing else "are read as one table")
    assert ("Add the missing parts" in notice.fix) == (missing > 0)


def test_pieces_of_one_part_count_as_one_when_parts_are_missing(workspace: Workspace) -> None:
    files = bookshop.files()
    parts = split(files.pop("als.csv"), ("part-00000-ab-c000.csv", "part-00000-ab-c001.csv"))
    (first, of_first), (_, of_second) = parts.items()
    header, *rows = of_second.splitlines(keepends=True)
    half = len(rows) // 2
    pieces = {
        first: of_first,
        "part-00000-ab-c001.csv": b"".join([header, *rows[:half]]),
        "part-00002-ab-c000.csv": b"".join([header, *rows[half:]]),
    }
    n_users = len({row.split(b",")[0] for part in pieces.values() for row in part.splitlines()[1:]})
    (notice,) = [n for n in planned(workspace, {**pieces, **files}).notices if n.code == "parts"]
    # parts 0 and 2 are there, part 1 is not
    assert notice.found.endswith(f"; 1 part may be missing, with about {round(n_users / 2)} users")


@pytest.mark.parametrize("names", [("als_1.csv", "als_2.csv"), ("part-00000.csv", "part-00001.csv")])
def test_parts_may_be_packed_each_by_itself(workspace: Workspace, names: tuple[str, str]) -> None:
    files = bookshop.files()
    parts = split(files.pop("als.csv"), names)
    plan = planned(
        workspace, {**{f"{name}.zip": zipped(name, data) for name, data in parts.items()}, **files}
    )
    assert plan.is_ready, plan.all_problems
    runs = {added.run.name: added.run for added in workspace.intake.commit(plan).runs}
    whole = {
        added.run.name: added.run
        for added in workspace.intake.commit(
            planned(workspace, bookshop.files()).with_settings(name="whole")
        ).runs
    }
    (name,) = runs.keys() - files.keys() - {"popular", "ease"}
    assert runs[name].ledger == whole["als"].ledger


@pytest.mark.parametrize(
    "names",
    [
        ("als_seed1.csv", "als_seed2.csv"),
        ("als_fold_1.csv", "als_fold_2.csv"),
        ("als_10.csv", "als_20.csv"),
        ("als_v1.csv", "als_v2.csv"),
        (f"part-00000-{UUID}-c000.csv", f"part-00001-{OTHER}-c000.csv"),
        ("als-00000-of-00002.csv", "ease-00001-of-00002.csv"),
    ],
)
def test_files_whose_names_say_no_parts_stay_apart(workspace: Workspace, names: tuple[str, str]) -> None:
    files = bookshop.files()
    plan = planned(workspace, {**split(files.pop("als.csv"), names), **files})
    assert len(plan.files) == len(files) + 2
    assert "parts" not in {notice.code for notice in plan.notices}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("als_1", "als_2"),
        ("als-1-of-2", "als-2-of-2"),
        ("seed-1-of-2", "seed-2-of-2"),
        ("als-00001-of-00002", "als-00002-of-00002"),
        ("part-0000", "part-0001"),
    ],
)
def test_files_that_are_counted_and_list_the_same_users_are_candidates(
    workspace: Workspace, first: str, second: str
) -> None:
    files = bookshop.files()
    files[f"{first}.csv"], files[f"{second}.csv"] = files.pop("als.csv"), files.pop("ease.csv")
    assert set(planned(workspace, files).run_names) == {first, second, "popular"}


def test_counted_files_of_which_not_all_users_were_looked_at_are_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first rows of files in another order may list other users although both list all."""
    parts = split(bookshop.files()["als.csv"], SPLITS["als, counted"])
    seen = {place: look(data, name=name) for place, (name, data) in enumerate(parts.items())}
    (table,) = may_be_split(list(parts), ["", ""])
    assert is_one_table(table, seen)
    monkeypatch.setattr(looks, "FIRST_ROWS", 10)
    seen = {place: look(data, name=name) for place, (name, data) in enumerate(parts.items())}
    assert not is_one_table(table, seen)


def test_rows_of_a_user_may_be_in_two_parts(workspace: Workspace) -> None:
    files = bookshop.files()
    header, *rows = files.pop("als.csv").decode().splitlines(keepends=True)
    files["part-00000.csv"] = "".join([header, *rows[::2]]).encode()
    files["part-00001.csv"] = "".join([header, *rows[1::2]]).encode()
    assert set(planned(workspace, files).run_names) == {"part", "popular", "ease"}


def test_a_row_that_is_in_two_parts_makes_no_candidates_of_them(workspace: Workspace) -> None:
    files = bookshop.files()
    parts = split(files.pop("als.csv"), SPLITS["als"])
    (first, of_first), (second, of_second) = parts.items()
    parts[second] = of_second + of_first.splitlines(keepends=True)[1]
    assert set(planned(workspace, {first: of_first, second: parts[second], **files}).run_names) == {
        "als",
        "popular",
        "ease",
    }


@pytest.mark.parametrize("header", ["user_id,event,timestamp", "variant,metric,n,mean,variance"])
def test_parts_of_tables_without_lists_are_told_by_their_names(header: str) -> None:
    rows = "\n".join(
        [header, *[",".join(f"{value}{row % 3}" for value in header.split(",")) for row in range(9)]]
    )
    seen = {place: look(f"{rows}\n".encode(), name=name) for place, name in enumerate(SPLITS["als"])}
    (table,) = may_be_split(SPLITS["als"], ["", ""])
    assert is_one_table(table, seen)


def test_two_tables_in_one_folder_have_their_own_names() -> None:
    names = [f"part-0000{part}-{job}.csv" for job in (UUID, OTHER) for part in (0, 1)]
    tables = may_be_split(names, ["recs"] * 4)
    assert [table.name for table in tables] == [f"recs-{UUID[:8]}", f"recs-{OTHER[:8]}"]
    assert [table.name for table in may_be_split(names[:2], ["recs"] * 2)] == ["recs"]


def test_counted_files_are_folds_if_that_is_chosen(workspace: Workspace) -> None:
    files = bookshop.files()
    plan = planned(workspace, {**split(files.pop("als.csv"), SPLITS["als, counted"]), **files})
    assert len(plan.files) == len(files) + 1
    folds = plan.with_settings(replicates="folds")
    assert len(folds.files) == len(files) + 2
    assert "parts" not in {notice.code for notice in folds.notices}


def test_files_with_other_columns_are_no_parts(workspace: Workspace) -> None:
    files = bookshop.files()
    parts = split(files.pop("als.csv"), ("part-00000.csv", "part-00001.csv"))
    parts["part-00001.csv"] = parts["part-00001.csv"].replace(b",", b";")
    assert len(planned(workspace, {**parts, **files}).files) == len(files) + 2


def test_parts_are_joined_within_the_limits_and_freed_with_the_plan(workspace: Workspace) -> None:
    limited = Workspace(workspace.store, limits=Limits(read_seconds=60))
    files = bookshop.files()
    parts = split(files.pop("als.csv"), SPLITS["als"])
    plan = planned(limited, {**parts, **files})
    assert plan.is_ready, plan.all_problems
    (path,) = [file.source for file in plan.inputs.files if isinstance(file.source, Path)]
    del plan
    gc.collect()
    assert not path.exists()


def test_the_folder_of_loose_parts_names_the_candidate(run: Recdash, tmp_path: Path) -> None:
    files = bookshop.files()
    given = []
    for candidate in ("als", "ease"):
        parts = split(files.pop(f"{candidate}.csv"), ("part-00000.csv", "part-00001.csv"))
        folder = tmp_path / f"{candidate}_spark.csv"
        folder.mkdir()
        for name, data in parts.items():
            folder.joinpath(name).write_bytes(data)
            given.append(str(folder / name))
    for name, data in files.items():
        tmp_path.joinpath(name).write_bytes(data)
        given.append(str(tmp_path / name))
    added = run("add", "--experiment", "books", *given)
    assert added.exit_code == 0, added.stderr
    assert "part-00000.csv' and 'part-00001.csv' are read as one table" in added.stderr
    runs = as_json(run, "list")["experiments"][0]["runs"]
    assert {row["name"] for row in runs} == {"als_spark", "ease_spark", "popular"}
