"""A zip archive of several tables: each is a run or recognised by itself, within the limits of one file."""

from __future__ import annotations

import gzip
import io
import shutil
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import recdash
from recdash.errors import InputError, UploadError
from recdash.ingest import Limits, inspect_file, members, read_recommendations, read_upload
from recdash.service import Workspace
from recdash.service.catalog.intake import IntakeFile

TRUTH = "user_id,item_id\n" + "".join(f"u{user},i{user}\n" for user in range(6))
CHILD = Limits(read_seconds=30)


def run(step: int, ranks: range = range(1, 6)) -> str:
    """Returns lists as CSV: the item of user u at rank r is u + step·r, so that truth's u never is one."""
    rows = [f"u{user},i{user + step * rank},{rank}\n" for user in range(6) for rank in ranks]
    return "user_id,item_id,rank\n" + "".join(rows)


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file.getvalue()


RUNS = zipped({"lists/als.csv": run(1), "pop.csv": run(0), "__MACOSX/._pop.csv": "x", "README.md": "ours"})


@pytest.mark.parametrize("limits", [None, CHILD])
@pytest.mark.parametrize("form", [bytes, io.BytesIO])
def test_each_file_of_an_archive_is_a_run(form: Any, limits: Limits | None) -> None:
    runs = read_recommendations(form(RUNS), name="mine", limits=limits)
    assert [each.name for each in runs] == ["mine: als", "mine: pop"]
    assert [sum(batch.num_rows for batch in each.batches()) for each in runs] == [30, 30]
    assert [notice.code for notice in runs[0].notices if notice.code.startswith("zip")] == ["zip-others"]


def test_the_runs_of_an_archive_score_like_their_files(tmp_path: Path) -> None:
    (tmp_path / "runs.zip").write_bytes(RUNS)
    apart = recdash.evaluate(
        {"als": run(1).encode(), "pop": run(0).encode()}, TRUTH.encode(), metrics="ndcg@3"
    )
    together = recdash.evaluate({"x": tmp_path / "runs.zip"}, TRUTH.encode(), metrics="ndcg@3")
    values = [row["value"] for row in apart.rows()]
    assert values == [0.0, 1.0]
    assert [row["value"] for row in together.rows()] == values


def test_an_archive_that_also_holds_a_test_set_is_no_run() -> None:
    data = zipped({"als.csv": run(1), "truth.csv": TRUTH})
    with pytest.raises(UploadError, match=r"other tables than runs: 'truth.csv' \(truth\)"):
        read_recommendations(data)


@pytest.mark.parametrize("limits", [None, CHILD])
@pytest.mark.parametrize(("name", "source"), [(None, "week"), ("als", "als")])
@pytest.mark.parametrize(
    "data", [zipped({"als.csv": run(1), "truth.csv": TRUTH}), RUNS[:200], None], ids=["kinds", "cut", "none"]
)
def test_the_source_of_a_refused_archive_is_its_name(
    data: bytes | None, name: str | None, source: str, limits: Limits | None, tmp_path: Path
) -> None:
    if data is not None:
        (tmp_path / "week.zip").write_bytes(data)
    with pytest.raises(UploadError) as refused:
        read_recommendations(tmp_path / "week.zip", name=name, limits=limits)
    assert refused.value.source == source


@pytest.mark.parametrize("limits", [None, CHILD])
def test_a_path_that_no_file_can_have_is_one_problem(limits: Limits | None) -> None:
    with pytest.raises(UploadError, match="cannot be opened"):
        read_recommendations("a" * 5000, limits=limits)


def test_a_table_that_must_be_one_is_not_chosen_from_several() -> None:
    with pytest.raises(UploadError, match=r"holds 2 files: 'a.csv', 'b.csv'"):
        read_upload("truth", zipped({"a.csv": TRUTH, "b.csv": TRUTH}))


def test_an_archive_is_planned_as_its_files(tmp_path: Path) -> None:
    data = zipped({"als.csv": run(1), "deep/pop.csv": run(0), "truth.csv": TRUTH})
    workspace = Workspace.open(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts", limits=CHILD)
    given = IntakeFile("1", "all.zip", data)
    plan = workspace.intake.plan([given])
    assert [(file.file_name, file.kind) for file in plan.files] == [
        ("als.csv", "run"),
        ("pop.csv", "run"),
        ("truth.csv", "truth"),
    ]
    assert plan.given_keys == ["1"]
    plan = plan.with_choice(plan.files[0].key, left_out=True).with_files([given])
    assert [file.left_out for file in plan.files] == [True, False, False]
    assert [added.run.name for added in workspace.intake.commit(plan).runs] == ["pop"]


def test_files_of_one_name_keep_their_folders_apart(tmp_path: Path) -> None:
    data = zipped({"als/run.csv": run(1), "pop/run.csv": run(0), "truth.csv": TRUTH})
    plan = Workspace.open(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts").intake.plan(
        [IntakeFile("1", "all.zip", data)]
    )
    assert plan.run_names == ("als-run", "pop-run")


def test_the_limits_hold_over_all_files_together() -> None:
    names = ("a.csv", "b.csv", "c.csv")
    data = zipped(dict.fromkeys(names, run(1)))
    size = len(run(1))
    assert members(data, limits=Limits(inflated_bytes=3 * size)) == names
    with pytest.raises(UploadError, match="over the limit"):
        members(data, limits=Limits(inflated_bytes=3 * size - 1))


@pytest.mark.parametrize("limits", [None, CHILD])
def test_parts_of_one_table_are_read_as_one(limits: Limits | None, tmp_path: Path) -> None:
    parts = {f"out/part-{part:05d}-7f.csv": run(1, range(part, part + 2)) for part in (1, 3)}
    parts |= {"out/_SUCCESS": "", "out/part-00009-7f.csv": ""}
    (one,) = read_recommendations(zipped(parts), name="als", limits=limits)
    assert sum(batch.num_rows for batch in one.batches()) == 24
    assert {notice.code: notice.count for notice in one.notices}["parts"] == 2
    for name, text in parts.items():
        (tmp_path / Path(name).name).write_text(text)
    (folder,) = read_recommendations(tmp_path, name="als", limits=limits)
    pairs = [
        [row["item_id"] for batch in each.batches() for row in batch.to_pylist()] for each in (one, folder)
    ]
    assert pairs[0] == pairs[1]


def test_a_bad_value_of_a_part_is_named_with_its_part() -> None:
    parts = {"part-00000.csv": run(1), "part-00001.csv": run(1) + "u9,i9,first\n"}
    (one,) = read_recommendations(zipped(parts))
    with pytest.raises(UploadError, match=r"'part-00001\.csv', line 32"):
        list(one.batches())


@pytest.mark.parametrize("order", [1, -1])
def test_parts_with_other_decimal_signs_are_read_with_a_notice(order: int) -> None:
    texts = ["user_id;item_id;score\nu1;i1;0.5\nu1;i2;1\n", "user_id;item_id;score\nu2;i1;0,25\n"][::order]
    parts = {f"part-0000{place}.csv": text for place, text in enumerate(texts)}
    (one,) = read_recommendations(zipped(parts))
    scores = sorted(row["score"] for batch in one.batches() for row in batch.to_pylist())
    assert scores == [0.25, 0.5, 1.0]
    (notice,) = [notice for notice in one.notices if notice.code == "two-decimal-signs"]
    assert notice.example == f"'part-0000{texts.index(texts[1] if order == 1 else texts[0])}.csv'"


HEADER = "user_id,item_id,relevance\n"


def rows_of(parts: dict[str, str | bytes]) -> list[tuple[str, str]]:
    table = read_upload("truth", zipped(parts)).table
    return [(str(row["user_id"]), str(row["item_id"])) for row in table.to_pylist()]


@pytest.mark.parametrize("place", [0, 1])
def test_a_part_of_no_rows_is_no_problem(place: int) -> None:
    """Spark writes a file for a partition without rows, which has a header alone."""
    texts = [f"{HEADER}u1,i1,5\n", HEADER][:: 1 - 2 * place]
    assert rows_of({f"part-0000{number}.csv": text for number, text in enumerate(texts)}) == [("u1", "i1")]
    with pytest.raises(UploadError, match="no rows"):
        rows_of({"part-00000.csv": HEADER, "part-00001.csv": HEADER})


def test_the_only_part_with_rows_is_not_said_to_be_several() -> None:
    table = read_upload("truth", zipped({"part-00000.csv": "", "part-00001.csv": f"{HEADER}u1,i1,5\n"}))
    assert "parts" not in {notice.code for notice in table.notices}


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("csv", f"{HEADER}u1,i1,5\n", "item_id,relevance,user_id\ni2,4,u2\n"),
        ("jsonl", '{"user_id": "u1", "item_id": "i1"}\n', '{"item_id": "i2", "user_id": "u2"}\n'),
    ],
)
def test_named_columns_of_parts_are_in_any_order(name: str, first: str, second: str) -> None:
    parts: dict[str, str | bytes] = {f"part-00000.{name}": first, f"part-00001.{name}": second}
    assert rows_of(parts) == [("u1", "i1"), ("u2", "i2")]


TWO_LINES, ONE_LINE, NUMBERED = "u1,i1\nu2,i2\n", "u3,i3\n", "7,8\n"


@pytest.mark.parametrize("limits", [None, CHILD])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("places", [None, {"user_id": "column 1", "item_id": "column 2"}])
def test_first_lines_of_parts_without_a_header_are_rows(
    places: dict[str, str] | None, order: int, limits: Limits | None
) -> None:
    texts = [TWO_LINES, ONE_LINE, "u4,i1\n"][::order]
    data = zipped({f"part-0000{number}.csv": text for number, text in enumerate(texts)})
    table = read_upload("truth", data, mapping=places, limits=limits).table
    rows = [f"{row['user_id']},{row['item_id']}" for row in table.to_pylist()]
    assert rows == "".join(texts).split()


@pytest.mark.parametrize("first", ["ann,emma\nbob,up\n", "ann,emma\n"])
def test_a_part_of_one_line_that_another_begins_with_is_a_row_for_who_says_so(first: str) -> None:
    data = zipped({"part-00000.csv": first, "part-00001.csv": "ann,emma\n"})
    places = {"user_id": "column 1", "item_id": "column 2"}
    table = read_upload("train", data, mapping=places).table
    assert table["user_id"].to_pylist() == [*(line.split(",")[0] for line in first.split()), "ann"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("client,product\nu1,i1\n", ONE_LINE),  # the first part's may be a header
        ("ann,emma\nbob,up\n", "cy,jaws\n"),
        (HEADER, "u3,i3,5\n"),
        (f"{HEADER}u1,i1,5\n", "7,8,5\n"),
        (ONE_LINE, NUMBERED),
    ],
    ids=["unknown header", "words", "header alone", "header in the first", "numbers"],
)
def test_lines_that_may_be_a_header_of_one_part_are_refused(first: str, second: str) -> None:
    with pytest.raises(UploadError, match="other columns than") as refusal:
        rows_of({"part-00000.csv": first, "part-00001.csv": second})
    assert "Write one header line in each part" in str(refusal.value)


def parquet_of(**columns: list[object]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("first", "second", "kinds"),
    [(1, "u2", ("texts", "numbers")), ("u1", 2, ("numbers", "texts")), ([1], ["i2"], ("texts", "numbers"))],
)
def test_a_part_with_other_ids_is_named(first: object, second: object, kinds: tuple[str, str]) -> None:
    parts: dict[str, str | bytes] = {
        "part-00000.parquet": parquet_of(user_id=["u1"], item_id=[first]),
        "part-00001.parquet": parquet_of(user_id=["u2"], item_id=[second]),
    }
    said = rf"'part-00001\.parquet', column 'item_id': its values are {kinds[0]}, and those of 'part-00000"
    with pytest.raises(UploadError, match=rf"{said}\.parquet' are {kinds[1]}"):
        rows_of(parts)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (f"{HEADER}u2,i2,4\n".replace(",", ";"), "semicolon"),
        (gzip.compress(f"{HEADER}u2,i2,4\n".encode())[:-9], "'part-00001.csv': the gzip data is truncated"),
        ("user_id,item_id,relevance\nu2,i2\n", "'part-00001.csv', line 2"),
    ],
    ids=["another delimiter", "truncated", "ragged"],
)
def test_the_part_that_cannot_be_read_is_named(second: str | bytes, message: str) -> None:
    with pytest.raises(UploadError) as refusal:
        rows_of({"part-00000.csv": f"{HEADER}u1,i1,5\n", "part-00001.csv": second})
    assert message in str(refusal.value)
    assert "other columns" not in str(refusal.value)


def test_folders_beside_the_parts_are_not_passed_over(tmp_path: Path) -> None:
    for name in ("part-0.csv", "part-1.csv", "more/part-2.csv", "_temporary/part-3.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{HEADER}u1,i1,5\n")
    with pytest.raises(UploadError, match="'more'"):
        read_upload("truth", tmp_path)
    shutil.rmtree(tmp_path / "more")
    assert read_upload("truth", tmp_path).table.num_rows == 2


def test_parts_of_other_columns_are_refused() -> None:
    with pytest.raises(UploadError, match=r"'part-00001\.csv' has other columns"):
        read_recommendations(zipped({"part-00000.csv": run(1), "part-00001.csv": TRUTH}))


@pytest.mark.parametrize(
    "names",
    [
        ("als/part-00000.csv", "pop/part-00000.csv"),
        ("als-000000000000.csv", "pop-000000000000.csv"),
        ("als-202611260900.csv", "als-202611270900.csv"),
        ("als_20261126093000.csv", "als_20261127093000.csv"),
    ],
    ids=["folders", "beginnings", "minutes", "seconds"],
)
def test_files_of_several_tables_are_no_parts_of_one(names: tuple[str, str]) -> None:
    data = zipped(dict(zip(names, (run(1), run(0)), strict=True)))
    assert members(data) == names
    assert len(read_recommendations(data)) == 2


def test_numbered_files_of_one_beginning_are_parts_of_one_table() -> None:
    data = zipped({"recs-000000000000.csv": run(1), "recs-000000000001.csv": run(0)})
    assert members(data) == ()
    (one,) = read_recommendations(data)
    assert sum(batch.num_rows for batch in one.batches()) == 60


@pytest.mark.parametrize("form", ["part-{}.csv", "part.{}.csv", "part_{}.csv"])
def test_parts_without_leading_zeros_are_read_in_the_order_of_their_numbers(
    form: str, tmp_path: Path
) -> None:
    """pyarrow writes part-0.parquet, Dask part.0.parquet."""
    parts = {form.format(part): f"user_id,item_id\nu1,i{part}\n" for part in (10, 0, 9)}
    (one,) = read_recommendations(zipped(parts))
    assert [row["item_id"] for batch in one.batches() for row in batch.to_pylist()] == ["i0", "i9", "i10"]
    for name, text in parts.items():
        (tmp_path / name).write_text(text)
    (one,) = read_recommendations(tmp_path)
    assert [row["item_id"] for batch in one.batches() for row in batch.to_pylist()] == ["i0", "i9", "i10"]


@pytest.mark.parametrize(
    "names", [("part-a.csv", "part-b.csv"), ("party-1.csv", "party-2.csv"), ("als-1.csv", "als-2.csv")]
)
def test_files_of_other_names_are_no_parts(names: tuple[str, str]) -> None:
    assert members(zipped(dict.fromkeys(names, run(1)))) == names


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "als.csv").write_text(run(1))
    with pytest.raises(InputError, match="is a folder"):
        read_recommendations(tmp_path)


def test_a_file_in_an_archive_may_be_packed_itself() -> None:
    packed = gzip.compress(run(1).encode())
    runs = read_recommendations(zipped({"als.csv.gz": packed, "pop.csv": run(0)}))
    assert [each.name for each in runs] == ["als", "pop"]
    with pytest.raises(UploadError, match=r"'in\.zip' in the zip archive is another archive"):
        read_recommendations(zipped({"in.zip": RUNS}))


def test_a_link_in_an_archive_is_not_followed() -> None:
    link = zipfile.ZipInfo("truth.csv")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    outline = inspect_file("truth", file.getvalue()).preview
    assert [problem.code for problem in outline.problems] == ["zip-members"]


def test_names_that_lead_out_of_the_folder_stay_names() -> None:
    runs = read_recommendations(zipped({"../../als.csv": run(1), "/etc/pop.csv": run(0)}))
    assert [each.name for each in runs] == ["als", "pop"]


def test_files_of_one_name_in_an_archive_are_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("run.csv", run(1))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("run.csv", run(0))
    with pytest.raises(UploadError, match=r"2 files of one name, 'run\.csv'"):
        read_recommendations(file.getvalue())


def test_an_archive_with_a_password_is_refused_in_words() -> None:
    data = zipped({"als.csv": run(1)})
    assert data.count(b"\x14\0\0\0\x08\0") == 2
    with pytest.raises(UploadError, match=r"'als\.csv' in the zip archive has a password"):
        read_recommendations(data.replace(b"\x14\0\0\0\x08\0", b"\x14\0\1\0\x08\0"))


@pytest.mark.parametrize("inner", [gzip.compress(run(1).encode()), RUNS], ids=["gzip", "zip"])
def test_a_table_that_is_compressed_twice_is_refused_in_words(inner: bytes) -> None:
    with pytest.raises(UploadError, match="compressed twice"):
        read_recommendations(gzip.compress(inner))
