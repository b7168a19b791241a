"""The truth is coded as it passes: nothing depends on where one batch ends and the next begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_tables import run, upload

from recdash.domain import inputs
from recdash.domain.inputs import Truth, UploadStream
from recdash.engines import CodedTruth, code_truth, match, read_reference
from recdash.engines.buffers import GrowingColumn
from recdash.engines.truth import narrow
from recdash.errors import InputError, UploadError
from recdash.evaluation.reading import read_setup
from recdash.ingest import read_stream, read_upload
from recdash.ingest.formats import delimited

COLUMNS = "user_id item_id relevance"
SPELLINGS = [("01", "0012", 1.0), ("01", "x", 2.0), ("1", "12", 1.0), ("1", "012", 3.0), ("01", "12", 1.0)]


def passing(rows: Sequence[Sequence[Any]], batch_rows: int) -> UploadStream:
    """Each batch with a dictionary of its own, as the blocks of a text file have them."""

    def batches() -> Iterator[pa.RecordBatch]:
        for begin in range(0, len(rows), batch_rows):
            table = upload("truth", COLUMNS, rows[begin : begin + batch_rows]).table
            yield from table.combine_chunks().to_batches()

    return UploadStream("truth", "truth", batches)


def rows_of(coded: CodedTruth) -> dict[str, dict[str, float]]:
    users, items = coded.users.ids(), coded.items.ids()
    ends = zip(users, coded.start[:-1], coded.start[1:], strict=True)
    return {
        user: {items[int(coded.item[row])]: float(coded.gain[row]) for row in range(first, last)}
        for user, first, last in ends
    }


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 5])
def test_spellings_are_told_apart_in_whichever_batch_they_come(batch_rows: int) -> None:
    coded = code_truth(passing(SPELLINGS, batch_rows))
    assert rows_of(coded) == {"01": {"0012": 1.0, "x": 2.0, "12": 1.0}, "1": {"12": 1.0, "012": 3.0}}
    assert (coded.users.spellings_met, coded.items.spellings_met) == ({}, {})


@pytest.mark.parametrize("batch_rows", [1, 2, 5])
def test_ids_that_the_truth_tells_apart_stay_apart_in_runs(batch_rows: int) -> None:
    reference = read_reference(code_truth(passing(SPELLINGS, batch_rows)))
    lists = [("1", "12", 1), ("1", "0012", 2), ("1", "012", 3), ("1", "00012", 4)]
    hits, told = match(run("user_id item_id rank", lists), reference)
    assert (hits.rank.tolist(), told) == ([1, 3], [])


def test_a_spelling_that_came_alone_is_met_by_others() -> None:
    reference = read_reference(
        code_truth(passing([("u", "0012", 1.0), ("u", "0012", 1.0), ("v", "x", 1.0)], 1))
    )
    hits, told = match(run("user_id item_id rank", [("u", "12", 1)]), reference)
    assert (hits.rank.tolist(), [notice.code for notice in told]) == ([1], ["mixed-id-forms"])


@pytest.mark.parametrize("batch_rows", [1, 2, 4])
@pytest.mark.parametrize(("user", "other"), [("u", "v"), (2, 1)], ids=["text", "numbers"])
def test_the_best_gain_of_a_pair_counts_wherever_it_comes(batch_rows: int, user: Any, other: Any) -> None:
    rows = [(user, "a", 1.0), (other, "b", 0.5), (user, "a", 3.0), (user, "a", 2.0)]
    coded = code_truth(passing(rows, batch_rows))
    assert rows_of(coded) == {str(user): {"a": 3.0}, str(other): {"b": 0.5}}
    assert coded.repeated == 2


def test_entries_of_a_dictionary_that_no_row_has_are_no_ids() -> None:
    items = pa.DictionaryArray.from_arrays(pa.array([2, 1, 2], pa.int32()), ["unseen", "b", "a"])
    batch = pa.record_batch({"user_id": pa.array([1, 1, 2]), "item_id": items})
    coded = code_truth(UploadStream("truth", "truth", lambda: iter([batch.slice(0, 1), batch.slice(1)])))
    assert list(coded.items.ids()) == ["a", "b"]
    assert rows_of(coded) == {"1": {"a": 1.0, "b": 1.0}, "2": {"a": 1.0}}


# ── gains as narrow as they go ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("gains", "kind"),
    [
        ([], np.int8),
        ([1.0, 5.0, -127.0], np.int8),
        ([128.0], np.int16),
        ([-32767.0, 32767.0], np.int16),
        ([32768.0], np.float32),
        ([0.5, 4.5], np.float32),
        ([0.1], np.float64),
        ([2.0**24 + 1], np.float64),
        ([1e300, 1.0], np.float64),
    ],
)
def test_gains_take_the_narrowest_type_that_holds_them(gains: list[float], kind: Any) -> None:
    held = narrow(np.array(gains))
    assert held.dtype == kind
    assert held.astype(np.float64).tolist() == gains


def test_a_column_widens_for_values_that_come_late() -> None:
    column = GrowingColumn(np.int8)
    for values in ([1, 2], [300], [0.5], [0.1]):
        column.add(narrow(np.array(values, dtype=np.float64)))
    assert column.whole().tolist() == [1.0, 2.0, 300.0, 0.5, 0.1]
    assert column.whole().tolist() == []


def test_a_threshold_is_no_rounder_than_the_gains() -> None:
    """3.3 as float32 has it is a little less than 3.3."""
    rows = [("u", "a", float(np.float32(3.3))), ("u", "b", 3.5)]
    truth = read_reference(code_truth(passing(rows, 2)), threshold=3.3).truth
    assert truth.gain.dtype == np.float32
    assert truth.relevant().tolist() == [False, True]


@pytest.mark.parametrize("users_at_once", [1, 2, 3, 100])
def test_rows_are_counted_for_users_some_at_a_time(
    users_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_USERS_AT_ONCE", users_at_once)
    start = np.array([0, 2, 2, 2, 3, 6, 6])
    truth = Truth([], [], start, np.zeros(6, dtype=np.int32), np.ones(6, dtype=np.int8), graded=False)
    marked = np.array([True, False, True, False, True, True])
    assert truth.per_user(marked).tolist() == [1, 0, 0, 1, 2, 0]
    assert truth.per_user(~marked).tolist() == [1, 0, 0, 0, 1, 0]
    assert truth.per_user(np.ones(6, dtype=bool)).tolist() == [2, 0, 0, 1, 3, 0]


# ── through the door ─────────────────────────────────────────────────────────────────────────


def parquet(folder: Path, rows: Sequence[Sequence[Any]], rows_per_group: int) -> Path:
    columns = dict(zip(COLUMNS.split(), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / "truth.parquet", row_group_size=rows_per_group)
    return folder / "truth.parquet"


def refusals(read: Callable[[], object]) -> tuple[str | None, list[str]]:
    with pytest.raises(UploadError) as raised:
        read()
    return raised.value.source, [str(problem) for problem in raised.value.problems]


def test_a_truth_that_passes_is_that_which_is_held(tmp_path: Path) -> None:
    rows = [(" u", "0012", 0.5), ("u", "12", -1.0), ("v", None, 1.0), ("v", "12", 4.0), ("u", "0012", 2.0)]
    file = parquet(tmp_path, rows, 2)
    held, passed = read_upload("truth", file), read_stream("truth", file)
    from_held, from_passed = code_truth(held), code_truth(passed)
    assert rows_of(from_passed) == rows_of(from_held) == {"u": {"0012": 2.0, "12": -1.0}, "v": {"12": 4.0}}
    assert from_passed.notices == from_held.notices == held.notices
    assert {notice.code for notice in held.notices} > {"missing-item-id", "negative-relevance"}


def test_problems_of_a_later_batch_are_all_said_with_their_place(tmp_path: Path) -> None:
    rows = [("u", "a", "1"), ("u", "b", "2"), ("v", "a", "good"), ("v", "b", "inf"), ("v", "c", "bad")]
    file = parquet(tmp_path, rows, 2)
    name, problems = refusals(lambda: code_truth(read_stream("truth", file)))
    assert (name, problems) == refusals(lambda: read_upload("truth", file))
    assert "row 3: 'good' is not a relevance (and 1 more like it)" in problems[0]
    assert "row 4: 'inf' is not a relevance" in problems[1]


def test_a_column_that_changes_its_type_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "USUAL_BLOCK_BYTES", 64)
    lines = ["user_id,item_id,timestamp", *["u,a,1700000000"] * 8, *["u,b,2024-12-31"] * 8]
    file = tmp_path / "truth.csv"
    file.write_text("\n".join(lines) + "\n")
    name, problems = refusals(lambda: code_truth(read_stream("truth", file)))
    assert (name, problems) == refusals(lambda: read_upload("truth", file))
    assert problems == [
        "columns: the values of timestamp change their type midway. Use one form throughout each column."
    ]


def test_problems_of_all_tables_are_said_though_the_truth_only_passes(tmp_path: Path) -> None:
    truth, train = tmp_path / "truth.csv", tmp_path / "train.csv"
    truth.write_text("user_id,item_id,relevance\nu,a,much\n")
    train.write_text("user_id,rating\nu,1\n")
    with pytest.raises(InputError, match="much") as raised:
        read_setup(truth, train)
    assert [problem.place.split()[0] for problem in raised.value.problems] == ["truth,", "train,"]
